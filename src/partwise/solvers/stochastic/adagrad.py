"""AdaGrad with the proximal step for the l2 (Duchi, Hazan and Singer 2011).

    g = c_i F_i^T (gold_i - mu_i(w)),    G_j <- G_j + g_j^2,    alpha_j = eta / (delta + sqrt(G_j))
    w_j <- (w_j + alpha_j g_j) / (1 + alpha_j lam),    lam = l2 / n

A weight that an example does not touch keeps its alpha_j and only shrinks, so k such steps are
one: w_j <- w_j / (1 + alpha_j lam)^k. They are taken together when the weight is next touched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...problem.design import scatter, score
from ...problem.footprint import Footprint
from ...problem.problem import example_marginals
from ..goal import Goal
from ..options import Positive, Preset
from ..papers import DUCHI_2011, SCHMIDT_2015
from .base import SEARCH, Eta, Order, StochasticSolver, every_block, make_blocks, touch


class Gains(NamedTuple):
    """The weights and what AdaGrad keeps for each of them."""

    w: Floats  # one per weight
    square: Floats  # one per weight: G
    g: Floats  # one per weight: 0 between steps


@njit(fastmath=FAST)
def _shrink(w: Any, square: Any, steps: int, eta: float, delta: float, lam: float, f: Any) -> None:
    """Compute w_j / (1 + alpha_j lam)^steps for the weights of a block, by repeated squaring."""
    n = w.size
    for k in range(n):
        root = delta + math.sqrt(square[k])  # eta / alpha_j
        f[k] = root / (root + lam * eta)
    while steps > 0:
        if steps & 1:
            for k in range(n):
                w[k] *= f[k]
        for k in range(n):
            f[k] *= f[k]
        steps >>= 1


@njit(fastmath=FAST)
def shrink_rest(
    s: Any, first: Any, width: Any, clock: Any, step: int, eta: float, delta: float, lam: float
) -> None:
    """Shrink all weights by the steps that they missed, and set the clocks to 0."""
    f = np.empty(width.max() if width.size > 0 else 0)
    for b in range(first.size):
        at, n = first[b], width[b]
        idle = step - clock[at]
        _shrink(s.w[at : at + n], s.square[at : at + n], idle, eta, delta, lam, f)
        clock[at] = 0


@njit(fastmath=FAST)
def adagrad_epoch(
    a: Any, s: Any, blocks: Any, order: Any, eta: float, delta: float, lam: float, buffers: Any
) -> Any:
    """Visit the examples in order.

    Returns the first example whose scores were not finite, or -1.
    """
    q, mu, d, masked, work = buffers
    f = np.empty(a.design.widest)
    for step in range(order.size):
        i = order[step]
        c = a.weight[i]
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        count = touch(a.design, i, step, blocks)
        for b in range(count):
            at, m = blocks.first[b], blocks.width[b]
            if blocks.idle[b] > 0:
                w, square = s.w[at : at + m], s.square[at : at + m]
                _shrink(w, square, blocks.idle[b], eta, delta, lam, f)
        score(a.design, i, s.w, q)
        for r in range(n):
            q[r] = (q[r] + (a.cost[lo + r] if a.cost.size > 0 else 0.0)) / a.tau
        if not math.isfinite(example_marginals(a, i, q[:n], mu[:n], masked, work)):
            return i
        for r in range(n):
            d[r] = -c * mu[r]
        for k in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            d[a.gold_part[k]] += c * a.gold_count[k]
        scatter(a.design, i, d, s.g)
        for b in range(count):
            at, m = blocks.first[b], blocks.width[b]
            w, square, g = s.w[at : at + m], s.square[at : at + m], s.g[at : at + m]
            for k in range(m):
                square[k] += g[k] * g[k]
                root = delta + math.sqrt(square[k])  # eta / alpha_j
                w[k] = (root * w[k] + eta * g[k]) / (root + lam * eta)
                g[k] = 0.0
    return -1


@final
class AdaGrad(StochasticSolver):
    """AdaGrad: one step size per weight, which falls as its gradients add up.

    The mean of the objective over the iterates approaches the optimum as 1/sqrt(k); the last
    iterate, which is used here, behaves alike in practice.

    Parameters
    ----------
    goal, eta, order
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    delta : float
        Added to the root of the sum of squares.
    """

    name: ClassVar[str] = "adagrad"
    papers = (DUCHI_2011, SCHMIDT_2015)
    presets: ClassVar[Mapping[str, Preset]] = {
        "schmidt2015-adagrad": Preset(
            "AdaGrad of Schmidt et al. (2015), section 6; eta is the best power of 10.",
            {"delta": 1.0, "order": "replacement"},
        )
    }
    occupies = Footprint(vectors=7, parts=1, examples=8)

    def __init__(
        self,
        goal: Goal,
        *,
        eta: Eta = SEARCH,
        delta: Positive = 1.0,
        order: Order = "permutation",
    ) -> None:
        super().__init__(goal, eta=eta, order=order)
        problem = goal.problem
        self.delta = delta
        zeros = problem.storage.zeros
        self.gains = Gains(w=self.weights, square=zeros(), g=zeros())
        self.blocks = make_blocks(problem)
        self.all_blocks = every_block(problem)
        self.buffers = problem.scratch(4)

    def with_step(self, goal: Goal, eta: float) -> AdaGrad:
        return AdaGrad(goal, eta=eta, delta=self.delta)

    def visit(self, order: Ints, eta: float) -> int:
        step = (eta, self.delta, self.lam)
        arrays = self.problem.arrays
        bad = adagrad_epoch(arrays, self.gains, self.blocks, order, *step, self.buffers)
        self.visits += len(order)
        shrink_rest(self.gains, *self.all_blocks, self.blocks.clock, len(order), *step)
        return int(bad)
