"""Trust-region Newton: conjugate gradients on the quadratic model, by scipy's trust-ncg.

Lin, Weng and Keerthi (2008) call the method TRON. The product of the Hessian and a direction costs
one more pass through the structure, so it serves every structure that has marginals:

    H(w) d = l2 d + sum_i c_i F_i^T (d mu_i / d w) d,    (mu_i(w + e d) - mu_i(w)) / e
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Final, final

import numpy as np

from ..structures.base import Floats
from ..vectors import inner
from .stepped import SteppedSolver

#: The square root of the rounding error balances rounding against curvature.
_STEP: Final = math.sqrt(np.finfo(np.float64).eps)


@final
class TrustRegionNewton(SteppedSolver):
    """Trust-region Newton; every product with the Hessian counts as a pass."""

    name: ClassVar[str] = "newton"
    method: ClassVar[str] = "trust-ncg"

    def settings(self) -> dict[str, Any]:
        """Start with a radius that lets the first step reach its minimum."""
        return {"gtol": 0.0, "initial_trust_radius": self.first_radius(), "max_trust_radius": 1e12}

    def first_radius(self) -> float:
        """Give |grad P(w)|, as TRON does."""
        slope = self.slope_at(self.weights)
        gradient = self.l2 * slope.weights - slope.v
        return max(math.sqrt(inner(gradient, gradient)), 1e-12)

    def hessian_product(self) -> Callable[[Floats, Floats], Floats]:
        """Give H(w) d by a difference of slopes."""

        def product(weights: Floats, direction: Floats) -> Floats:
            length = math.sqrt(inner(direction, direction))
            if length == 0.0:
                return np.zeros_like(direction)
            here = self.slope_at(weights)
            step = _STEP * (1.0 + math.sqrt(inner(weights, weights))) / length
            there = self.evaluator.slope(weights + step * direction)
            self.passes += 1.0
            return self.l2 * direction + (here.v - there.v) / step

        return product
