"""The vectors that all blocks start a round from.

Every thread and every worker has a copy of its own. The copies get the same changes in the same
order, so that they are equal to the last bit, and a block may visit its chunk in any of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...arrays import Floats
from ...compiled.jit import FAST, njit
from ...compiled.vectors import shrunk
from ...errors import DataError
from ...problem.storage import Storage
from ..iterate_average import IterateAverage
from .places import Marks, Places, add_at, subtract_at, take
from .plan import Pass, Update

__all__ = ["Vectors"]


class Vectors:
    """v(u), the weights that follow from it, and their average over the rounds of a pass.

    With a proximal term (:mod:`partwise.solvers.proximal_term`) the weights are those near its
    centre z: near = v + k z, w = shrunk(near, l1) / (l2 + k).

    Where blocks add what they found without having seen each other, the weights swing around those
    that they approach. Their average over the rounds of a pass has a much lower objective. The
    rounds change few places, so the average is kept as what it lags behind the last weights by:
    after R rounds with changes d_1 ... d_R it is near - sum_r (r - 1) d_r / R.

    Parameters
    ----------
    storage : Storage
        Where the weights are.
    l1 : float
        The factor of |w|_1.
    proximal : bool
        Whether there may be a proximal term.
    averages : bool
        Whether to average over passes too, for losses that are not smooth.
    """

    remade: ClassVar[tuple[str, ...]] = ("l1", "proximal", "marks", "room")
    grows: ClassVar[tuple[str, ...]] = ("mean.value",)

    def __init__(self, storage: Storage, l1: float, proximal: bool, averages: bool) -> None:
        self.l1, self.proximal = l1, proximal
        self.v, self.lag = storage.zeros(), storage.zeros()
        self.near = storage.zeros() if proximal else self.v
        self.centre = storage.zeros() if proximal else np.zeros(0)
        self.w = storage.zeros() if l1 else self.near
        self.mean = IterateAverage() if averages else None
        self.k = 0.0
        self.l2 = 1.0  # of the last pass, with k
        self.rounds = 0  # of this pass
        self.marks = Marks(storage.n_places)
        self.room = storage.zeros()  # zeros, for sums and for the steps of Frank-Wolfe

    def restored(self) -> None:
        """Check vectors that come from a file."""
        n = len(self.room)
        held = [self.v, self.lag, self.near, self.w]
        if self.proximal:
            held.append(self.centre)
        mean = None if self.mean is None else self.mean.value
        if any(x.shape != (n,) for x in held) or not (mean is None or mean.shape == (n,)):
            raise DataError(f"a vector does not have the {n} numbers of the problem")

    def copy_of(self, other: Vectors) -> None:
        """Take the numbers of other vectors."""
        for name in ("v", "lag", "near", "centre", "w"):
            getattr(self, name)[:] = getattr(other, name)
        self.k, self.l2, self.rounds = other.k, other.l2, other.rounds
        if self.mean is not None and other.mean is not None:
            self.mean.copy_of(other.mean)

    def begin(self, coming: Pass) -> None:
        """Begin a pass: move the centre of the proximal term if need be, and forget the average."""
        if self.mean is not None and self.rounds:
            self.mean.add(self.averaged())
        if coming.moves:
            self.centre[:] = self.averaged()
        self.k, self.l2, self.rounds = coming.k, coming.l2 + coming.k, 0
        self.lag[:] = 0.0
        if self.proximal:
            self.near[:] = self.v + self.k * self.centre
        if self.l1:
            self.w[:] = shrunk(self.near, self.l1)

    def apply(self, update: Update) -> None:
        """Add the changes of a round."""
        places, values = update.places, update.values
        add_at(places, values, self.v)
        if self.proximal:
            add_at(places, values, self.near)
        if self.l1:
            self.shrink(places)
        add_at(places, values, self.lag, float(self.rounds))
        self.rounds += 1

    def shrink(self, places: Places) -> None:
        """Set w = shrunk(near, l1) at some places."""
        _shrink_at(places.begin, places.size, self.near, self.w, self.l1)

    def taken_back(self, places: Places, before: Floats, sigma: float) -> Floats:
        """Return what a visit changed at some places, over sigma, and put `before` back there."""
        change = subtract_at(places, before, self.near, sigma)
        if self.l1:
            self.shrink(places)
        return change

    def sum_of(self, several: list[tuple[Places, Floats]]) -> tuple[Places, Floats]:
        """Add up changes, in their order; return the places where they are, and the sums."""
        for places, values in several:
            add_at(places, values, self.room)
        union = self.marks.union([places for places, _ in several])
        return union, take(union, self.room)

    def norm_change(self, places: Places, values: Floats) -> float:
        """Return the change of |shrunk(near, l1)|^2 if some values are added."""
        if self.l1:
            args = places.begin, places.size, values, self.near, self.l1
            return float(_shrunk_change(*args))
        return float(_norm_change(places.begin, places.size, values, self.near))

    def weights(self, which: str) -> Floats:
        """Return weights: averaged over the rounds of this pass, or the mean over passes."""
        if which == "averaged":
            return self.averaged()
        if self.mean is None or self.mean.value is None:
            raise RuntimeError("there is no mean over passes")
        return self.mean.value

    def averaged(self) -> Floats:
        """Return the weights, averaged over the rounds of this pass."""
        if not self.rounds:
            return self.w / self.l2
        mean = self.near - self.lag / self.rounds
        return (shrunk(mean, self.l1) if self.l1 else mean) / self.l2


@njit
def _shrink_at(begin: Any, size: Any, near: Any, w: Any, by: float) -> None:
    """Compute w = shrunk(near, by), in the words of `scatter_shrunk`, at some places."""
    for b in range(begin.size):
        for j in range(begin[b], begin[b] + size[b]):
            w[j] = max(near[j] - by, 0.0) + min(near[j] + by, 0.0)


@njit(fastmath=FAST)
def _norm_change(begin: Any, size: Any, values: Any, near: Any) -> Any:
    """Sum (near + d)^2 - near^2."""
    total = 0.0
    k = 0
    for b in range(begin.size):
        run = near[begin[b] : begin[b] + size[b]]
        change = values[k : k + run.size]
        for j in range(run.size):
            total += (2.0 * run[j] + change[j]) * change[j]
        k += run.size
    return total


@njit(fastmath=FAST)
def _shrunk_change(begin: Any, size: Any, values: Any, near: Any, by: float) -> Any:
    """Sum shrunk(near + d, by)^2 - shrunk(near, by)^2."""
    total = 0.0
    k = 0
    for b in range(begin.size):
        run = near[begin[b] : begin[b] + size[b]]
        change = values[k : k + run.size]
        for j in range(run.size):
            x = max(abs(run[j]) - by, 0.0)
            y = max(abs(run[j] + change[j]) - by, 0.0)
            total += (y - x) * (y + x)
        k += run.size
    return total
