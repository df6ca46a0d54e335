"""Sequential minimal optimisation on the marginals, for the hinge loss.

Taskar, Guestrin and Koller (2004). A step moves weight from one label of an example to another, as
two duals alone change, but the duals stay factored: weight can leave a label a as long as all of
its parts have marginals, if these parts determine the distribution.

    q = F_i w + cost_i,    y = argmax q.y,    a = argmin q.a over the labels with mu_i > 0 on a
    mu_i <- mu_i + g (y - a),    g <= the least mu_i on the parts of a that y has not

So a structure must have marginals that weight can be taken from: those that determine the entropy.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, final

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...problem.evaluation import not_finite
from ...problem.problem import example_maximum
from ..goal import Goal
from ..papers import TASKAR_2004
from ..scratch import scratch
from .marginal_ascent import MarginalAscent, score_with_cost, step

#: Smaller marginals may be rounding; no weight is taken from them.
LEAST: Final = 1e-12


@njit(fastmath=FAST)
def smo_epoch(
    a: Any, order: Any, l2: float, mu: Any, gap: Any, v: Any, d: Any, totals: Any, buffers: Any
) -> Any:
    """Visit the examples in order; returns the first without finite scores, or -1."""
    q, way, y, taken, masked, work = buffers
    for i in order:
        c = a.weight[i]
        if c == 0.0:
            continue
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        own = mu[lo : lo + n]
        mean = score_with_cost(a, i, v, l2, own, q)
        high = example_maximum(a, i, q[:n], y[:n], masked, work)
        if not math.isfinite(high):
            return i
        gap[i] = c * max(high - mean, 0.0)
        for r in range(n):
            way[r] = -q[r] if own[r] > LEAST else -math.inf
        low = -example_maximum(a, i, way[:n], taken[:n], masked, work)
        if not low < high:  # also where rounding has left no label
            continue
        most = 1.0
        for r in range(n):
            change = y[r] - taken[r]
            if change < 0.0:
                most = min(most, -own[r] / change)
            way[r] = c * change
        step(a, i, way[:n], c * (high - low), most, l2, own, d, v, totals)
        for r in range(n):
            own[r] = max(own[r], 0.0)
    return -1


@final
class SMO(MarginalAscent):
    """Sequential minimal optimisation on the marginals."""

    name: ClassVar[str] = "smo"
    papers = (TASKAR_2004,)
    needs = frozenset({"maximum", "tau=0", "entropy"})

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        self.d = goal.problem.storage.zeros()
        self.buffers = scratch(goal.problem, 5)

    def visit(self, order: Ints, l2: float, v: Floats) -> int:
        bad = smo_epoch(
            self.problem.arrays,
            order,
            l2,
            self.mu,
            self.gap,
            v,
            self.d,
            self.totals,
            self.buffers,
        )
        if bad >= 0:
            raise not_finite(int(bad))
        return 2 * len(order)  # two calls of the oracle a visit
