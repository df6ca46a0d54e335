"""Trust-region Newton: conjugate gradients on the quadratic model, within a radius.

Lin, Weng and Keerthi (2008) call the method TRON. An iteration takes the step d that lowers the
model q most, as far as conjugate gradients get before the rest of the gradient is a tenth of it:

    q(d) = g.d + d.Hd/2,  |d| <= radius,    H(w) = l2 + sum_i c_i/tau F_i^T (d mu_i / d theta) F_i

The step is taken if P falls by a part of what q says, and the radius follows from how good q was.

For a classifier a product with H is two products with the matrix of the features, and where the
weights are few, H itself is formed and decomposed as soon as that is cheaper than the products of
an iteration. For other structures a product is a difference of slopes and costs one more pass:

    H(w) d = l2 d - (v(w + e d) - v(w)) / e

An exact one would take a second oracle per structure, which carries derivatives along with all
marginals and is at least as slow as the pass; no step is longer for the digits that it adds.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ...problem.evaluation import Slope
from ...problem.footprint import Footprint
from ...problem.matrix_evaluation import MatrixEvaluator, by_matrix
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..goal import Goal
from ..papers import LIN_2008
from ..primal import PrimalSolver, primal_value

#: The square root of the rounding error balances rounding against curvature.
_STEP: Final = math.sqrt(np.finfo(np.float64).eps)
#: Conjugate gradients end when the rest of the gradient is this part of it (xi of the paper).
_REST: Final = 0.1
#: A step is taken if P falls by this part of the prediction (eta_0); the prediction is bad below
#: the second part (eta_1), and good from the third on (eta_2).
_TAKEN: Final = 1e-4
_BAD: Final = 0.25
_GOOD: Final = 0.75
#: The radius shrinks to at least the first part, or the second, and grows by at most the third
#: (sigma_1, sigma_2, sigma_3).
_SHRUNK: Final = 0.25
_HALVED: Final = 0.5
_GROWN: Final = 4.0
#: The first radius, in lengths of the best step along the gradient.
_FIRST: Final = 10.0
#: H is formed for at most this many weights.
_FEW: Final = 2000
#: A fall of P by this part of it may be rounding; then the gradient has to fall.
_ROUNDING: Final = 1e-13


@final
class TrustRegionNewton(PrimalSolver):
    """Trust-region Newton; every product with the Hessian counts as a pass.

    Parameters
    ----------
    goal : Goal
        What to solve.
    """

    name: ClassVar[str] = "newton"
    on_disk = True
    papers = (LIN_2008,)
    threads = True
    grows = ("mu", "other")

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # The slopes at two points, and the vectors of conjugate gradients; the marginals at both.
        fast = by_matrix(problem)
        few = fast and problem.layout.n_weights <= _FEW
        square = 16.0 * problem.layout.n_weights**2 if few else 0.0
        return Footprint(vectors=11, parts=3 if fast else 1, examples=8, other=square)

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        exact = isinstance(self.evaluator, MatrixEvaluator)
        n = self.problem.n_parts if exact else 0
        self.mu, self.other = np.empty(n), np.empty(n)  # marginals at the weights, and at others
        self.passes = 0.0
        self.slope = self._slope(self.weights, self.mu)
        self.radius = 0.0
        #: How many products of one iteration are worth a decomposition.
        self.most = math.inf
        self.decomposes = False
        if isinstance(self.evaluator, MatrixEvaluator) and self.problem.layout.n_weights <= _FEW:
            self.most = self.evaluator.newton_cost()

    def epoch(self) -> Epoch:
        """Take one iteration; every product and every evaluation of the slope counts as a pass."""
        old = self.slope
        before = primal_value(self.problem, old, self.l2)
        g = self.l2 * old.weights - old.v
        square = inner(g, g)
        if square > 0.0:
            if self.radius == 0.0:
                curvature = max(inner(g, self.product(old.weights, g)), self.l2 * square)
                self.radius = _FIRST * square * math.sqrt(square) / curvature
            d, rest = self._step(g)
            slope = self._slope(old.weights + d, self.other)
            fall = before - primal_value(self.problem, slope, self.l2)
            if self._judge(slope, fall, g, d, rest, before):
                self.slope, self.weights = slope, slope.weights
                self.mu, self.other = self.other, self.mu
        dual, gap = self.estimate(self.slope)
        passes, self.passes = max(self.passes, 1.0), 0.0
        return Epoch(passes, dual, gap, self.l2)

    def evaluate(self) -> Evaluation:
        return self.certified(self.slope)

    def product(self, weights: Floats, direction: Floats) -> Floats:
        """Compute H(w) d at the weights of the slope."""
        self.passes += 1.0
        if isinstance(self.evaluator, MatrixEvaluator):
            return self.l2 * direction + self.evaluator.curvature(self.mu, direction)
        length = math.sqrt(inner(direction, direction))
        if length == 0.0:
            return np.zeros_like(direction)
        step = _STEP * (1.0 + math.sqrt(inner(weights, weights))) / length
        there = self.evaluator.slope(weights + step * direction)
        return self.l2 * direction + (self.slope.v - there.v) / step

    def _slope(self, weights: Floats, mu: Floats) -> Slope:
        self.passes += 1.0
        return self.evaluator.slope(weights, into=mu if mu.size else None)

    def _step(self, g: Floats) -> tuple[Floats, Floats]:
        """Return the step d, and the rest of the gradient of the model there, -(g + H d)."""
        if self.decomposes:
            assert isinstance(self.evaluator, MatrixEvaluator)
            d = self.evaluator.newton_step(self.mu, g, self.l2)
            self.passes += 1.0
            if d is None:
                self.decomposes, self.most = False, math.inf
            elif inner(d, d) <= self.radius * self.radius:
                return d, np.zeros_like(g)
        return self._conjugate_gradients(g)

    def _conjugate_gradients(self, g: Floats) -> tuple[Floats, Floats]:
        """Steihaug's conjugate gradients, which end at the radius; see `_step`."""
        d, r = np.zeros_like(g), -g
        p, square = r.copy(), inner(g, g)
        enough, products = _REST * _REST * square, 0
        while square > enough:
            if products >= self.most and not self.decomposes:
                self.decomposes = True
                return self._step(g)
            products += 1
            hp = self.product(self.slope.weights, p)
            along = square / inner(p, hp)
            if not 0.0 < along < math.inf:
                break
            new = d + along * p
            if inner(new, new) > self.radius * self.radius:
                along = _to_the_edge(d, p, self.radius)
                return d + along * p, r - along * hp
            d, r = new, r - along * hp
            last, square = square, inner(r, r)
            p = r + (square / last) * p
        return d, r

    def _judge(
        self, slope: Slope, fall: float, g: Floats, d: Floats, rest: Floats, before: float
    ) -> bool:
        """Return whether to take a step, and set the next radius."""
        slant, length = inner(g, d), math.sqrt(inner(d, d))
        predicted = 0.5 * (inner(d, rest) - slant)
        if predicted <= _ROUNDING * before:
            after = self.l2 * slope.weights - slope.v
            return bool(inner(after, after) < inner(g, g))
        # The length that would have been best, by the parabola through what is known.
        curved = -fall - slant
        best = max(_SHRUNK, -0.5 * slant / curved) if curved > 0.0 else _GROWN
        low, high = _SHRUNK * self.radius, _GROWN * self.radius
        if not fall > _TAKEN * predicted:
            aim = best if math.isfinite(best) else _SHRUNK
            self.radius = min(max(aim, _SHRUNK) * length, _HALVED * self.radius)
        elif fall < _BAD * predicted:
            self.radius = max(low, min(best * length, _HALVED * self.radius))
        elif fall < _GOOD * predicted:
            self.radius = max(low, min(best * length, high))
        else:
            self.radius = max(self.radius, min(best * length, high))
        return bool(fall > _TAKEN * predicted)


def _to_the_edge(d: Floats, p: Floats, radius: float) -> float:
    """Return the t > 0 with |d + t p| = radius."""
    dp, pp = inner(d, p), inner(p, p)
    left = max(radius * radius - inner(d, d), 0.0)
    root = math.sqrt(dp * dp + pp * left)
    return float(left / (dp + root) if dp > 0.0 else (root - dp) / pp)
