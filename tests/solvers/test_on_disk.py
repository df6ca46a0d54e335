"""Solvers on problems that are on disk."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.disk_data import twins
from support.mapped_arrays import is_mapped

from partwise.errors import MismatchError
from partwise.problem.disk_room import DiskRoom
from partwise.problem.evaluation import Evaluator
from partwise.problem.problem import Problem
from partwise.solvers.registry import SOLVERS, offered
from partwise.training.checkpoint import Checkpoint, Keeper
from partwise.training.loop import train
from partwise.training.result import Fit, Progress

#: Solvers, their options, losses and structures: everything that works on disk.
CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("auto", {}, "log", "chain"),
    ("auto", {}, "hinge", "chain"),
    ("auto", {}, "hinge", "classes"),
    ("online-eg", {"order": "focused"}, "log", "classes"),
    ("online-eg", {"order": "replacement"}, "log", "chain"),
    ("online-eg", {"order": "deterministic"}, "softmax-margin", "chain"),
    ("online-eg", {}, "hinge", "chain"),
    ("proximal-eg", {}, "log", "chain"),
    ("bcfw", {}, "hinge", "chain"),
    ("bcfw", {"sampling": "uniform", "room": 3}, "hinge", "chain"),
    ("bcfw", {"pairwise": False, "nearness": None}, "hinge", "classes"),
    ("crammer-singer", {}, "hinge", "classes"),
    ("crammer-singer", {"nearness": None}, "hinge", "classes"),
    ("sag", {}, "log", "chain"),
    ("sag", {"sampling": "nus-2013"}, "log", "classes"),
    ("sag-nus", {}, "softmax-margin", "chain"),
    ("saga", {}, "log", "chain"),
    ("saga", {"sampling": "nus"}, "log", "classes"),
    ("lbfgs", {}, "log", "chain"),
    ("cg", {}, "log", "classes"),
    ("newton", {}, "log", "chain"),
    ("owl-qn", {}, "softmax-margin", "chain"),
]
IDS = ["-".join([name, loss, kind, *map(str, given.values())]) for name, given, loss, kind in CASES]


@pytest.fixture(autouse=True)
def _windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of two blocks, as the problems are small."""
    monkeypatch.setattr("partwise.problem.disk_room.WINDOW", 2)


def closed(problem: Problem) -> None:
    assert isinstance(problem.room, DiskRoom)
    problem.room.close()


@pytest.mark.parametrize(("name", "options", "loss", "kind"), CASES, ids=IDS)
def test_the_same_optimum(
    name: str, options: dict[str, Any], loss: str, kind: str, tmp_path: Path
) -> None:
    memory, disk = twins(kind, loss, tmp_path / "x")
    assert isinstance(disk.room, DiskRoom)
    assert disk.room.n_blocks > 4
    tol = 1e-3 if loss == "hinge" else 1e-6
    found = train(disk, 1.0, solver=name, tol=tol, max_passes=20000, options=options)
    expected = train(memory, 1.0, tol=tol, max_passes=20000)
    assert found.certificate.relative_gap <= tol
    # Both values are those of a problem in memory.
    evaluator = Evaluator(memory)
    stored = memory.storage.scatter(found.weights)
    assert evaluator.primal(stored, 1.0) == pytest.approx(found.certificate.primal, rel=1e-12)
    assert found.certificate.dual <= expected.certificate.primal * (1 + 1e-12)
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2 * tol)
    assert is_mapped(found.dual_point.theta)
    closed(disk)


@pytest.mark.parametrize(
    ("name", "loss", "kind"),
    [
        ("online-eg", "log", "chain"),
        ("proximal-eg", "log", "chain"),
        ("auto", "hinge", "chain"),
        ("lbfgs", "log", "chain"),
    ],
)
def test_one_block_is_as_in_memory(name: str, loss: str, kind: str, tmp_path: Path) -> None:
    memory, disk = twins(kind, loss, tmp_path / "x", block_bytes=1 << 30)
    found = train(disk, 1.0, solver=name, tol=1e-3)
    expected = train(memory, 1.0, solver=name, tol=1e-3)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.certificate.dual == expected.certificate.dual
    assert found.certificate.passes == expected.certificate.passes
    closed(disk)


def test_threads_change_nothing(tmp_path: Path) -> None:
    _, one = twins("chain", "log", tmp_path / "one")
    _, two = twins("chain", "log", tmp_path / "two")
    found, expected = train(two, 1.0, n_jobs=2), train(one, 1.0)
    np.testing.assert_array_equal(found.weights, expected.weights)
    closed(one)
    closed(two)


@pytest.mark.parametrize("name", [s for s in SOLVERS if not SOLVERS[s].on_disk])
def test_others_are_refused(name: str, tmp_path: Path) -> None:
    loss = "hinge" if "tau=0" in SOLVERS[name].needs else "log"
    _, disk = twins("classes", loss, tmp_path / "x", n=5)
    if SOLVERS[name].needs <= offered(disk):
        with pytest.raises(MismatchError, match=r"needs all examples in memory.* on disk use one"):
            train(disk, 1.0, solver=name)
    else:
        with pytest.raises(MismatchError, match="needs"):
            train(disk, 1.0, solver=name)
    closed(disk)


def test_a_trial_is_refused(tmp_path: Path) -> None:
    _, disk = twins("chain", "log", tmp_path / "x", n=5)
    with pytest.raises(MismatchError, match="found by trial needs copies"):
        train(disk, 1.0, solver="online-eg", options={"first_step": "trial"})
    closed(disk)


class Killed(Exception):
    """The process ends here."""


def stopping(at: int) -> Any:
    def stop(progress: Progress) -> bool:
        if progress.row.epoch == at:
            raise Killed
        return False

    return stop


RESUMED = [
    ("online-eg", {"order": "focused"}, "log", "chain"),
    ("proximal-eg", {}, "log", "chain"),
    ("bcfw", {}, "hinge", "chain"),
    ("bcfw", {"nearness": None, "room": 2}, "hinge", "chain"),
    ("crammer-singer", {}, "hinge", "classes"),
    ("sag", {}, "log", "chain"),
    ("saga", {"sampling": "nus"}, "log", "classes"),
]


@pytest.mark.parametrize(
    ("name", "options", "loss", "kind"), RESUMED, ids=[f"{c[0]}-{k}" for k, c in enumerate(RESUMED)]
)
def test_killed_and_resumed(
    name: str,
    options: dict[str, Any],
    loss: str,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A stretch is so short that every epoch has many pauses. Some of them are saved, so that what
    # came after the last checkpoint has to be undone.
    monkeypatch.setattr("partwise.solvers.base.Solver.stretch", 100)
    asked = count()
    monkeypatch.setattr(Keeper, "due", property(lambda _: next(asked) % 13 == 12))
    settings: dict[str, Any] = {"solver": name, "options": options, "tol": 1e-3 / 2}
    _, straight = twins(kind, loss, tmp_path / "straight")
    expected = train(straight, 1.0, **settings)
    epochs = len(expected.trace)
    closed(straight)
    file, found = tmp_path / "checkpoint", None
    for turn in range(20):
        _, disk = twins(kind, loss, tmp_path / "x", resume=turn > 0)
        checkpoint = Checkpoint(file, 0.0, resume=turn > 0)
        after = 2 + turn * max(1, epochs // 6)
        try:
            found = train(disk, 1.0, checkpoint=checkpoint, callbacks=[stopping(after)], **settings)
        except Killed:
            closed(disk)
            continue
        closed(disk)
        break
    assert turn > 1
    assert isinstance(found, Fit)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.certificate.dual == expected.certificate.dual
    assert found.certificate.passes == pytest.approx(expected.certificate.passes)
