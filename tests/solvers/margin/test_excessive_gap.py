"""Excessive gap, and what Zhang, Saha and Vishwanathan (2011) say about it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.instances import LOSSES, Explicit, Instance, entropy, make_instance
from support.laws import log_sum
from support.optima import optimal_duals
from support.solvers import solver_of

from partwise.arrays import Floats
from partwise.errors import MismatchError
from partwise.problem.problem import build_problem
from partwise.problem.rows import Rows
from partwise.solvers.margin.excessive_gap import ExcessiveGap
from partwise.structures.multiclass import Multiclass
from partwise.training.loop import train

KINDS = ("multiclass", "chain", "untied")


def make(instance: Instance, l2: float, **options: Any) -> ExcessiveGap:
    return solver_of(ExcessiveGap, instance.problem, l2, **options)


def softmax(q: Floats) -> Floats:
    return np.asarray(np.exp(q - log_sum(q)))


class Plain:
    """Algorithm 1 over all labels, in the paper's scale: sum_y alpha_i(y) = c_i / sum_j c_j."""

    def __init__(self, instance: Instance, l2: float, bound: float) -> None:
        self.labels = Explicit(instance, l2)
        self.p = self.labels.weight / self.labels.weight.sum()
        self.lamda = l2 / self.labels.weight.sum()
        uniform = [p * np.full(len(c), 1.0 / len(c)) for p, c in self.each(self.labels.costs)]
        self.mu = bound**2 / self.lamda
        self.w = self.weights(uniform)
        self.alpha = self.projected(uniform, 1.0 / self.mu, uniform)
        self.k = 1

    def each(self, values: list[Floats]) -> list[tuple[float, Floats]]:
        return list(zip(self.p, values, strict=True))

    def weights(self, alpha: list[Floats]) -> Floats:
        """w(alpha) = sum psi alpha / lambda, eq. 27."""
        return np.asarray(
            sum(a @ g for a, g in zip(alpha, self.labels.g, strict=True)) / self.lamda
        )

    def scores(self, w: Floats) -> list[Floats]:
        """l_y - <psi_y, w>."""
        return [c - g @ w for c, g in zip(self.labels.costs, self.labels.g, strict=True)]

    def projected(self, alpha: list[Floats], step: float, at: list[Floats]) -> list[Floats]:
        """V(alpha, -step grad D(at)), eq. 28 and 30."""
        slopes = self.scores(self.weights(at))
        with np.errstate(divide="ignore"):
            return [
                p * softmax(np.log(a / p) + step * s) if p else a
                for p, a, s in zip(self.p, alpha, slopes, strict=True)
            ]

    def step(self) -> None:
        t = 2.0 / (self.k + 3.0)
        beta = [p * softmax(s / self.mu) for p, s in self.each(self.scores(self.w))]  # eq. 29
        hat = [(1 - t) * a + t * b for a, b in zip(self.alpha, beta, strict=True)]
        self.w = (1 - t) * self.w + t * self.weights(hat)
        tilde = self.projected(beta, t / ((1 - t) * self.mu), hat)
        self.alpha = [(1 - t) * a + t * b for a, b in zip(self.alpha, tilde, strict=True)]
        self.mu *= 1 - t
        self.k += 1


def smoothed(explicit: Explicit, w: Floats, mu: float) -> float:
    """J_mu(w), by all labels."""
    terms = []
    for g, cost in zip(explicit.g, explicit.costs, strict=True):
        terms.append(mu * (log_sum((cost - g @ w) / mu) - np.log(len(cost))))
    return float(explicit.weight @ np.array(terms) + 0.5 * explicit.l2 * (w @ w))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [True, False])
def test_parts_and_labels_take_the_steps_of_algorithm_1(kind: str, weighted: bool) -> None:
    instance = make_instance(kind, "hinge", 1, weighted=weighted, constrained=True)
    c = instance.problem.arrays.weight
    plain = Plain(instance, 3.0, float(instance.problem.reach[c > 0].max()))
    machine = make(instance, 3.0, safe=True)
    for _ in range(30):
        assert machine.mu == pytest.approx(plain.mu)
        np.testing.assert_allclose(machine.w, plain.w, rtol=1e-9, atol=1e-10)
        for i in np.flatnonzero(c):
            own = slice(*instance.problem.arrays.part_ptr[i : i + 2])
            marginals = plain.alpha[i] @ plain.labels.counts[i] / plain.p[i]
            np.testing.assert_allclose(machine.alpha.mu[own], marginals, atol=1e-10)
        machine.epoch()
        plain.step()


@pytest.mark.parametrize(("kind", "l2", "safe"), list(product(KINDS, [0.05, 5.0], [True, False])))
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_is_excessive_at_every_step(kind: str, l2: float, safe: bool, seed: int) -> None:
    """(7): J_mu(w_k) <= D(alpha_k), so the gap is at most mu K (8); and below (12) if safe."""
    instance = make_instance(kind, "hinge", seed, weighted=seed > 0, constrained=seed == 1)
    explicit = Explicit(instance, l2)
    machine = make(instance, l2, safe=safe)
    most = explicit.weight @ np.log([len(cost) for cost in explicit.costs])
    lipschitz = machine.limit
    for k in range(1, 61):
        value = machine.evaluate()
        j = smoothed(explicit, machine.w, machine.mu)
        scale = abs(value.primal) + abs(value.dual)
        assert machine.smoothed == pytest.approx(j, rel=1e-10, abs=1e-12 * scale)
        assert j <= value.dual + 1e-12 * scale
        assert value.primal == pytest.approx(explicit.primal(machine.w), rel=1e-10)
        assert -1e-12 * scale <= value.primal - value.dual <= machine.mu * most + 1e-12 * scale
        if safe:
            assert value.primal - value.dual <= 6.0 * lipschitz * most / ((k + 1) * (k + 2))
        epoch = machine.epoch()
        after = machine.evaluator.primal(machine.w, l2) - epoch.dual
        assert after <= epoch.gap_estimate + 1e-12 * scale


def test_the_first_mu_and_the_steps_of_the_paper() -> None:
    """mu_1 = L = max |psi|^2 / lambda, and mu_k+1 = 6 L / ((k + 3) (k + 2))."""
    instance = make_instance("multiclass", "hinge", 3, weighted=True)
    explicit = Explicit(instance, 0.7)
    total = explicit.weight.sum()
    used = [g for c, g in zip(explicit.weight, explicit.g, strict=True) if c > 0.0]
    largest = max((g**2).sum(axis=1).max() for g in used) / (0.7 / total)
    machine = make(instance, 0.7, safe=True)
    for k in range(1, 20):
        assert machine.mu == pytest.approx(6.0 * largest / ((k + 1) * (k + 2)), rel=1e-10)
        machine.epoch()


@pytest.mark.parametrize("seed", range(3))
def test_the_dual_is_nearer_than_the_gap(seed: int) -> None:
    """(16): for any u, its divergence from the centre takes the place of K."""
    instance = make_instance("chain", "hinge", seed)
    explicit = Explicit(instance, 2.0)
    u, _ = optimal_duals(explicit)
    away = sum(np.log(len(p)) - entropy(p) for p in u)
    machine = make(instance, 2.0, safe=True)
    for k in range(1, 40):
        behind = explicit.dual(u) - machine.alpha.dual()
        assert behind <= 6.0 * machine.limit * away / ((k + 1) * (k + 2))
        machine.epoch()


@pytest.mark.parametrize(("safe", "first", "last"), [(True, 150, 600), (False, 30, 240)])
def test_the_gap_falls_with_the_square_of_the_steps(safe: bool, first: int, last: int) -> None:
    machine = make(make_instance("multiclass", "hinge", 2), 5.0, safe=safe)
    gaps = []
    for k in range(1, last + 1):
        machine.epoch()
        if k in (first, last):
            value = machine.evaluate()
            gaps.append(value.primal - value.dual)
    slope = np.log(gaps[1] / gaps[0]) / np.log(last / first)
    assert -2.6 < slope < -1.7


def test_only_for_the_hinge() -> None:
    with pytest.raises(MismatchError, match="excessive-gap needs the hinge"):
        train(make_instance().problem, 1.0, solver="excessive-gap")


def test_threads_do_not_change_the_model() -> None:
    problem = make_instance("chain", "hinge", n=15).problem
    fits = [
        train(problem, 1.0, solver="excessive-gap", tol=1e-2, n_jobs=jobs, max_passes=1000)
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_another_fit_goes_on(kind: str) -> None:
    problem = make_instance(kind, "hinge", n=15).problem
    fit = train(problem, 1.0, solver="excessive-gap", tol=1e-2, max_passes=1000)
    again = train(problem, 1.0, solver="bcfw", tol=1e-2, start=fit.dual_point)
    assert again.certificate.dual >= fit.certificate.dual * (1.0 - 1e-9)
    warm = train(
        problem, 1.0, solver="excessive-gap", tol=1e-2, max_passes=1000, start=fit.dual_point
    )
    assert warm.certificate.converged
    given = train(
        problem, 1.0, solver="excessive-gap", tol=1e-2, max_passes=1000, initial_weights=fit.weights
    )
    assert given.certificate.converged


def test_sums_that_run_do_not_drift() -> None:
    machine = make(make_instance("untied", "hinge", 3), 0.5)
    for _ in range(300):
        machine.epoch()
    v, linear, mu = machine.alpha.v.copy(), machine.alpha.linear, machine.alpha.mu
    assert mu.min() >= 0.0
    assert mu.max() <= 1.0 + 1e-12
    machine.alpha.rebuild()
    np.testing.assert_allclose(v, machine.alpha.v, rtol=1e-12, atol=1e-13)
    assert linear == pytest.approx(machine.alpha.linear, rel=1e-13)


@pytest.mark.parametrize("safe", [True, False])
def test_features_without_values(safe: bool) -> None:
    nothing = Rows.from_dense(np.zeros((4, 1)))
    gold = [np.array([k % 3]) for k in range(4)]
    problem = build_problem(Multiclass(3), [1] * 4, [nothing], gold, LOSSES["hinge"])
    machine = solver_of(ExcessiveGap, problem, 1.0, safe=safe)
    for _ in range(60):
        machine.epoch()
    value = machine.evaluate()
    assert value.primal == 4.0
    assert value.dual == pytest.approx(4.0, abs=1e-2)
