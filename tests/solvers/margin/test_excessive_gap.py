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
from partwise.problem.sweeps import Dial
from partwise.solvers.margin.excessive_gap import ExcessiveGap
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass
from partwise.tasks.kernels.gram import factor_gram
from partwise.tasks.kernels.kernel import Kernel
from partwise.training.loop import train

KINDS = ("multiclass", "chain", "untied")
ETAS = ("search", "safe", "theorem")


def make(instance: Instance, l2: float, **options: Any) -> ExcessiveGap:
    return solver_of(ExcessiveGap, instance.problem, l2, **options)


def softmax(q: Floats) -> Floats:
    return np.asarray(np.exp(q - log_sum(q)))


class Plain:
    """Algorithm 1 over all labels, in the paper's scale: sum_y alpha_i(y) = c_i / sum_j c_j.

    bound is the square of the norm of A; unless ``published``, tau_k is the largest that the proof
    of Theorem 2 allows, tau_k^2 L = mu_{k+1}.
    """

    def __init__(self, instance: Instance, l2: float, bound: float, published: bool) -> None:
        self.labels = Explicit(instance, l2)
        self.p = self.labels.weight / self.labels.weight.sum()
        self.lamda = l2 / self.labels.weight.sum()
        uniform = [p * np.full(len(c), 1.0 / len(c)) for p, c in self.each(self.labels.costs)]
        self.mu = self.largest = bound / self.lamda
        self.published = published
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
        if not self.published:  # t^2 L = (1 - t) mu
            ratio = self.mu / self.largest
            t = 0.5 * (np.sqrt(ratio**2 + 4.0 * ratio) - ratio)
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


def norms(explicit: Explicit) -> tuple[float, float]:
    """max |psi|^2 over the examples with a weight, and the mean of their diameter^2 / 4."""
    c = explicit.weight
    furthest = [(g**2).sum(axis=1).max() for g in explicit.g]
    apart = [((g[:, None] - g[None]) ** 2).sum(axis=2).max() for g in explicit.g]
    return max(np.array(furthest)[c > 0.0]), float(c @ apart / (4.0 * c.sum()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("eta", ["theorem", "safe"])
def test_parts_and_labels_take_the_steps_of_algorithm_1(
    kind: str, weighted: bool, eta: str
) -> None:
    instance = make_instance(kind, "hinge", 1, weighted=weighted, constrained=True)
    problem, c = instance.problem, instance.problem.arrays.weight
    bound = float(problem.reach[c > 0].max()) ** 2
    if eta == "safe":
        bound = float(c @ problem.diameter**2 / (4.0 * c.sum()))
    plain = Plain(instance, 3.0, bound, eta == "theorem")
    machine = make(instance, 3.0, eta=eta)
    for _ in range(30):
        assert machine.mu == pytest.approx(plain.mu)
        np.testing.assert_allclose(machine.w, plain.w, rtol=1e-9, atol=1e-10)
        for i in np.flatnonzero(c):
            own = slice(*problem.arrays.part_ptr[i : i + 2])
            marginals = plain.alpha[i] @ plain.labels.counts[i] / plain.p[i]
            np.testing.assert_allclose(machine.alpha.mu[own], marginals, atol=1e-10)
        machine.epoch()
        plain.step()


@pytest.mark.parametrize(("kind", "l2", "eta"), list(product(KINDS, [0.05, 5.0], ETAS)))
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_is_excessive_at_every_step(kind: str, l2: float, eta: str, seed: int) -> None:
    """(7): J_mu(w_k) <= D(alpha_k), so the gap is at most mu K (8); and below (12) as published."""
    instance = make_instance(kind, "hinge", seed, weighted=seed > 0, constrained=seed == 1)
    explicit = Explicit(instance, l2)
    machine = make(instance, l2, eta=eta)
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
        if eta == "theorem":
            assert value.primal - value.dual <= 6.0 * lipschitz * most / ((k + 1) * (k + 2))
        if eta == "safe":
            assert machine.mu <= 4.0 * lipschitz / (k + 1) ** 2 * (1.0 + 1e-12)
        epoch = machine.epoch()
        after = machine.evaluator.primal(machine.w, l2) - epoch.dual
        assert after <= epoch.gap_estimate + 1e-12 * scale


def test_the_first_mu_and_the_steps_of_the_paper() -> None:
    """mu_1 = L = max |psi|^2 / lambda, and mu_k+1 = 6 L / ((k + 3) (k + 2))."""
    instance = make_instance("multiclass", "hinge", 3, weighted=True)
    explicit = Explicit(instance, 0.7)
    largest = norms(explicit)[0] / (0.7 / explicit.weight.sum())
    machine = make(instance, 0.7, preset="zhang2011-algorithm2")
    for k in range(1, 20):
        assert machine.mu == pytest.approx(6.0 * largest / ((k + 1) * (k + 2)), rel=1e-10)
        machine.epoch()


def test_the_proven_constant_is_never_above_the_published_one() -> None:
    for kind, seed in product(KINDS, range(3)):
        instance = make_instance(kind, "hinge", seed, weighted=seed > 0)
        explicit = Explicit(instance, 2.0)
        psi, apart = norms(explicit)
        assert apart <= psi
        published, proven = (make(instance, 2.0, eta=eta).limit for eta in ("theorem", "safe"))
        factor = explicit.weight.sum() / 2.0
        assert published >= psi * factor * (1.0 - 1e-12)
        assert proven >= apart * factor * (1.0 - 1e-12)
        assert proven <= published
        if kind == "multiclass":  # where the bounds are exact
            assert (published, proven) == pytest.approx((psi * factor, apart * factor))


@pytest.mark.parametrize("sizes", [(1.0,), (1.0, 2.0)])
def test_no_smaller_mu_would_do(sizes: tuple[float, ...]) -> None:
    """Theorem 2 where it is tight: (7) holds at the first step for mu_1 = L, not for less.

    Two labels whose slopes at the uniform distribution are small: D is a parabola there.
    """
    l2, x = 1.5, np.array(sizes)
    n = len(x)
    gold = [np.array([0])] * n
    rows = Rows.from_dense(x[:, None])
    # At the uniform distributions w_2 - w_1 = -slope, and example i scores -slope x_i.
    slope = x.sum() / l2
    costs = x * slope + 1e-4 * x
    problem = build_problem(Multiclass(2), [1] * n, [rows], gold, LOSSES["hinge"])
    problem.arrays.cost[1::2] = costs
    machine = solver_of(ExcessiveGap, problem, l2, eta="safe")
    assert machine.limit == pytest.approx(2.0 * (x**2).sum() / (4.0 * l2))
    w = np.array([0.5, -0.5]) * x.sum() / l2  # w(alpha_0)

    def excess(mu: float) -> float:
        up = (costs - x * (w[0] - w[1])) / mu  # log-odds of the wrong label under alpha_1
        p = 1.0 / (1.0 + np.exp(-up))
        v = (x * p).sum()
        dual = costs @ p - 2.0 * v**2 / (2.0 * l2)
        smooth = mu * (np.logaddexp(0.0, up) - np.log(2.0)).sum()
        return float(l2 / 2 * (w @ w) + smooth - dual)

    assert machine.smoothed - machine.alpha.dual() == pytest.approx(
        excess(machine.mu), abs=1e-14 * (x.sum() ** 2)
    )
    assert excess(1.01 * machine.limit) < 0.0 < excess(0.99 * machine.limit)


@pytest.mark.parametrize("epsilon", [1.0, 1e-1, 1e-2])
def test_so_many_steps_are_enough(epsilon: float) -> None:
    """(22), in the paper's scale: steps to a duality gap and to a dual gap of epsilon."""
    instance = make_instance("multiclass", "hinge", 4, n=8)
    explicit, l2 = Explicit(instance, 0.5), 0.5
    n, lamda = len(explicit.g), l2 / len(explicit.g)
    u, _ = optimal_duals(explicit)
    best, away = explicit.dual(u), sum(np.log(len(p)) - entropy(p) for p in u) / n
    psi = np.sqrt(norms(explicit)[0])
    steps = 2.0 + psi * np.sqrt(6.0 * np.log(3.0) / (lamda * epsilon))
    dual_steps = psi * np.sqrt(6.0 * away / (lamda * epsilon))
    machine = make(instance, l2, preset="zhang2011-algorithm2")
    for k in range(1, int(np.ceil(steps)) + 1):
        if k == int(np.ceil(dual_steps)):
            assert (best - machine.alpha.dual()) / n <= epsilon
        if k == int(np.ceil(steps)):
            value = machine.evaluate()
            assert (value.primal - value.dual) / n <= epsilon
            assert machine.mu * np.log(3.0) <= epsilon  # (8)
        if k == int(steps) - 4:
            assert machine.mu * np.log(3.0) > epsilon  # (8) says nothing four steps earlier
        machine.epoch()


@pytest.mark.parametrize("solver", ["excessive-gap", "extragradient", "bmrm"])
def test_a_fit_ends_at_an_absolute_gap(solver: str) -> None:
    """Line 3 of Algorithm 2: until J(w) - D(alpha) < epsilon, whatever tol is."""
    problem = make_instance("chain", "hinge", 5).problem
    for tol, epsilon in ((1e-9, 0.5), (0.9, 0.01)):
        options = {"epsilon": epsilon}
        fit = train(problem, 0.5, solver=solver, tol=tol, max_passes=1e5, options=options)
        certificate = fit.certificate
        assert certificate.converged
        assert certificate.gap <= epsilon
        assert solver == "bmrm" or certificate.gap > 1e-3 * epsilon
        assert certificate.verdict == f"converged: the gap is at most epsilon = {epsilon:g}"
        assert certificate.tol == pytest.approx(epsilon / certificate.primal)


@pytest.mark.parametrize("seed", range(3))
def test_the_dual_is_nearer_than_the_gap(seed: int) -> None:
    """(16): for any u, its divergence from the centre takes the place of K."""
    instance = make_instance("chain", "hinge", seed)
    explicit = Explicit(instance, 2.0)
    u, _ = optimal_duals(explicit)
    away = sum(np.log(len(p)) - entropy(p) for p in u)
    machine = make(instance, 2.0, eta="theorem")
    for k in range(1, 40):
        behind = explicit.dual(u) - machine.alpha.dual()
        assert behind <= 6.0 * machine.limit * away / ((k + 1) * (k + 2))
        machine.epoch()


@pytest.mark.parametrize(
    ("eta", "first", "last"), [("theorem", 150, 600), ("safe", 100, 400), ("search", 30, 240)]
)
def test_the_gap_falls_with_the_square_of_the_steps(eta: str, first: int, last: int) -> None:
    machine = make(make_instance("multiclass", "hinge", 2), 5.0, eta=eta)
    gaps = []
    for k in range(1, last + 1):
        machine.epoch()
        if k in (first, last):
            value = machine.evaluate()
            gaps.append(value.primal - value.dual)
    slope = np.log(gaps[1] / gaps[0]) / np.log(last / first)
    assert -2.6 < slope < -1.7


class Kernelised:
    """The procedure of Theorem 3: no weights, but marginals of beta and kernels of cliques.

    ``gram`` has the kernels of all pairs of positions, and of all pairs of neighbours; ``places``
    where the parts of each of these begin.
    """

    def __init__(self, instance: Instance, l2: float, gram: list[Floats], mu: float) -> None:
        problem = instance.problem
        self.labels, self.l2, self.gram, self.mu, self.k = Explicit(instance, l2), l2, gram, mu, 1
        arrays = problem.arrays
        self.cost, self.gold = arrays.cost, np.zeros(problem.n_parts)
        first = np.repeat(arrays.part_ptr[:-1], np.diff(arrays.gold_ptr))
        self.gold[first + arrays.gold_part] = arrays.gold_count
        places: list[list[int]] = [[], []]
        for at, n in zip(arrays.part_ptr.tolist(), instance.lengths.tolist(), strict=False):
            places[0] += [at + 3 * t for t in range(n)]
            places[1] += [at + 3 * n + 9 * t for t in range(n - 1)]
        self.cells = [np.array(places[0])[:, None] + np.arange(3)]
        self.cells += [np.array(places[1])[:, None] + np.arange(9)]
        self.beta = self.marginals(np.zeros(problem.n_parts))  # beta_1 = alpha_0
        self.alpha = self.marginals(self.theta())

    def marginals(self, theta: Floats) -> Floats:
        u = self.labels.distributions(theta)
        return np.concatenate([p @ counts for p, counts in zip(u, self.labels.counts, strict=True)])

    def scores(self, marginals: Floats) -> Floats:
        """<psi, w> of w = F[psi; beta] / lambda, up to what is equal for all labels."""
        out = np.zeros(len(self.gold))
        for cells, gram in zip(self.cells, self.gram, strict=True):
            out[cells] = gram @ (self.gold - marginals)[cells] / self.l2
        return out

    def theta(self) -> Floats:
        """The logarithm of alpha_mu(w)."""
        return np.asarray((self.scores(self.beta) + self.cost) / self.mu)

    def step(self) -> None:
        t, theta = 2.0 / (self.k + 3.0), self.theta()
        hat = (1.0 - t) * self.alpha + t * self.marginals(theta)
        self.beta = (1.0 - t) * self.beta + t * hat
        theta = theta + t / ((1.0 - t) * self.mu) * (self.scores(hat) + self.cost)
        self.alpha = (1.0 - t) * self.alpha + t * self.marginals(theta)
        self.mu *= 1.0 - t
        self.k += 1


def test_theorem_3_takes_the_steps_of_the_factor() -> None:
    """Rows of L, K = L L^T, and kernels of cliques, of positions and of neighbours."""
    rng, lengths = np.random.default_rng(0), np.array([3, 2, 4, 3])
    nodes, edges = rng.normal(size=(12, 2)), rng.normal(size=(8, 2))
    kernel = Kernel("rbf", gamma=0.4)
    rows = [factor_gram(kernel, Rows.from_dense(x)).rows for x in (nodes, edges)]
    gram = [kernel.gram(x, x) for x in map(Rows.from_dense, (nodes, edges))]
    structure = Chain(3, tied=False)
    gold = [rng.integers(0, 3, n) for n in lengths]
    nothing = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
    features = [*rows, nothing, nothing]
    problem = build_problem(structure, lengths, features, gold, LOSSES["hinge"])
    instance = Instance(structure, lengths, gold, None, LOSSES["hinge"], problem)
    machine = make(instance, 0.5, preset="zhang2011-algorithm2")
    plain = Kernelised(instance, 0.5, gram, machine.mu)
    for _ in range(25):
        scores = machine.evaluator.scores(machine.w, Dial(1.0, 0.0, 0.0))
        np.testing.assert_allclose(scores, plain.scores(plain.beta), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(machine.alpha.mu, plain.alpha, atol=1e-9)
        machine.epoch()
        plain.step()
    assert np.abs(plain.alpha - plain.beta).max() > 1e-3  # they differ, as the paper says


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


@pytest.mark.parametrize("eta", ETAS)
def test_features_without_values(eta: str) -> None:
    nothing = Rows.from_dense(np.zeros((4, 1)))
    gold = [np.array([k % 3]) for k in range(4)]
    problem = build_problem(Multiclass(3), [1] * 4, [nothing], gold, LOSSES["hinge"])
    machine = solver_of(ExcessiveGap, problem, 1.0, eta=eta)
    for _ in range(60):
        machine.epoch()
    value = machine.evaluate()
    assert value.primal == 4.0
    assert value.dual == pytest.approx(4.0, abs=1e-2)
