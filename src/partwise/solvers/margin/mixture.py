"""A mixture of dual points of the hinge loss."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import approach, inner
from ...problem.evaluation import Evaluator, Slope


class Mixture:
    """A dual point that is a mixture of others: its marginals, v(u) and sum_i c_i cost_i.mu_i.

        mu <- (1 - s) mu + s mu',    v <- (1 - s) v + s v'

    For tau = 0 that is all the dual needs: D(u) = linear - |v|^2 / (2 l2). Earlier rounding errors
    shrink by 1 - s as well, so they do not add up.

    Parameters
    ----------
    evaluator : Evaluator
        Computes v from marginals.
    l2 : float
        The regulariser.
    mu : ndarray
        The marginals of the first point; they are changed in place.
    slope : Slope
        The slope at the first point.
    """

    def __init__(self, evaluator: Evaluator, l2: float, mu: Floats, slope: Slope) -> None:
        self.evaluator, self.l2 = evaluator, l2
        self.mu = mu
        self.v = slope.v
        self.linear = self._linear(slope)

    def _linear(self, slope: Slope) -> float:
        return float(inner(slope.linear, self.evaluator.problem.arrays.weight))

    def mixed_v(self, s: float, slope: Slope) -> Floats:
        """Return v after mixing in a share s of another point."""
        return (1.0 - s) * self.v + s * slope.v

    def mixed_dual(self, s: float, slope: Slope) -> float:
        """Return D after mixing in a share s of another point."""
        v = self.mixed_v(s, slope)
        linear = (1.0 - s) * self.linear + s * self._linear(slope)
        return linear - float(inner(v, v)) / (2.0 * self.l2)

    def add(self, s: float, slope: Slope, mu: Floats) -> None:
        """Mix in a share s of another point."""
        self.linear = (1.0 - s) * self.linear + s * self._linear(slope)
        self.v = self.mixed_v(s, slope)
        approach(self.mu, mu, s)

    def dual(self) -> float:
        """Return D(u)."""
        return self.linear - float(inner(self.v, self.v)) / (2.0 * self.l2)

    def rebuild(self) -> None:
        """Compute everything from the marginals."""
        self.v = self.evaluator.dual_sum(self.mu)
        none = np.zeros(self.evaluator.problem.n_examples)
        self.linear = self.evaluator.dual_linear(self.mu, none)
