"""Duals that are a linear function of one vector, so that no theta is stored.

If every theta_i moves along the scores of the same weights, all of them stay in a small family
(Bartlett et al. 2004, section 3):

    theta_i = F_i z + cost cost_i + gold [gold_i]
"""

from __future__ import annotations

from typing import NamedTuple

from ..arrays import Floats
from ..problem.dual_point import DualPoint
from ..problem.evaluation import Evaluator, Slope
from ..problem.problem import Problem
from ..problem.sweeps import Dial


class LinearTheta(NamedTuple):
    """A dual point u_i(y) ~ exp(theta_i.y) of this family."""

    z: Floats  # one per weight
    cost: float
    gold: float

    def moved(self, w: Floats, eta: float, kept: float = 1.0) -> LinearTheta:
        """Return the point with kept theta_i + eta (F_i w + cost_i)."""
        return LinearTheta(kept * self.z + eta * w, kept * self.cost + eta, kept * self.gold)

    def slope(self, evaluator: Evaluator, into: Floats | None = None) -> Slope:
        """Compute v(u) and what belongs to it; the losses are log Z_i - gold_i.F_i z."""
        return evaluator.slope(self.z, Dial(1.0, self.cost, self.gold), into)

    def dual_point(self, evaluator: Evaluator, mu: Floats | None = None) -> DualPoint:
        """Return theta written out, for another solver to start from."""
        return DualPoint(evaluator.scores(self.z, Dial(1.0, self.cost, self.gold)), mu)


def first_linear_theta(problem: Problem, weights: Floats | None, gold: float) -> LinearTheta:
    """Return the point p(.|x_i; w) of weights w, or the one with theta = gold on gold parts.

    For tau = 0 the temperature of p is 1.
    """
    if weights is None:
        return LinearTheta(problem.storage.zeros(), 0.0, gold)
    scale = 1.0 / (problem.loss.tau or 1.0)
    return LinearTheta(scale * weights, scale, 0.0)
