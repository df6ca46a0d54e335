"""The hybrid of L-BFGS and a stochastic method: batches that grow (Friedlander and Schmidt 2012).

An iteration takes the L-BFGS direction of the objective of its batch B, m of the n examples,

    P_B(w) = l2/2 |w|^2 + (n/m) sum_{i in B} c_i loss_i(w),

and a step that decreases P_B enough; then the batch grows to growth m + 1 examples. It keeps the
examples that it has, so the slope of the old ones at the new w is known from the line search: only
the new examples have to be visited, and both gradients of a pair (s, y) belong to one batch. Once
the batch holds all examples this is L-BFGS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.vectors import inner
from ...errors import DataError
from ...problem.evaluation import Slope
from ...problem.footprint import Footprint
from ...problem.matrix_evaluation import make_evaluator
from ...problem.problem import Problem
from ...problem.subset import subset
from ..base import Epoch, Evaluation
from ..batch.lbfgs import CurvaturePairs
from ..goal import Goal
from ..options import Count, Growth, Preset
from ..papers import FRIEDLANDER_2012, SCHMIDT_2015
from ..primal import PrimalSolver

#: A step must achieve this fraction of the decrease that the slope predicts.
_ENOUGH: Final = 1e-4
#: A smaller relative change of the objective may be rounding; slopes are then compared instead.
_ROUNDING: Final = 1e-12
_TRIALS: Final = 40


class Point(NamedTuple):
    """Weights, and the objective of a batch and its gradient there."""

    weights: Floats
    loss: float  # sum of c_i loss_i over the batch
    v: Floats  # v(u) of the batch
    value: float
    gradient: Floats


@final
class Hybrid(PrimalSolver):
    """L-BFGS on batches that grow.

    With the error of the gradient shrinking geometrically it converges geometrically, as L-BFGS
    does, but the first iterations cost less. An epoch is an iteration.

    Parameters
    ----------
    goal : Goal
        What to solve.
    first_batch : int or None
        How many examples the first batch has; None: one in a hundred.
    growth : float
        The batch grows from m to growth m + 1 examples.
    memory : int
        How many pairs of steps and gradients are kept.
    """

    name: ClassVar[str] = "hybrid"
    papers = (FRIEDLANDER_2012, SCHMIDT_2015)
    presets: ClassVar[Mapping[str, Preset]] = {
        "schmidt2015-hybrid": Preset(
            "The hybrid of Friedlander and Schmidt (2012), from one example on, as Schmidt et al. "
            "(2015) compare it.",
            {"first_batch": 1, "growth": 1.1},
        )
    }
    threads = True
    remade = ("batch", "batch_evaluator")

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # The pairs, the slopes at two points, and what lies between them.
        return Footprint(vectors=8 + 2 * options.get("memory", 10), parts=1, examples=8)

    def __init__(
        self,
        goal: Goal,
        *,
        first_batch: Count | None = None,
        growth: Growth = 1.1,
        memory: Count = 10,
    ) -> None:
        super().__init__(goal)
        used = np.flatnonzero(goal.problem.arrays.weight > 0.0)
        self.order: Ints = goal.rng.permutation(used)  # in which examples enter the batch
        n = len(self.order)
        self.size = min(n, first_batch or max(1, n // 100))
        self.growth = growth
        self.pairs = CurvaturePairs(memory)
        self.visits = 0
        self.slope: Slope | None = None  # at the last point, if the batch holds all examples
        self._take()
        self.point = self._at(self.weights)

    @property
    def full(self) -> bool:
        """Whether the batch holds all examples."""
        return self.size == len(self.order)

    def _take(self) -> None:
        """Build the problem of the batch."""
        if self.full:
            self.batch, self.batch_evaluator = self.problem, self.evaluator
        else:
            self.batch = subset(self.problem, self.order[: self.size])
            self.batch_evaluator = make_evaluator(self.batch, self.evaluator.n_jobs)

    def restored(self) -> None:
        super().restored()
        used = np.flatnonzero(self.problem.arrays.weight > 0.0)
        if not np.array_equal(np.sort(self.order), used) or not 0 < self.size <= len(used):
            raise DataError("the order of the examples is not that of the problem")
        self._take()

    def _at(self, weights: Floats) -> Point:
        slope = self.batch_evaluator.slope(weights)
        self.visits += self.batch.n_examples
        self.slope = slope if self.full else None
        return self._point(weights, float(inner(slope.losses, self.batch.arrays.weight)), slope.v)

    def _point(self, weights: Floats, loss: float, v: Floats) -> Point:
        scale = len(self.order) / self.size
        value = 0.5 * self.l2 * float(inner(weights, weights)) + scale * loss
        return Point(weights, loss, v, value, self.l2 * weights - scale * v)

    def _direction(self) -> Floats:
        """Return the direction of L-BFGS; without pairs, a unit step against the gradient."""
        d = self.pairs.descent(self.point.gradient)
        if not self.pairs:
            d /= max(math.sqrt(inner(d, d)), 1e-300)
        return d

    def _search(self, d: Floats) -> Point | None:
        """Search along d, backwards by interpolation, until the batch's objective falls enough."""
        here = self.point
        slope = float(inner(here.gradient, d))
        step = 1.0
        for _ in range(_TRIALS):
            there = self._at(here.weights + step * d)
            change = there.value - here.value
            if change <= _ENOUGH * step * slope:
                return there
            after = float(inner(there.gradient, d))
            if abs(change) <= _ROUNDING * abs(here.value) and abs(after) <= abs(slope):
                return there
            step = _backwards(step, change, slope, after)
        return None

    def epoch(self) -> Epoch:
        """Take one iteration, then let the batch grow."""
        found = self._search(self._direction())
        if found is None:
            self.pairs.clear()  # begin anew from here, with the gradient
            self.point = self._at(self.weights)
        else:
            y = found.gradient - self.point.gradient
            self.pairs.add(found.weights - self.weights, y)
            self.weights, self.point = found.weights, found
        if not self.full:
            self._grow()
        passes, self.visits = self.visits / self.problem.n_examples, 0
        if self.slope is None:
            return Epoch(passes, math.nan, math.inf, self.l2)
        value = self.certified(self.slope)
        return Epoch(passes, value.dual, value.gap, self.l2)

    def _grow(self) -> None:
        old, self.size = self.size, min(math.ceil(self.growth * self.size + 1), len(self.order))
        self._take()
        if self.full:
            self.point = self._at(self.weights)  # with all that a certificate needs
            return
        more = subset(self.problem, self.order[old : self.size])
        slope = make_evaluator(more, self.evaluator.n_jobs).slope(self.weights)
        self.visits += more.n_examples
        loss = self.point.loss + float(inner(slope.losses, more.arrays.weight))
        self.point = self._point(self.weights, loss, self.point.v + slope.v)

    def evaluate(self) -> Evaluation:
        # With the full batch the slope is known already.
        if self.slope is None:
            return super().evaluate()
        return self.certified(self.slope)


def _backwards(step: float, change: float, slope: float, after: float) -> float:
    """Return the minimum of the cubic through both ends of a step, within safe bounds."""
    if not (math.isfinite(change) and math.isfinite(after)):
        return 0.1 * step
    middle = slope + after - 3.0 * change / step
    under = middle * middle - slope * after
    if under < 0.0:
        return 0.5 * step
    root = math.sqrt(under)
    bottom = after - slope + 2.0 * root
    best = step * (1.0 - (after + root - middle) / bottom) if bottom > 0.0 else 0.5 * step
    return min(max(best, 0.1 * step), 0.9 * step)
