"""SAG and SAGA as solvers: one optimum, certified, from any start."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from support.dense_gradients import CASES, Dense, build
from support.instances import LOSSES, Explicit, make_instance
from support.solvers import goal_of, solver_of

from partwise.arrays import Floats
from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.problem.problem import build_problem
from partwise.problem.rows import Rows
from partwise.solvers.average.average_gradient import (
    BETA,
    SAMPLINGS,
    SEEN,
    SLIDE,
    Memory,
    sag_epoch,
)
from partwise.solvers.average.gradient_memory import gradient_memory
from partwise.solvers.average.lazy import settle
from partwise.solvers.average.sag import SAG, SAGA, SAGNUS
from partwise.solvers.registry import make_solver
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass
from partwise.training.certificate import relative_gap
from partwise.training.loop import train


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
    bound = instance.problem.diameter**2 / 4.0
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


def test_the_safe_step_of_sag() -> None:
    # 1 / (16 L) of Schmidt, Le Roux and Bach (2013), whose 1/n is over the examples that count.
    instance = make_instance("multiclass", "between", 3, weighted=True)
    machine = build(SAG, instance, 0.7, safe=True)
    explicit = Explicit(instance, 0.7)
    squares = [(g**2).sum(axis=1).max() for g in explicit.g]
    largest = (explicit.weight * squares).max() / (4.0 * explicit.tau) + 0.7 / 5
    assert machine.rule.fixed == pytest.approx(1.0 / (16.0 * largest), rel=1e-12)


class Lyapunov:
    """T = 1/n sum_i |s_i - f_i'(w*)|^2 / (n p_i) + c |w - w*|^2, which proves Proposition 1 (a).

    E[T after a visit] <= (1 - mu alpha) T for all w and s. The mean over the examples that may be
    visited is taken exactly: a visit is made to every one of them from the same place.
    """

    def __init__(self, sampling: str) -> None:
        # Examples come in pairs with the same features; the second pair has larger ones.
        x = np.array([[1.0, 0.5], [1.0, 0.5], [1.5, -2.0], [1.5, -2.0], [0.3, 1.0], [-1.0, 0.7]])
        gold = [np.array([k]) for k in (0, 1, 2, 0, 1, 2)]
        self.problem = build_problem(
            Multiclass(3), [1] * 6, [Rows.from_dense(x)], gold, LOSSES["log"]
        )
        self.n, self.l2 = 6, 0.05
        self.evaluator = Evaluator(self.problem)
        zero = self.problem.storage.zeros()
        self.machine = solver_of(
            SAGA, self.problem, self.l2, initial_weights=zero, sampling=sampling, safe=True
        )
        bound = 0.5 * (x**2).sum(axis=1)  # a quarter of |F_i^T (y - z)|^2
        p = np.full(self.n, 1.0 / self.n)
        self.p = p if sampling == "uniform" else 0.5 * p + 0.5 * bound / bound.sum()
        self.mu = self.l2 / self.n
        eta = (4.0 * (bound.max() + self.mu) + self.n * self.mu) / (self.n * self.p.min())
        self.alpha = 1.0 / eta
        self.c = 0.5 * (eta**2 * self.p.min() - self.mu * eta)
        self.best = self.problem.storage.scatter(
            train(self.problem, self.l2, solver="newton", tol=1e-15, max_passes=10_000).weights
        )
        self.at_best = self.marginals(self.best)

    def marginals(self, w: Floats) -> Floats:
        mu, entropy = np.empty(3 * self.n), np.empty(self.n)
        self.evaluator.marginals(self.evaluator.scores(w), mu, entropy)
        return mu

    def value(self, w: Floats, mu: Floats) -> float:
        """T, where mu are the marginals that the kept gradients have."""
        total = self.c * float(np.sum((w - self.best) ** 2))
        for i in range(self.n):
            own = slice(3 * i, 3 * i + 3)
            part = np.zeros(3 * self.n)
            part[own] = (mu - self.at_best)[own]
            gradient = self.evaluator.dual_sum(part) - self.evaluator.dual_sum(np.zeros(3 * self.n))
            total += float(gradient @ gradient) / (self.n**2 * self.p[i])
        return total

    def after(self, w: Floats, mu: Floats, share: float) -> float:
        """E[T] after one visit with a step of so many times alpha."""
        rule = self.machine.rule._replace(fixed=share * self.machine.rule.fixed)
        mean = 0.0
        for i in range(self.n):
            memory = Memory(*(np.array(part) for part in self.machine.memory))
            memory.z[:], memory.mu[:] = w, mu
            memory.d[:] = -self.evaluator.dual_sum(mu)
            # Not by L_i; the one at this place of those that are all seen.
            coins = np.array([[0.9, (i + 0.5) / self.n, 0.0]])
            arrays, buffers = self.problem.arrays, self.machine.buffers
            nobody, chances = np.zeros(0, dtype=np.int64), np.zeros(0)
            bad = sag_epoch(arrays, memory, rule, coins, nobody, chances, buffers)
            assert bad == -1
            totals = memory.totals
            settle(memory.z, memory.d, totals[BETA], totals[SLIDE])
            mean += self.p[i] * self.value(memory.z, memory.mu)
        return mean

    def falls(self, w: Floats, mu: Floats, share: float = 1.0) -> bool:
        before = self.value(w, mu)
        return self.after(w, mu, share) <= (1.0 - self.mu * self.alpha) * before * (1.0 + 1e-12)


@pytest.mark.parametrize("sampling", ["uniform", "nus"])
def test_the_proof_of_proposition_1(sampling: str) -> None:
    t = Lyapunov(sampling)
    assert t.machine.rule.fixed == pytest.approx(t.alpha, rel=1e-12)
    rng = np.random.default_rng(0)
    places = t.problem.storage.places()
    for size in (0.01, 1.0, 10.0):
        w = t.problem.storage.zeros()
        w[places] = rng.normal(size=len(places))
        w = t.best + size * w
        assert t.falls(w, t.at_best)
        assert t.falls(t.best, t.marginals(w))
        assert t.falls(w, t.marginals(w))
        assert t.falls(w, t.marginals(2.0 * t.best - w))
    # Kept gradients of two equal examples, wrong in opposite ways: steps that are too long.
    wrong = t.at_best.copy()
    wrong[0:3] += [0.1, -0.1, 0.0]
    wrong[3:6] -= [0.1, -0.1, 0.0]
    assert t.falls(t.best, wrong)
    assert not any(t.falls(t.best, wrong, share) for share in (1.6, 3.0, 10.0, 30.0))
    # The same vector for every class more: no loss changes, and only the decay leads back.
    shifted = t.best.copy()
    shifted[places] += np.repeat([1.0, -2.0], 3)
    np.testing.assert_allclose(t.marginals(shifted), t.at_best, atol=1e-12)
    assert t.falls(shifted, t.at_best)
    assert not any(t.falls(shifted, t.at_best, share) for share in (0.45, 0.3, 0.1))


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
    warm = build(SAGNUS, instance, 1.5, point=fit.dual_point)
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
        fit = train(instance.problem, scale**2, solver="sag-nus", tol=1e-8, max_passes=500)
        assert fit.certificate.converged


def test_refusals() -> None:
    instance = make_instance("multiclass", "log")
    with pytest.raises(DataError, match="is 'all'; give 'uniform' or 'nus'"):
        build(SAG, instance, 1.0, sampling="all")
    with pytest.raises(DataError, match="no safe step is known for sampling='nus-2013'"):
        build(SAG, instance, 1.0, sampling="nus-2013", safe=True)
    with pytest.raises(MismatchError, match=r"sag cannot take l1 > 0; use .*saga"):
        train(instance.problem, 1.0, l1=0.1, solver="sag")
    hinge = make_instance("multiclass", "hinge").problem
    with pytest.raises(MismatchError, match="sag-nus needs the log"):
        make_solver("sag-nus", goal_of(hinge))


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
