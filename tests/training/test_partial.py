"""Labels that are known in part, against all labels written out."""

from __future__ import annotations

import itertools
import logging
import signal
import warnings

import numpy as np
import pytest
from support.partial_cases import WrittenOut, partial_problem
from support.structure_cases import problem_of

from partwise.errors import MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.problem.losses import make_loss
from partwise.problem.partial_labels import says_nothing
from partwise.problem.problem import build_problem
from partwise.problem.rows import Rows
from partwise.solvers.registry import SOLVERS, offered
from partwise.structures.base import Constraints
from partwise.structures.chain.structure import Chain
from partwise.structures.registry import STRUCTURES
from partwise.training.certificate import ConvergenceWarning
from partwise.training.loop import train
from partwise.training.partial_labels import AllowedLabels, train_partial
from partwise.training.path import train_path
from partwise.training.result import Progress

#: Solvers that do not reach a small gap within the passes of a test.
SLOW = {"sgd", "sgd-nus", "asgd", "pegasos", "adagrad", "smd"}


def decreases(records: list[logging.LogRecord], l2: float) -> list[float]:
    """The objectives of the steps that were taken for one l2."""
    steps = [r.args for r in records if r.name.endswith("training.partial_labels")]
    return [args[2] for args in steps if args and args[1] == l2 and not args[-1]]


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("l2", [1.0, 0.05])
def test_gradient_vanishes_and_steps_descend(
    structure: str, l2: float, caplog: pytest.LogCaptureFixture
) -> None:
    problem, allowed = partial_problem(structure)
    written = WrittenOut(problem, allowed, l2)
    with caplog.at_level(logging.INFO):
        fit = train_partial(problem, l2, tol=1e-9, max_passes=1e5)
    steps = fit.certificate.steps
    assert fit.certificate.converged
    assert steps is not None
    assert steps.settled
    assert steps.partial == sum(mine is not None for mine in allowed)
    w = problem.storage.scatter(fit.weights)
    assert steps.objective == pytest.approx(written.objective(w), rel=1e-8)
    assert np.linalg.norm(written.gradient(w)) < 1e-3 * np.sqrt(l2)
    found = decreases(caplog.records, l2)
    assert len(found) >= 2
    assert all(b <= a * (1.0 + 1e-12) for a, b in itertools.pairwise(found))
    assert found[-1] < written.objective(np.zeros_like(w))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_bound_touches_objective(structure: str) -> None:
    problem, allowed = partial_problem(structure)
    written = WrittenOut(problem, allowed, 1.0)
    rng = np.random.default_rng(0)
    n = problem.layout.n_weights
    here = problem.storage.scatter(rng.normal(size=n))
    step, less = AllowedLabels(problem).expect(problem, here)
    true = Evaluator(problem).primal(here, 1.0) - less
    assert true == pytest.approx(written.objective(here), rel=1e-9)
    assert step.gold_entropy is not None
    shift = float(step.arrays.weight @ step.gold_entropy)
    bound = Evaluator(step)
    assert bound.primal(here, 1.0) - shift == pytest.approx(true, rel=1e-9)
    slope = here - bound.slope(here).v
    assert slope == pytest.approx(written.gradient(here), abs=1e-9)
    for _ in range(5):
        w = problem.storage.scatter(rng.normal(size=n))
        assert bound.primal(w, 1.0) - shift >= written.objective(w) - 1e-9


def test_gradient_is_that_of_the_objective() -> None:
    problem, allowed = partial_problem("chain")
    written = WrittenOut(problem, allowed, 0.5)
    rng = np.random.default_rng(3)
    w, d = rng.normal(size=(2, problem.storage.n_places))
    w, d = (problem.storage.scatter(problem.storage.gather(x)) for x in (w, d))
    e = 1e-6
    rise = (written.objective(w + e * d) - written.objective(w - e * d)) / (2 * e)
    assert rise == pytest.approx(float(written.gradient(w) @ d), rel=1e-6)


@pytest.mark.parametrize("structure", ["multiclass", "chain"])
@pytest.mark.parametrize("solver", [s for s in SOLVERS if s not in SLOW])
def test_every_solver_solves_a_step(structure: str, solver: str) -> None:
    problem, _ = partial_problem(structure)
    rng = np.random.default_rng(0)
    problem, _ = AllowedLabels(problem).expect(
        problem, problem.storage.scatter(rng.normal(size=problem.layout.n_weights))
    )
    kind = SOLVERS[solver]
    if not kind.needs <= offered(problem):
        with pytest.raises(MismatchError, match="needs"):
            train(problem, 1.0, solver=solver)
        return
    best = train(problem, 1.0, solver="lbfgs", tol=1e-10, max_passes=5000, quiet=True).certificate
    fit = train(problem, 1.0, solver=solver, tol=1e-6, max_passes=5000, quiet=True)
    assert fit.certificate.converged, fit.certificate
    assert best.dual * (1 - 1e-12) <= fit.certificate.primal <= best.primal * (1 + 2e-6)
    for row in fit.trace:
        if row.certified:
            assert row.dual <= best.primal * (1 + 1e-12)


def test_solvers_of_one_label_are_refused() -> None:
    problem, _ = partial_problem("multiclass")
    for solver in ("dual-cd", "primal-cd"):
        with pytest.raises(MismatchError, match="labels that are not known in part only"):
            train_partial(problem, 1.0, solver=solver)


@pytest.mark.parametrize("loss", ["hinge", "softmax-margin"])
def test_other_losses_are_refused(loss: str) -> None:
    rows = [Rows.from_dense(np.eye(2)), *[Rows.from_dense(np.ones((1, 1)))] * 1]
    rows += [Rows.from_dense(np.zeros((0, 0)))] * 2
    gold = [np.array([0, 1])]
    with pytest.raises(MismatchError, match=r"example 0 .* no cost for a set of labels"):
        build_problem(
            Chain(2), [2], rows, gold, make_loss(loss, 2), allowed=[Constraints(allowed=[(0, [1])])]
        )


def test_observed_weights_are_those_of_allowed_labels() -> None:
    rows = [Rows.from_dense(np.eye(2)), Rows.from_dense(np.ones((1, 1)))]
    rows += [Rows.from_dense(np.zeros((0, 0)))] * 2
    gold = [np.array([0, 0])]
    allowed = [Constraints(allowed=[(0, [0, 2]), (1, [1])])]
    problem = build_problem(
        Chain(3), [2], rows, gold, make_loss("log", 3), weights="observed", allowed=allowed
    )
    # Two labels at the first position, one at the second, and two transitions.
    assert problem.layout.n_weights == 5


def test_all_labels_allowed_is_nothing_known() -> None:
    chain = Chain(2)
    topologies = [chain.topology(2)] * 4
    allowed = [
        Constraints(),
        Constraints(allowed=[(0, [0, 1])]),
        Constraints(allowed=[(0, [0])]),
        None,
    ]
    assert says_nothing(chain, topologies, allowed, None, None).tolist() == [1, 1, 0, 0]
    # A label that is forbidden everywhere need not be allowed.
    rules = Constraints(labels=[1])
    assert says_nothing(chain, topologies, allowed, rules, None).tolist() == [1, 1, 1, 0]


def test_passes_run_out() -> None:
    problem, allowed = partial_problem("chain")
    with pytest.warns(ConvergenceWarning, match="not convex"):
        fit = train_partial(problem, 0.01, tol=1e-9, max_passes=3)
    steps = fit.certificate.steps
    assert not fit.certificate.converged
    assert steps is not None
    assert not steps.settled
    assert "max_passes" in fit.certificate.verdict
    w = problem.storage.scatter(fit.weights)
    assert steps.objective == pytest.approx(WrittenOut(problem, allowed, 0.01).objective(w))


def test_a_callback_stops_the_steps() -> None:
    problem, _ = partial_problem("chain")
    rows = []
    with pytest.warns(ConvergenceWarning):
        fit = train_partial(
            problem, 0.01, tol=1e-9, callbacks=[lambda p: rows.append(p.row) or len(rows) == 4]
        )
    assert "callback" in fit.certificate.verdict
    assert fit.trace[:4] == tuple(rows[:4])
    passes = [row.passes for row in fit.trace]
    assert passes == sorted(passes)


@pytest.mark.parametrize("after", [1, 12])
def test_interrupt_keeps_valid_weights(after: int) -> None:
    problem, allowed = partial_problem("chain")
    seen = []

    def press(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == after:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = train_partial(problem, 0.01, tol=1e-9, callbacks=[press])
    steps = fit.certificate.steps
    assert fit.interrupted
    assert not fit.certificate.converged
    assert steps is not None
    w = problem.storage.scatter(fit.weights)
    assert steps.objective == pytest.approx(WrittenOut(problem, allowed, 0.01).objective(w))
    assert fit.certificate.dual <= fit.certificate.primal


def test_path() -> None:
    problem, allowed = partial_problem("chain")
    for l2, fit in zip((4.0, 1.0, 0.25), train_path(problem, (4.0, 1.0, 0.25), tol=1e-8),
                       strict=True):  # fmt: skip
        w = problem.storage.scatter(fit.weights)
        assert np.linalg.norm(WrittenOut(problem, allowed, l2).gradient(w)) < 1e-2
        assert fit.certificate.converged


@pytest.mark.parametrize("l1", [0.3])
def test_l1(l1: float) -> None:
    problem, allowed = partial_problem("chain")
    fit = train_partial(problem, 1.0, l1=l1, tol=1e-8)
    w = problem.storage.scatter(fit.weights)
    written = WrittenOut(problem, allowed, 1.0)
    assert fit.certificate.steps is not None
    total = written.objective(w) + l1 * np.abs(w).sum()
    assert fit.certificate.steps.objective == pytest.approx(total, rel=1e-7)
    slope = written.gradient(w)
    assert np.abs(slope[w != 0.0] + l1 * np.sign(w[w != 0.0])).max() < 1e-2
    assert np.abs(slope[w == 0.0]).max(initial=0.0) <= l1 + 1e-2
    assert (w == 0.0).any()


def test_same_seed_same_weights() -> None:
    problem, _ = partial_problem("projective")
    first, second = (train_partial(problem, 0.1, n_jobs=n, seed=5) for n in (1, 2))
    assert np.array_equal(first.weights, second.weights)


def test_whole_labels_have_no_steps() -> None:
    problem = problem_of("chain", "log")
    assert problem.partial is None
    assert problem.gold_entropy is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = next(train_path(problem, (1.0,)))
    assert fit.certificate.steps is None
    assert "steps" not in fit.certificate.to_json()
