"""Trust-region Newton: the radius, the decomposition, and what both paths to a step share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.instances import make_instance
from support.solvers import solver_of

from partwise.compiled.vectors import inner
from partwise.solvers.batch.newton import TrustRegionNewton
from partwise.training.loop import train


def machine_of(n_labels: int = 2, l2: float = 0.1, **options: int) -> TrustRegionNewton:
    problem = make_instance("multiclass", n_labels=n_labels, n=40, weighted=True, **options).problem
    machine = solver_of(TrustRegionNewton, problem, l2)
    assert isinstance(machine, TrustRegionNewton)
    return machine


@pytest.mark.parametrize("n_labels", [2, 3])
def test_both_ways_to_a_step_reach_the_same_optimum(n_labels: int) -> None:
    found = []
    for most in (0.0, math.inf):
        machine = machine_of(n_labels)
        machine.most = most
        for _ in range(12):
            machine.epoch()
        assert machine.decomposes == (most == 0.0)
        gradient = machine.l2 * machine.slope.weights - machine.slope.v
        assert math.sqrt(inner(gradient, gradient)) < 1e-9
        found.append(machine.weights)
    np.testing.assert_allclose(*found, atol=1e-9)


def test_a_decomposition_follows_once_its_products_are_used_up() -> None:
    machine = machine_of()
    machine.most = 2.0
    while not machine.decomposes:
        machine.epoch()
    passes = machine.epoch().passes
    # One for the squares, and one for the slope at the new weights.
    assert passes == 2.0


def test_a_step_ends_at_the_radius() -> None:
    machine = machine_of(3, l2=1e-3)
    gradient = machine.l2 * machine.slope.weights - machine.slope.v
    machine.radius = 1e-3
    for most in (math.inf, 0.0):
        machine.most = most
        d, rest = machine._step(gradient)
        assert math.sqrt(inner(d, d)) == pytest.approx(1e-3, rel=1e-12)
        expected = -(gradient + machine.product(machine.weights, d))
        np.testing.assert_allclose(rest, expected, atol=1e-12)


def test_the_rest_of_the_gradient_is_a_tenth() -> None:
    machine = machine_of(3, l2=1e-3)
    gradient = machine.l2 * machine.slope.weights - machine.slope.v
    machine.radius, machine.most = 1e9, math.inf
    d, rest = machine._step(gradient)
    size = math.sqrt(inner(rest, rest) / inner(gradient, gradient))
    assert 0.001 < size <= 0.1
    np.testing.assert_allclose(rest, -(gradient + machine.product(machine.weights, d)), atol=1e-12)


@pytest.mark.parametrize(
    ("quality", "low", "high"),
    [(-1.0, 0.25, 0.5), (0.1, 0.25, 0.5), (0.5, 0.25, 4.0), (1.0, 1.0, 4.0)],
)
def test_the_radius_follows_from_the_quality_of_the_model(
    quality: float, low: float, high: float
) -> None:
    machine = machine_of()
    g = machine.l2 * machine.slope.weights - machine.slope.v
    machine.radius = 1.0
    d = -g / math.sqrt(inner(g, g))  # as long as the radius
    rest = np.zeros_like(g)
    predicted = -0.5 * inner(g, d)
    taken = machine._judge(machine.slope, quality * predicted, g, d, rest, 1.0)
    assert taken == (quality > 1e-4)
    assert low <= machine.radius <= high


def test_no_step_raises_the_objective() -> None:
    problem = make_instance("multiclass", n=40, scale=30.0).problem
    fit = train(problem, 1e-4, solver="newton", tol=1e-9)
    values = [row.primal for row in fit.trace if row.certified]
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert fit.certificate.converged


def test_conjugate_gradients_end_at_a_tenth_of_the_gradient() -> None:
    """The rest of a step is at most 0.1 of the gradient, and one product less leaves more."""
    machine = machine_of(3, l2=0.01, n_features=12)
    machine.most, machine.radius, machine.passes = math.inf, 1e9, 0.0
    w = machine.slope.weights
    g = machine.l2 * w - machine.slope.v
    d, rest = machine._conjugate_gradients(g)
    products = int(machine.passes)
    np.testing.assert_allclose(rest, -(g + machine.product(w, d)), atol=1e-9)
    left, step, r, p = [], np.zeros_like(g), -g, -g
    for _ in range(products):
        hp = machine.product(w, p)
        along = inner(r, r) / inner(p, hp)
        step, before = step + along * p, r
        r = r - along * hp
        p = r + inner(r, r) / inner(before, before) * p
        left.append(math.sqrt(inner(r, r) / inner(g, g)))
    np.testing.assert_allclose(step, d, atol=1e-9)
    assert products >= 2
    assert left[-1] <= 0.1 < min(left[:-1])


@pytest.mark.parametrize("kind", ["chain", "multiclass"])
def test_products_are_those_of_the_second_derivatives(kind: str) -> None:
    machine = solver_of(TrustRegionNewton, make_instance(kind, weighted=True).problem, 0.3)
    assert isinstance(machine, TrustRegionNewton)
    machine.epoch()
    w, h = machine.slope.weights, 1e-4
    d = np.random.default_rng(0).normal(size=len(w))
    ends = [machine.evaluator.slope(w + s * h * d) for s in (1.0, -1.0)]
    up, down = (machine.l2 * end.weights - end.v for end in ends)
    np.testing.assert_allclose(machine.product(w, d), (up - down) / (2.0 * h), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(machine.product(w, np.zeros_like(d)), np.zeros_like(d))
