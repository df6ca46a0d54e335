"""SGD with non-uniform sampling: the steps of its formula, with the L_i of SAG-NUS*."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.dense_gradients import CASES, Dense
from support.instances import STRUCTURES, Explicit, make_instance
from support.plain_descent import first_weights, make

from partwise.arrays import Floats
from partwise.errors import DataError, MismatchError
from partwise.solvers.stochastic.nus import NonUniformSGD, sgd_nus_epoch
from partwise.training.loop import train


class DenseSGD(Dense):
    """The formula of the module, with every label and every weight written out."""

    def descend(self, coins: Floats, eta: float) -> None:
        i, p = self.draw(coins)
        f, g = self.gradient(i)
        self.calls += 1
        if i not in self.g:
            at, m = self.order.index(i), len(self.g)
            self.order[at], self.order[m] = self.order[m], self.order[at]
            self.g[i] = g
        self.curvature(i, f, g)
        self.w = (1.0 - eta * self.lam) * self.w - eta / (self.n * p) * g


@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
@pytest.mark.parametrize(("l2", "eta"), [(0.7, 0.3), (30.0, 0.1)])
def test_the_steps_of_the_formula(case: Any, l2: float, eta: float) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 4, n=7, **options)
    explicit = Explicit(instance, l2)
    machine = make(NonUniformSGD, instance, l2, eta=eta, initial_weights=first_weights(instance))
    dense = DenseSGD(machine, explicit)
    n = len(machine.examples)
    for seed in range(12):
        machine.rng, calls = np.random.default_rng(seed), dense.calls
        for row in np.random.default_rng(seed).random((n, 3)):
            dense.descend(row, eta)
        assert machine.visit(machine.examples, eta) == -1
        assert machine.visits == dense.calls - calls
        machine.visits = 0
        np.testing.assert_allclose(machine.current_weights(), dense.w, atol=1e-9)
    # The scheme of SAG-NUS*, which the comparison takes from the solver.
    assert (dense.sampling, machine.rule.skipping, machine.rule.first) == ("nus", True, 1.0)
    found = {i: machine.memory.curvature[i] for i in dense.L}
    assert found == pytest.approx(dense.L)
    assert len(set(dense.L.values())) > 1


def test_a_search_finds_a_step() -> None:
    instance = make_instance("chain", n=40)
    best = train(instance.problem, 2.0, solver="online-eg", tol=1e-9).certificate.primal
    machine = make(NonUniformSGD, instance, 2.0)
    for _ in range(30):
        machine.epoch()
    assert best <= machine.evaluate().primal * (1 + 1e-9) <= 1.1 * best


def test_the_same_seed_the_same_model() -> None:
    instance = make_instance("chain", n=30)
    first, same, other = (make(NonUniformSGD, instance, 1.0, seed) for seed in (0, 0, 1))
    for _ in range(3):
        for machine in (first, same, other):
            machine.epoch()
    np.testing.assert_array_equal(first.weights, same.weights)
    assert (first.weights != other.weights).any()


def test_what_cannot_be() -> None:
    machine = make(NonUniformSGD, make_instance("chain"), 1.0, eta=1e200)
    with pytest.raises(DataError, match=r"sgd-nus with eta = 1e\+200 diverged"):
        machine.epoch()
    with pytest.raises(MismatchError, match="sgd-nus needs the log"):
        train(make_instance(loss="hinge").problem, 1.0, solver="sgd-nus")


def test_one_compilation_serves_all() -> None:
    for kind in STRUCTURES:
        for options in ({"constrained": True, "weights": "observed"}, {"real": False}):
            make(NonUniformSGD, make_instance(kind, **options), 1.0, eta=0.1).epoch()
    assert len(sgd_nus_epoch.signatures) == 1
