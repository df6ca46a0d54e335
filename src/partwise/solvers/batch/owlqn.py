"""Orthant-wise L-BFGS for l1 > 0.

Andrew and Gao (2007), "Scalable training of L1-regularized log-linear models". Within an orthant
|w|_1 is linear, so a quasi-Newton step can be taken there:

    g     = l2 w - v                                  the gradient of the smooth part
    pg    = the subgradient g + l1 [-1, 1] nearest to 0, sign(w) where w is not 0
    d     = -H pg, with the coordinates that disagree with -pg set to 0
    w'    = w + t d, with the coordinates that leave the orthant set to 0
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ...problem.evaluation import Slope
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..goal import Goal
from ..options import Count
from ..papers import ANDREW_2007
from ..primal import PrimalSolver, primal_value
from .curvature_pairs import CurvaturePairs

#: Armijo's constant and the backtracking factor of the paper's line search.
_DECREASE: Final = 1e-4
_BACK: Final = 0.5


@final
class OrthantWise(PrimalSolver):
    """Orthant-wise L-BFGS; with l1 = 0 it is L-BFGS with a backtracking line search.

    Parameters
    ----------
    goal : Goal
        What to solve.
    memory : int
        How many pairs of steps and gradients are kept.
    """

    name: ClassVar[str] = "owl-qn"
    on_disk = True
    papers = (ANDREW_2007,)
    threads = True
    takes_l1 = True

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # The pairs, the slopes at two points, and what lies between them.
        return Footprint(vectors=7 + 2 * options.get("memory", 10), parts=1, examples=8)

    def __init__(self, goal: Goal, *, memory: Count = 10) -> None:
        super().__init__(goal)
        self.pairs = CurvaturePairs(memory)
        self.slope = goal.evaluator.slope(self.weights)
        self.passes = 1.0

    def epoch(self) -> Epoch:
        """Take one step; every evaluation of the slope counts as a pass."""
        old = self.slope
        g = self.l2 * old.weights - old.v
        pg = pseudo_gradient(old.weights, g, self.l1)
        d = self._direction(pg)
        slope = self._search(old, pg, d)
        if slope is None and self.pairs:
            # The pairs gave no descent: forget them, and try the steepest descent.
            self.pairs.clear()
            slope = self._search(old, pg, -pg)
        if slope is not None:
            y = (self.l2 * slope.weights - slope.v) - g
            self.pairs.add(slope.weights - old.weights, y)
            self.slope, self.weights = slope, slope.weights
        value = self.evaluate()
        passes, self.passes = max(self.passes, 1.0), 0.0
        return Epoch(passes, value.dual, value.gap, self.l2)

    def evaluate(self) -> Evaluation:
        return self.certified(self.slope)

    def _direction(self, pg: Floats) -> Floats:
        """Return -H pg, restricted to the signs of -pg."""
        d = self.pairs.descent(pg)
        return np.where(d * pg < 0.0, d, 0.0) if self.l1 else d

    def _search(self, old: Slope, pg: Floats, d: Floats) -> Slope | None:
        """Return the slope at a better point of the orthant, or None if there is none."""
        before = primal_value(self.problem, old, self.l2, self.l1)
        orthant = np.where(old.weights != 0.0, np.sign(old.weights), -np.sign(pg))
        length = math.sqrt(inner(d, d))
        if length == 0.0:
            return None
        step = 1.0 if self.pairs else min(1.0, 1.0 / length)
        for _ in range(60):
            weights = old.weights + step * d
            if self.l1:
                weights[weights * orthant < 0.0] = 0.0
            slope = self.evaluator.slope(weights)
            self.passes += 1.0
            after = primal_value(self.problem, slope, self.l2, self.l1)
            decrease = float(inner(pg, weights - old.weights))
            if after <= before + _DECREASE * decrease and decrease < 0.0:
                return slope
            step *= _BACK
        return None


def pseudo_gradient(weights: Floats, gradient: Floats, l1: float) -> Floats:
    """Return the subgradient of P nearest to 0, from the gradient of its smooth part."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    nearest: Floats = np.where(weights != 0.0, gradient + l1 * np.sign(weights), at_zero)
    return nearest
