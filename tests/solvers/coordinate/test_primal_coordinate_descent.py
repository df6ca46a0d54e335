"""Primal coordinate descent: a falling primal, steps that need no search, one optimum."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.instances import make_instance
from support.solvers import solver_of

from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.problem.problem import Problem
from partwise.solvers.coordinate.primal import PrimalCoordinateDescent, make_columns, primal_epoch
from partwise.training.loop import train

OPTIONS: list[dict[str, Any]] = [
    {"n_labels": 2},
    {"n_labels": 3, "real": False, "weighted": True},
    {"n_labels": 4, "weights": "observed", "n": 20, "weighted": True},
    {"n_labels": 10, "n": 40, "weights": "observed", "real": False},
]


def descent(problem: Problem, l2: float, seed: int = 0, **options: Any) -> PrimalCoordinateDescent:
    return solver_of(PrimalCoordinateDescent, problem, l2, seed, **options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("l2", [1.0, 1e-3])
def test_the_primal_falls(options: dict[str, Any], l2: float) -> None:
    problem = make_instance("multiclass", "log", 1, **options).problem
    machine = descent(problem, l2)
    evaluator = Evaluator(problem)
    primals = [evaluator.primal(machine.current_weights(), l2)]
    for _ in range(20):
        epoch = machine.epoch()
        primals.append(epoch.dual + epoch.gap_estimate)
        value = machine.evaluate()
        assert value.primal == pytest.approx(primals[-1], rel=1e-10)
        assert value.dual <= value.primal * (1 + 1e-12)
    assert all(b <= a + 1e-12 * abs(a) for a, b in pairwise(primals))
    scores = evaluator.scores(machine.vector).reshape(machine.scores.q.shape)
    used = problem.arrays.weight > 0.0
    np.testing.assert_allclose(machine.scores.q[used], scores[used], atol=1e-9)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_step_is_a_newton_step(options: dict[str, Any]) -> None:
    problem = make_instance("multiclass", "log", 2, **options).problem
    rng = np.random.default_rng(0)
    # Weights where full steps are sure to be taken.
    start = problem.storage.scatter(0.1 * rng.normal(size=problem.layout.n_weights))
    machine = descent(problem, 5.0, initial_weights=start)
    evaluator = Evaluator(problem)
    places = problem.storage.places()

    def primal(at: int, step: float) -> float:
        moved = machine.current_weights().copy()
        if machine.single:  # a step of the difference of both weights
            moved[[at - 1, at]] += [-0.5 * step, 0.5 * step]
        else:
            moved[at] += step
        return evaluator.primal(moved, 5.0)

    # The first weight that is visited is the first of the first feature.
    at = int(places[np.argmin(places)])
    feature = int(np.flatnonzero(machine.columns.first == at)[0])
    at += machine.single
    before = machine.vector[at]
    h = 1e-4
    slope = (primal(at, h) - primal(at, -h)) / (2 * h)
    curve = (primal(at, h) - 2 * primal(at, 0.0) + primal(at, -h)) / h**2
    arrays = problem.arrays
    gap, searched = primal_epoch(
        machine.columns,
        arrays.weight,
        machine.gold,
        machine.scores,
        machine.vector,
        machine.own_l2,
        int(machine.single),
        np.array([feature]),
    )
    assert searched == 0
    assert machine.vector[at] - before == pytest.approx(-slope / curve, rel=1e-4)
    assert gap >= slope**2 / (2.0 * machine.own_l2) * (1 - 1e-6)


@given(
    st.lists(
        st.tuples(st.floats(0.0, 1.0), st.floats(-5.0, 5.0), st.floats(0.01, 100.0)), min_size=1
    ),
    st.floats(1e-6, 10.0),
    st.floats(-10.0, 10.0),
)
def test_short_steps_need_no_search(
    terms: list[tuple[float, float, float]], l2: float, gold: float
) -> None:
    p, x, c = (np.array(column, dtype=np.longdouble) for column in zip(*terms, strict=True))
    slope = (c * x * p).sum() - gold
    curve = l2 + (c * x * x * p * (1 - p)).sum()
    full = -slope / curve
    reach = max(np.abs(x).max(), np.longdouble(1e-3))
    step = full
    while reach * abs(step) > 1.75:
        step /= 2
    change = (c * np.log1p(p * np.expm1(step * x))).sum() + 0.5 * l2 * step**2 - gold * step
    assert change <= 0.01 * step * slope + 1e-15 * abs(step * slope)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_optimum_of_online_eg(options: dict[str, Any]) -> None:
    problem = make_instance("multiclass", "log", 3, **options).problem
    best = train(problem, 0.5, solver="online-eg", tol=1e-9, max_passes=3000).certificate
    fit = train(problem, 0.5, solver="primal-cd", tol=1e-9, max_passes=3000)
    assert fit.certificate.converged
    assert fit.certificate.primal == pytest.approx(best.primal, rel=1e-8)


def test_huge_features_are_searched_for() -> None:
    # Steps overshoot, sums of exponentials shrink and grow; the primal falls all the same.
    problem = make_instance("multiclass", "log", 4, n=30).problem
    problem.arrays.design.value[:] *= 300.0
    machine = descent(problem, 1e-3)
    primals = [machine.evaluate().primal]
    passes = []
    for _ in range(30):
        passes.append(machine.epoch().passes)
        primals.append(machine.evaluate().primal)
    assert max(passes) > 1.0
    assert all(b <= a + 1e-12 * abs(a) for a, b in pairwise(primals))
    scores = Evaluator(problem).scores(machine.vector).reshape(machine.scores.q.shape)
    np.testing.assert_allclose(machine.scores.q, scores, atol=1e-8 * np.abs(scores).max())


def test_it_goes_on_from_weights_and_from_a_dual_point() -> None:
    problem = make_instance("multiclass", "log", 5, n=40, weighted=True).problem
    fit = train(problem, 0.5, solver="primal-cd", tol=1e-8)
    for start in ({"start": fit.dual_point}, {"initial_weights": fit.weights}):
        again = train(problem, 0.5, solver="primal-cd", tol=1e-7, **start)
        assert again.certificate.passes <= 2.0


def test_columns_hold_the_design() -> None:
    for options in OPTIONS:
        problem = make_instance("multiclass", "log", 6, **options).problem
        columns = make_columns(problem)
        design, weight = problem.arrays.design, problem.arrays.weight
        rebuilt = np.zeros((problem.n_examples, len(columns.first)))
        for f, begin in enumerate(columns.first):
            for i in range(problem.n_examples):
                for e in range(design.entry_ptr[i], design.entry_ptr[i + 1]):
                    if design.start[e] == begin and weight[i] > 0:
                        rebuilt[i, f] += design.value[e] if design.value.size else 1.0
        dense = np.zeros_like(rebuilt)
        for f in range(len(columns.first)):
            lo, hi = columns.ptr[f], columns.ptr[f + 1]
            dense[columns.example[lo:hi], f] = columns.value[lo:hi]
        np.testing.assert_array_equal(dense, rebuilt)
        np.testing.assert_array_equal(columns.reach, np.abs(dense).max(axis=0))


def test_problems_that_it_is_not_for() -> None:
    for options, match in (
        ({"kind": "chain"}, "needs a classifier"),
        ({"loss": "hinge"}, "needs the log loss"),
        ({"constrained": True}, "needs labels without constraints"),
    ):
        with pytest.raises(MismatchError, match=match):
            train(make_instance(**options).problem, 1.0, solver="primal-cd")
    problem = make_instance("multiclass").problem
    with pytest.raises(DataError, match="has no finite score"):
        descent(problem, 1.0, initial_weights=np.full(problem.storage.n_places, np.nan))


@pytest.mark.parametrize("gold", [1e308, -1e308, 1e200, 5e-324, np.nan])
def test_the_search_for_a_step_ends(gold: float) -> None:
    """Steps of any size, even one that is not finite."""
    problem = make_instance("multiclass", "log", real=True).problem
    machine = descent(problem, 1e-5)
    machine.gold[:] = gold
    _, searched = primal_epoch(
        machine.columns,
        problem.arrays.weight,
        machine.gold,
        machine.scores,
        machine.vector,
        machine.own_l2,
        int(machine.single),
        np.arange(len(machine.columns.first)),
    )
    entries = len(machine.columns.example) * problem.max_parts
    assert searched <= 2200 * entries


def test_two_classes_have_one_vector() -> None:
    problem = make_instance("multiclass", "log", 7, n=30, n_labels=2, weighted=True).problem
    rng = np.random.default_rng(0)
    start = problem.storage.scatter(rng.normal(size=problem.layout.n_weights))
    machine = descent(problem, 0.2, initial_weights=start)
    # The part that both classes share costs only the regulariser, and is dropped.
    first, second = machine.current_weights().reshape(-1, 2).T
    np.testing.assert_allclose(first, -second)
    np.testing.assert_allclose(second - first, np.diff(start.reshape(-1, 2))[:, 0])
    order = np.arange(len(machine.columns.first))
    steps = []
    for least in (0, 1):
        w = machine.vector.copy()
        scores = machine.scores._replace(q=machine.scores.q.copy(), e=machine.scores.e.copy())
        arrays = machine.columns, problem.arrays.weight, machine.gold, scores, w
        primal_epoch(*arrays, machine.own_l2, least, order)
        steps.append(int(np.count_nonzero(w != machine.vector)))
    assert steps == [2 * len(order), len(order)]
