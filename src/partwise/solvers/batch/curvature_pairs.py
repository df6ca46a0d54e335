"""The memory of L-BFGS, and its product with a vector (Nocedal 1980).

A pair is a step s and the change y of the gradient along it. The pairs stand for an approximation
H of the inverse Hessian, whose product with a vector takes two loops through them.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ...arrays import Floats
from ...compiled.jit import njit
from ...compiled.vectors import inner


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
