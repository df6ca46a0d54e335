"""Where a fit stands in the dual, so that another can go on from there."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Floats


@dataclass(frozen=True)
class DualPoint:
    """A point u of the dual, for all examples.

    Attributes
    ----------
    theta : ndarray
        Scores of the parts: u_i = p(.; theta_i), or near it.
    mu : ndarray or None
        The marginals of u where they are not those of theta, as not every point has a theta.
    steps : ndarray or None
        The steps of the examples that the fit ended with, if each has one of its own.
    unfolded : ndarray or None
        The marginals of the parts and steps of u, where those of the parts alone do not determine
        it: see ``problem/unfold.py``.
    """

    theta: Floats
    mu: Floats | None = None
    steps: Floats | None = None
    unfolded: Floats | None = None

    def beyond(self, before: DualPoint, a: float) -> DualPoint:
        """Extrapolate: go on by a times the way from an earlier point to this one.

        Marginals cannot leave their set.
        """
        if self.mu is not None or before.mu is not None:
            return self
        theta = self.theta + a * (self.theta - before.theta)
        return DualPoint(theta, steps=self.steps)
