"""Dual coordinate descent for the multiclass hinge loss of Crammer and Singer (2001).

The sequential method of Keerthi, Sundararajan, Chang, Hsieh and Lin (2008). All marginals of an
example move at once, to where the dual is largest, which is a projection onto the simplex:

    q = F_i w + cost_i,    A = c_i |x_i|^2 / l2
    mu_i <- argmin |mu - (mu_i + q / A)|  over  mu >= 0, sum mu = 1

This is exact if every feature has a weight for every label; otherwise it maximises a lower bound
of the dual. Most examples end on one label, so an example that does not move has most likely found
its place, and waits for twice as many rounds each time.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.lanes import prefetch
from ...errors import DataError
from ...problem.design import fetch_example, scatter, score
from ...problem.evaluation import not_finite
from ..goal import Goal
from ..options import NotNegative
from ..papers import CRAMMER_2001, KEERTHI_2008
from .marginal_ascent import LINEAR, NORM, MarginalAscent

#: No example waits for more rounds.
LONGEST: Final = 255
#: Positions in the clock: see `crammer_singer_rounds`.
ROUND, VISITS, COUNT, TURN = range(4)
#: What is smaller, beside the scores, is rounding.
ROUNDING: Final = 1e-13


# Without fast-math flags: z - top must not be put together with the level.
@njit
def project(z: Any, mu: Any) -> None:
    """Compute the point mu of the simplex that is nearest to z (Michelot 1986); -inf gets 0.

    Places more than 1 below the largest get 0. So z is taken relative to the largest: the sums have
    terms from -1 to 0, and mu adds up to 1 however large z is. The set of places above the level
    shrinks in every round but the last and always keeps the largest; if it grows, that is rounding.
    """
    top = z[0]
    for k in range(z.size):
        top = max(top, z[k])
    level, count = -1.0, z.size + 1
    while True:
        total, left = 0.0, 0
        for k in range(z.size):
            if z[k] - top > level:
                total += z[k] - top
                left += 1
        if left >= count:
            break
        count, level = left, (total - 1.0) / left
    for k in range(z.size):
        mu[k] = max(z[k] - top - level, 0.0)


@njit
def who_is_due(due: Any, number: int, draws: Any, order: Any) -> Any:
    """Put the examples that are due in this round in a random order; return their number."""
    count = 0
    for i in range(due.size):
        if due[i] <= number:
            k = int(draws[count] * (count + 1))
            order[count] = order[k]
            order[k] = i
            count += 1
    return count


@njit(fastmath=FAST)
def place(
    a: Any, i: int, l2: float, square: Any, mu: Any, gap: Any, v: Any, totals: Any, buffers: Any
) -> Any:
    """Move the marginals of example i to where the dual is largest.

    Returns whether its scores are finite, and whether it moved.
    """
    q, z, way = buffers
    c = a.weight[i]
    lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
    own = mu[lo : lo + n]
    score(a.design, i, v, q)
    high, mean = -math.inf, 0.0
    for k in range(n):
        q[k] /= l2
        if a.cost.size > 0:
            q[k] += a.cost[lo + k]
        if own[k] > 0.0:
            mean += q[k] * own[k]
        if a.mask.size > 0:
            q[k] += a.mask[a.mask_ptr[i] + k]
        if not q[k] < math.inf:
            return False, False
        high = max(high, q[k])
    gap[i] = c * max(high - mean, 0.0)
    if high - mean <= ROUNDING * (1.0 + abs(high)):
        return True, False
    bend = c * square[i] / l2
    # Without features the dual is linear, and any way that is long enough leads to the same end.
    bend = max(bend, ROUNDING * (high - mean))
    for k in range(n):
        z[k] = own[k] + (q[k] - high) / bend
    project(z[:n], way[:n])
    cost = 0.0
    for k in range(n):
        change = way[k] - own[k]
        if a.cost.size > 0:
            cost += a.cost[lo + k] * change
        own[k] = way[k]
        way[k] = -c * change
    totals[NORM] += scatter(a.design, i, way, v)
    totals[LINEAR] += c * cost
    return True, True


@njit(fastmath=FAST)
def crammer_singer_rounds(
    a: Any, draws: Any, l2: float, square: Any, mu: Any, gap: Any, rests: Any, order: Any,
    most: int, v: Any, totals: Any, buffers: Any,
) -> Any:  # fmt: skip
    """Go through the examples that are due until there were as many visits as examples.

    rests: for each example, how many rounds it waits and in which one it is due; and four numbers:
    the next round, the visits before this round, how many examples this round has, and how many of
    them were visited.
    draws: numbers from [0, 1), twice as many as there are examples.
    most: after this many visits there is a pause.

    Returns the first example without finite scores or -1.
    """
    wait, due, clock = rests
    made = 0
    while clock[VISITS] < due.size and made < most:
        if clock[TURN] == clock[COUNT]:
            clock[TURN] = 0
            clock[COUNT] = who_is_due(due, clock[ROUND], draws[clock[VISITS] :], order)
            if clock[COUNT] == 0:
                clock[ROUND] = due.min()
                continue
            clock[ROUND] += 1
        count, first = clock[COUNT], clock[TURN]
        for turn in range(first, min(count, first + most - made)):
            i = order[turn]
            if turn + 1 < count:
                fetch_example(a.design, order[turn + 1])
                prefetch(mu, a.part_ptr[order[turn + 1]])
            finite, moved = place(a, i, l2, square, mu, gap, v, totals, buffers)
            if not finite:
                return i
            wait[i] = 0 if moved else min(2 * wait[i] + 1, LONGEST)
            due[i] = clock[ROUND] + wait[i]
            clock[TURN] += 1
            made += 1
        if clock[TURN] == count:
            clock[VISITS] += count
    return -1


@njit
def _add_squares(design: Any, out: Any) -> None:
    """Compute out_i += |x_i|^2."""
    for i in range(out.size):
        for e in range(design.entry_ptr[i], design.entry_ptr[i + 1]):
            x = design.value[e] if design.value.size > 0 else 1.0
            out[i] += x * x


@final
class CrammerSinger(MarginalAscent):
    """Dual coordinate descent for classifiers with the hinge loss.

    Parameters
    ----------
    goal, nearness
        As in :class:`MarginalAscent`.
    """

    name: ClassVar[str] = "crammer-singer"
    on_disk = True
    papers = (CRAMMER_2001, KEERTHI_2008)
    needs = frozenset({"maximum", "tau=0", "multiclass"})
    remade = ("square",)
    grows = ("draws",)

    def __init__(self, goal: Goal, *, nearness: NotNegative | None = 0.0) -> None:
        super().__init__(goal, nearness=nearness)
        problem = goal.problem
        n = problem.n_examples
        self.square = np.zeros(n)
        _add_squares(problem.arrays.design, self.square)
        self.wait, self.due = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.due[problem.arrays.weight == 0.0] = np.iinfo(np.int64).max
        self.clock = np.zeros(4, dtype=np.int64)
        self.draws = np.zeros(0)  # of this epoch
        self.order = np.empty(n, dtype=np.int64)
        self.buffers = tuple(np.empty(problem.max_parts) for _ in range(3))

    @property
    def under_way(self) -> bool:
        return self.draws.size > 0 or super().under_way

    def sweep(self, l2: float, v: Floats) -> float:
        # Some more visits than there are examples, if the last round needs them.
        n = self.problem.n_examples
        if self.problem.room.on_disk:
            while self.visits < n or self.under_way:
                for order in self.stretches(self.draw):
                    self.visits += self.visit(order, l2, v)
            visits, self.visits = self.visits, 0
            return visits / n
        if not self.under_way:
            self.draws = self.rng.random(2 * n)
            self.clock[[VISITS, COUNT, TURN]] = 0
        most = max(1, self.stretch * n // max(1, self.problem.n_parts))
        while True:
            self._rounds(self.order, most, l2, v)
            if self.clock[VISITS] >= n:
                break
            self.pause()
        self.draws = np.zeros(0)
        return float(self.clock[VISITS] / n)

    def draw(self) -> Ints:
        """Return the examples that are due in the next round, in an order for the disk."""
        clock = self.clock
        clock[ROUND] = max(clock[ROUND], self.due.min())
        due = self.due <= clock[ROUND]
        clock[ROUND] += 1
        order = super().draw()
        found: Ints = order[due[order]]
        return found

    def visit(self, order: Ints, l2: float, v: Floats) -> int:
        """Visit some of the examples of a round."""
        self.clock[[VISITS, COUNT, TURN]] = 0, len(order), 0
        self._rounds(order, len(order), l2, v)
        self.clock[[VISITS, COUNT, TURN]] = 0
        return len(order)

    def _rounds(self, order: Ints, most: int, l2: float, v: Floats) -> None:
        rests = self.wait, self.due, self.clock
        bad = crammer_singer_rounds(
            self.problem.arrays,
            self.draws,
            l2,
            self.square,
            self.mu,
            self.gap,
            rests,
            order,
            most,
            v,
            self.totals,
            self.buffers,
        )
        if bad >= 0:
            raise not_finite(int(bad))

    def restored(self) -> None:
        super().restored()
        n, clock = self.problem.n_examples, self.clock
        used = self.order[: clock[COUNT]]
        sound = (
            (self.wait >= 0).all()
            and (self.wait <= LONGEST).all()
            and clock.min() >= 0
            and clock[TURN] <= clock[COUNT] <= n
            and clock[VISITS] < 2 * n
            and len(self.draws) in (0, 2 * n)
            and ((self.draws >= 0.0) & (self.draws < 1.0)).all()
            and ((used >= 0) & (used < n)).all()
        )
        if not sound:
            raise DataError("the rounds of a coordinate descent do not fit the examples")
