"""Stochastic gradient descent with the non-uniform sampling of SAG-NUS*, and a constant step.

    w <- (1 - alpha lam) w + alpha / (n p_i) c_i F_i^T (gold_i - mu_i(w)),   lam = l2 / n
    p_i = 1/2 (1/n + L_i / sum_j L_j)

Schmidt et al. (2015), footnote 10: the L_i are found by line searches as for SAG-NUS*. Dividing by
n p_i makes the step unbiased, which SAG can do without (Needell, Srebro and Ward 2014).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Ints
from ...compiled.jit import FAST, njit
from ...problem.design import scatter, score
from ...problem.footprint import Footprint
from ..average.average_gradient import draw, from_gold, new_curvature, respond, see
from ..average.memory import NUS, VISITS, Rule, check_memory, make_memory
from ..goal import Goal
from ..papers import SCHMIDT_2015
from .base import SEARCH, Eta, StochasticSolver

#: beta is multiplied into v below this.
_SMALL = 1e-3


@njit(fastmath=FAST)
def sgd_nus_epoch(a: Any, memory: Any, rule: Any, coins: Any, alpha: float, buffers: Any) -> Any:
    """Visit as many examples as coins has rows; w = beta v, and v is kept in z.

    Returns the first example without a finite log Z, or -1.
    """
    q, _, theta, mu, delta, masked, work = buffers
    tau, n, v = a.tau, memory.order.size, memory.z
    beta, bad = 1.0, -1
    for t in range(coins.shape[0]):
        at, p = draw(memory, rule, coins[t])
        i = memory.order[at]
        c, size = a.weight[i], a.part_ptr[i + 1] - a.part_ptr[i]
        score(a.design, i, v, q)
        for r in range(size):
            q[r] *= beta
        memory.totals[VISITS] += 1.0
        log_z, _, gold = respond(a, i, q, theta, mu, masked, work)
        if not math.isfinite(log_z):
            bad = i
            break
        see(memory, at)
        from_gold(a, i, mu, delta)
        noise = 1e-15 * c * (tau * abs(log_z) + abs(gold))
        f = c * (tau * log_z - gold)
        new_curvature(a, i, f, noise, delta, memory, rule, buffers)
        beta *= 1.0 - alpha * rule.l2 / n
        if abs(beta) < _SMALL:
            for k in range(v.size):
                v[k] *= beta
            beta = 1.0
        for r in range(size):
            delta[r] *= -alpha / (n * p * beta)
        scatter(a.design, i, delta, v)
    for k in range(v.size):
        v[k] *= beta
    return bad


@final
class NonUniformSGD(StochasticSolver):
    """Stochastic gradient descent that draws half of the examples in proportion to their curvature.

    The step is constant. Non-uniform sampling changes only the part of the error that falls
    fastest, so that it does little for SGD; it is here for comparison with SAG.

    Parameters
    ----------
    goal : Goal
        What to solve.
    eta : float, "search" or "grid"
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    """

    name: ClassVar[str] = "sgd-nus"
    papers = (SCHMIDT_2015,)
    occupies = Footprint(vectors=8, parts=1, examples=14)
    remade: ClassVar[tuple[str, ...]] = ("rule",)

    def __init__(self, goal: Goal, *, eta: Eta = SEARCH) -> None:
        super().__init__(goal, eta=eta)
        nothing = np.zeros(0)
        chances = np.zeros(goal.problem.n_examples)
        self.memory = make_memory(goal.problem, 0.0, (nothing, nothing, nothing), chances)
        self.memory.z[:] = self.weights
        self.weights = self.memory.z
        self.rule = Rule(
            sampling=NUS,
            saga=False,
            share=1.0,
            skipping=True,
            first=1.0,
            fixed=0.0,
            l2=goal.l2,
            l1=0.0,
        )
        self.buffers = goal.problem.scratch(6)

    def with_step(self, goal: Goal, eta: float) -> NonUniformSGD:
        return NonUniformSGD(goal, eta=eta)

    def visit(self, order: Ints, eta: float) -> int:
        # Every example is drawn when its turn comes, so only the length of the order counts.
        memory, arrays = self.memory, self.problem.arrays
        coins = self.rng.random((len(order), 3))
        bad = sgd_nus_epoch(arrays, memory, self.rule, coins, eta, self.buffers)
        self.visits += int(memory.totals[VISITS])
        memory.totals[VISITS] = 0.0
        return int(bad)

    def restored(self) -> None:
        super().restored()
        check_memory(self.memory, self.problem)
        self.weights = self.memory.z
