"""Stochastic gradient descent: decreasing, constant and Pegasos steps, and the averaged method.

    w <- (1 - alpha_k lam) w + alpha_k c_i F_i^T (gold_i - mu_i(w)),   lam = l2 / n
    alpha_k = first / (1 + k rate),   k = 0, 1, ... counts the steps

With w = beta v, shrinking w takes one product, and v changes only where example i has features. The
average of the iterates (Xu 2010) needs one more vector u and the sum B of all beta:

    sum_s beta_s v_s = B v - u,    u <- u + B d where v <- v + d

Every step makes w a sum of terms (coef / l2) c_i F_i^T (gold_i - mu), whose coefficients shrink
with w. As long as those of each example add up to at most 1 this is a point of the dual, the rest
being the gold label; the entropy is concave, so with coef as weights

    D >= s sum coef c_i (tau H + cost_i.mu) - s^2 l2/2 |w|^2,    s max_i coef_i <= 1

This bound costs nothing, and it holds for the hinge, where mu is a maximiser. For tau > 0 the
marginals at the last w are another dual point, which is usually better.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Final, NamedTuple, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...problem.design import scatter, score
from ...problem.problem import example_marginals, example_maximum
from ...problem.sweeps import lowest_entropy
from ..base import Evaluation
from ..goal import Goal
from ..options import OneOf
from ..papers import COLLINS_2008, SHALEV_SHWARTZ_2011, XU_2010
from ..scratch import scratch
from .base import SEARCH, Eta, StochasticSolver

SCHEDULES: Final = ("decreasing", "constant")

#: beta is multiplied into v below this, since B v - u would lose as many digits.
_SMALL: Final = 1e-3


class SGDState(NamedTuple):
    """The iterate, and what is kept beside it."""

    w: Floats  # one per weight
    u: Floats  # one per weight: minus the sum of the iterates between epochs; empty: no average
    coef: Floats  # one per example: sum of the coefficients of its terms in w
    totals: Floats


#: Positions in ``SGDState.totals``: steps; iterates in the average; what is left of the first w;
#: sum coef c_i (tau H + cost_i.mu); sum of c_i loss_i at the visits of the last epoch.
STEPS, COUNT, KEPT, LINEAR, LOSS = range(5)


@njit(fastmath=FAST)
def _fold(s: Any, beta: float, total: float) -> None:
    """Multiply beta into v and add B v to u, so that both start anew."""
    if s.u.size > 0:
        for k in range(s.u.size):
            s.u[k] -= total * s.w[k]
    for k in range(s.w.size):
        s.w[k] *= beta
    for i in range(s.coef.size):
        s.coef[i] *= beta


@njit(fastmath=FAST)
def sgd_epoch(
    a: Any, s: Any, order: Any, l2: float, lam: float, first: float, rate: float, buffers: Any
) -> Any:
    """Visit the examples in order.

    Returns the first example whose scores were not finite, or -1.
    """
    q, mu, delta, masked, work = buffers
    tau = a.tau
    beta, total, loss = 1.0, 0.0, 0.0
    bad = -1
    for i in order:
        c = a.weight[i]
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        score(a.design, i, s.w, q)
        gold = 0.0
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            gold += a.gold_count[g] * q[a.gold_part[g]]
        gold *= beta
        for r in range(n):
            q[r] *= beta
        if a.cost.size > 0:
            for r in range(n):
                q[r] += a.cost[lo + r]
        if tau > 0.0:
            for r in range(n):
                q[r] /= tau
            top = tau * example_marginals(a, i, q[:n], mu[:n], masked, work)
        else:
            top = example_maximum(a, i, q[:n], mu[:n], masked, work)
        if not math.isfinite(top):
            bad = i
            break
        entropy = tau * lowest_entropy(top / tau, q[:n], mu[:n]) if tau > 0.0 else 0.0
        cost = 0.0
        for r in range(n):
            delta[r] = -mu[r]
        if a.cost.size > 0:
            for r in range(n):
                cost += a.cost[lo + r] * mu[r]
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            delta[a.gold_part[g]] += a.gold_count[g]
        loss += c * (top - gold)

        alpha = first / (1.0 + s.totals[STEPS] * rate)
        s.totals[STEPS] += 1.0
        shrink = 1.0 - alpha * lam
        beta *= shrink
        if abs(beta) < _SMALL:
            _fold(s, beta, total)
            beta, total = 1.0, 0.0
        for r in range(n):
            delta[r] *= c * alpha / beta
        scatter(a.design, i, delta, s.w)
        s.coef[i] += l2 * alpha / beta
        s.totals[LINEAR] = shrink * s.totals[LINEAR] + l2 * alpha * c * (entropy + cost)
        s.totals[KEPT] *= shrink
        if s.u.size > 0:
            for r in range(n):
                delta[r] *= total
            scatter(a.design, i, delta, s.u)
            total += beta
            s.totals[COUNT] += 1.0
    _fold(s, beta, total)
    s.totals[LOSS] += loss
    return bad


class _PlainSGD(StochasticSolver):
    """What the solvers of this file have in common: one compiled epoch, and the certificate."""

    needs = frozenset[str]()
    averaged: ClassVar[bool] = False

    def __init__(self, goal: Goal, *, eta: Eta = SEARCH) -> None:
        super().__init__(goal, eta=eta)
        problem = goal.problem
        # Weights from an earlier fit are not a sum of terms, so they are kept apart.
        self.origin = self.weights if self.weights.any() else None
        self.state = SGDState(
            w=self.weights.copy(),
            u=problem.storage.zeros() if self.averaged else np.zeros(0),
            coef=np.zeros(problem.n_examples),
            totals=np.zeros(5),
        )
        self.state.totals[KEPT] = 1.0
        self.buffers = scratch(problem, 4)

    def begin(self) -> None:
        self.state.totals[LOSS] = 0.0

    def steps(self, eta: float) -> tuple[float, float]:
        """Return first and rate of the steps."""
        return eta, 0.0

    def visit(self, order: Ints, eta: float) -> int:
        s, first, rate = self.state, *self.steps(eta)
        arrays = self.problem.arrays
        bad = sgd_epoch(arrays, s, order, self.l2, self.lam, first, rate, self.buffers)
        self.visits += len(order)
        self.weights = -s.u / s.totals[COUNT] if s.u.size else s.w
        return int(bad)

    def running_dual(self) -> float:
        """Return D of the terms that make up the last iterate, scaled to where D is largest."""
        s = self.state
        made = s.w if self.origin is None else s.w - s.totals[KEPT] * self.origin
        norm, linear = self.l2 * inner(made, made), float(s.totals[LINEAR])
        if s.coef.min() < 0.0 or linear <= 0.0 or norm == 0.0:
            return 0.0  # that of the gold labels
        scale = min(linear / norm, 1.0 / s.coef.max())
        return float(scale * (linear - 0.5 * scale * norm))

    def values(self) -> tuple[float, float]:
        # The losses were summed up on the way, each at the iterate of its visit.
        s, dual = self.state, self.running_dual()
        return dual, float(s.totals[LOSS] + 0.5 * self.l2 * inner(s.w, s.w)) - dual

    def evaluate(self) -> Evaluation:
        # For tau > 0 the better of two dual points is taken.
        if self.problem.loss.tau > 0.0:
            value = super().evaluate()
            return Evaluation(value.weights, value.primal, max(value.dual, self.running_dual()))
        weights = self.current_weights()
        return Evaluation(weights, self.evaluator.primal(weights, self.l2), self.running_dual())


@final
class SGD(_PlainSGD):
    """Stochastic gradient descent with decreasing steps, or with a constant step.

    The steps eta / (1 + k/n) are those of Collins et al. (2008), section 7.1.3. In the long run
    they are (eta l2) / (lam k): the objective approaches the optimum as 1/k if eta l2 > 1/2, and
    as k^(-2 eta l2) otherwise. A constant step approaches it geometrically, but only to a
    distance that shrinks with eta.

    Parameters
    ----------
    goal, eta
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    schedule : {"decreasing", "constant"}
        The steps: eta / (1 + k/n) after k visits, or eta.
    """

    name: ClassVar[str] = "sgd"
    papers = (COLLINS_2008,)

    def __init__(
        self,
        goal: Goal,
        *,
        eta: Eta = SEARCH,
        schedule: Annotated[str, OneOf(SCHEDULES)] = "decreasing",
    ) -> None:
        super().__init__(goal, eta=eta)
        self.schedule = schedule

    def with_step(self, goal: Goal, eta: float) -> SGD:
        return SGD(goal, eta=eta, schedule=self.schedule)

    def steps(self, eta: float) -> tuple[float, float]:
        return eta, 1.0 / len(self.examples) if self.schedule == "decreasing" else 0.0


@final
class AveragedSGD(_PlainSGD):
    """Stochastic gradient descent with a constant step; the weights are the mean of all iterates.

    The mean forgets the start as 1/k. What the constant step leaves of the noise averages out as
    1/k too; where the loss is not quadratic a distance of order eta stays.
    """

    name: ClassVar[str] = "asgd"
    papers = (XU_2010,)
    averaged = True


@final
class Pegasos(_PlainSGD):
    """Stochastic gradient descent with steps eta / (lam k), k = 1, 2, ...; lam = l2 / n.

    With eta = 1 the first step forgets where it started, and after every epoch w is v(u) / l2 of
    a point u of the dual, the mean of all marginals or maximisers of an example. The objective
    approaches the optimum as log k / k, from very far away where lam is small; smaller eta start
    nearer and end slower, as k^(-2 eta) for eta < 1/2. A search looks at the start only, so eta
    is 1 unless another one is asked for.

    Parameters
    ----------
    goal, eta
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    """

    name: ClassVar[str] = "pegasos"
    papers = (SHALEV_SHWARTZ_2011,)

    def __init__(self, goal: Goal, *, eta: Eta = 1.0) -> None:
        super().__init__(goal, eta=eta)

    def steps(self, eta: float) -> tuple[float, float]:
        return eta / self.lam, 1.0
