"""Training in blocks: one result for any number of threads, and a dual that never falls."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.partial_cases import partial_problem
from support.solvers import goal_of
from support.structure_cases import problem_of

from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.problem.problem import Problem
from partwise.problem.subset import subset
from partwise.solvers.blocks.ascent import BlockAscent
from partwise.solvers.blocks.block import Block
from partwise.solvers.blocks.places import add_at
from partwise.solvers.blocks.plan import Pass, Round
from partwise.solvers.blocks.solver import Blocks, make_block
from partwise.solvers.eg.online import OnlineEG
from partwise.solvers.goal import Goal
from partwise.solvers.margin.atoms import gold_atoms
from partwise.solvers.state import capture
from partwise.training.certificate import ConvergenceWarning
from partwise.training.loop import train
from partwise.training.partial_labels import train_partial
from partwise.training.result import Fit

CASES = [
    ("chain", "log", 0.0), ("chain", "hinge", 0.0), ("chain", "softmax-margin", 0.2),
    ("multiclass", "log", 0.2), ("multiclass", "hinge", 0.0), ("projective", "log", 0.0),
    ("grammar", "hinge", 0.0),
]  # fmt: skip
#: What ``auto`` would take, and online EG for every loss.
HOW: list[dict[str, Any]] = [{}, {"method": "online-eg"}]


def digest(fit: Fit) -> str:
    course = np.array([(row.passes, row.primal, row.dual) for row in fit.trace])
    return hashlib.sha256(fit.weights.tobytes() + course.tobytes()).hexdigest()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_threads_do_not_change_the_result(case: tuple[str, str, float]) -> None:
    name, loss, l1 = case
    problem = problem_of(name, loss)
    how: Any = {"solver": "blocks", "l1": l1, "tol": 1e-6, "max_passes": 40, "quiet": True}
    how["options"] = {"blocks": 4, "exchanges": 3}
    found = {digest(train(problem, 0.5, n_jobs=jobs, seed=5, **how)) for jobs in (1, 2, 3, 9)}
    assert len(found) == 1
    assert digest(train(problem, 0.5, n_jobs=1, seed=6, **how)) not in found


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_online_eg_in_blocks_reaches_the_optimum(loss: str) -> None:
    """One example of each block per round, as section 9 of Collins et al. (2008) proposes."""
    problem = problem_of("chain", loss)
    how: Any = {"solver": "blocks", "tol": 0.02, "max_passes": 3000}
    how["options"] = {"preset": "collins2008-parallel", "blocks": 3}
    one, two = (train(problem, 1.0, n_jobs=jobs, **how) for jobs in (1, 2))
    best = train(problem, 1.0, tol=1e-6, max_passes=10_000).certificate
    assert one.certificate.dual <= best.primal <= one.certificate.primal * (1.0 + 1e-9)
    assert one.certificate.primal <= 1.03 * best.primal
    np.testing.assert_array_equal(one.weights, two.weights)
    again = Blocks(goal_of(problem, 1.0, point=one.dual_point), blocks=2, method="online-eg")
    assert again.evaluate().dual == pytest.approx(one.certificate.dual, rel=1e-6)


@pytest.mark.parametrize("name", ["chain", "multiclass"])
@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_one_block_is_online_eg(name: str, loss: str) -> None:
    problem = problem_of(name, loss)
    machine = Blocks(goal_of(problem, 0.5), blocks=1, exchanges="each", method="online-eg")
    assert machine.plan.exchanges == problem.n_examples
    plain = OnlineEG(goal_of(problem, 0.5), order="permutation")
    for k in range(4):
        machine.epoch()
        order = machine.crew.blocks[0].order
        assert sorted(order) == list(range(problem.n_examples))
        plain._visit(order, plain.duals, 0.5, 2 if k == 0 else 5)
        np.testing.assert_allclose(machine.vectors.v, plain.duals.v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_certificate_from_scratch(case: tuple[str, str, float]) -> None:
    name, loss, l1 = case
    problem = problem_of(name, loss)
    options = {"blocks": 3, "exchanges": 2}
    fit = train(
        problem, 0.5, l1=l1, solver="blocks", options=options, tol=1e-4, max_passes=3000, seed=1
    )
    assert fit.certificate.converged
    evaluator = Evaluator(problem)
    stored = problem.storage.scatter(fit.weights)
    assert fit.certificate.primal == pytest.approx(evaluator.primal(stored, 0.5, l1), rel=1e-12)
    best = train(problem, 0.5, l1=l1, tol=1e-8, max_passes=10_000, quiet=True).certificate
    assert fit.certificate.dual <= best.primal * (1.0 + 1e-12)
    assert fit.certificate.primal >= best.dual * (1.0 - 1e-12)


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_another_fit_starts_from_the_duals(loss: str) -> None:
    problem = problem_of("chain", loss)
    how: Any = {"solver": "blocks", "options": {"blocks": 3, "exchanges": 4}, "tol": 1e-3}
    first = train(problem, 0.5, max_passes=2000, **how)
    again = train(problem, 0.5, start=first.dual_point, max_passes=2000, **how)
    assert again.certificate.passes < 0.5 * first.certificate.passes
    from_weights = train(problem, 0.5, initial_weights=first.weights, max_passes=2000, **how)
    assert from_weights.certificate.converged


def repeated(problem: Problem, times: int) -> Problem:
    """All examples, several times over: blocks that are equal want the same changes."""
    n = problem.n_examples
    return subset(problem, np.tile(np.arange(n), times))


def duals_of(machine: Blocks, epochs: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, int]:
    """Return the largest fall of the dual in a round within a pass, and the rounds undone."""
    falls, undone = [0.0], 0
    inner = Blocks._round

    def value() -> float:
        return machine.linear - machine.norm / (2.0 * machine.vectors.l2)

    def watched(self: Blocks) -> None:
        before = value()
        inner(self)
        falls.append(before - value())

    monkeypatch.setattr(Blocks, "_round", watched)
    for _ in range(epochs):
        machine.epoch()
        undone += machine.undone
    return max(falls), undone


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", ["chain", "multiclass"])
@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_the_dual_never_falls(
    name: str, loss: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = repeated(problem_of(name, loss), 4)
    goal = goal_of(problem, 0.05)
    machine = Blocks(goal, blocks=4, exchanges=2, **how)
    machine.epoch()  # by now all examples are in
    machine.sigma = 1.0
    monkeypatch.setattr(
        "partwise.solvers.blocks.ascent.BlockAscent._fell",
        lambda self, linear, norm: linear - norm / (2.0 * self.vectors.l2) < -1e-12,
    )
    fall, _ = duals_of(machine, 12, monkeypatch)
    assert fall <= 1e-12 * max(1.0, abs(machine.linear))


def test_adding_without_the_guard_makes_the_dual_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = repeated(problem_of("chain", "log"), 8)
    monkeypatch.setattr(
        "partwise.solvers.blocks.ascent.BlockAscent._fell", lambda self, linear, norm: False
    )

    def once(self: Blocks) -> None:
        self.sigma = 1.0
        plain(self)

    plain = Blocks._round
    monkeypatch.setattr(Blocks, "_round", once)
    machine = Blocks(goal_of(problem, 0.05), blocks=8, exchanges=1)
    fall, _ = duals_of(machine, 6, monkeypatch)
    assert fall > 1e-3


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", ["chain", "multiclass"])
@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_a_round_is_undone_exactly(name: str, loss: str, how: dict[str, Any]) -> None:
    problem = problem_of(name, loss)
    machine = Blocks(goal_of(problem, 0.3), blocks=2, exchanges=2, **how)
    for _ in range(3):
        machine.epoch()
    coming = Pass(3, 0.3, 0.0, False, 7, 2)
    machine.vectors.begin(coming)
    machine.crew.begin(coming)
    for block in machine.crew.blocks:
        before = {name: array.copy() for name, array in capture(block, "block")[1].items()}
        vectors = machine.vectors.near.copy()
        change = block.round(machine.vectors, Round(0, 1.0, False))
        after = capture(block, "block")[1]
        assert any((before[name] != array).any() for name, array in after.items())
        assert np.abs(change.values).max() > 0.0
        assert (machine.vectors.near == vectors).all()
        block.undo()
        again = capture(block, "block")[1]
        for name, array in again.items():
            # The pool of labels may keep what was appended; nothing points there.
            if not name.endswith((".part", ".times", ".totals")):
                assert (before[name] == array).all(), name


def test_a_repeated_round_with_a_full_set_of_labels() -> None:
    problem = problem_of("chain", "hinge")
    goal = goal_of(problem, 0.01)
    block = make_block("bcfw", goal, 0, 1)
    block.local.room = 2
    block.local.atoms = gold_atoms(problem, 2, 0, problem.n_examples)
    machine = Blocks(goal, blocks=1, exchanges=1)
    vectors = machine.vectors
    for number in range(6):
        coming = Pass(number, 0.01, 0.0, False, 1, 1)
        vectors.begin(coming)
        block.begin(coming)
        block.round(vectors, Round(0, 1.0, False))
        block.undo()
        change = block.round(vectors, Round(0, 2.0, True))
        vectors.apply(change)  # type: ignore[arg-type] # it has places and values, too
    fresh = block.fresh(vectors)
    v = problem.storage.zeros()
    add_at(fresh.places, fresh.values, v)
    np.testing.assert_allclose(v, vectors.v, atol=1e-9)
    mu = block.local.mu
    assert mu.min() >= -1e-12


def test_scaled_weights_are_the_scaled_problem() -> None:
    """A visit with sigma is that of a problem whose examples weigh sigma times as much."""
    problem = problem_of("chain", "log")
    heavy = replace(problem, arrays=problem.arrays._replace(weight=3.0 * problem.arrays.weight))
    changes = []
    for one, sigma in ((problem, 3.0), (heavy, 1.0)):
        goal = Goal(one, 0.5, Evaluator(one), np.random.default_rng(0))
        machine = Blocks(goal, blocks=1, exchanges=1)
        coming = Pass(0, 0.5, 0.0, False, 1, 1)
        machine.vectors.begin(coming)
        machine.crew.begin(coming)
        changes.append(machine.crew.blocks[0].round(machine.vectors, Round(0, sigma, True)))
    np.testing.assert_allclose(3.0 * changes[0].values, changes[1].values, rtol=1e-9, atol=1e-12)
    assert 3.0 * changes[0].linear == pytest.approx(changes[1].linear)


def test_labels_that_are_known_in_part_are_refused() -> None:
    problem, _ = partial_problem("chain")
    with pytest.raises(MismatchError, match="blocks needs labels that are not known in part only"):
        train_partial(problem, 1.0, solver="blocks")


def test_a_fit_that_stops_early_says_so() -> None:
    with pytest.warns(ConvergenceWarning):
        train(problem_of("chain", "log"), 0.01, solver="blocks", tol=1e-9, max_passes=2)


@pytest.mark.parametrize(
    ("linear", "norm", "fell"), [(1.0, 1.0, False), (0.25, 1.0, False), (0.1, 1.0, True)]
)
def test_a_round_that_lowers_the_dual_is_seen(linear: float, norm: float, fell: bool) -> None:
    """The dual changes by linear - norm / (2 l2); a change of 0 is no fall."""
    held = SimpleNamespace(vectors=SimpleNamespace(l2=2.0), linear=1.0, norm=1.0)
    assert BlockAscent._fell(held, linear, norm) == fell  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("order", "sound"), [([], True), ([0], True), ([1, 0], True), ([2], False), ([-1, 0], False)]
)
def test_the_order_of_a_saved_block_fits_its_examples(order: list[int], sound: bool) -> None:
    held = SimpleNamespace(
        problem=SimpleNamespace(n_examples=2), order=np.array(order, dtype=np.int64), exchanges=1
    )
    if sound:
        Block.restored(held)  # type: ignore[arg-type]
    else:
        with pytest.raises(DataError, match="does not fit its examples"):
            Block.restored(held)  # type: ignore[arg-type]
