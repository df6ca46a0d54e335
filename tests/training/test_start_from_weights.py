"""Fits that start from weights alone, as from a model file, beside fresh fits."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from support.instances import make_instance

from partwise.problem.evaluation import Evaluator
from partwise.problem.problem import Problem
from partwise.problem.subset import subset
from partwise.training.loop import train
from partwise.training.result import Fit

KINDS = ("multiclass", "chain", "untied")


def problem_of(kind: str, loss: str) -> Problem:
    return make_instance(kind, loss, n=60, n_features=8).problem


def rows(fit: Fit) -> list[tuple[float, float]]:
    return [(row.passes, row.dual) for row in fit.trace if row.epoch > 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
@pytest.mark.parametrize("l2", [0.03, 1.0])
def test_good_weights_save_passes(kind: str, loss: str, l2: float) -> None:
    problem = problem_of(kind, loss)
    fresh = train(problem, l2, tol=1e-4)
    again = train(problem, l2, tol=1e-4, initial_weights=fresh.weights)
    assert again.certificate.converged
    assert again.certificate.passes <= 0.5 * fresh.certificate.passes
    nearby = train(problem, 1.5 * l2, tol=1e-4).weights
    other = train(problem, l2, tol=1e-4, initial_weights=nearby).certificate
    # Fits end after whole epochs, so an equally good start may take up to one more.
    assert other.passes < fresh.certificate.passes + 1.0


@pytest.mark.parametrize("loss", ["log", "softmax-margin", "hinge"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_better_than_no_weights(kind: str, loss: str, caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(kind, loss)
    fresh = train(problem, 1.0, tol=1e-3)
    for bad in (-fresh.weights, 0.01 * fresh.weights):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            fit = train(problem, 1.0, tol=1e-3, initial_weights=bad)
        assert rows(fit) == rows(fresh)
        np.testing.assert_array_equal(fit.weights, fresh.weights)
        assert ("it begins without them" in caplog.text) == (loss != "hinge")


@pytest.mark.parametrize("kind", KINDS)
def test_the_hinge_stops_as_soon_as_its_duals_certify_the_weights(kind: str) -> None:
    problem = problem_of(kind, "hinge")
    fresh = train(problem, 0.3, tol=1e-2)
    good = train(problem, 0.3, tol=1e-4, max_passes=10_000)
    fit = train(problem, 0.3, tol=1e-2, initial_weights=good.weights)
    assert fit.certificate.converged
    assert fit.certificate.passes < fresh.certificate.passes
    np.testing.assert_array_equal(fit.weights, good.weights)
    # Not later than possible: after the epoch before, the dual value was still too small.
    before, last = (row.dual for row in fit.trace[-2:])
    least = (1.0 - 1e-2) * good.certificate.primal
    assert before < least <= last
    assert [row.dual for row in fit.trace[1:-1]] == [
        row.dual for row in fresh.trace[: len(fit.trace) - 2]
    ]


@pytest.mark.parametrize("solver", ["auto", "online-eg", "lbfgs", "sag", "blocks"])
def test_an_optimum_costs_one_evaluation(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("chain", "log")
    best = train(problem, 0.5, tol=1e-9, solver="newton", max_passes=10_000)
    slopes: list[object] = []
    slope = Evaluator.slope
    monkeypatch.setattr(
        Evaluator, "slope", lambda self, *rest: slopes.append(1) or slope(self, *rest)
    )
    fit = train(problem, 0.5, tol=1e-6, solver=solver, initial_weights=best.weights)
    assert len(slopes) == (solver != "blocks")
    assert fit.certificate.converged
    assert fit.certificate.passes == 0.0
    assert [row.epoch for row in fit.trace] == [0]
    np.testing.assert_array_equal(fit.weights, best.weights)
    # The values are those of the weights on these data.
    evaluator = Evaluator(problem)
    stored = problem.storage.scatter(best.weights)
    assert fit.certificate.primal == pytest.approx(evaluator.primal(stored, 0.5), rel=1e-12)
    assert fit.certificate.dual <= best.certificate.primal * (1.0 + 1e-12)
    assert fit.initial_objective == fit.certificate.primal


def test_the_certificate_of_other_data_is_not_believed() -> None:
    problem = problem_of("chain", "log")
    half = subset(problem, np.arange(0, problem.n_examples, 2))
    best = train(half, 0.5, tol=1e-9)
    fit = train(problem, 0.5, tol=1e-4, initial_weights=best.weights)
    assert fit.certificate.passes > 0.0
    assert fit.trace[0].relative_gap > 1e-3
    assert fit.initial_objective == fit.trace[0].primal > fit.certificate.primal


def test_a_callback_sees_the_first_evaluation_and_may_stop() -> None:
    problem = problem_of("chain", "log")
    weights = train(problem, 0.5, tol=1e-2).weights
    seen = []
    with pytest.warns(match="stopped by a callback"):
        fit = train(
            problem,
            0.5,
            tol=1e-9,
            initial_weights=weights,
            callbacks=[lambda progress: seen.append(progress.row.epoch) or True],
        )
    assert seen == [0]
    assert fit.certificate.verdict == "stopped by a callback"
    np.testing.assert_array_equal(fit.weights, weights)


def test_a_dual_point_is_taken_as_it_is() -> None:
    problem = problem_of("chain", "log")
    first = train(problem, 0.5, tol=1e-3)
    fit = train(problem, 0.5, tol=1e-6, start=first.dual_point, initial_weights=first.weights)
    assert fit.trace[0].epoch == 1
