"""Trust-region Newton: conjugate gradients on the quadratic model, by scipy's trust-ncg.

Lin, Weng and Keerthi (2008) call the method TRON. The product of the Hessian and a direction is a
difference of gradients and costs one more pass, so the method works for every structure:

    H(w) d = l2 d + sum_i c_i F_i^T (d mu_i / d w) d,    (mu_i(w + e d) - mu_i(w)) / e
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ..papers import LIN_2008
from .stepped import SteppedSolver

#: The square root of the rounding error balances rounding against curvature.
_STEP: Final = math.sqrt(np.finfo(np.float64).eps)


@final
class TrustRegionNewton(SteppedSolver):
    """Trust-region Newton; every product with the Hessian counts as a pass."""

    name: ClassVar[str] = "newton"
    on_disk = True
    papers = (LIN_2008,)
    threads = True
    method: ClassVar[str] = "trust-ncg"

    def settings(self) -> dict[str, Any]:
        return {"gtol": 0.0, "initial_trust_radius": self.first_radius(), "max_trust_radius": 1e12}

    def first_radius(self) -> float:
        """Return how far away the minimum of the quadratic model is along the gradient g of P.

        That is |g|^3 / g'Hg, which takes one product. TRON begins with |g|, which depends on the
        scale of the objective: with many examples the first steps would go far beyond where the
        model holds.
        """
        slope = self.slope_at(self.weights)
        gradient = self.l2 * slope.weights - slope.v
        square = inner(gradient, gradient)
        if square == 0.0:
            return 1.0
        curvature = inner(gradient, self.product(self.weights, gradient))
        return float(square * math.sqrt(square) / max(curvature, self.l2 * square))

    def product(self, weights: Floats, direction: Floats) -> Floats:
        """Compute H(w) d by a difference of slopes."""
        length = math.sqrt(inner(direction, direction))
        if length == 0.0:
            return np.zeros_like(direction)
        here = self.slope_at(weights)
        step = _STEP * (1.0 + math.sqrt(inner(weights, weights))) / length
        there = self.evaluator.slope(weights + step * direction)
        self.passes += 1.0
        return self.l2 * direction + (here.v - there.v) / step

    def hessian_product(self) -> Callable[[Floats, Floats], Floats]:
        return self.product
