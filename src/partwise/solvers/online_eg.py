"""Online exponentiated gradient: one example's duals at a time.

Primal   min_w  l2/2 |w|^2 + sum_i c_i loss_i(w)
Dual     max_u  sum_i c_i [tau H(u_i) + cost_i.mu_i] - |v(u)|^2 / (2 l2)
Update   theta_i <- theta_i + eta_i (F_i w + cost_i - tau theta_i),  v kept up to date

Figures 2, 3 and 16 of Collins et al. (2008). Each example has a step eta_i of its own: it is
halved until the dual improves, then multiplied by 1.05. The change in the dual costs O(1) for the
norm: scatter returns the change of |v|^2.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from ..design import scatter, score
from ..errors import DataError
from ..evaluation import Evaluator, not_finite
from ..jit import FAST, njit
from ..problem import Problem, example_marginals
from ..structures.base import Floats, Ints
from .base import Epoch
from .exponentiated_gradient import (
    ESTIMATE,
    LINEAR,
    NORM,
    VISITS,
    Annealing,
    ExponentiatedGradient,
    scratch,
)

ORDERS = ("permutation", "replacement", "deterministic")


@njit(fastmath=FAST)
def online_eg_epoch(
    a: Any, duals: Any, order: Any, l2: float, halvings: int, growth: float, steps: Any, buffers: Any
) -> Any:
    """Visit the examples in order.

    halvings: how often a step may be halved at one visit (0: the step is fixed and every change
    is taken); growth: the factor after a visit; steps: the smallest and the largest eta.

    Returns (the first example without a finite logZ or -1, how many first trials improved).
    """
    q, theta, mu, delta, masked, work = buffers
    tau = a.tau
    scale = 1.0 / l2
    improved = 0
    for i in order:
        c = a.weight[i]
        if c == 0.0:
            continue
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        old = duals.theta[lo : lo + n]
        old_mu = duals.mu[lo : lo + n]
        score(a.design, i, duals.v, q)
        for r in range(n):
            q[r] *= scale
            delta[r] = 0.0
        if a.cost.size > 0:
            for r in range(n):
                q[r] += a.cost[lo + r]
        eta = duals.eta[i]
        norm = 0.0
        trial = 0
        while True:
            duals.totals[VISITS] += 1.0
            for r in range(n):
                theta[r] = old[r] + eta * (q[r] - tau * old[r])
            log_z = example_marginals(a, i, theta[:n], mu[:n], masked, work)
            if not math.isfinite(log_z):
                return i, improved
            inner = 0.0
            spread = 0.0  # (theta' - theta).(mu' - mu) = KL(u, u') + KL(u', u)
            cost = 0.0
            for r in range(n):
                inner += theta[r] * mu[r]
                change = mu[r] - old_mu[r]
                spread += (theta[r] - old[r]) * change
                # delta: what v lacks after the trials before this one
                delta[r] = -c * change - delta[r]
            if a.cost.size > 0:
                for r in range(n):
                    cost += a.cost[lo + r] * (mu[r] - old_mu[r])
            entropy = log_z - inner
            norm += scatter(a.design, i, delta, duals.v)
            linear = c * (tau * (entropy - duals.entropy[i]) + cost)
            noise = 1e-14 * (c * (abs(log_z) + abs(inner)) + abs(norm) / l2)
            better = linear - norm / (2.0 * l2) >= -noise
            if better and trial == 0:
                improved += 1
            if better or halvings == 0:
                duals.totals[LINEAR] += linear
                duals.totals[NORM] += norm
                if tau > 0.0:
                    duals.totals[ESTIMATE] += c * spread / (2.0 * tau * eta * eta)
                else:
                    duals.totals[ESTIMATE] += c * spread / eta
                duals.entropy[i] = entropy
                for r in range(n):
                    old[r] = theta[r]
                    old_mu[r] = mu[r]
                break
            trial += 1
            eta = max(0.5 * eta, steps[0])
            for r in range(n):
                delta[r] = -c * (mu[r] - old_mu[r])
            if trial > halvings or duals.eta[i] <= steps[0]:
                # Given up for this visit: take the last trial back.
                for r in range(n):
                    delta[r] = -delta[r]
                scatter(a.design, i, delta, duals.v)
                break
        duals.eta[i] = min(eta * growth, steps[1])
    return -1, improved


@final
class OnlineEG(ExponentiatedGradient):
    """Online EG.

    Parameters
    ----------
    problem, l2, evaluator, start, annealing
        As in :class:`ExponentiatedGradient`.
    rng : numpy.random.Generator
        Draws the orders.
    order : {"permutation", "replacement", "deterministic"}
        A new random permutation each pass; sampling with replacement, which the convergence
        proofs are about; or the order of the data.
    first_step : float or "trial"
        The first eta; "trial" halves it from 1 until, on a tenth of the data, at least 95% of the
        steps improve the dual.
    safe : bool
        Use the fixed step of Theorem 2, 1 / (tau + |A|), with a bound on |A| for each example,
        instead of the search.
    """

    name: ClassVar[str] = "online-eg"

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        start: float | Floats = 10.0,
        order: str = "permutation",
        first_step: float | str = 0.5,
        safe: bool = False,
        annealing: Annealing | None = None,
    ) -> None:
        if order not in ORDERS:
            raise DataError(f"unknown order {order!r}; use one of {', '.join(ORDERS)}")
        trial = first_step == "trial"
        eta = 1.0 if trial else float(first_step)
        super().__init__(
            problem, l2, evaluator, start=start, first_step=eta, annealing=annealing
        )
        self.rng = rng
        self.order = order
        self.safe = safe
        self.buffers = scratch(problem)
        if safe:
            self.duals.eta[:] = safe_steps(problem, l2)
        elif trial:
            self._trial()

    def _draw(self) -> Ints:
        n = self.problem.n_examples
        if self.order == "permutation":
            return self.rng.permutation(n)
        if self.order == "replacement":
            return self.rng.integers(n, size=n)
        return np.arange(n)

    def _visit(self, order: Ints, l2: float, halvings: int) -> int:
        fixed = halvings == 0
        steps = np.array([1e-3, 1.0 / self.problem.loss.tau if self.problem.loss.tau else np.inf])
        bad, improved = online_eg_epoch(
            self.problem.arrays,
            self.duals,
            order,
            l2,
            halvings,
            1.0 if fixed else 1.05,
            steps,
            self.buffers,
        )
        if bad >= 0:
            raise not_finite(int(bad))
        return int(improved)

    def _trial(self) -> None:
        """Find the first step on a tenth of the data, then put the duals back."""
        n = self.problem.n_examples
        sample = self.rng.permutation(n)[: max(1, n // 10)]
        before = self.duals
        eta = 1.0
        while True:
            self.duals = before.copy()
            self.duals.eta[:] = eta
            improved = self._visit(sample, self.current_l2, 0)
            before.totals[VISITS] = self.duals.totals[VISITS]
            if improved >= 0.95 * len(sample) or eta < 1e-3:
                break
            eta *= 0.5
        self.duals = before
        self.duals.eta[:] = eta

    def epoch(self) -> Epoch:
        """Visit as many examples as there are."""
        totals = self.duals.totals
        totals[ESTIMATE] = 0.0
        l2 = self.current_l2
        halvings = 0 if self.safe else (2 if self.epochs == 0 else 5)
        self._visit(self._draw(), l2, halvings)
        self.epochs += 1
        passes = totals[VISITS] / self.problem.n_examples
        totals[VISITS] = 0.0
        if self.problem.loss.tau == 0.0:
            self.average.add(self.duals.v)
        return Epoch(passes, self.running_dual(l2), float(totals[ESTIMATE]), l2)


def safe_steps(problem: Problem, l2: float) -> Floats:
    """1 / (tau + c_i |A_ii|) with |A_ii| <= max_y |F_i^T (gold_i - y)|^2 / l2: Theorem 2."""
    size = problem.arrays.weight * problem.reach**2 / l2
    return 1.0 / np.maximum(problem.arrays.tau + size, 1e-300)

