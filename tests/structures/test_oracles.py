"""Oracles are compiled when they are used, and a structure may bring one of the two alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from support.bits import Bits, bits_marginals, bits_maximum, ones, subsets

from partwise import MismatchError, save_model
from partwise.models.fit import Settings, fit_model
from partwise.models.model import Model
from partwise.models.numbered import NumberedFeatures
from partwise.problem.losses import make_loss
from partwise.problem.problem import build_problem
from partwise.problem.rows import Rows
from partwise.solvers.registry import SOLVERS, offered
from partwise.structures.base import Structure, no_oracle
from partwise.structures.chain.structure import Chain
from partwise.testing import check_structure


class BestBits(Bits):
    """Knows the best label, and not how likely it is."""

    name: ClassVar[str] = "best-bits"
    marginals: ClassVar[Any] = None
    sample = Structure.sample


class LikelyBits(Bits):
    """Knows how likely parts are, and not the best label."""

    name: ClassVar[str] = "likely-bits"
    maximum: ClassVar[Any] = None


SHAPES = [3, 1, 4, 2]


def rows() -> Rows:
    return Rows.from_dense(np.random.default_rng(0).normal(size=(sum(SHAPES), 3)))


def gold() -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, 2, n) for n in SHAPES]


def fit(structure: Structure, **more: Any) -> Model:
    settings = Settings(l2=0.5, tol=1e-6, **more)
    model, _ = fit_model(
        "mine", structure, [rows()], SHAPES, gold(), NumberedFeatures((3,)), settings
    )
    return model


PREDICT = """
import sys
import numpy as np
from numba.core.ccallback import CFunc

used = []
compile_ = CFunc.compile


def noted(callback):
    used.append(callback.__name__)
    compile_(callback)


CFunc.compile = noted
from partwise import load_model
from partwise.problem.rows import Rows

model = load_model(sys.argv[1])
features = [Rows.from_dense(np.eye(3)), Rows.from_dense(np.ones((1, 1)))]
features += [Rows.from_dense(np.zeros((1, 0)))] * 2
getattr(model, sys.argv[2])(features, [3])
print(*sorted(used))
"""


@pytest.mark.parametrize(
    ("method", "used"),
    [
        ("predict", "chain_maximum no_oracle"),
        ("marginals", "chain_marginals no_oracle"),
    ],
)
def test_a_prediction_compiles_only_the_oracle_that_it_calls(
    tmp_path: Path, method: str, used: str
) -> None:
    nothing = Rows.from_dense(np.zeros((1, 0)))
    features = [Rows.from_dense(np.eye(3)), Rows.from_dense(np.ones((1, 1))), nothing, nothing]
    model, _ = fit_model(
        "mine", Chain(2), features, [3], [np.array([0, 1, 0])], NumberedFeatures((3, 1, 0, 0)),
        Settings(), labels=["a", "b"],
    )  # fmt: skip
    save_model(model, tmp_path / "a.model")
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, str(tmp_path / "a.model"), method],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == used


TRAIN = (
    PREDICT[: PREDICT.index("from partwise")]
    + """
from partwise.problem import Rows, build_problem, make_loss
from partwise.structures.chain.structure import Chain
from partwise.training import train

features = [Rows.from_dense(np.eye(3)), Rows.from_dense(np.ones((1, 1)))]
features += [Rows.from_dense(np.zeros((1, 0)))] * 2
gold = [np.array([0, 1, 0])]
problem = build_problem(Chain(2), [3], features, gold, make_loss("log", n_labels=2))
assert train(problem, l2=0.5).certificate.converged
print(*sorted(used))
"""
)


def test_a_fit_with_the_log_loss_compiles_no_maximum() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "chain_marginals no_oracle"


@pytest.mark.parametrize("solver", ["auto", "bcfw", "svm-struct", "bmrm"])
def test_best_labels_alone_train_the_hinge_loss_to_a_certified_gap(solver: str) -> None:
    model = fit(BestBits(), loss="hinge", solver=solver)
    whole = fit(Bits(), loss="hinge", solver="bcfw")
    assert model.certificate.relative_gap <= 1e-6
    np.testing.assert_allclose(model.certificate.primal, whole.certificate.primal, rtol=2e-6)
    best = model.predict([rows()], SHAPES)
    ranked = model.k_best([rows()], SHAPES, 2)
    for label, (_, labels) in zip(best, ranked, strict=True):
        np.testing.assert_array_equal(label, labels[0])


def test_marginals_alone_train_the_log_loss() -> None:
    model = fit(LikelyBits(), loss="log")
    assert model.certificate.relative_gap <= 1e-6
    expected = fit(Bits(), loss="log").marginals([rows()], SHAPES)
    for found, wanted in zip(model.marginals([rows()], SHAPES), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-3)
    with pytest.raises(MismatchError, match="best labels are not known for likely-bits labels"):
        model.predict([rows()], SHAPES)


def test_what_needs_the_other_oracle_is_refused() -> None:
    with pytest.raises(MismatchError, match=r"log loss needs marginals; .* use the hinge loss"):
        fit(BestBits(), loss="log")
    with pytest.raises(MismatchError, match=r"hinge loss needs best labels; .* use the log loss"):
        fit(LikelyBits(), loss="hinge")
    with pytest.raises(MismatchError, match=r"extragradient needs marginals; .* use one of") as no:
        fit(BestBits(), loss="hinge", solver="extragradient")
    assert "bcfw" in str(no.value)
    assert "online-eg" not in str(no.value)
    problem = build_problem(BestBits(), SHAPES, [rows()], gold(), make_loss("hinge", n_labels=0))
    fitting = {name for name, solver in SOLVERS.items() if solver.needs <= offered(problem)}
    assert {"auto", "bcfw", "svm-struct", "bmrm", "sgd"} <= fitting
    log = build_problem(Bits(), SHAPES, [rows()], gold(), make_loss("log", n_labels=0))
    assert log.arrays.maximum is no_oracle.compiled
    assert log.with_oracle("maximum").arrays.maximum is Bits().maximum
    assert log.with_oracle("marginals") is log
    topo = np.array([2])
    with pytest.raises(MismatchError, match="marginals are not known for best-bits labels"):
        BestBits().log_partition(np.zeros(2), topo)
    with pytest.raises(MismatchError, match="best-bits labels cannot be drawn"):
        BestBits().sample(np.zeros(2), topo, 1, np.random.default_rng(0))


@pytest.mark.parametrize("structure", [BestBits(), LikelyBits()])
def test_the_laws_of_the_oracle_that_there_is(structure: Structure) -> None:
    check_structure(
        structure, [0, 1, 3], subsets, ones, rounds=1,
        impossible=lambda structure, topo: range(int(topo[0])),
    )  # fmt: skip


def test_the_laws_find_a_wrong_oracle_beside_a_missing_one() -> None:
    class Wrong(BestBits):
        maximum: ClassVar[Any] = bits_marginals

    class WrongToo(LikelyBits):
        marginals: ClassVar[Any] = bits_maximum

    for structure, law in ((Wrong(), "maximum"), (WrongToo(), "log_partition")):
        with pytest.raises(AssertionError, match=law):
            check_structure(structure, [1, 3], subsets, ones, rounds=1)
