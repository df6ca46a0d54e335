"""Dual extragradient: the steps of the saddle point, and the bound that is proved for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import Explicit, Instance, make_instance
from support.laws import log_sum
from support.solvers import solver_of

from partwise.arrays import Floats
from partwise.errors import DataError, MismatchError
from partwise.solvers.margin.extragradient import Extragradient
from partwise.training.loop import train

KINDS = ("multiclass", "chain", "untied")
ETAS = ("search", "safe", "theorem", 0.01)


def make(instance: Instance, l2: float, **options: Any) -> Extragradient:
    return solver_of(Extragradient, instance.problem, l2, **options)


def softmax(q: Floats) -> Floats:
    return np.asarray(np.exp(q - log_sum(q)))


class Plain:
    """The iterates as minima over all labels, and their averages."""

    def __init__(self, instance: Instance, l2: float, first: float) -> None:
        self.labels = Explicit(instance, l2)
        self.a = l2 * first
        self.seen: list[tuple[float, Floats, list[Floats]]] = []

    def minimum(self, more: tuple[float, Floats, list[Floats]]) -> tuple[Floats, list[Floats]]:
        """Minimise the sum of the slopes that were seen, and one more, and the distance."""
        seen = [*self.seen, more]
        total = sum(g for g, _, _ in seen)
        v = sum(g * self.labels.dual_sum(u) for g, _, u in seen)
        w = v / (self.a + total * self.labels.l2)
        u = []
        for psi, cost in zip(self.labels.g, self.labels.costs, strict=True):
            u.append(softmax(np.asarray(sum(g * (cost - psi @ w) for g, w, _ in seen))))
        return np.asarray(w), u

    def step(self, g: float) -> None:
        """One slope at the place itself, and then one at the place ahead."""
        zero = np.zeros(self.labels.g[0].shape[1])
        uniform = [np.full(len(c), 1.0 / len(c)) for c in self.labels.costs]
        w, u = self.minimum((0.0, zero, uniform))
        # From (w, u) by the slope there: the sum so far, and w pulled to where it is.
        self.seen.append((g, *self.minimum((g, w, u))))

    def averages(self) -> tuple[Floats, list[Floats]]:
        total = sum(g for g, _, _ in self.seen)
        w = sum(g / total * w for g, w, _ in self.seen)
        n = len(self.labels.g)
        return np.asarray(w), [
            np.asarray(sum(g / total * u[i] for g, _, u in self.seen)) for i in range(n)
        ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eta", ETAS)
def test_parts_and_labels_take_the_same_steps(kind: str, eta: str | float) -> None:
    instance = make_instance(kind, "hinge", 1, weighted=True, constrained=True)
    machine = make(instance, 2.0, eta=eta)
    c, problem = instance.problem.arrays.weight, instance.problem
    square = float(c @ problem.diameter**2) / 4.0  # M^2
    if eta == "theorem":
        square = float(c.sum() * problem.reach[c > 0.0].max() ** 2)
    first = machine.first if eta == "search" else 2.0 / square if isinstance(eta, str) else eta
    plain = Plain(instance, 2.0, first)
    before = 0.0
    for _ in range(15):
        g = plain.a / 2.0  # g_0
        if eta == "safe":
            g = np.sqrt((plain.a + 2.0 * before) / square)  # sqrt(A) / M
        machine.epoch()
        if eta == "search":
            g = machine.total - before
        assert machine.total == pytest.approx(before + g, rel=1e-12)
        plain.step(g)
        before = machine.total
        w, u = plain.averages()
        np.testing.assert_allclose(machine.mean_w, w, rtol=1e-8, atol=1e-10)
        for i, p in enumerate(u):
            own = slice(*instance.problem.arrays.part_ptr[i : i + 2])
            marginals = p @ plain.labels.counts[i]
            np.testing.assert_allclose(machine.mean_u.mu[own], marginals, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("l2", [0.05, 5.0])
def test_the_gap_is_below_its_bound(kind: str, eta: str | float, l2: float) -> None:
    instance = make_instance(kind, "hinge", 2, weighted=True, constrained=l2 > 1)
    explicit = Explicit(instance, l2)
    most = explicit.weight @ np.log([len(cost) for cost in explicit.costs])
    machine = make(instance, l2, eta=eta)
    for _ in range(60):
        bound = machine.epoch().gap_estimate
        value = machine.evaluate()
        scale = 1e-12 * (abs(value.primal) + abs(value.dual))
        w = machine.mean_u.v / l2
        distance = 0.5 * l2 * machine.first * (w @ w) + most
        assert bound == pytest.approx(distance / machine.total)
        assert -scale <= value.primal - value.dual <= bound + scale
        assert value.primal == pytest.approx(explicit.primal(machine.mean_w), rel=1e-10)


@pytest.mark.parametrize(("eta", "rate"), [("theorem", 1), ("safe", 2), ("search", 2)])
def test_rates(eta: str, rate: int) -> None:
    machine = make(make_instance("multiclass", "hinge", 2), 5.0, eta=eta)
    gaps, steps = [], (60, 300)
    for k in range(1, steps[1] + 1):
        machine.epoch()
        if k in steps:
            value = machine.evaluate()
            gaps.append(value.primal - value.dual)
    slope = np.log(gaps[1] / gaps[0]) / np.log(steps[1] / steps[0])
    assert -rate - 0.4 < slope < -rate + 0.3


def test_only_for_the_hinge() -> None:
    with pytest.raises(MismatchError, match="extragradient needs the hinge"):
        train(make_instance().problem, 1.0, solver="extragradient")


def test_an_unknown_step() -> None:
    with pytest.raises(DataError, match="is 'huge'; give a positive number or 'search' or 'safe'"):
        make(make_instance("chain", "hinge"), 1.0, eta="huge")


def test_threads_do_not_change_the_model() -> None:
    problem = make_instance("chain", "hinge", n=15).problem
    fits = [
        train(problem, 1.0, solver="extragradient", tol=1e-2, n_jobs=jobs, max_passes=1000)
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_another_fit_goes_on(kind: str) -> None:
    problem = make_instance(kind, "hinge", n=15).problem
    settings: dict[str, Any] = {"solver": "extragradient", "tol": 1e-2, "max_passes": 1000}
    fit = train(problem, 1.0, **settings)
    again = train(problem, 1.0, solver="bcfw", tol=1e-2, start=fit.dual_point)
    assert again.certificate.dual >= fit.certificate.dual * (1.0 - 1e-9)
    for more in ({"start": fit.dual_point}, {"initial_weights": fit.weights}):
        assert train(problem, 1.0, **settings, **more).certificate.converged


def test_the_guess_stays_below_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounding hides that the condition holds, the step is that of the theory."""
    machine = make(make_instance("multiclass", "hinge"), 1.0)
    monkeypatch.setattr(machine, "_holds", lambda *_: False)
    for _ in range(3):
        machine.epoch()
        assert machine.m < 1.4 * machine.limit
