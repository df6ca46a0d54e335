"""The hybrid: batches that grow, then L-BFGS to the optimum."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.instances import STRUCTURES, make_instance
from support.plain_descent import SMOOTH, SMOOTH_NAMES, first_weights, make

from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.problem.subset import subset
from partwise.solvers.stochastic.hybrid import Hybrid, _backwards
from partwise.training.loop import train


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), SMOOTH, ids=SMOOTH_NAMES)
def test_the_optimum(kind: str, loss: str, options: Any, _name: str) -> None:
    problem = make_instance(kind, loss, 6, n=30, **options).problem
    best = train(problem, 0.5, solver="online-eg", tol=1e-9, max_passes=5000).certificate
    for more in ({}, {"first_batch": 1, "growth": 1.5}, {"first_batch": 30, "memory": 3}):
        fit = train(problem, 0.5, solver="hybrid", tol=1e-8, options=more)
        assert fit.certificate.converged
        assert fit.certificate.primal == pytest.approx(best.primal, rel=1e-8)


def test_the_batch_grows() -> None:
    machine = make(Hybrid, make_instance("chain", n=60, weighted=True), 0.5, first_batch=2)
    assert len(machine.order) == 59
    sizes = [machine.size]
    while not machine.full:
        assert machine.evaluate().primal > 0.0
        epoch = machine.epoch()
        sizes.append(machine.size)
        assert math.isinf(epoch.gap_estimate) != machine.full
    for old, new in pairwise(sizes):
        assert new == min(59, math.ceil(1.1 * old + 1))


def test_the_gradient_of_a_grown_batch() -> None:
    instance = make_instance("chain", n=60, weighted=True)
    machine = make(Hybrid, instance, 0.5, first_batch=5)
    for _ in range(8):
        machine.epoch()
        batch = subset(instance.problem, machine.order[: machine.size])
        slope = Evaluator(batch).slope(machine.weights)
        scale = 59 / machine.size
        expected = 0.5 * machine.weights - scale * slope.v
        np.testing.assert_allclose(machine.point.gradient, expected, atol=1e-11)
        loss = scale * (slope.losses @ batch.arrays.weight)
        value = loss + 0.25 * machine.weights @ machine.weights
        assert machine.point.value == pytest.approx(value, rel=1e-12)


def test_visits_are_passes() -> None:
    machine = make(Hybrid, make_instance("chain", n=100), 5.0, first_batch=10)
    # The gradient at the start, one or more trials of ten, and the two examples that come in.
    passes = machine.epoch().passes
    assert machine.size == 12
    assert passes >= 0.22
    assert round(100 * (passes - 0.22)) % 10 == 0
    while not machine.full:
        machine.epoch()
    assert float(machine.epoch().passes).is_integer()


def test_the_gap_is_exact_with_the_full_batch() -> None:
    machine = make(Hybrid, make_instance("chain", n=20), 0.5, first_batch=20)
    for _ in range(10):
        epoch = machine.epoch()
        value = machine.evaluate()
        assert epoch.gap_estimate == pytest.approx(value.primal - value.dual, rel=1e-12)
        fresh = Evaluator(machine.problem).primal(machine.weights, 0.5)
        assert value.primal == pytest.approx(fresh, rel=1e-12)


@pytest.mark.parametrize("kind", STRUCTURES)
def test_every_iteration_improves_its_batch(kind: str) -> None:
    machine = make(Hybrid, make_instance(kind, n=50, seed=3), 0.1, first_batch=50)
    values = [machine.point.value]
    for _ in range(25):
        machine.epoch()
        values.append(machine.point.value)
    assert all(b <= a + 1e-12 * a for a, b in pairwise(values))


def test_at_the_optimum_nothing_happens() -> None:
    instance = make_instance("chain", n=20)
    best = train(instance.problem, 1.0, solver="lbfgs", tol=1e-15, max_passes=300).weights
    machine = make(
        Hybrid,
        instance,
        1.0,
        initial_weights=instance.problem.storage.scatter(best),
        first_batch=20,
    )
    for _ in range(5):
        epoch = machine.epoch()
    assert epoch.gap_estimate <= 1e-12 * machine.point.value


def test_the_same_seed_the_same_model() -> None:
    problem = make_instance("chain", n=60).problem
    runs = [(0, 1), (0, 2), (1, 1)]
    same, threaded, other = (
        train(problem, 1.0, solver="hybrid", seed=seed, n_jobs=jobs, tol=1e-3).weights
        for seed, jobs in runs
    )
    np.testing.assert_array_equal(same, threaded)
    assert (same != other).any()


@pytest.mark.parametrize("at", [0.15, 0.3, 0.6, 0.85])
def test_the_bottom_of_a_cubic(at: float) -> None:
    # x^3 - 3 at^2 x has its minimum at x = at.
    change, slope, after = 1.0 - 3.0 * at**2, -3.0 * at**2, 3.0 - 3.0 * at**2
    assert _backwards(1.0, change, slope, after) == pytest.approx(at)
    assert _backwards(1.0, math.inf, slope, after) == pytest.approx(0.1)


def test_what_cannot_be() -> None:
    for option in ("growth", "memory", "first_batch"):
        with pytest.raises(DataError, match=f"{option} of hybrid is 0"):
            make(Hybrid, make_instance(), 1.0, **{option: 0})
    with pytest.raises(MismatchError, match="hybrid needs the log"):
        train(make_instance(loss="hinge").problem, 1.0, solver="hybrid")


def test_a_start_is_used() -> None:
    instance = make_instance("chain", n=20)
    w = first_weights(instance)
    machine = make(Hybrid, instance, 1.0, initial_weights=w)
    np.testing.assert_array_equal(machine.weights, w)
