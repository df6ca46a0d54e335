"""Classifiers by matrix products: the same values as by the sweeps, to rounding."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from support.instances import make_instance

from partwise.arrays import Floats
from partwise.errors import DataError
from partwise.problem.evaluation import Evaluator, Slope
from partwise.problem.matrix_evaluation import MatrixEvaluator, make_evaluator
from partwise.problem.problem import Problem
from partwise.problem.sweeps import Dial

#: Labels: one vector, one line of lanes, a pair of lines, and a pair and a single line.
LABELS = (2, 3, 10, 19)


def draw(n_labels: int, loss: str = "log", **options: Any) -> tuple[Problem, Floats]:
    options = {"n": 37, "n_features": 11, "weighted": True, **options}
    problem = make_instance("multiclass", loss, n_labels=n_labels, **options).problem
    rng = np.random.default_rng(n_labels)
    return problem, problem.storage.scatter(rng.normal(size=problem.layout.n_weights))


def softened(problem: Problem) -> Problem:
    """Return the problem with gold labels that are distributions, as those known in part are."""
    n, n_labels = problem.n_examples, problem.max_parts
    share = np.random.default_rng(0).dirichlet(np.ones(n_labels), n)
    arrays = problem.arrays._replace(
        gold_ptr=np.arange(n + 1) * n_labels,
        gold_part=np.tile(np.arange(n_labels), n),
        gold_count=share.ravel(),
    )
    return dataclasses.replace(problem, arrays=arrays)


def assert_alike(one: Slope, other: Slope) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("loss", ["log", "softmax-margin", "between"])
@pytest.mark.parametrize("n_labels", LABELS)
def test_the_values_are_those_of_the_sweeps(
    n_labels: int, loss: str, soft: bool, real: bool
) -> None:
    problem, weights = draw(n_labels, loss, real=real)
    problem = softened(problem) if soft else problem
    known, fast = Evaluator(problem), make_evaluator(problem)
    assert isinstance(fast, MatrixEvaluator)
    for dial in (None, Dial(1.0, 0.3, 0.0), Dial(1.7, 0.4, 0.8)):
        mu, found = np.empty(problem.n_parts), np.empty(problem.n_parts)
        assert_alike(known.slope(weights, dial, mu), fast.slope(weights, dial, found))
        np.testing.assert_allclose(found, mu, atol=1e-13)
        theta = fast.scores(weights, dial)
        np.testing.assert_allclose(theta, known.scores(weights, dial), rtol=1e-12, atol=1e-12)
    assert_alike(known.slope(weights), fast.slope(weights))
    np.testing.assert_allclose(fast.losses(weights), known.losses(weights), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.dual_sum(mu), known.dual_sum(mu), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_labels", LABELS)
def test_threads_and_stretches_change_no_bit(
    n_labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, weights = draw(n_labels)
    mu = np.random.default_rng(0).dirichlet(np.ones(n_labels), problem.n_examples).ravel()

    def values(n_jobs: int) -> list[Floats]:
        fast = MatrixEvaluator(problem, n_jobs)
        found = [*fast.slope(weights), fast.losses(weights), fast.scores(weights)]
        return [*found, fast.dual_sum(mu), fast.curvature(mu, weights)]

    whole = values(1)
    monkeypatch.setattr("partwise.problem.matrix_evaluation._SCORES", 40)
    for n_jobs in (1, 2, 3, 40):
        for a, b in zip(whole, values(n_jobs), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("loss", ["log", "between"])
@pytest.mark.parametrize("n_labels", LABELS)
def test_the_curvature_is_the_derivative_of_v(n_labels: int, loss: str) -> None:
    problem, weights = draw(n_labels, loss)
    fast = MatrixEvaluator(problem)
    mu = np.empty(problem.n_parts)
    fast.slope(weights, into=mu)
    rng = np.random.default_rng(1)
    direction = problem.storage.scatter(rng.normal(size=problem.layout.n_weights))
    ends = [fast.slope(weights + s * direction).v for s in (1e-5, -1e-5)]
    found = fast.curvature(mu, direction)
    np.testing.assert_allclose(found, (ends[1] - ends[0]) / 2e-5, atol=1e-6 * abs(found).max())


def test_huge_scores_lose_no_digits() -> None:
    problem, weights = draw(2)
    fast = MatrixEvaluator(problem)
    slope = fast.slope(1e6 * weights)
    assert (slope.linear >= 0.0).all()
    assert (slope.losses >= 0.0).all()
    with pytest.raises(DataError, match="has no finite score"):
        fast.slope(np.full_like(weights, 1e308) * np.sign(weights))


@pytest.mark.parametrize(
    "options",
    [{"constrained": True, "n_labels": 3}, {"weights": "observed", "n_labels": 12}],
)
def test_other_problems_are_left_to_the_sweeps(options: Any) -> None:
    problem, _ = draw(**options)
    assert type(make_evaluator(problem)) is Evaluator
    hinge, _ = draw(3, "hinge")
    assert type(make_evaluator(hinge)) is Evaluator
    chain = make_instance("chain").problem
    assert type(make_evaluator(chain)) is Evaluator


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("loss", ["log", "between"])
@pytest.mark.parametrize("n_labels", [2, 3, 10])
def test_a_newton_step_solves_for_the_gradient(
    n_labels: int, loss: str, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partwise.problem.matrix_products._mostly_full", lambda x: full)
    monkeypatch.setattr("partwise.problem.matrix_products._DENSE_ROWS", 10)
    problem, weights = draw(n_labels, loss)
    fast = MatrixEvaluator(problem)
    mu = np.empty(problem.n_parts)
    fast.slope(weights, into=mu)
    rng = np.random.default_rng(2)
    gradient = problem.storage.scatter(rng.normal(size=problem.layout.n_weights))
    step = fast.newton_step(mu, gradient, 0.3)
    np.testing.assert_allclose(0.3 * step + fast.curvature(mu, step), -gradient, atol=1e-10)


def test_a_decomposition_pays_where_features_are_few() -> None:
    few, _ = draw(2, n=200, n_features=4)
    many, _ = draw(2, n=10, n_features=300)
    assert MatrixEvaluator(few).newton_cost() < 5.0
    assert MatrixEvaluator(many).newton_cost() > 50.0
