"""Dual coordinate descent: the paper's starts and steps, exact shares of the gap, one optimum."""

from __future__ import annotations

import itertools
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from support.class_data import classes, drawn
from support.instances import Instance, make_instance
from support.solvers import solver_of

from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import DualPoint, Evaluator
from partwise.problem.problem import Problem
from partwise.solvers.coordinate.dual import ORDERS, DualCoordinateDescent
from partwise.solvers.coordinate.entropy_blocks import (
    BLOCKS,
    EntropyBlocks,
    Epsilons,
    entropy_epoch,
    starting_point,
)
from partwise.solvers.coordinate.logistic_blocks import LogisticBlocks, divergence, logistic_epoch
from partwise.solvers.coordinate.subproblem import METHODS, SMALLEST, Newton, find_contexts
from partwise.training.loop import train

OPTIONS: list[dict[str, Any]] = [
    {"n_labels": 2},
    {"n_labels": 2, "real": False, "weighted": True},
    {"n_labels": 2, "weights": "observed", "n": 15},
    {"n_labels": 3, "real": False},
    {"n_labels": 5, "weighted": True, "n": 20},
    {"n_labels": 4, "weights": "observed", "n": 20, "weighted": True},
    {"n_labels": 10, "n": 30, "weights": "observed", "real": False},
]


def descent(problem: Problem, l2: float, seed: int = 0, **options: Any) -> DualCoordinateDescent:
    return solver_of(DualCoordinateDescent, problem, l2, seed, **options)


#: Every way to solve a block.
WAYS: list[dict[str, Any]] = [
    *({"block": block} for block in BLOCKS),
    *({"newton": newton, "block": "violating"} for newton in METHODS if newton != "modified"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_dual_improves_and_never_passes_the_primal(
    options: dict[str, Any], way: dict[str, Any]
) -> None:
    problem = make_instance("multiclass", "log", 2, **options).problem
    machine = descent(problem, 0.3, **way)
    duals = []
    for _ in range(30):
        epoch = machine.epoch()
        value = machine.evaluate()
        assert value.dual == pytest.approx(epoch.dual, rel=1e-10, abs=1e-10)
        assert value.dual <= value.primal + 1e-10 * abs(value.primal)
        duals.append(epoch.dual)
    assert all(b >= a - 1e-12 * abs(a) for a, b in pairwise(duals))
    assert duals[-1] > duals[0]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_visit_solves_its_block(options: dict[str, Any], block: str) -> None:
    """Theorem 8, for every choice of pairs, and for the multiplier."""
    problem = make_instance("multiclass", "log", 3, **options).problem
    machine = descent(problem, 0.2, block=block)
    contexts, blocks = machine.contexts, machine.blocks
    for i in range(len(contexts.first)):
        bad, steps = blocks.epoch(np.array([i]), 1e-12)
        assert (bad, steps > 0) == (-1, True)
        value = machine.evaluate()
        scores = machine.evaluator.scores(value.weights).reshape(-1, problem.max_parts)
        gradient = np.log(blocks.alpha[i]) - scores[contexts.first[i]]
        np.testing.assert_allclose(gradient, gradient[0], atol=1e-9)
        np.testing.assert_allclose(blocks.alpha[i].sum(), contexts.total[i], rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("real", [True, False])
def test_one_vector_stands_for_two(seed: int, real: bool) -> None:
    problem = make_instance(
        "multiclass", "log", seed, n=25, n_labels=2, real=real, weighted=True
    ).problem
    found = find_contexts(problem, True)
    start = starting_point(found, "near-gold", Epsilons(), 2.0 / 0.4)
    one = LogisticBlocks(problem, 0.4, found, start.copy(), Newton())
    two = EntropyBlocks(
        problem, 0.4, found, start.copy(), Newton(), "violating", Evaluator(problem)
    )
    one.rebuild()
    two.rebuild()
    np.testing.assert_allclose(one.weights(), two.weights(), atol=1e-13)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        order = rng.permutation(len(found.first))
        for blocks in (one, two):
            blocks.epoch(order, 1e-13)
        np.testing.assert_allclose(one.alpha, two.alpha, rtol=1e-9)
        np.testing.assert_allclose(one.weights(), two.weights(), atol=1e-9)
        np.testing.assert_allclose(one.share, two.share, rtol=1e-4, atol=1e-11)
        assert one.penalty() == pytest.approx(two.penalty(), rel=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_shares_add_up_to_the_gap(options: dict[str, Any]) -> None:
    problem = make_instance("multiclass", "log", 4, **options).problem
    machine = descent(problem, 0.3)
    for _ in range(6):
        value = machine.evaluate()
        # With this tolerance visits only look.
        order = np.arange(len(machine.contexts.first))
        assert machine.blocks.epoch(order, np.inf) == (-1, 0)
        assert machine.blocks.share.sum() == pytest.approx(
            value.primal - value.dual, rel=1e-4, abs=1e-12
        )
        machine.epoch()
    assert machine.blocks.share.min() >= 0.0


@given(p=st.floats(1e-12, 1.0 - 1e-12), d=st.floats(-30.0, 30.0))
def test_divergence_of_two_outcomes(p: float, d: float) -> None:
    q = 1.0 - p
    odds = np.log(np.longdouble(p) / np.longdouble(q)) - np.longdouble(d)
    log_p, log_q = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
    expected = p * (np.log(np.longdouble(p)) - log_p) + q * (np.log(np.longdouble(q)) - log_q)
    assert divergence(p, q, d) == pytest.approx(float(expected), rel=2e-4, abs=1e-14)


def test_the_starts_of_the_paper() -> None:
    x, y = drawn(0, 12, 3, 2)
    c = np.linspace(1e-6, 3.0, 12)
    for l2 in (1e-3, 10.0):
        machine = descent(classes(x, y, 2, c), l2)
        # (36) for C_i = 2 c_i / l2, in units of C_i
        big_c = 2.0 * c / l2
        alpha = np.minimum(1e-3 * big_c, 1e-8) * c / big_c
        rows = np.arange(12)
        np.testing.assert_allclose(machine.blocks.alpha[rows, 1 - y], alpha, rtol=1e-12)
        np.testing.assert_allclose(machine.blocks.alpha[rows, y], c - alpha, rtol=1e-14)
        # w <- sum_i alpha_i y_i x_i, with the paper's alpha; both vectors hold half of it
        w = (alpha / c * big_c * (2 * y - 1)) @ x
        first = machine.problem.storage.first
        np.testing.assert_allclose(machine.current_weights()[first + 1], w / 2, rtol=1e-9)
        np.testing.assert_allclose(machine.current_weights()[first], -w / 2, rtol=1e-9)

    x = np.repeat(np.eye(3), [1, 3, 4], axis=0)
    machine = descent(classes(x, [1, 0, 0, 2, 0, 1, 2, 2], 3), 1.0)
    part = 1e-10
    expected = [
        [part / 2, 1 - part, part / 2],
        [2 * (1 - part), 3 * part, 1 - part],
        [1, 1, 2],
    ]
    np.testing.assert_allclose(machine.blocks.alpha, expected, rtol=1e-12)  # (51)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_grouping_leads_to_the_same_optimum(n_labels: int) -> None:
    x, y = drawn(2, 15, 4, n_labels, repeats=8)
    problem = classes(x, y, n_labels)
    fits = []
    for group, order in itertools.product((True, False), ORDERS):
        options = {"group": group, "order": order}
        fit = train(problem, 0.5, solver="dual-cd", tol=1e-10, max_passes=3000, options=options)
        assert fit.certificate.converged
        fits.append(fit)
    assert len(descent(problem, 0.5).contexts.first) == 15
    for fit in fits[1:]:
        assert fit.certificate.primal == pytest.approx(fits[0].certificate.primal, rel=1e-9)
        np.testing.assert_allclose(fit.weights, fits[0].weights, atol=1e-4)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_all_ways_lead_to_the_optimum_of_online_eg(options: dict[str, Any]) -> None:
    problem = make_instance("multiclass", "log", 5, **options).problem
    best = train(problem, 0.7, solver="online-eg", tol=1e-9, max_passes=3000).certificate
    for way, order in itertools.product(WAYS, ORDERS):
        # Where it cancels, Algorithm 3 stays as far from the optimum as its numbers are exact.
        tol = 1e-6 if way.get("newton") == "plain" else 1e-9
        ways = {**way, "order": order}
        fit = train(problem, 0.7, solver="dual-cd", tol=tol, max_passes=3000, options=ways)
        assert fit.certificate.converged
        assert fit.certificate.primal == pytest.approx(best.primal, rel=10.0 * tol)
        certified = [row for row in fit.trace if row.certified]
        assert all(row.dual <= row.primal * (1 + 1e-12) for row in certified)


@pytest.mark.parametrize(("n_labels", "l2"), [(2, 0.5), (2, 0.05), (3, 0.5), (10, 0.1)])
def test_the_optimum_of_logistic_regression(n_labels: int, l2: float) -> None:
    x, y = drawn(3, 150, 6, n_labels)
    fit = train(classes(x, y, n_labels), l2, solver="dual-cd", tol=1e-10, max_passes=20_000)
    assert fit.certificate.converged
    # Two classes have one vector there, and two here: w = w_1 - w_0 and C = 2 / l2.
    peer = LogisticRegression(
        C=2.0 / l2 if n_labels == 2 else 1.0 / l2,
        fit_intercept=False,
        tol=1e-12,
        solver="newton-cholesky",
        max_iter=1000,
    ).fit(x, y)
    coef = np.vstack([-peer.coef_ / 2, peer.coef_ / 2]) if n_labels == 2 else peer.coef_
    scores = x @ coef.T
    losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(y)), y]
    value = 0.5 * l2 * np.vdot(coef, coef) + losses.sum()
    assert fit.certificate.primal == pytest.approx(value, rel=1e-8)


def test_large_c() -> None:
    # C = 1e5: most duals are close to a bound.
    x, _ = drawn(4, 60, 100, 2)
    y = (x[:, 0] > 0.0).astype(int)
    problem = classes(x, y, 2)
    machine = descent(problem, 2e-5)
    duals = []
    for _ in range(1000):
        duals.append(machine.epoch().dual)
    value = machine.evaluate()
    assert all(b >= a - 1e-12 * abs(a) for a, b in pairwise(duals))
    assert -1e-12 <= value.primal - value.dual <= 1e-3 * value.primal
    alpha = machine.blocks.alpha
    assert (alpha > 0.0).all()
    np.testing.assert_allclose(alpha.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(machine.blocks.weights(), value.weights, rtol=1e-6)


def test_duals_may_be_as_small_as_numbers_get() -> None:
    # Scores differ by thousands, so that most optimal duals underflow.
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    x = np.eye(3)[y] * 3000.0 + rng.normal(size=(30, 3))
    for n_labels in (2, 3):
        problem = classes(x, y % n_labels, n_labels)
        machine = descent(problem, 1e-3)
        blocks = machine.blocks
        v = 1e3 * machine.evaluator.dual_sum(np.zeros(problem.n_parts))
        if isinstance(blocks, LogisticBlocks):
            blocks.w[:] = (v[1::2] - v[::2]) / 1e-3
        else:
            blocks.v[:] = v
        machine.epoch()
        assert machine.blocks.alpha.min() == SMALLEST
        value = machine.evaluate()
        assert np.isfinite([value.primal, value.dual]).all()
        assert value.dual <= value.primal
        assert np.isfinite(machine.dual_point().theta).all()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_fit_goes_on_from_its_dual_point(options: dict[str, Any]) -> None:
    problem = make_instance("multiclass", "log", 6, **options).problem
    first = descent(problem, 0.5)
    for _ in range(10):
        first.epoch()
    value = first.evaluate()
    second = descent(problem, 0.5, point=first.dual_point())
    np.testing.assert_allclose(second.blocks.alpha, first.blocks.alpha, rtol=1e-12)
    assert second.evaluate().dual == pytest.approx(value.dual, rel=1e-12)
    # A dual point whose examples of one context differ: their mean is no worse.
    theta = np.random.default_rng(0).normal(size=problem.n_parts)
    mu, entropy = np.empty_like(theta), np.empty(problem.n_examples)
    evaluator = Evaluator(problem)
    evaluator.marginals(theta, mu, entropy)
    apart = evaluator.dual(mu, entropy, evaluator.dual_sum(mu), 0.5)
    assert descent(problem, 0.5, point=DualPoint(theta)).evaluate().dual >= apart - 1e-12 * abs(
        apart
    )


def test_other_solvers_start_from_its_dual_point() -> None:
    problem = make_instance("multiclass", "log", 7, n=40, weighted=True).problem
    fit = train(problem, 0.5, solver="dual-cd", tol=1e-8)
    for solver in ("online-eg", "dual-cd"):
        again = train(problem, 0.5, solver=solver, tol=1e-7, start=fit.dual_point)
        assert again.certificate.passes <= 2.0


def test_examples_without_weight_do_not_count() -> None:
    x, y = drawn(5, 30, 3, 3)
    c = np.ones(30)
    c[10:] = 0.0
    fit, less = (
        train(problem, 0.5, solver="dual-cd", tol=1e-9)
        for problem in (classes(x, y, 3, c), classes(x[:10], y[:10], 3))
    )
    assert fit.certificate.primal == pytest.approx(less.certificate.primal, rel=1e-9)
    assert len(fit.dual_point.theta) == 90
    assert descent(classes(x, y, 3, c), 0.5).epoch().passes == pytest.approx(1 / 3)


def test_focus_leaves_solved_contexts_out() -> None:
    x, y = drawn(6, 80, 3, 2)
    machine = descent(classes(x, y, 2), 0.1, order="focused")
    passes = [machine.epoch().passes for _ in range(30)]
    assert passes[0] == 1.0
    assert min(passes[5:]) < 0.9
    # ... but nobody is left out for three epochs.
    seen = np.zeros(80, dtype=bool)
    for _ in range(3):
        seen[machine._draw()] = True
    assert seen.all()


def test_the_tolerance_shrinks() -> None:
    machine = descent(classes(*drawn(7, 50, 3, 2), 2), 1.0)
    tolerances = []
    for _ in range(200):
        machine.epoch()
        tolerances.append(machine.tol)
    assert tolerances[0] == 1e-2
    assert tolerances[-1] == 1e-8
    assert all(b in (pytest.approx(a), pytest.approx(0.1 * a)) for a, b in pairwise(tolerances))


def test_same_seed_same_model() -> None:
    problem = make_instance("multiclass", "log", 8, n=40, n_labels=2).problem
    one, two = (train(problem, 0.5, solver="dual-cd", tol=1e-6, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.weights, two.weights)


def refused(instance: Instance, match: str) -> None:
    with pytest.raises(MismatchError, match=match):
        train(instance.problem, 1.0, solver="dual-cd")


def test_problems_that_it_is_not_for() -> None:
    refused(make_instance("chain"), "dual-cd needs a classifier; .* use .*online-eg")
    refused(make_instance("multiclass", "hinge"), "needs the log loss")
    refused(make_instance("multiclass", "softmax-margin"), "needs the log loss")
    refused(make_instance("multiclass", constrained=True), "needs labels without constraints")
    problem = make_instance("multiclass").problem
    with pytest.raises(DataError, match="newton of dual-cd is 'quasi'; give 'modified'"):
        descent(problem, 1.0, newton="quasi")
    with pytest.raises(DataError, match="order of dual-cd is 'focussed'"):
        descent(problem, 1.0, order="focussed")


def test_scores_that_are_not_finite_are_named() -> None:
    for n_labels in (2, 3):
        x, y = drawn(8, 10, 2, n_labels)
        machine = descent(classes(x, y, n_labels), 1.0)
        blocks = machine.blocks
        (blocks.w if isinstance(blocks, LogisticBlocks) else blocks.v)[:] = np.nan
        with pytest.raises(DataError, match="has no finite score"):
            machine.epoch()


def test_one_compilation_serves_all() -> None:
    for options in OPTIONS:
        problem = make_instance("multiclass", "log", **options).problem
        for way in WAYS:
            descent(problem, 1.0, **way).epoch()
    assert len(logistic_epoch.signatures) == 1
    assert len(entropy_epoch.signatures) == 1
