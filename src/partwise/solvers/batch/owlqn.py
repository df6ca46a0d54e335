"""Orthant-wise L-BFGS for l1 > 0.

Andrew and Gao (2007), "Scalable training of L1-regularized log-linear models". Within an orthant
|w|_1 is linear, so a quasi-Newton step serves there:

    g     = l2 w - v                                  the gradient of the smooth part
    pg    = the subgradient g + l1 [-1, 1] nearest to 0, sign(w) where w is not 0
    d     = -H pg, with the coordinates that disagree with -pg set to 0
    w'    = w + t d, with the coordinates that leave the orthant set to 0
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ...problem.evaluation import Evaluator, Slope
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..options import Count
from ..primal import PrimalSolver, primal_value

#: Armijo's constant and the backtracking factor of the paper's line search.
_DECREASE: Final = 1e-4
_BACK: Final = 0.5


@final
class OrthantWise(PrimalSolver):
    """Orthant-wise L-BFGS; with l1 = 0 it is L-BFGS with a backtracking line search.

    Parameters
    ----------
    problem, l2, evaluator, l1, start, initial_weights
        As in :class:`partwise.solvers.primal.PrimalSolver`.
    memory : int
        How many pairs of steps and gradients are kept.
    """

    name: ClassVar[str] = "owl-qn"

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        """Say what the pairs take, the slopes at two points and what lies between them."""
        return Footprint(vectors=7 + 2 * options.get("memory", 10), parts=1, examples=8)

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        *,
        l1: float = 0.0,
        start: Floats | None = None,
        initial_weights: Floats | None = None,
        memory: Count = 10,
    ) -> None:
        super().__init__(
            problem, l2, evaluator, l1=l1, start=start, initial_weights=initial_weights
        )
        self.pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=memory)  # s, y, s.y
        self.slope = evaluator.slope(self.weights)
        self.passes = 1.0

    def epoch(self) -> Epoch:
        """Take one step; every evaluation within it counts as a pass."""
        old = self.slope
        g = self.l2 * old.weights - old.v
        pg = pseudo_gradient(old.weights, g, self.l1)
        d = self._direction(pg)
        slope = self._search(old, pg, d)
        if slope is None and self.pairs:
            # The memory led astray: forget it, and try the steepest descent.
            self.pairs.clear()
            slope = self._search(old, pg, -pg)
        if slope is not None:
            s = slope.weights - old.weights
            y = (self.l2 * slope.weights - slope.v) - g
            sy = float(inner(s, y))
            if sy > 0.0:
                self.pairs.append((s, y, sy))
            self.slope, self.weights = slope, slope.weights
        value = self.evaluate()
        passes, self.passes = max(self.passes, 1.0), 0.0
        return Epoch(passes, value.dual, value.primal - value.dual, self.l2)

    def evaluate(self) -> Evaluation:
        """Give both sides at the weights."""
        return self.certified(self.slope)

    def _direction(self, pg: Floats) -> Floats:
        """-H pg by the two loops of L-BFGS, kept to the signs of -pg."""
        q = pg.copy()
        factors = []
        for s, y, sy in reversed(self.pairs):
            factor = float(inner(s, q)) / sy
            q -= factor * y
            factors.append(factor)
        if self.pairs:
            _, y, sy = self.pairs[-1]
            q *= sy / float(inner(y, y))
        for (s, y, sy), factor in zip(self.pairs, reversed(factors), strict=True):
            q += (factor - float(inner(y, q)) / sy) * s
        d: Floats = np.where(q * pg > 0.0, -q, 0.0) if self.l1 else -q
        return d

    def _search(self, old: Slope, pg: Floats, d: Floats) -> Slope | None:
        """Give the slope at a better point of the orthant, or None if there is none."""
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
    """Give the subgradient of P nearest to 0, from the gradient of its smooth part."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    nearest: Floats = np.where(weights != 0.0, gradient + l1 * np.sign(weights), at_zero)
    return nearest
