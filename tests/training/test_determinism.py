"""The same data, options and seed give the same weights, bit by bit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.instances import make_instance

import partwise
from partwise.training.loop import train
from partwise.training.result import Fit

CASES = (
    ("chain", "log", "auto"),
    ("untied", "hinge", "auto"),
    ("multiclass", "softmax-margin", "online-eg"),
    ("chain", "between", "batch-eg"),
)


def fit(kind: str, loss: str, solver: str, **more: Any) -> Fit:
    instance = make_instance(kind, loss, 12, n=15, weighted=True, weights="observed")
    tol = 1e-6 if solver == "auto" and instance.loss.tau else 1e-2
    return train(instance.problem, 0.5, tol=tol, solver=solver, **{"seed": 3, **more})


def digest(fit: Fit) -> str:
    return hashlib.sha256(fit.weights.tobytes() + fit.dual_point.theta.tobytes()).hexdigest()


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_threads_change_no_bit(case: tuple[str, str, str]) -> None:
    alone = fit(*case)
    for n_jobs in (1, 2, 3, 5):
        other = fit(*case, n_jobs=n_jobs)
        assert digest(other) == digest(alone)
        rows = [
            [(r.passes, r.primal, r.dual) for r in f.trace if r.certified] for f in (other, alone)
        ]
        assert rows[0] == rows[1]


def test_another_process_changes_no_bit() -> None:
    code = "import test_determinism as t; print(*(t.digest(t.fit(*c)) for c in t.CASES))"
    here = str(Path(__file__).parent)
    tests = str(Path(__file__).parents[1])
    paths = [here, tests, str(Path(partwise.__file__).parent.parent)]
    made = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.split() == [digest(fit(*case)) for case in CASES]


@pytest.mark.parametrize("order", ["permutation", "focused", "replacement"])
def test_another_seed_takes_another_way_to_the_same_optimum(order: str) -> None:
    a, b = (fit("chain", "log", "auto", seed=s, options={"order": order}) for s in (1, 2))
    assert digest(a) != digest(b)
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-6)
    np.testing.assert_allclose(a.weights, b.weights, atol=0.02)


def test_a_generator_is_a_seed() -> None:
    rng = np.random.default_rng(3)
    assert digest(fit("chain", "log", "auto", seed=rng)) == digest(fit("chain", "log", "auto"))
    assert digest(fit("chain", "log", "auto", seed=rng)) != digest(fit("chain", "log", "auto"))


def test_the_order_of_the_data_needs_no_seed() -> None:
    options = {"order": "deterministic"}
    a, b = (fit("chain", "log", "online-eg", seed=s, options=options) for s in (1, 2))
    assert digest(a) == digest(b)
