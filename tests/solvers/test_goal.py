"""Where a solver starts: what an earlier fit left, in the form that the solver asks for."""

from __future__ import annotations

import numpy as np
from support.instances import make_instance
from support.solvers import goal_of

from partwise.arrays import Floats
from partwise.problem.evaluation import DualPoint, Evaluator
from partwise.problem.problem import Problem


def marginals(problem: Problem, theta: Floats) -> Floats:
    mu = np.empty_like(theta)
    Evaluator(problem).marginals(theta, mu, np.empty(problem.n_examples))
    return mu


def drawn(problem: Problem) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    weights = problem.storage.scatter(rng.normal(size=problem.layout.n_weights))
    return rng.normal(size=problem.n_parts), weights


def test_a_cold_start() -> None:
    goal = goal_of(make_instance().problem)
    assert not goal.warm
    assert goal.theta() is None
    assert goal.marginals() is None
    assert goal.weights() is None


def test_from_a_theta() -> None:
    problem = make_instance("chain").problem
    theta, _ = drawn(problem)
    goal = goal_of(problem, 0.5, l1=0.2, point=DualPoint(theta))
    mu = marginals(problem, theta)
    assert goal.warm
    np.testing.assert_array_equal(goal.theta(), theta)
    np.testing.assert_array_equal(goal.marginals(), mu)
    v = Evaluator(problem).dual_sum(mu)
    shrunk = np.sign(v) * np.maximum(np.abs(v) - 0.2, 0.0)
    np.testing.assert_allclose(goal.weights(), shrunk / 0.5, rtol=1e-14)


def test_marginals_go_before_the_theta_beside_them() -> None:
    for kind in ("multiclass", "chain"):  # the entropy of a tied chain is no sum over its parts
        problem = make_instance(kind, "hinge").problem
        theta, _ = drawn(problem)
        mu = marginals(problem, 0.5 * theta)
        goal = goal_of(problem, point=DualPoint(theta, mu))
        np.testing.assert_array_equal(goal.marginals(), mu)
        started = goal.theta()
        assert started is not None
        expected = mu if problem.structure.has_entropy else marginals(problem, theta)
        np.testing.assert_allclose(marginals(problem, started), expected, atol=1e-12)


def test_from_weights() -> None:
    for loss in ("log", "softmax-margin", "hinge"):
        problem = make_instance("chain", loss).problem
        _, weights = drawn(problem)
        goal = goal_of(problem, initial_weights=weights)
        assert goal.warm
        assert goal.weights() is weights
        if loss == "hinge":  # no dual point of the hinge goes with any weights
            assert goal.theta() is None
            assert goal.marginals() is None
        else:
            scores = Evaluator(problem).scores(weights)
            np.testing.assert_array_equal(goal.theta(), scores)
            np.testing.assert_array_equal(goal.marginals(), marginals(problem, scores))


def test_from_both() -> None:
    problem = make_instance().problem
    theta, weights = drawn(problem)
    goal = goal_of(problem, point=DualPoint(theta), initial_weights=weights)
    assert goal.theta() is theta
    assert goal.weights() is weights
