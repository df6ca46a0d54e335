"""L-BFGS: the limited-memory quasi-Newton method.

    d  = -H g,    g = l2 w - v
    w' = w + t d, t = 1, 1/2, 1/4, ... until P falls by 1e-4 of what the slope promises

H is made of the last few steps and changes of the gradient (`CurvaturePairs`). Nearly always
t = 1 does. The first direction is -g, whose length says nothing: t begins at 1/|g| and is
quadrupled as long as P falls.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.jit import njit
from ...compiled.vectors import inner
from ...problem.evaluation import Slope
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..goal import Goal
from ..options import Count
from ..papers import ANDREW_2007, LIU_1989
from ..primal import PrimalSolver, primal_value

# The memory of L-BFGS, and its product with a vector (Nocedal 1980).
#
# A pair is a step s and the change y of the gradient along it. The pairs stand for an approximation
# H of the inverse Hessian, whose product with a vector takes two loops through them.


@njit
def _add(x: Any, factor: float, y: Any) -> None:
    """Add factor y to x, without a temporary vector."""
    for k in range(x.size):
        x[k] += factor * y[k]


class CurvaturePairs:
    """The last few pairs of a step and the change of the gradient along it.

    Parameters
    ----------
    memory : int
        How many pairs are kept.
    """

    def __init__(self, memory: int) -> None:
        self._pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=memory)  # s, y, s.y

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def vectors(self) -> list[Floats]:
        """The vectors that it holds, as long as the weights."""
        return [vector for s, y, _ in self._pairs for vector in (s, y)]

    def add(self, s: Floats, y: Floats) -> None:
        """Keep a pair, unless it has no curvature."""
        curvature = float(inner(s, y))
        if curvature > 0.0:
            self._pairs.append((s, y, curvature))

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def descent(self, gradient: Floats) -> Floats:
        """Return -H gradient; without pairs, minus the gradient."""
        d = -gradient
        factors = []
        for s, y, curvature in reversed(self._pairs):
            factor = float(inner(s, d)) / curvature
            _add(d, -factor, y)
            factors.append(factor)
        if self._pairs:
            _, y, curvature = self._pairs[-1]
            d *= curvature / float(inner(y, y))
        for (s, y, curvature), factor in zip(self._pairs, reversed(factors), strict=True):
            _add(d, factor - float(inner(y, d)) / curvature, s)
        return d


#: Armijo's constant, the backtracking factor, and the growth of the first step.
_DECREASE: Final = 1e-4
_BACK: Final = 0.5
_GROWTH: Final = 4.0


class LBFGS(PrimalSolver):
    """Limited-memory quasi-Newton.

    Parameters
    ----------
    goal : Goal
        What to solve.
    memory : int
        How many pairs of steps and gradients are kept.
    """

    name: ClassVar[str] = "lbfgs"
    on_disk = True
    papers = (LIU_1989,)
    threads = True

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
        steepest = self.steepest(old.weights, g)
        slope = self._search(old, steepest, self.direction(steepest))
        if slope is None and self.pairs:
            # The pairs gave no descent: forget them, and try the steepest descent.
            self.pairs.clear()
            slope = self._search(old, steepest, -steepest)
        if slope is not None:
            y = (self.l2 * slope.weights - slope.v) - g
            self.pairs.add(slope.weights - old.weights, y)
            self.slope, self.weights = slope, slope.weights
        dual, gap = self.estimate(self.slope)
        passes, self.passes = max(self.passes, 1.0), 0.0
        return Epoch(passes, dual, gap, self.l2)

    def evaluate(self) -> Evaluation:
        return self.certified(self.slope)

    def steepest(self, weights: Floats, gradient: Floats) -> Floats:
        """Return the gradient of P, from that of its smooth part."""
        return gradient

    def direction(self, steepest: Floats) -> Floats:
        """Return -H times the gradient."""
        return self.pairs.descent(steepest)

    def moved(self, weights: Floats, steepest: Floats, change: Floats) -> Floats:
        """Return the weights after a change."""
        return weights + change

    def _search(self, old: Slope, steepest: Floats, d: Floats) -> Slope | None:
        """Return the slope at a better point along d, or None if there is none."""
        before = primal_value(self.problem, old, self.l2, self.l1)
        length = math.sqrt(inner(d, d))
        if length == 0.0:
            return None
        step = 1.0 if self.pairs else min(1.0, 1.0 / length)
        for _ in range(60):
            slope, after = self._look(old, steepest, step * d)
            decrease = float(inner(steepest, slope.weights - old.weights))
            if after <= before + _DECREASE * decrease and decrease < 0.0:
                return slope if self.pairs else self._grown(old, steepest, d, step, slope, after)
            step *= _BACK
        return None

    def _grown(
        self, old: Slope, steepest: Floats, d: Floats, step: float, slope: Slope, value: float
    ) -> Slope:
        """Return the slope of a longer first step while P falls."""
        while True:
            step *= _GROWTH
            further, after = self._look(old, steepest, step * d)
            if not after < value:
                return slope
            slope, value = further, after

    def _look(self, old: Slope, steepest: Floats, change: Floats) -> tuple[Slope, float]:
        slope = self.evaluator.slope(self.moved(old.weights, steepest, change))
        self.passes += 1.0
        return slope, primal_value(self.problem, slope, self.l2, self.l1)


# Orthant-wise L-BFGS for l1 > 0.
#
# Andrew and Gao (2007), "Scalable training of L1-regularized log-linear models". Within an orthant
# |w|_1 is linear, so a quasi-Newton step can be taken there:
#
#     g     = l2 w - v                                  the gradient of the smooth part
#     pg    = the subgradient g + l1 [-1, 1] nearest to 0, sign(w) where w is not 0
#     d     = -H pg, with the coordinates that disagree with -pg set to 0
#     w'    = w + t d, with the coordinates that leave the orthant set to 0


@final
class OrthantWise(LBFGS):
    """Orthant-wise L-BFGS; with l1 = 0 it is L-BFGS.

    Parameters
    ----------
    goal : Goal
        What to solve.
    memory : int
        How many pairs of steps and gradients are kept.
    """

    name: ClassVar[str] = "owl-qn"
    papers = (ANDREW_2007,)
    takes_l1 = True

    def steepest(self, weights: Floats, gradient: Floats) -> Floats:
        return pseudo_gradient(weights, gradient, self.l1)

    def direction(self, steepest: Floats) -> Floats:
        d = self.pairs.descent(steepest)
        return np.where(d * steepest < 0.0, d, 0.0) if self.l1 else d

    def moved(self, weights: Floats, steepest: Floats, change: Floats) -> Floats:
        new = weights + change
        if self.l1:
            orthant = np.where(weights != 0.0, np.sign(weights), -np.sign(steepest))
            new[new * orthant < 0.0] = 0.0
        return new


def pseudo_gradient(weights: Floats, gradient: Floats, l1: float) -> Floats:
    """Return the subgradient of P nearest to 0, from the gradient of its smooth part."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    nearest: Floats = np.where(weights != 0.0, gradient + l1 * np.sign(weights), at_zero)
    return nearest
