"""SAG and SAGA: the steps of the papers' algorithms, one optimum, certified."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from instances import Explicit, Instance, make_instance
from scipy.optimize import minimize

from partwise.certificate import relative_gap
from partwise.errors import DataError, MismatchError
from partwise.evaluation import Evaluator
from partwise.solvers.average_gradient import (
    BETA,
    CROSS,
    LINEAR,
    NORM,
    SAMPLINGS,
    SEEN,
    SQUARE,
    sag_epoch,
)
from partwise.solvers.gradient_memory import gradient_memory
from partwise.solvers.registry import make_solver
from partwise.solvers.sag import SAG, SAGA, SAGNUS
from partwise.structures.base import Floats
from partwise.structures.chain import Chain
from partwise.training import train

SMOOTH = ("log", "softmax-margin", "between")
CASES = [
    ("multiclass", "log", {"weighted": True}),
    ("multiclass", "between", {"constrained": True, "weights": "observed", "real": False}),
    ("chain", "softmax-margin", {"weighted": True, "constrained": True}),
    ("untied", "log", {"weights": "observed"}),
]


def build(kind: type[Any], instance: Instance, l2: float, seed: int = 0, **options: Any) -> Any:
    problem = instance.problem
    return kind(problem, l2, Evaluator(problem), np.random.default_rng(seed), **options)


class Dense:
    """Algorithms 1 and 2 and section 5, with every label and every weight written out."""

    def __init__(self, machine: Any, explicit: Explicit) -> None:
        self.rule, self.explicit = machine.rule, explicit
        self.sampling = SAMPLINGS[machine.rule.sampling]
        self.live = np.flatnonzero(explicit.weight)
        self.n = len(self.live)
        self.lam = machine.l2 / self.n
        self.w = machine.current_weights()
        self.g: dict[int, Floats] = {}
        if machine.memory.totals[SEEN]:
            self.g = {i: self.gradient(i)[1] for i in self.live}
        self.order = list(self.live)
        given = machine.memory.curvature
        self.L = {i: float(given[i]) for i in self.live if given[i] > 0.0}
        self.searches = 0
        self.L_g = 1.0 if self.sampling == "uniform" else 0.0
        self.xi = dict.fromkeys(self.live, 0)
        self.skip = dict.fromkeys(self.live, 0)
        self.step = np.inf
        self.calls = 0

    def value(self, i: int, w: Floats) -> float:
        return float(self.explicit.weight[i] * self.explicit.losses(w)[i])

    def gradient(self, i: int) -> tuple[float, Floats]:
        e = self.explicit
        q = (e.costs[i] - e.g[i] @ self.w) / e.tau
        p = np.exp(q - q.max())
        return self.value(i, self.w), -e.weight[i] * (p / p.sum()) @ e.g[i]

    def find(self, share: float) -> int:
        """Examples in the order of the data, each as long as its L_i."""
        seen = sorted(self.L)
        sums = np.cumsum([self.L[i] for i in seen])
        return seen[int(np.searchsorted(sums, share * sums[-1], "right"))]

    def draw(self, coins: Floats) -> tuple[int, float]:
        n, m = self.n, len(self.g)
        anyone = self.order[int(coins[1] * n)]
        if self.sampling == "uniform" or (self.sampling == "nus" and not self.L):
            return anyone, 1 / n
        total = sum(self.L.values())
        if self.sampling == "nus":
            i = self.find(coins[1]) if coins[0] < 0.5 else anyone
            return i, 0.5 / n + 0.5 * self.L.get(i, 0.0) / total
        if coins[0] >= m / n:
            return self.order[m + int(coins[1] * (n - m))], 1 / n
        even = total / m + 2 * self.lam
        among = coins[2] * (total + m * even) < total
        i = self.find(coins[1]) if among else self.order[int(coins[1] * m)]
        return i, m / n * (self.L[i] + even) / (total + m * even)

    def fits(self, i: int, f: float, g: Floats, L: float) -> bool:
        return self.value(i, self.w - g / L) <= f - g @ g / (2 * L) + 1e-15

    def search(self, i: int, f: float, g: Floats, L: float) -> tuple[float, int]:
        trials = 0
        if g @ g > 1e-8:
            down = not self.searches
            while True:
                trials += 1
                if not self.fits(i, f, g, L):
                    L, down = 2 * L, False
                elif down:
                    L /= 2
                else:
                    break
            self.searches += 1
        self.calls += trials
        return L, trials

    def curvature(self, i: int, f: float, g: Floats) -> None:
        if self.sampling == "uniform":
            self.L_g, _ = self.search(i, f, g, self.L_g)
            return
        mean = np.mean(list(self.L.values())) if self.L else 2.0
        if self.skip[i]:
            self.skip[i] -= 1
        else:
            if i not in self.L:
                trial = old = 0.5 * mean if self.sampling == "nus" else 1.0
            else:
                old = self.L[i]
                trial = old * (0.9 if self.sampling == "nus" else 0.5)
            found, trials = self.search(i, f, g, trial)
            self.L[i] = found if trials else old
            if trials:
                self.xi[i] = self.xi[i] + 1 if trials == 1 else 0
                if self.sampling == "nus" and self.xi[i]:
                    self.skip[i] = 2 ** (self.xi[i] - 1)
        self.L_g = max(self.L_g, self.L[i])

    def alpha(self) -> float:
        if self.rule.fixed:
            return float(self.rule.fixed)
        alpha = 1 / (self.L_g + self.lam)
        if self.sampling != "uniform":
            both = 0.5 * (alpha + 1 / (np.mean(list(self.L.values())) + self.lam))
            part = len(self.g) / self.n if self.sampling == "nus-2013" else 1.0
            alpha = (1 - part) * alpha + part * both
        return float(alpha / 3 if self.rule.saga else alpha)

    def visit(self, coins: Floats) -> None:
        i, p = self.draw(coins)
        f, g = self.gradient(i)
        self.calls += 1
        first = i not in self.g
        if first:
            at, m = self.order.index(i), len(self.g)
            self.order[at], self.order[m] = self.order[m], self.order[at]
        before = self.g.get(i, np.zeros_like(g))
        self.g[i] = g
        m, d = len(self.g), np.sum(list(self.g.values()), axis=0)
        if not self.rule.fixed:
            self.curvature(i, f, g)
        alpha = self.alpha()
        if self.rule.l1:
            if alpha < 0.8 * self.step:
                self.step = alpha
            alpha = self.step
        direction = d / m
        if self.rule.saga and not first:
            direction = (g - before) / (self.n * p) + (d - g + before) / m
        moved = (1 - alpha * self.lam) * self.w - alpha * direction
        kappa = alpha * self.rule.l1 / self.n
        self.w = np.sign(moved) * np.maximum(np.abs(moved) - kappa, 0.0)
        self.L_g *= 2 ** (-1 / self.n)


def follow(machine: Any, explicit: Explicit, epochs: int) -> None:
    """Compare the weights with the dense version after every epoch."""
    dense = Dense(machine, explicit)
    coins = np.random.default_rng(0)
    for _ in range(epochs):
        calls = dense.calls
        epoch = machine.epoch()
        for row in coins.random((dense.n, 3)):
            dense.visit(row)
        if dense.rule.l1:
            dense.step = dense.alpha()
        w = machine.current_weights()
        np.testing.assert_allclose(w, dense.w, atol=1e-10 * max(1.0, np.abs(dense.w).max()))
        paid = (dense.calls - calls) / machine.problem.n_examples
        assert epoch.passes % 1.0 == pytest.approx(paid % 1.0, abs=1e-9)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("kind", [SAG, SAGA])
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_lazy_steps_are_those_of_the_algorithm(kind: type[Any], sampling: str, case: Any) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 4, n=7, **options)
    machine = build(kind, instance, 0.7, sampling=sampling)
    follow(machine, Explicit(instance, 0.7), 12)


@pytest.mark.parametrize(
    ("sampling", "safe"),
    [("uniform", True), ("nus", True), *((sampling, False) for sampling in SAMPLINGS)],
)
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_lazy_proximal_steps_are_those_of_the_algorithm(
    sampling: str, case: Any, safe: bool
) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 4, n=7, **options)
    machine = build(SAGA, instance, 0.7, sampling=sampling, l1=0.4, safe=safe)
    follow(machine, Explicit(instance, 0.7), 12)


def test_the_scale_is_reset_before_it_vanishes() -> None:
    # With so large an l2 a step leaves little of the weights.
    instance = make_instance("chain", "log", 2, n=8)
    machine = build(SAG, instance, 1e5)
    dense = Dense(machine, Explicit(instance, 1e5))
    scales = []
    coins = np.random.default_rng(0)
    for _ in range(30):
        machine.epoch()
        scales.append(machine.memory.totals[BETA])
        for row in coins.random((dense.n, 3)):
            dense.visit(row)
    assert min(scales) > 0.0
    assert (np.diff(scales) > 0.0).any()  # it began anew
    scale = np.abs(dense.w).max()
    np.testing.assert_allclose(machine.current_weights(), dense.w, atol=1e-10 * scale)


@pytest.mark.parametrize("sampling", ["uniform", "nus"])
def test_proposition_1_on_average(sampling: str) -> None:
    instance = make_instance("multiclass", "log", 3, n=8)
    l2 = 4.0
    best = train(instance.problem, l2, solver="lbfgs", tol=1e-14).weights
    behind = []
    for seed in range(20):
        # The gradients at w = 0 are those that the constant of the proposition is about.
        zero = instance.problem.storage.zeros()
        machine = build(
            SAGA, instance, l2, seed, initial_weights=zero, sampling=sampling, safe=True
        )
        path = [best @ best]
        for _ in range(40):
            machine.epoch()
            path.append(float(np.sum((machine.current_weights() - best) ** 2)))
        behind.append(path)
    n, mu = len(instance.lengths), l2 / len(instance.lengths)
    bound = instance.problem.reach**2
    largest = bound.max() + mu
    p = np.full(n, 1 / n)
    if sampling == "nus":
        p = 0.5 * p + 0.5 * bound / bound.sum()
    alpha = n * p.min() / (4 * largest + n * mu)
    assert machine.rule.fixed == pytest.approx(alpha)
    dense = Dense(build(SAG, instance, l2), Explicit(instance, l2))
    at_zero = [dense.gradient(i)[1] for i in range(n)]
    dense.w = best
    at_best = [dense.gradient(i)[1] + mu * best for i in range(n)]
    spread = np.sum((np.array(at_zero) - at_best) ** 2, axis=1)
    constant = 2 * p.min() / (4 * largest + n * mu) ** 2 * float(np.sum(spread / p))
    visits = n * np.arange(41)
    allowed = (1 - mu * alpha) ** visits * (best @ best + constant)
    assert (np.mean(behind, axis=0) <= allowed).all()


@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
@pytest.mark.parametrize(
    ("kind", "more"),
    [("multiclass", {}), ("chain", {}), ("chain", {"constrained": True}), ("untied", {})],
)
def test_one_optimum(kind: str, loss: str, more: Any) -> None:
    problem = make_instance(kind, loss, 6, n=12, weighted=True, **more).problem
    exact = train(problem, 1.0, solver="online-eg", tol=1e-10, max_passes=5000)
    for name, sampling in itertools.product(("sag", "saga", "sag-nus"), SAMPLINGS):
        fit = train(
            problem,
            1.0,
            solver=name,
            tol=1e-9,
            max_passes=5000,
            options={"sampling": sampling},
        )
        assert fit.certificate.converged
        assert fit.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-8)


def elastic_net(explicit: Explicit, l2: float, l1: float) -> tuple[float, Floats]:
    """The optimum and its weights by L-BFGS-B over w = a - b, a and b >= 0."""
    size = explicit.g[0].shape[1]

    def value(ab: Floats) -> tuple[float, Floats]:
        w = ab[:size] - ab[size:]
        total, slope = 0.5 * l2 * w @ w + l1 * ab.sum(), l2 * w
        for c, g, cost in zip(explicit.weight, explicit.g, explicit.costs, strict=True):
            q = (cost - g @ w) / explicit.tau
            p = np.exp(q - q.max())
            total += c * explicit.tau * (np.log(p.sum()) + q.max())
            slope = slope - c * (p / p.sum()) @ g
        return total, np.concatenate([slope + l1, l1 - slope])

    settings = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(
        value,
        np.zeros(2 * size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * size),
        options=settings,
    )
    return float(found.fun), found.x[:size] - found.x[size:]


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_the_elastic_net(sampling: str, case: Any) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 5, n=12, **options)
    fit = train(
        instance.problem,
        0.5,
        l1=0.6,
        solver="saga",
        tol=1e-9,
        max_passes=5000,
        options={"sampling": sampling},
    )
    assert fit.certificate.converged
    best, weights = elastic_net(Explicit(instance, 0.5), 0.5, 0.6)
    assert fit.certificate.primal == pytest.approx(best, rel=1e-8)
    weights = instance.problem.storage.gather(weights)
    np.testing.assert_allclose(fit.weights, weights, atol=1e-3)
    assert not fit.weights[np.abs(weights) == 0.0].any()


@pytest.mark.parametrize("l1", [0.0, 0.5])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_certificate_holds(sampling: str, l1: float) -> None:
    instance = make_instance("chain", "softmax-margin", 7, weighted=True, constrained=True)
    explicit = Explicit(instance, 0.05)
    machine = build(SAGA, instance, 0.05, sampling=sampling, l1=l1)
    duals, primals = [], []
    for _ in range(25):
        machine.epoch()
        value = machine.evaluate()
        duals.append(value.dual)
        primals.append(value.primal)
        own = explicit.primal(value.weights) + l1 * np.abs(value.weights).sum()
        assert value.primal == pytest.approx(own, rel=1e-10)
    assert max(duals) <= min(primals) + 1e-12 * min(primals)


@pytest.mark.parametrize("name", ["sag", "saga", "sag-nus"])
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_the_same_seed_gives_the_same_model(name: str, l1: float) -> None:
    if l1 and name != "saga":
        return
    problem = make_instance("chain", "log", 8, n=15).problem
    fits = [
        train(problem, 0.5, l1=l1, solver=name, tol=1e-6, seed=seed, n_jobs=jobs)
        for seed, jobs in ((1, 1), (1, 2), (2, 1))
    ]
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)
    assert (fits[0].weights != fits[2].weights).any()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("kind", [SAG, SAGA])
def test_running_values_do_not_drift(kind: type[Any], sampling: str) -> None:
    instance = make_instance("chain", "softmax-margin", 8, n=20, weighted=True)
    machine = build(kind, instance, 0.05, sampling=sampling)
    for _ in range(100):
        machine.epoch()
    running = machine.memory.totals.copy()
    d = machine.memory.d.copy()
    machine.evaluate()
    np.testing.assert_allclose(machine.memory.d, d, atol=1e-11)
    for total in (NORM, CROSS, SQUARE, LINEAR):
        assert running[total] == pytest.approx(machine.memory.totals[total], rel=1e-9)


@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_the_free_estimate_is_the_gap_of_what_is_kept(l1: float) -> None:
    instance = make_instance("multiclass", "log", 9, n=60, weighted=True)
    evaluator = Evaluator(instance.problem)
    machine = build(SAGA, instance, 0.5, l1=l1)
    for _ in range(12):
        epoch = machine.epoch()
        gap = evaluator.primal(machine.current_weights(), 0.5, l1) - epoch.dual
        assert gap > 0.0
        assert epoch.gap_estimate == pytest.approx(gap, rel=1.0)


def test_a_start_knows_all_gradients() -> None:
    instance = make_instance("chain", "log", 10, n=20, weighted=True)
    problem = instance.problem
    fit = train(problem, 2.0, solver="sag-nus", tol=1e-8)
    warm = build(SAGNUS, instance, 1.5, start=fit.dual_point)
    live = np.count_nonzero(problem.arrays.weight)
    assert warm.memory.totals[SEEN] == live
    v = -warm.memory.d
    np.testing.assert_allclose(warm.current_weights(), v / 1.5)
    np.testing.assert_allclose(problem.storage.gather(v) / 2.0, fit.weights, atol=1e-3)
    also = build(SAGNUS, instance, 1.5, initial_weights=problem.storage.scatter(fit.weights))
    np.testing.assert_allclose(also.memory.d, warm.memory.d, atol=1e-9)
    again = train(problem, 1.5, solver="sag-nus", tol=1e-8, start=fit.dual_point)
    cold = train(problem, 1.5, solver="sag-nus", tol=1e-8)
    assert again.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-8)


def test_examples_without_weight_are_not_visited() -> None:
    instance = make_instance("chain", "log", weighted=True, n=8)
    machine = build(SAGNUS, instance, 0.5)
    last = instance.problem.arrays.part_ptr[-2]
    before = machine.memory.mu[last:].copy()
    for _ in range(5):
        machine.epoch()
    np.testing.assert_array_equal(machine.memory.mu[last:], before)
    assert machine.memory.totals[SEEN] == 7


def test_features_of_any_size() -> None:
    # L_g starts at 1 however large the features are; rounding must not keep a search going.
    for scale in (1e-4, 1e4):
        instance = make_instance("multiclass", "log", 11, n=10)
        design = instance.problem.arrays.design
        design.value[:] *= scale
        instance.problem.reach[:] *= scale
        fit = train(instance.problem, scale**2, solver="sag-nus", tol=1e-8, max_passes=500)
        assert fit.certificate.converged


def test_refusals() -> None:
    instance = make_instance("multiclass", "log")
    with pytest.raises(DataError, match="unknown sampling 'all'; use one of uniform, nus"):
        build(SAG, instance, 1.0, sampling="all")
    with pytest.raises(DataError, match="no safe step is known for sampling='nus-2013'"):
        build(SAG, instance, 1.0, sampling="nus-2013", safe=True)
    with pytest.raises(MismatchError, match=r"sag cannot take l1 > 0; use .*saga"):
        train(instance.problem, 1.0, l1=0.1, solver="sag")
    hinge = make_instance("multiclass", "hinge").problem
    with pytest.raises(MismatchError, match="sag-nus needs tau>0"):
        make_solver("sag-nus", hinge, 1.0, Evaluator(hinge), np.random.default_rng(0))


def test_one_compilation_serves_all() -> None:
    for (structure, loss, options), sampling in itertools.product(CASES, SAMPLINGS):
        for l1 in (0.0, 0.1):
            problem = make_instance(structure, loss, **options).problem
            more = {"sampling": sampling}
            fit = train(problem, 1.0, l1=l1, solver="saga", tol=0.1, options=more)
            assert relative_gap(fit.certificate.primal, fit.certificate.dual) <= 0.1
    assert len(sag_epoch.signatures) == 1


def test_memory_of_the_gradients() -> None:
    instance = make_instance("chain", "log", n=5, n_labels=3, n_features=5)
    got = gradient_memory(instance.problem)
    assert isinstance(instance.structure, Chain)
    lengths = instance.lengths
    explicit = Explicit(instance, 1.0)
    assert got.dense == 5 * instance.problem.layout.n_weights
    assert got.mixed == sum(3 * n + 9 + 3 for n in lengths) == instance.problem.n_parts
    assert got.marginals == sum(3 * n + 9 * (n - 1) + 3 for n in lengths)
    assert got.sparse == sum(np.count_nonzero(np.any(f != 0, axis=0)) for f in explicit.features)
