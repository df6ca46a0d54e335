"""Batch exponentiated gradient in its primal form: no duals are stored.

All theta_i move by the same step from the same weights, so they stay in a small family, and a
vector z as long as w stands for all of them (Bartlett et al. 2004, section 3, for tau = 0):

    theta_i = F_i z + y cost_i + x [gold_i]
    z <- (1 - eta tau) z + eta w,    y <- (1 - eta tau) y + eta,    x <- (1 - eta tau) x

The step is halved until the dual improves, then multiplied by 1.05, or it is fixed, as in batch EG;
both make the same steps. Memory: two weight vectors, and the marginals of some examples at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, final

from ...arrays import Floats
from ...compiled.vectors import inner
from ...problem.evaluation import DualPoint, Slope
from ...problem.footprint import Footprint
from ..base import Epoch, Evaluation, Solver
from ..dual_points import first_linear_theta
from ..goal import Goal
from ..iterate_average import IterateAverage
from ..options import NotNegative, Positive, Preset
from ..papers import BARTLETT_2004
from .base import PRIMAL, Eta, first_batch_step, first_theta, searched


@final
class PrimalEG(Solver):
    """Batch EG without stored duals: one vector stands for all of them.

    Parameters
    ----------
    goal : Goal
        What to solve; from weights w it starts at u_i = p(.|x_i; w).
    gold : float or None
        Else the first theta of the parts of the gold labels; None: as for the other EG solvers.
    eta : float or {"search", "theorem", "safe"}
        A fixed step; one that is searched for; or a fixed one that is proven to improve the dual,
        that of Theorem 1 or a longer one.
    first_step : float or None
        Where the search begins; None: at 0.5.
    """

    name: ClassVar[str] = "primal-eg"
    papers = (BARTLETT_2004,)
    presets: ClassVar[Mapping[str, Preset]] = PRIMAL
    threads = True
    occupies = Footprint(vectors=6, parts=1, examples=7)
    needs = frozenset({"marginals"})

    def __init__(
        self,
        goal: Goal,
        *,
        gold: NotNegative | None = None,
        eta: Eta = "search",
        first_step: Positive | None = None,
    ) -> None:
        super().__init__(goal)
        self.fixed = not searched(eta, first_step=first_step)
        self.eta = first_batch_step(goal.problem, goal.l2, eta, first_step)
        first = first_theta(goal.problem) if gold is None else gold
        self.point = first_linear_theta(goal.problem, goal.weights(), first)
        self.average = IterateAverage(goal.l2)
        self.slope = self.point.slope(goal.evaluator)

    def _dual(self, slope: Slope) -> float:
        linear = inner(slope.linear, self.problem.arrays.weight)
        return float(linear - inner(slope.v, slope.v) / (2.0 * self.l2))

    def epoch(self) -> Epoch:
        """Take one step; every trial counts as a pass."""
        tau, before = self.problem.loss.tau, self._dual(self.slope)
        w = self.current_weights()
        passes = 0
        while True:
            passes += 1
            eta = self.eta
            point = self.point.moved(w, eta, 1.0 - eta * tau)
            slope = point.slope(self.evaluator)
            dual = self._dual(slope)
            if self.fixed or dual >= before - 1e-14 * abs(before):
                self.point, self.slope = point, slope
                break
            self.eta *= 0.5
            if passes > 60:
                dual = before
                break
        # The gain of the step, scaled to the whole way; twice the gap if only the entropy curves.
        estimate = (dual - before) / (2.0 * eta * tau if tau else eta)
        if not self.fixed:
            self.eta = min(1.05 * self.eta, 1.0 / tau if tau else 1e6)
        if tau == 0.0:
            self.average.add(self.slope.v)
        return Epoch(float(passes), dual, max(estimate, 0.0), self.l2)

    def evaluate(self) -> Evaluation:
        weights = self.current_weights()
        weights, primal = self.average.better_weights(self.evaluator, self.l2, weights)
        return Evaluation(weights, primal, self._dual(self.slope))

    def current_weights(self) -> Floats:
        weights: Floats = self.slope.v / self.l2
        return weights

    def dual_point(self) -> DualPoint:
        return self.point.dual_point(self.evaluator)
