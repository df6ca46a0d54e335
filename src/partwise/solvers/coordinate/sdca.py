"""Stochastic dual coordinate ascent with a line search and sampling by gap.

Shalev-Shwartz and Zhang (2013); for conditional random fields Le Priol, Piche and Lacoste-Julien
(2018). The block of example i moves straight to the marginals p_i of p(.|x_i; w), by the fraction
that maximises the dual:

    mu_i <- mu_i + g (p_i - mu_i),    d = c_i F_i^T (p_i - mu_i),    w = shrunk(v, l1) / l2
    D(g) - D(0) = c_i tau [H(g) - H(0)] + g c_i (F_i w + cost_i).(p_i - mu_i) - g^2 |d|^2 / (2 l2)

where l1 = 0; with l1 > 0 the right side is a lower bound. The entropy must be a function of the
marginals, so not every structure will do. Half of the examples are drawn uniformly, half in
proportion to their share of the gap, tau KL(u_i, p_i), which is exact at every visit.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.vectors import shrunk
from ...problem.design import scatter, score
from ...problem.evaluation import DualPoint, not_finite
from ...problem.footprint import Footprint
from ...problem.problem import example_marginals
from ..base import Epoch, Evaluation, Solver
from ..dual_points import gold_parts
from ..eg.base import first_theta
from ..goal import Goal
from ..papers import LE_PRIOL_2018, SHALEV_SHWARTZ_2013


@njit(fastmath=FAST)
def _move(design: Any, i: int, d: Any, g: float, v: Any, w: Any, l2: float, l1: float) -> None:
    """v -= g d, w = shrunk(v, l1) / l2 and then d = 0, in the blocks of example i."""
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            size = design.size[e] if e >= design.sparse_ptr[s] else n
            for k in range(at, at + size):
                v[k] -= g * d[k]
                d[k] = 0.0
                rest = max(abs(v[k]) - l1, 0.0) / l2
                w[k] = rest if v[k] > 0.0 else -rest


@njit(fastmath=FAST)
def _fraction(
    a: Any, entropy: Any, i: int, own: Any, way: Any, along: float, square: float, scratch: Any
) -> Any:
    """Find where D(g) stops rising in (0, 1), to 0.1%; return g and H(g), and mu_i in scratch.

    along: c_i (F_i w + cost_i).way; square: |d|^2 / l2. D is concave and D'(1) <= 0; the search
    keeps D'(low) >= 0, so D(low) >= D(0).
    """
    mu, slope, work = scratch
    topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
    low, high, g = 0.0, 1.0, 0.5
    at_low, at_high = math.inf, -square
    best = math.nan
    for _ in range(50):
        for r in range(own.size):
            mu[r] = own[r] + g * way[r]
        h = entropy(a.spec, topo, mu, slope, work)
        turn = 0.0
        for r in range(own.size):
            turn += slope[r] * way[r]
        rise = a.weight[i] * a.tau * turn + along - g * square
        if rise >= 0.0:
            low, at_low, best = g, rise, h
        else:
            high, at_high = g, rise
        if low > 0.0 and high - low <= 1e-3 * high:
            break
        # Where the chord between the ends crosses 0, kept away from both ends.
        share = 0.5 if math.isinf(at_low) else at_low / (at_low - at_high)
        g = low + min(max(share, 0.05), 0.95) * (high - low)
    for r in range(own.size):
        mu[r] = own[r] + low * way[r]
    return low, best


@njit(fastmath=FAST)
def sdca_epoch(
    a: Any, entropy: Any, order: Any, l2: float, l1: float, duals: Any, weights: Any, buffers: Any
) -> Any:
    """Visit the examples in order; return the first one without a finite logZ, or -1."""
    mu, h, gap = duals
    v, w, d = weights
    q, p, way, slope, masked, work = buffers
    for i in order:
        c = a.weight[i]
        if c == 0.0:
            continue
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        own = mu[lo : lo + n]
        score(a.design, i, w, q)
        if a.cost.size > 0:
            for r in range(n):
                q[r] += a.cost[lo + r]
        for r in range(n):
            way[r] = q[r] / a.tau
        log_z = example_marginals(a, i, way[:n], p[:n], masked, work)
        if not math.isfinite(log_z):
            return i
        mean = along = 0.0
        for r in range(n):
            way[r] = p[r] - own[r]
            mean += q[r] * own[r]
            along += q[r] * way[r]
            p[r] = c * way[r]
        gap[i] = c * max(a.tau * (log_z - h[i]) - mean, 0.0)
        square = scatter(a.design, i, p, d) / l2
        g, entropy_there = _fraction(
            a, entropy, i, own, way[:n], c * along, square, (p[:n], slope[:n], work)
        )
        _move(a.design, i, d, g, v, w, l2, l1)
        if g > 0.0:
            h[i] = entropy_there
            for r in range(n):
                own[r] = p[r]
    return -1


@final
class SDCA(Solver):
    """Stochastic dual coordinate ascent with a line search and sampling by gap."""

    name: ClassVar[str] = "sdca"
    papers = (SHALEV_SHWARTZ_2013, LE_PRIOL_2018)
    occupies = Footprint(vectors=6, parts=2, examples=6)
    needs = frozenset({"marginals", "tau>0", "entropy"})
    takes_l1 = True

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        problem, evaluator = goal.problem, goal.evaluator
        marginals = goal.marginals()
        if marginals is None:
            self.mu, self.entropy = np.empty(problem.n_parts), np.empty(problem.n_examples)
            theta = gold_parts(problem, first_theta(problem))
            evaluator.marginals(theta, self.mu, self.entropy)
        else:
            self.mu = marginals.copy()
            _, self.entropy = evaluator.conditional(self.mu, 0.0)
        self.gap = np.where(problem.arrays.weight > 0.0, 1.0, 0.0)  # shares, at the last visits
        self.seen = False
        self.d = problem.storage.zeros()
        self.buffers = problem.scratch(5)
        self._rebuild()

    def _rebuild(self) -> None:
        """Compute v and w from mu, since the running ones drift."""
        self.v = self.evaluator.dual_sum(self.mu)
        self.w = shrunk(self.v, self.l1) / self.l2

    def _draw(self) -> Ints:
        n = self.problem.n_examples
        if not self.seen:
            return self.problem.room.order(self.rng, n)
        total = self.gap.sum()
        share = self.gap / total if total > 0.0 else np.full(n, 1.0 / n)
        return self.rng.choice(n, size=n, p=0.5 * share + 0.5 / n)

    def epoch(self) -> Epoch:
        """Visit as many examples as there are, drawn by the shares of the gap before the epoch."""
        arrays = self.problem.arrays
        for order in self.stretches(self._draw):
            bad = sdca_epoch(
                arrays,
                self.problem.structure.marginal_entropy,
                order,
                self.l2,
                self.l1,
                (self.mu, self.entropy, self.gap),
                (self.v, self.w, self.d),
                self.buffers,
            )
            if bad >= 0:
                raise not_finite(int(bad))
        self.seen = True
        return Epoch(1.0, self._dual(), float(self.gap.sum()), self.l2)

    def _dual(self) -> float:
        return self.evaluator.dual(self.mu, self.entropy, self.v, self.l2, self.l1)

    def evaluate(self) -> Evaluation:
        self._rebuild()
        return Evaluation(self.w, self.evaluator.primal(self.w, self.l2, self.l1), self._dual())

    def current_weights(self) -> Floats:
        return self.w

    def dual_point(self) -> DualPoint:
        """Return the marginals, and the scores at w, which have the same optimum."""
        return DualPoint(self.evaluator.scores(self.w), self.mu)
