"""The average of the iterates, for losses that are not smooth.

For the hinge loss the primal at w(u) may lag behind the dual; any weights may serve a certificate,
and the averaged ones are often better.
"""

from __future__ import annotations

from ..arrays import Floats
from ..compiled.vectors import approach
from ..problem.evaluation import Evaluator


class IterateAverage:
    """Averages the iterates since the last power of two, with weights that grow linearly.

    Parameters
    ----------
    scale : float
        What the iterates are divided by to be weights: l2 for v(u).
    """

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.value: Floats | None = None
        self.added = 0
        self.begun = 0

    @property
    def vectors(self) -> list[Floats]:
        """The vectors that it holds, as long as the weights."""
        return [] if self.value is None else [self.value]

    def add(self, iterate: Floats) -> None:
        """Take one more iterate in."""
        self.added += 1
        if self.value is None or self.added & (self.added - 1) == 0:
            self.value, self.begun = iterate.copy(), self.added
        else:
            approach(self.value, iterate, 2.0 / (self.added - self.begun + 2.0))

    def copy_of(self, other: IterateAverage) -> None:
        """Take the state of another average."""
        self.value = None if other.value is None else other.value.copy()
        self.added, self.begun = other.added, other.begun

    def better_weights(
        self, evaluator: Evaluator, l2: float, weights: Floats
    ) -> tuple[Floats, float]:
        """Return some weights or the averaged ones, by their primal value, and that value."""
        primal = evaluator.primal(weights, l2)
        if self.value is not None:
            averaged = self.value / self.scale
            other = evaluator.primal(averaged, l2)
            if other < primal:
                return averaged, other
        return weights, primal
