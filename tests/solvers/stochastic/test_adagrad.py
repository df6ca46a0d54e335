"""AdaGrad: the lazy shrinking is the one made step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import STRUCTURES, Explicit, make_instance
from support.plain_descent import SMOOTH, SMOOTH_NAMES, first_weights, make, orders, pull
from support.solvers import solver_of

from partwise.errors import DataError, MismatchError
from partwise.problem.subset import subset
from partwise.solvers.stochastic.adagrad import AdaGrad, adagrad_epoch
from partwise.training.loop import train


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), SMOOTH, ids=SMOOTH_NAMES)
@pytest.mark.parametrize(("l2", "eta", "delta"), [(1.0, 0.3, 1.0), (20.0, 1.0, 0.1)])
def test_lazy_steps_are_dense_steps(
    kind: str, loss: str, options: Any, _name: str, l2: float, eta: float, delta: float
) -> None:
    instance = make_instance(kind, loss, 1, n=9, n_features=12, **options)
    explicit = Explicit(instance, l2)
    w = first_weights(instance)
    machine = make(AdaGrad, instance, l2, eta=eta, delta=delta, initial_weights=w)
    lam = l2 / len(machine.examples)
    square = np.zeros_like(w)
    for order in orders(instance, 4):
        for i in order:
            g = pull(explicit, i, w)
            square += g * g
            alpha = eta / (delta + np.sqrt(square))
            w = (w + alpha * g) / (1.0 + alpha * lam)
        assert machine.visit(order, eta) == -1
        np.testing.assert_allclose(machine.weights, w, atol=1e-10)
        np.testing.assert_allclose(machine.gains.square, square, atol=1e-10)
        assert not machine.gains.g.any()


def test_weights_that_nobody_touches_only_shrink() -> None:
    instance = make_instance("multiclass", n=3)
    w = first_weights(instance)
    machine = make(AdaGrad, instance, 1.0, eta=0.5, initial_weights=w)
    machine.visit(np.zeros(0, dtype=np.int64), 0.5)
    np.testing.assert_array_equal(machine.weights, w)
    fresh = subset(instance.problem, np.array([0]))
    other = solver_of(AdaGrad, fresh, 1.0, eta=0.5, initial_weights=w)
    other.visit(np.zeros(100, dtype=np.int64), 0.5)
    untouched = other.gains.square == 0.0
    assert untouched.any()
    np.testing.assert_allclose(other.weights[untouched], w[untouched] / 1.5**100, rtol=1e-12)


@pytest.mark.parametrize("kind", STRUCTURES)
def test_the_gap_that_theory_gives(kind: str) -> None:
    # As 1/sqrt(k) in theory.
    problem = make_instance(kind, "softmax-margin", 6, n=40, weighted=True).problem
    best = train(problem, 2.0, solver="online-eg", tol=1e-9).certificate.primal
    machine = make(AdaGrad, make_instance(kind, "softmax-margin", 6, n=40, weighted=True), 2.0)
    for _ in range(200):
        epoch = machine.epoch()
        assert epoch.gap_estimate == np.inf
    value = machine.evaluate()
    assert value.dual <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= value.primal <= best * (1 + 2e-2)


def test_the_certificate() -> None:
    problem = make_instance("chain", "log", 6, n=40).problem
    fit = train(problem, 2.0, solver="adagrad", tol=5e-2, max_passes=400)
    assert fit.certificate.converged


def test_the_same_seed_the_same_model() -> None:
    instance = make_instance("chain", n=30)
    first, same, other = (make(AdaGrad, instance, 1.0, seed) for seed in (0, 0, 1))
    for _ in range(3):
        for machine in (first, same, other):
            machine.epoch()
    np.testing.assert_array_equal(first.weights, same.weights)
    assert (first.weights != other.weights).any()


def test_draws_with_replacement() -> None:
    instance = make_instance("chain", n=30)
    machine = make(AdaGrad, instance, 1.0, eta=0.3, order="replacement")
    other = make(AdaGrad, instance, 1.0, eta=0.3)
    machine.epoch()
    other.visit(np.random.default_rng(0).choice(other.examples, 30), 0.3)
    np.testing.assert_array_equal(machine.weights, other.weights)


def test_examples_without_weight_do_not_count() -> None:
    instance = make_instance("chain", n=8, weighted=True)
    used = np.flatnonzero(instance.problem.arrays.weight)
    whole = make(AdaGrad, instance, 1.0, eta=0.3)
    part = solver_of(AdaGrad, subset(instance.problem, used), 1.0, eta=0.3)
    for _ in range(3):
        assert whole.epoch().passes == 7 / 8
        part.epoch()
    np.testing.assert_array_equal(whole.weights, part.weights)


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match="delta of adagrad is 0"):
        make(AdaGrad, make_instance(), 1.0, delta=0.0)
    with pytest.raises(MismatchError, match="adagrad needs the log"):
        train(make_instance(loss="hinge").problem, 1.0, solver="adagrad")


def test_one_compilation_serves_all() -> None:
    for kind in STRUCTURES:
        for options in ({"constrained": True, "weights": "observed"}, {"real": False}):
            make(AdaGrad, make_instance(kind, **options), 1.0, eta=0.1).epoch()
    assert len(adagrad_epoch.signatures) == 1
