"""Sequential minimal optimisation on the marginals, for the hinge loss.

Taskar, Guestrin and Koller (2004). A step moves weight from one label of an example to another, as
two duals alone change, but the duals stay factored: weight can leave a label a as long as all of
its parts have marginals, if these parts determine the distribution.

    q = F_i w + cost_i,    y = argmax q.y,    a = argmin q.a over the labels with mu_i > 0 on a
    mu_i <- mu_i + g (y - a),    g <= the least mu_i on the parts of a that y has not

So a structure must have marginals that weight can be taken from: those that determine the entropy,
or those of the steps that build its labels (`partwise.problem.unfold`).

The points that SMO reaches have weight on a few labels only. For a solver that cannot give weight
to the others, it can make them soft: an example then moves towards the distribution

    p ~ exp(beta q.y),    q.p >= max q - log |Y| / beta

by a line search, as in the method of Frank and Wolfe. So the dual rises, and the labels that may
matter have some weight. With beta = log |Y| / (max q - q.mu) it rises for sure; half of that is
tried first, as what is softer serves better.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...problem.evaluation import DualPoint, not_finite
from ...problem.footprint import Footprint
from ...problem.problem import example_marginals, example_maximum
from ...problem.unfold import fold
from ..base import CompositeSolver, Epoch
from ..eg.online import OnlineEG
from ..goal import Goal
from ..options import Count
from ..papers import BARTLETT_2004, TASKAR_2004
from .marginal_ascent import MarginalAscent, score_with_cost, step

#: Smaller marginals may be rounding; no weight is taken from them.
LEAST: Final = 1e-12
#: Marginals of larger log Z have lost digits: what is to be that sharp has nothing left to gain.
_SHARPEST: Final = 1e5
#: How often beta may double at a visit; the gap of an earlier visit need not be that of this one.
_DOUBLINGS: Final = 5


@njit(fastmath=FAST)
def smo_epoch(
    a: Any, order: Any, l2: float, mu: Any, gap: Any, v: Any, d: Any, totals: Any, buffers: Any
) -> Any:
    """Visit the examples in order; return the first one without finite scores, or -1."""
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


@njit(fastmath=FAST)
def soften_epoch(
    a: Any, order: Any, l2: float, log_labels: Any, mu: Any, gap: Any, v: Any, d: Any, totals: Any,
    buffers: Any,
) -> Any:  # fmt: skip
    """Move the examples in order towards p; return how often their marginals were computed.

    beta = c_i log |Y_i| / (2 gap_i), doubled until q.p > q.mu_i;   mu_i <- mu_i + g (p - mu_i)
    """
    q, way, p, _, masked, work = buffers
    calls = 0
    for i in order:
        c = a.weight[i]
        if c == 0.0 or not 0.0 < gap[i] < np.inf:
            continue
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        own = mu[lo : lo + n]
        mean = score_with_cost(a, i, v, l2, own, q)
        beta, rise = 0.5 * c * log_labels[i] / gap[i], 0.0
        for _ in range(1 + _DOUBLINGS):
            for r in range(n):
                way[r] = beta * q[r]
            calls += 1
            log_z = example_marginals(a, i, way[:n], p[:n], masked, work)
            rise = 0.0
            if not abs(log_z) < _SHARPEST:
                break
            rise = -mean
            for r in range(n):
                rise += q[r] * p[r]
            if rise > 0.0:
                break
            beta *= 2.0
        if not rise > 0.0:
            continue
        for r in range(n):
            way[r] = c * (p[r] - own[r])
        step(a, i, way[:n], c * rise, 1.0, l2, own, d, v, totals)
        for r in range(n):
            own[r] = max(own[r], 0.0)
    return calls


@final
class SMO(MarginalAscent):
    """Sequential minimal optimisation on the marginals."""

    name: ClassVar[str] = "smo"
    papers = (TASKAR_2004,)
    needs = frozenset({"maximum", "tau=0", "steps", "whole labels"})
    remade = ("log_labels",)

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal.unfolded())
        self.d = self.problem.storage.zeros()
        self.buffers = self.problem.scratch(5)
        self.softening = False
        self.log_labels: Floats | None = None

    def visit(self, order: Ints, l2: float, v: Floats) -> int:
        arrays, state = self.problem.arrays, (self.mu, self.gap, v, self.d, self.totals)
        if self.softening:
            if self.log_labels is None:
                self.log_labels = np.empty(self.problem.n_examples)
                uniform = np.zeros(self.problem.n_parts)
                self.evaluator.marginals(uniform, np.empty_like(uniform), self.log_labels)
            return int(soften_epoch(arrays, order, l2, self.log_labels, *state, self.buffers))
        bad = smo_epoch(arrays, order, l2, *state, self.buffers)
        if bad >= 0:
            raise not_finite(int(bad))
        return 2 * len(order)  # two calls of the oracle a visit

    def dual_point(self) -> DualPoint:
        point = super().dual_point()
        return fold(self.problem, point.theta, self.mu)


# SMO first, then online EG (Bartlett et al. 2004, section 5).
#
# SMO is fast at first, and EG overtakes it. EG starts from the theta of the marginals that SMO ends
# with: the logarithms of conditional probabilities, theta = -grad H(mu). EG multiplies the weights
# of labels, and SMO leaves nearly all of them without any, so some has to be mixed in.
#
# The uniform distribution does not serve. Nearly all labels are bad ones, so the dual falls by more
# than SMO has gained where their share is a hundredth, and a line search finds the share 0. From
# there EG has as many steps to make as the logarithms of the missing weights are deep, and comes to
# rest at the best point with the few labels of SMO. So each example moves towards a distribution
# that is soft around its best labels by a line search of its own (see
# `partwise.solvers.margin.smo`). The dual rises, and the labels that EG needs have weight.


#: SMO ends when an epoch raises the dual by less than this part of it ...
_SLOW: Final = 0.2
#: ... and is followed by so many epochs that make its points soft.
_SOFT: Final = 2


@final
class SMOThenEG(CompositeSolver):
    """SMO for some epochs, then online EG from the point that they reached.

    Parameters
    ----------
    goal : Goal
        What to solve.
    smo_epochs : int or None
        How many epochs of SMO come first; None: until one raises the dual by less than a fifth.
    """

    name: ClassVar[str] = "smo-eg"
    papers = (BARTLETT_2004,)
    occupies = Footprint(vectors=6, parts=6, examples=8)
    needs = SMO.needs | OnlineEG.needs

    def __init__(self, goal: Goal, *, smo_epochs: Count | None = None) -> None:
        goal = goal.unfolded()
        super().__init__(goal)
        self.smo_epochs = smo_epochs
        self.made = self.softened = 0  # epochs
        self.before = self.reached = 0.0  # the dual before and after the last epoch
        self.machine: SMO | OnlineEG = SMO(goal)

    def epoch(self) -> Epoch:
        if not self.machine.under_way and isinstance(self.machine, SMO):
            self._next(self.machine)
        epoch = super().epoch()
        self.made += 1
        self.before, self.reached = self.reached, epoch.dual
        return epoch

    def _next(self, smo: SMO) -> None:
        """Decide what the next epoch is."""
        enough = self.made > 0 and self.reached - self.before <= _SLOW * abs(self.reached)
        if self.smo_epochs is not None:
            enough = self.made >= self.smo_epochs
        if self.softened == _SOFT:
            theta, _ = self.evaluator.conditional(smo.mu)
            self.machine = OnlineEG(replace(self.goal, start=DualPoint(theta)))
        elif enough or smo.softening:
            smo.softening = True
            self.softened += 1

    def turn_to(self, name: str) -> None:
        self.machine = OnlineEG(self.goal)

    def dual_point(self) -> DualPoint:
        if self.problem.folded is None or isinstance(self.machine, SMO):
            return self.machine.dual_point()
        theta = self.machine.dual_point().theta
        mu = np.empty_like(theta)
        self.evaluator.marginals(theta, mu, np.empty(self.problem.n_examples))
        return fold(self.problem, self.evaluator.scores(self.current_weights()), mu)
