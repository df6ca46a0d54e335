"""Stochastic meta-descent: the steps of its formula, with the Hessian written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import STRUCTURES, Explicit, make_instance
from support.plain_descent import (
    SMOOTH,
    SMOOTH_NAMES,
    chances,
    curvature,
    first_weights,
    make,
    orders,
    pull,
)

from partwise.errors import DataError, MismatchError
from partwise.solvers.stochastic.smd import MetaDescent, smd_epoch
from partwise.training.loop import train


def touched(explicit: Explicit) -> Any:
    """Mark, a row an example, the weights of the features that it has."""
    return np.array([np.abs(f).any(axis=0) for f in explicit.features])


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), SMOOTH, ids=SMOOTH_NAMES)
@pytest.mark.parametrize(("decay", "atol"), [(0.0, 1e-10), (0.9, 1e-6)])
def test_the_steps_of_the_formula(
    kind: str, loss: str, options: Any, _name: str, decay: float, atol: float
) -> None:
    # With decay = 0 the Hessian plays no part; else it is known to half the digits.
    instance = make_instance(kind, loss, 1, n=9, n_features=12, **options)
    explicit = Explicit(instance, 2.0)
    w = first_weights(instance)
    machine = make(MetaDescent, instance, 2.0, eta=0.1, meta=0.1, decay=decay, initial_weights=w)
    # Blocks, not single weights: a feature shares in the regulariser with all of its weights.
    share = np.zeros_like(w)
    first, width = machine.all_blocks
    owner = np.repeat(np.arange(len(first)), width)
    places = np.concatenate([np.arange(f, f + n) for f, n in zip(first, width, strict=True)])
    marks = touched(explicit)
    blocks = np.zeros((len(marks), len(first)), dtype=bool)
    for i, mark in enumerate(marks):
        np.logical_or.at(blocks[i], owner, mark[places])
    counts = blocks[machine.examples].sum(axis=0)
    share[places] = np.where(counts > 0, 2.0 / np.maximum(counts, 1), 0.0)[owner]
    np.testing.assert_allclose(machine.state.share[first], share[first])

    v, gain = np.zeros_like(w), np.ones_like(w)
    for order in orders(instance, 3):
        for i in order:
            mine = np.zeros(len(w))
            mine[places] = blocks[i][owner]
            g = -pull(explicit, i, w) + mine * share * w
            h = curvature(explicit, i, w, v) + mine * share * v
            gain = gain * np.maximum(0.5, 1.0 - 0.1 * g * v)
            w = w - 0.1 * gain * g
            v = decay * v - 0.1 * gain * (g + decay * h)
        assert machine.visit(order, 0.1) == -1
        np.testing.assert_allclose(machine.weights, w, atol=atol)
        np.testing.assert_allclose(machine.state.v, v, atol=atol)
        np.testing.assert_allclose(machine.state.gain, gain, atol=atol)
        assert (machine.state.gain > 0.0).all()


@pytest.mark.parametrize(("decay", "atol"), [(0.0, 1e-10), (0.9, 1e-6)])
def test_every_step_may_shrink_all_weights(decay: float, atol: float) -> None:
    instance = make_instance("chain", n=9, n_features=12, weighted=True)
    explicit = Explicit(instance, 20.0)
    w = first_weights(instance)
    options = {"meta": 0.3, "decay": decay, "regulariser": "whole", "initial_weights": w}
    machine = make(MetaDescent, instance, 20.0, eta=0.1, **options)
    lam = 20.0 / len(machine.examples)
    v, gain = np.zeros_like(w), np.ones_like(w)
    for order in orders(instance, 3):
        for i in order:
            g = -pull(explicit, i, w) + lam * w
            h = curvature(explicit, i, w, v) + lam * v
            gain = gain * np.maximum(0.5, 1.0 - 0.3 * g * v)
            w = w - 0.1 * gain * g
            v = decay * v - 0.1 * gain * (g + decay * h)
        assert machine.visit(order, 0.1) == -1
        np.testing.assert_allclose(machine.weights, w, atol=atol)
        np.testing.assert_allclose(machine.state.v, v, atol=atol)
        np.testing.assert_allclose(machine.state.gain, gain, atol=atol)
    assert not np.allclose(gain, 1.0)


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), SMOOTH, ids=SMOOTH_NAMES)
def test_the_product_with_the_hessian(kind: str, loss: str, options: Any, _name: str) -> None:
    instance = make_instance(kind, loss, 3, **options)
    explicit = Explicit(instance, 2.0)
    w, v = first_weights(instance, 1), first_weights(instance, 2)
    machine = make(MetaDescent, instance, 2.0, eta=1.0, meta=0.0, decay=1.0, initial_weights=w)
    machine.state.share[:] = 0.0
    machine.state.v[:] = v
    machine.visit(np.array([0]), 1.0)
    product = v - machine.state.v + pull(explicit, 0, w)
    np.testing.assert_allclose(product, curvature(explicit, 0, w, v), atol=1e-6)
    e = 1e-6
    slopes = [
        explicit.weight[0] * (chances(explicit, 0, w + s * e * v) @ explicit.g[0]) for s in (1, -1)
    ]
    np.testing.assert_allclose(product, (slopes[1] - slopes[0]) / (2 * e), atol=1e-6)


def test_calls_of_the_oracle_are_passes() -> None:
    machine = make(MetaDescent, make_instance("chain", n=10), 1.0, eta=0.1)
    # The very first v are 0, so that there is no product to compute for the first example.
    assert 1.0 < machine.epoch().passes < 2.0
    assert machine.epoch().passes == 2.0


@pytest.mark.parametrize("kind", STRUCTURES)
def test_it_comes_near(kind: str) -> None:
    instance = make_instance(kind, "log", 6, n=40, weighted=True)
    best = train(instance.problem, 2.0, solver="online-eg", tol=1e-9).certificate.primal
    machine = make(MetaDescent, instance, 2.0)
    for _ in range(60):
        machine.epoch()
        assert (machine.state.gain > 0.0).all()
    value = machine.evaluate()
    assert value.dual <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= value.primal <= 1.1 * best


def test_the_same_seed_the_same_model() -> None:
    instance = make_instance("chain", n=30)
    first, same, other = (make(MetaDescent, instance, 1.0, seed) for seed in (0, 0, 1))
    for _ in range(3):
        for machine in (first, same, other):
            machine.epoch()
    np.testing.assert_array_equal(first.weights, same.weights)
    assert (first.weights != other.weights).any()


def test_weights_of_features_that_no_example_has() -> None:
    instance = make_instance("multiclass", n=2, n_features=9, weighted=True)
    machine = make(MetaDescent, instance, 1.0, eta=0.1, initial_weights=first_weights(instance))
    unused = ~touched(Explicit(instance, 1.0))[machine.examples].any(axis=0)
    assert unused.any()
    assert not machine.weights[unused].any()
    machine.epoch()
    assert not machine.weights[unused].any()


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match=r"decay of smd is 2\.0; give a number from 0 to 1"):
        make(MetaDescent, make_instance(), 1.0, decay=2.0)
    with pytest.raises(MismatchError, match="smd needs the log"):
        train(make_instance(loss="hinge").problem, 1.0, solver="smd")


def test_one_compilation_serves_all() -> None:
    for kind in STRUCTURES:
        for options in ({"constrained": True, "weights": "observed"}, {"real": False}):
            make(MetaDescent, make_instance(kind, **options), 1.0, eta=0.1).epoch()
    assert len(smd_epoch.signatures) == 1
