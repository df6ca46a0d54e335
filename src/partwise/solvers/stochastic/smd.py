"""Stochastic meta-descent (Vishwanathan, Schraudolph, Schmidt and Murphy 2006).

    eta_j <- eta_j max(1/2, 1 - meta g_j v_j)                          the gain of a weight
    w_j   <- w_j - eta_j g_j
    v_j   <- decay v_j - eta_j (g_j + decay (H v)_j)                   how w depends on log eta

g and H are gradient and Hessian of the objective of one example, share_j/2 w_j^2 included. The
regulariser may be shared out among the n_j examples that have the feature, share_j = l2 / n_j.
Weights which an example does not touch then have g_j = (H v)_j = 0: nothing happens to them but
that v_j decays, and k such steps are one. Or every example has its part of all weights, as in the
paper, share_j = lam = l2 / n: every step then changes all of them, and since the gain follows w,
steps cannot be summed up; they are made up for when the weight is next touched. H v is a
difference of marginals, at one more call:

    H v = c_i F_i^T (mu_i(theta + e F_i v / tau) - mu_i(theta)) / e + share v
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, NamedTuple, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...problem.design import scatter, score
from ...problem.footprint import Footprint
from ...problem.problem import example_marginals
from ..goal import Goal
from ..options import Decay, NotNegative, OneOf, Preset
from ..papers import SCHMIDT_2015, VISHWANATHAN_2006
from .base import SEARCH, Eta, Order, StochasticSolver, every_block, make_blocks, touch

#: The square root of the rounding error balances rounding against curvature.
_STEP: Final = math.sqrt(np.finfo(np.float64).eps)


class Meta(NamedTuple):
    """The weights and what meta-descent keeps for each of them."""

    w: Floats  # one per weight
    v: Floats  # one per weight
    gain: Floats  # one per weight: eta_j / eta
    share: Floats  # one per weight, used where a block begins: l2 / n_j
    g: Floats  # one per weight: 0 between steps
    h: Floats  # one per weight: H v; 0 between steps


@njit
def _occurrences(design: Any, order: Any, blocks: Any, share: Any) -> None:
    """Count the examples of order that have each block, into share where the block begins."""
    for step in range(order.size):
        count = touch(design, order[step], step, blocks)
        for b in range(count):
            share[blocks.first[b]] += 1.0
    for k in range(blocks.clock.size):
        blocks.clock[k] = 0


@njit(fastmath=FAST)
def _make_up(s: Any, at: int, m: int, idle: int, rule: Any) -> None:
    """Take the steps that a block missed since it was touched."""
    eta, meta, decay, lam = rule
    w, v, gain = s.w[at : at + m], s.v[at : at + m], s.gain[at : at + m]
    if lam == 0.0:
        left = decay**idle
        for k in range(m):
            v[k] *= left
        return
    for _ in range(idle):
        for k in range(m):
            slope = lam * w[k]
            gain[k] *= max(0.5, 1.0 - meta * slope * v[k])
            w[k] -= eta * gain[k] * slope
            v[k] = decay * v[k] - eta * gain[k] * (slope + decay * lam * v[k])


@njit(fastmath=FAST)
def smd_epoch(a: Any, s: Any, blocks: Any, order: Any, rule: Any, buffers: Any) -> Any:
    """Visit the examples in order, with clocks that begin at 0.

    rule: eta, meta, decay, and lam, or 0 where the regulariser is shared out.

    Returns (the first example whose scores were not finite or -1, calls of the oracle).
    """
    q, t, mu, d, masked, work = buffers
    eta, meta, decay, _ = rule
    calls = 0
    for step in range(order.size):
        i = order[step]
        c = a.weight[i]
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        count = touch(a.design, i, step, blocks)
        for b in range(count):
            if blocks.idle[b] > 0:
                _make_up(s, blocks.first[b], blocks.width[b], blocks.idle[b], rule)
        score(a.design, i, s.w, q)
        for r in range(n):
            q[r] = (q[r] + (a.cost[lo + r] if a.cost.size > 0 else 0.0)) / a.tau
        calls += 1
        if not math.isfinite(example_marginals(a, i, q[:n], mu[:n], masked, work)):
            return i, calls
        for r in range(n):
            d[r] = c * mu[r]
        for k in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            d[a.gold_part[k]] -= c * a.gold_count[k]
        scatter(a.design, i, d, s.g)
        score(a.design, i, s.v, t)
        size = longest = 0.0
        for r in range(n):
            size = max(size, abs(q[r]))
            longest = max(longest, abs(t[r]) / a.tau)
        if longest > 0.0:
            e = _STEP * (1.0 + size) / longest
            for r in range(n):
                t[r] = q[r] + e * t[r] / a.tau
            calls += 1
            if not math.isfinite(example_marginals(a, i, t[:n], d[:n], masked, work)):
                return i, calls
            for r in range(n):
                d[r] = c * (d[r] - mu[r]) / e
            scatter(a.design, i, d, s.h)
        for b in range(count):
            at, m = blocks.first[b], blocks.width[b]
            share = s.share[at]
            w, v, gain = s.w[at : at + m], s.v[at : at + m], s.gain[at : at + m]
            g, h = s.g[at : at + m], s.h[at : at + m]
            for k in range(m):
                slope = g[k] + share * w[k]
                gain[k] *= max(0.5, 1.0 - meta * slope * v[k])
                w[k] -= eta * gain[k] * slope
                v[k] = decay * v[k] - eta * gain[k] * (slope + decay * (h[k] + share * v[k]))
                g[k] = 0.0
                h[k] = 0.0
    return -1, calls


@njit(fastmath=FAST)
def _settle(s: Any, first: Any, width: Any, clock: Any, step: int, rule: Any) -> None:
    """Take the steps that all blocks missed, and set the clocks to 0."""
    for b in range(first.size):
        at = first[b]
        _make_up(s, at, width[b], step - clock[at], rule)
        clock[at] = 0


@final
class MetaDescent(StochasticSolver):
    """Stochastic meta-descent: one gain per weight, which is learned from the Hessian.

    There is no proof that it converges; the gains follow the noise as well as the slope. Every
    step takes two calls of the oracle, so an epoch is two passes.

    Parameters
    ----------
    goal, eta, order
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    meta : float
        How fast the gains change.
    decay : float
        How long the past counts in v, from 0 to 1.
    regulariser : {"shared", "whole"}
        Which part of l2/2 |w|^2 an example has: a weight's is shared out among the examples that
        have its feature, so that a step changes few weights; or every example has 1/n of the
        whole, as in the paper, and a step takes time in proportion to the number of weights.
    """

    name: ClassVar[str] = "smd"
    papers = (VISHWANATHAN_2006, SCHMIDT_2015)
    presets: ClassVar[Mapping[str, Preset]] = {
        "schmidt2015-smd": Preset(
            "SMD of Schmidt et al. (2015), section 6; eta is the best power of 10.",
            {"regulariser": "whole", "order": "replacement"},
        )
    }
    occupies = Footprint(vectors=10, parts=1, examples=8)

    def __init__(
        self,
        goal: Goal,
        *,
        eta: Eta = SEARCH,
        meta: NotNegative = 0.02,
        decay: Decay = 0.99,
        regulariser: Annotated[str, OneOf(("shared", "whole"))] = "shared",
        order: Order = "permutation",
    ) -> None:
        super().__init__(goal, eta=eta, order=order)
        problem = goal.problem
        self.meta, self.decay, self.regulariser = meta, decay, regulariser
        self.blocks = make_blocks(problem)
        self.all_blocks = every_block(problem)
        zeros = problem.storage.zeros
        self.state = Meta(self.weights, zeros(), zeros(), zeros(), zeros(), zeros())
        self.state.gain[:] = 1.0
        if regulariser == "shared":
            _occurrences(problem.arrays.design, self.examples, self.blocks, self.state.share)
            self._share_out()
        else:
            self.state.share[:] = self.lam
        self.buffers = problem.scratch(5)

    def _share_out(self) -> None:
        """Turn n_j into l2 / n_j; weights of features that no example has are 0 at the optimum."""
        first, width = self.all_blocks
        count = self.state.share
        for b in np.flatnonzero(count[first] == 0.0):
            self.weights[first[b] : first[b] + width[b]] = 0.0
        used = count > 0.0
        count[used] = self.l2 / count[used]

    def with_step(self, goal: Goal, eta: float) -> MetaDescent:
        more: dict[str, Any] = {
            "meta": self.meta,
            "decay": self.decay,
            "regulariser": self.regulariser,
        }
        return MetaDescent(goal, eta=eta, **more)

    def visit(self, order: Ints, eta: float) -> int:
        lam = self.lam if self.regulariser == "whole" else 0.0
        rule = (float(eta), float(self.meta), float(self.decay), lam)
        arrays = self.problem.arrays
        bad, calls = smd_epoch(arrays, self.state, self.blocks, order, rule, self.buffers)
        self.visits += int(calls)
        _settle(self.state, *self.all_blocks, self.blocks.clock, len(order), rule)
        return int(bad)
