from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import make_instance
from support.solvers import solver_of

from partwise.compiled.vectors import shrunk, shrunk_square
from partwise.problem.evaluation import penalty
from partwise.solvers.eg.base import easy_l2
from partwise.solvers.eg.online import online_eg_epoch
from partwise.solvers.eg.proximal import ProximalEG
from partwise.training.certificate import ConvergenceWarning
from partwise.training.loop import train

KINDS = ("multiclass", "chain", "untied")
LOSSES = ("log", "softmax-margin", "between")


def make(kind: str, loss: str = "log", l2: float = 1e-2, **more: Any) -> ProximalEG:
    problem = make_instance(kind, loss, n=12, weighted=True, constrained=True).problem
    return solver_of(ProximalEG, problem, l2, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_without_l1_the_optimum_is_that_of_online_eg(kind: str, loss: str) -> None:
    problem = make_instance(kind, loss, n=12, weighted=True, constrained=True).problem
    fits = [train(problem, 0.5, solver=name, tol=1e-9) for name in ("online-eg", "proximal-eg")]
    assert fits[0].certificate.primal == pytest.approx(fits[1].certificate.primal, rel=2e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.1), (1.0, 1e-3), (1.0, 1.0), (100.0, 0.1)])
def test_the_optimum_and_its_zeros_are_those_of_the_orthant_wise_method(
    kind: str, loss: str, l1: float, l2: float
) -> None:
    problem = make_instance(kind, loss, n=30, n_features=8, weighted=True).problem
    fits = [
        train(problem, l2, l1=l1, solver=name, tol=1e-9, max_passes=2000)
        for name in ("owl-qn", "proximal-eg")
    ]
    assert fits[0].certificate.primal == pytest.approx(fits[1].certificate.primal, rel=2e-9)
    zero = [fit.weights == 0.0 for fit in fits]
    assert zero[1].any()
    np.testing.assert_array_equal(*zero)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_every_certificate_holds_and_is_split_in_two(kind: str, l1: float) -> None:
    machine = make(kind, "softmax-margin", l1=l1)
    problem, l2 = machine.problem, machine.l2
    best = train(problem, l2, l1=l1, solver="owl-qn", tol=1e-9, max_passes=5000).certificate
    for _ in range(30):
        epoch = machine.epoch()
        value = machine.evaluate()
        assert epoch.dual == pytest.approx(value.dual, rel=1e-9, abs=1e-9)
        assert value.dual <= best.primal * (1.0 + 1e-12)
        assert value.primal >= best.dual * (1.0 - 1e-12)
        assert value.primal == pytest.approx(
            machine.evaluator.primal(value.weights, l2, l1), rel=1e-12
        )
        # P(w) - D(u) = sum_i c_i tau KL(u_i, p_i) + R(w) + R*(v) - w.v, where u is not scaled
        duals, arrays, w = machine.duals, problem.arrays, value.weights
        kl = 0.0
        for i, loss in enumerate(machine.evaluator.losses(w)):
            own = slice(arrays.part_ptr[i], arrays.part_ptr[i + 1])
            gold = np.zeros(own.stop - own.start)
            at = slice(arrays.gold_ptr[i], arrays.gold_ptr[i + 1])
            gold[arrays.gold_part[at]] = arrays.gold_count[at]
            scores = machine.evaluator.scores(w)[own] - arrays.cost[own]  # F_i w, as tau is 1
            linear = duals.entropy[i] + arrays.cost[own] @ duals.mu[own]
            kl += arrays.weight[i] * (loss - linear + scores @ (gold - duals.mu[own]))
        dual = machine.evaluator.dual(duals.mu, duals.entropy, duals.v, l2, l1)
        rest = penalty(w, l2, l1) + shrunk_square(duals.v, l1) / (2.0 * l2) - w @ duals.v
        assert value.primal - dual == pytest.approx(kl + rest, rel=1e-9, abs=1e-9)


def test_an_epoch_solves_the_problem_near_the_last_weights() -> None:
    machine = make("chain", l1=0.2, nearness=0.7)
    for _ in range(20):
        k, z = machine.proximal_term.k, machine.proximal_term.centre.copy()
        machine.epoch()
        near = machine.evaluator.dual_sum(machine.duals.mu) + k * z
        expected = shrunk(near, 0.2) / (machine.l2 + k)
        np.testing.assert_allclose(machine.weights, expected, rtol=1e-9, atol=1e-9)


def test_without_a_need_it_is_online_eg() -> None:
    problem = make_instance("chain").problem
    l2 = 2.0 * easy_l2(problem)
    machine = solver_of(ProximalEG, problem, l2)
    assert machine.proximal_term.k == 0.0
    machine.epoch()
    np.testing.assert_allclose(machine.weights, machine.duals.v / l2, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_goes_on_where_another_ended(kind: str) -> None:
    problem = make_instance(kind, "log", n=30, n_features=8).problem
    first = train(problem, 1e-3, l1=1.0, solver="proximal-eg", tol=1e-6)
    for begin in (
        {"start": first.dual_point, "initial_weights": first.weights},
        {"initial_weights": first.weights},
        {"start": first.dual_point},
    ):
        again = train(problem, 1e-3, l1=1.0, solver="proximal-eg", tol=1e-6, **begin)
        assert again.certificate.converged
        if "initial_weights" in begin:
            assert again.certificate.passes < first.certificate.passes


def test_a_tiny_l2_is_no_obstacle() -> None:
    problem = make_instance("chain", "log", n=40, n_features=10).problem
    fit = train(problem, 1e-3, solver="proximal-eg", tol=1e-3)
    assert fit.certificate.converged
    with pytest.warns(ConvergenceWarning):
        train(problem, 1e-3, solver="online-eg", tol=1e-3, max_passes=10.0 * fit.certificate.passes)


def test_one_compiled_epoch() -> None:
    make("chain", l1=0.3).epoch()
    make("multiclass").epoch()
    assert len(online_eg_epoch.signatures) == 1
