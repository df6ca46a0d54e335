"""Proposition 1 of Schmidt et al. (2015) with its lemmas, and the steps that proofs allow.

The means over what may be drawn are taken exactly: a step is made for every outcome from the same
place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.dense_gradients import Dense, build
from support.instances import LOSSES, Explicit, make_instance
from support.solvers import solver_of

from partwise.arrays import Floats
from partwise.problem.evaluation import Evaluator
from partwise.problem.problem import build_problem
from partwise.problem.rows import Rows
from partwise.solvers.average.average_gradient import sag_epoch
from partwise.solvers.average.lazy import settle
from partwise.solvers.average.memory import BETA, SLIDE, Memory
from partwise.solvers.average.sag import SAG, SAGA
from partwise.solvers.average.svrg import SVRG
from partwise.solvers.average.two_gradients import two_gradient_epoch
from partwise.structures.multiclass import Multiclass
from partwise.training.loop import train

DRAWS = ("uniform", "nus", "proportional")


class Outcomes:
    """Six examples with three labels; every outcome of one step of SAGA from any place.

    A place is w with the marginals mu that the kept gradients have.
    """

    def __init__(self, sampling: str, l2: float = 0.05) -> None:
        # Examples come in pairs with the same features; the second pair has larger ones.
        x = np.array([[1.0, 0.5], [1.0, 0.5], [1.5, -2.0], [1.5, -2.0], [0.3, 1.0], [-1.0, 0.7]])
        gold = [np.array([k]) for k in (0, 1, 2, 0, 1, 2)]
        self.problem = build_problem(
            Multiclass(3), [1] * 6, [Rows.from_dense(x)], gold, LOSSES["log"]
        )
        self.n, self.l2, self.sampling = 6, l2, sampling
        self.mu = l2 / self.n
        self.evaluator = Evaluator(self.problem)
        zero = self.problem.storage.zeros()
        self.machine = solver_of(
            SAGA, self.problem, l2, initial_weights=zero, sampling=sampling, eta="theorem"
        )
        bound = 0.5 * (x**2).sum(axis=1)  # a quarter of |F_i^T (y - z)|^2
        self.L = bound + self.mu
        self.p = np.full(self.n, 1.0 / self.n)
        if sampling == "nus":
            self.p = 0.5 * self.p + 0.5 * bound / bound.sum()
        elif sampling == "proportional":
            self.p = self.L / self.L.sum()
        self.best = self.problem.storage.scatter(
            train(self.problem, l2, solver="newton", tol=1e-15, max_passes=10_000).weights
        )
        self.at_best = self.marginals(self.best)

    @property
    def alpha(self) -> float:
        """The step of the proposition, as the paper has it."""
        if self.sampling == "proportional":
            return float(1.0 / (4.0 * self.L.mean()))
        return float(self.n * self.p.min() / (4.0 * self.L.max() + self.n * self.mu))

    def marginals(self, w: Floats) -> Floats:
        mu, entropy = np.empty(3 * self.n), np.empty(self.n)
        self.evaluator.marginals(self.evaluator.scores(w), mu, entropy)
        return mu

    def somewhere(self, size: float, seed: int = 0) -> Floats:
        places = self.problem.storage.places()
        w = self.best.copy()
        w[places] += size * np.random.default_rng(seed).normal(size=len(places))
        return w

    def slopes(self, mu: Floats) -> Floats:
        """Return the gradients of the losses, one row per example."""
        zero = self.evaluator.dual_sum(np.zeros(3 * self.n))
        rows = []
        for i in range(self.n):
            own = np.zeros(3 * self.n)
            own[3 * i : 3 * i + 3] = mu[3 * i : 3 * i + 3]
            gold = np.zeros(3 * self.n)
            gold[self.problem.arrays.gold_part[i] + 3 * i] = 1.0
            rows.append(-(self.evaluator.dual_sum(own) - self.evaluator.dual_sum(gold)))
        assert np.allclose(-np.sum(rows, axis=0), self.evaluator.dual_sum(mu))
        assert zero.shape == rows[0].shape
        return np.array(rows)

    def after(
        self, w: Floats, mu: Floats, share: float = 1.0
    ) -> list[tuple[float, Floats, Floats]]:
        """Return all places after a step of so many times alpha, each with its chance."""
        rule = self.machine.rule._replace(fixed=share * self.machine.rule.fixed)
        arrays, buffers = self.problem.arrays, self.machine.buffers
        found = []
        for j in range(self.n):
            for r in range(self.n) if self.sampling == "proportional" else (j,):
                memory = Memory(*(np.array(part) for part in self.machine.memory))
                memory.z[:], memory.mu[:] = w, mu
                memory.d[:] = -self.evaluator.dual_sum(mu)
                if self.sampling == "proportional":
                    at = (self.L[:j].sum() + 0.5 * self.L[j]) / self.L.sum()
                    coins = np.array([[at, (r + 0.5) / self.n, 0.0]])
                    more = (buffers, self.machine.other)
                    bad = two_gradient_epoch(arrays, memory, np.zeros(0), rule, coins, *more)
                    chance = self.p[j] / self.n
                else:
                    # Not by L_i; the one at this place of those that are all seen.
                    coins = np.array([[0.9, (j + 0.5) / self.n, 0.0]])
                    nobody, chances = np.zeros(0, dtype=np.int64), np.zeros(0)
                    bad = sag_epoch(arrays, memory, rule, coins, nobody, chances, buffers)
                    chance = self.p[j]
                assert bad == -1
                totals = memory.totals
                np.testing.assert_allclose(
                    memory.d, -self.evaluator.dual_sum(memory.mu), atol=1e-12
                )
                settle(memory.z, memory.d, totals[BETA], totals[SLIDE])
                found.append((float(chance), memory.z, memory.mu))
        assert sum(chance for chance, *_ in found) == pytest.approx(1.0)
        return found


class Lyapunov(Outcomes):
    """The function T of the proofs: E[T after a step] <= (1 - 1/kappa) T for all w and mu."""

    def value(self, w: Floats, mu: Floats) -> float:
        far = float(np.sum((w - self.best) ** 2))
        if self.sampling == "proportional":
            # A Bregman divergence of log Z is a Kullback-Leibler divergence.
            apart = float(np.sum(self.at_best * np.log(self.at_best / mu)))
            return apart / self.n + far / (2.0 * self.alpha * (1.0 - self.alpha * self.mu) * self.n)
        eta, p_min = 1.0 / self.alpha, float(self.p.min())
        squares = np.sum((self.slopes(mu) - self.slopes(self.at_best)) ** 2, axis=1)
        c = 0.5 * (eta**2 * p_min - self.mu * eta)
        return float(np.sum(squares / (self.n**2 * self.p))) + c * far

    def falls(self, w: Floats, mu: Floats, share: float = 1.0) -> bool:
        rate = self.mu * self.alpha
        if self.sampling == "proportional":
            rate = min(1.0 / (3.0 * self.n), self.mu / (8.0 * self.L.mean()))
        mean = sum(chance * self.value(*place) for chance, *place in self.after(w, mu, share))
        return mean <= (1.0 - rate) * self.value(w, mu) * (1.0 + 1e-12)


@pytest.mark.parametrize("sampling", DRAWS)
def test_the_steps_of_proposition_1(sampling: str) -> None:
    for l2 in (0.05, 30.0):
        t = Outcomes(sampling, l2)
        assert t.machine.rule.fixed == pytest.approx(t.alpha, rel=1e-12)


@pytest.mark.parametrize("sampling", DRAWS)
def test_the_proof_of_proposition_1(sampling: str) -> None:
    t = Lyapunov(sampling)
    for size in (0.01, 1.0, 10.0):
        w = t.somewhere(size)
        assert t.falls(w, t.at_best)
        assert t.falls(t.best, t.marginals(w))
        assert t.falls(w, t.marginals(w))
        assert t.falls(w, t.marginals(2.0 * t.best - w))
    # Kept gradients of two equal examples, wrong in opposite ways: steps that are too long.
    wrong = t.at_best.copy()
    wrong[0:3] += [0.1, -0.1, 0.0]
    wrong[3:6] -= [0.1, -0.1, 0.0]
    assert t.falls(t.best, wrong)
    too_long = (3.0, 10.0, 30.0) if sampling == "proportional" else (1.6, 3.0, 10.0, 30.0)
    assert not any(t.falls(t.best, wrong, share) for share in too_long)
    # The same vector for every class more: no loss changes, and only the decay leads back.
    shifted = t.best.copy()
    shifted[t.problem.storage.places()] += np.repeat([1.0, -2.0], 3)
    np.testing.assert_allclose(t.marginals(shifted), t.at_best, atol=1e-12)
    assert t.falls(shifted, t.at_best)
    too_short = (0.2, 0.1) if sampling == "proportional" else (0.45, 0.3, 0.1)
    assert not any(t.falls(shifted, t.at_best, share) for share in too_short)


@pytest.mark.parametrize("sampling", DRAWS)
def test_lemmas_1_and_2(sampling: str) -> None:
    """E[nu] = f'(w), and E|nu|^2 is at most what the lemmas say, which is not 1.3 times too large.

    With lambda w exact, |f'(w)|^2 - 2 |mean of g_i(w) - g_i(w*)|^2 takes the place of -|f'(w)|^2.
    """
    t = Outcomes(sampling)
    closest = np.inf
    for size in (0.01, 1.0, 10.0):
        w = t.somewhere(size)
        for mu in (t.at_best, t.marginals(w), t.marginals(2.0 * t.best - w)):
            best, here, kept = (t.slopes(u) for u in (t.at_best, t.marginals(w), mu))
            slope = here.mean(axis=0) + t.mu * w
            places = t.after(w, mu)
            steps = [(chance, (w - moved) / t.alpha) for chance, moved, _ in places]
            mean = np.sum([chance * nu for chance, nu in steps], axis=0)
            np.testing.assert_allclose(mean, slope, atol=1e-9 * (1.0 + np.abs(slope).max()))
            square = sum(chance * float(nu @ nu) for chance, nu in steps)
            parts = [np.sum((g - best) ** 2, axis=1) for g in (here, kept)]
            if sampling == "proportional":  # Lemma 2
                bound = sum(2.0 * t.L.mean() * float(np.mean(part / t.L)) for part in parts)
            else:  # Lemma 1
                bound = sum(2.0 * float(np.sum(part / t.p)) / t.n**2 for part in parts)
            apart = (here - best).mean(axis=0)
            bound += float(slope @ slope - 2.0 * apart @ apart)
            assert square <= bound * (1.0 + 1e-12)
            closest = min(closest, bound / square)
    assert closest < 1.3


def test_another_example_is_kept() -> None:
    """Proposition 1 (b): the gradient of r at the w before the step replaces the kept one."""
    t = Outcomes("proportional")
    w, mu = t.somewhere(1.0), t.marginals(t.somewhere(1.0, 1))
    here = t.marginals(w)
    for k, (_, _, kept) in enumerate(t.after(w, mu)):
        own = slice(3 * (k % t.n), 3 * (k % t.n) + 3)
        expected = mu.copy()
        expected[own] = here[own]
        np.testing.assert_allclose(kept, expected, atol=1e-12)


@pytest.mark.parametrize("sampling", DRAWS)
def test_proposition_1_on_average(sampling: str) -> None:
    instance = make_instance("multiclass", "log", 3, n=8)
    l2 = 4.0
    best = train(instance.problem, l2, solver="lbfgs", tol=1e-14).weights
    behind = []
    for seed in range(20):
        # The gradients at w = 0 are those that the constant of the proposition is about.
        zero = instance.problem.storage.zeros()
        machine = build(
            SAGA, instance, l2, seed, initial_weights=zero, sampling=sampling, eta="theorem"
        )
        path = [best @ best]
        for _ in range(40):
            machine.epoch()
            path.append(float(np.sum((machine.current_weights() - best) ** 2)))
        behind.append(path)
    n, mu = len(instance.lengths), l2 / len(instance.lengths)
    bound = instance.problem.diameter**2 / 4.0
    L = bound + mu
    visits = n * np.arange(41)
    if sampling == "proportional":
        dense = Dense(build(SAG, instance, l2), Explicit(instance, l2))
        primal = [(dense.explicit.primal(w)) / n for w in (0.0 * best, best)]
        constant = n / (2.0 * L.mean()) * (primal[0] - primal[1])
        rate = min(1.0 / (3.0 * n), mu / (8.0 * L.mean()))
        assert machine.rule.fixed == pytest.approx(1.0 / (4.0 * L.mean()))
    else:
        p = np.full(n, 1 / n)
        if sampling == "nus":
            p = 0.5 * p + 0.5 * bound / bound.sum()
        alpha = n * p.min() / (4 * L.max() + n * mu)
        assert machine.rule.fixed == pytest.approx(alpha)
        dense = Dense(build(SAG, instance, l2), Explicit(instance, l2))
        at_zero = [dense.gradient(i)[1] for i in range(n)]
        dense.w = best
        at_best = [dense.gradient(i)[1] + mu * best for i in range(n)]
        spread = np.sum((np.array(at_zero) - at_best) ** 2, axis=1)
        constant = 2 * p.min() / (4 * L.max() + n * mu) ** 2 * float(np.sum(spread / p))
        rate = mu * alpha
    allowed = (1 - rate) ** visits * (best @ best + constant)
    assert (np.mean(behind, axis=0) <= allowed).all()


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (SAG, {"eta": "theorem"}, lambda L: 1.0 / (16.0 * L.max())),
        (SAG, {"eta": "bound"}, lambda L: 1.0 / L.max()),
        (SAG, {"eta": "bound", "sampling": "nus"}, lambda L: 0.5 / L.max() + 0.5 / L.mean()),
        (SAGA, {"eta": "bound"}, lambda L: 1.0 / (3.0 * L.max())),
        (SAGA, {"eta": "bound", "share": 1.0}, lambda L: 1.0 / L.max()),
        (SVRG, {"eta": "theorem"}, lambda L: 0.1 / L.max()),
        (SVRG, {"eta": "theorem", "sampling": "proportional"}, lambda L: 0.1 / L.mean()),
        (SVRG, {"eta": 0.3}, lambda L: 0.3),
    ],
)
def test_steps_from_bounds(kind: type[Any], options: dict[str, Any], expected: Any) -> None:
    """L_i is c_i diameter_i^2 / (4 tau) + lambda, and 1/n is over the examples that count."""
    instance = make_instance("multiclass", "between", 3, weighted=True)
    machine = build(kind, instance, 0.7, **options)
    explicit = Explicit(instance, 0.7)
    used = np.flatnonzero(explicit.weight)
    assert len(used) == 5
    squares = np.array([(explicit.g[i] ** 2).sum(axis=1).max() for i in used])
    curvature = explicit.weight[used] * squares / (4.0 * explicit.tau) + 0.7 / 5
    assert machine.rule.fixed == pytest.approx(expected(curvature), rel=1e-12)


def test_steps_where_no_label_matters() -> None:
    problem = make_instance("multiclass", "log", n=4).problem
    problem.arrays.design.value[:] = 0.0
    for sampling in DRAWS:
        machine = solver_of(SAGA, problem, 2.0, sampling=sampling, eta="theorem")
        lam = 2.0 / 4.0
        expected = 1.0 / (4.0 * lam) if sampling == "proportional" else 1.0 / (8.0 * lam)
        assert machine.rule.fixed == pytest.approx(expected)
        assert machine.epoch().passes == (2.0 if sampling == "proportional" else 1.0)


def test_a_variance_reduced_step() -> None:
    """w - alpha [(g_j(w) - g_j(anchor)) / (n p_j) + mean of g(anchor) + lambda w]."""
    for sampling in ("uniform", "proportional"):
        t = Outcomes("proportional")
        machine = solver_of(SVRG, t.problem, t.l2, sampling=sampling, eta=0.1)
        anchor, w = t.somewhere(1.0), t.somewhere(1.0, 1)
        there, here = (t.slopes(t.marginals(at)) for at in (anchor, w))
        for j in range(t.n):
            memory = machine.memory
            memory.z[:], memory.d[:] = w, there.sum(axis=0)
            machine.anchor[:] = anchor
            at, p = (j + 0.5) / t.n, 1.0 / t.n
            if sampling == "proportional":
                at, p = (t.L[:j].sum() + 0.5 * t.L[j]) / t.L.sum(), t.L[j] / t.L.sum()
            assert machine.visit(np.array([[at, 0.5, 0.5]])) == -1
            nu = (here[j] - there[j]) / (t.n * p) + there.mean(axis=0) + t.mu * w
            np.testing.assert_allclose(machine.current_weights(), w - 0.1 * nu, atol=1e-12)
            memory.totals[BETA], memory.totals[SLIDE] = 1.0, 0.0
