"""Where a problem keeps what is as long as its parts, and in which order its examples are visited.

The arrays of one number per part (theta, mu) are the largest that a solver holds. A `Room` makes
them. This one is the memory of the machine; one on disk maps files, and visits the examples block
by block, so that only a few blocks are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Floats, Ints

__all__ = ["Room", "RoomBlock"]


class RoomBlock(NamedTuple):
    """A block of neighbouring examples: its number, its first example, and the end."""

    number: int
    first: int
    last: int


class Room:
    """The memory of the machine: all examples are at hand, in any order.

    Attributes
    ----------
    on_disk : bool
        Whether examples and duals are on disk, so that they must be visited block by block.
    """

    on_disk: ClassVar[bool] = False

    def parts(self, name: str, n: int) -> Floats:
        """Return an array of n numbers that are not yet set, one per part.

        Parameters
        ----------
        name : str
            What it holds. A room has one array of each name at a time.
        n : int
            Its length.
        """
        return np.empty(n)

    def order(self, rng: np.random.Generator, n: int) -> Ints:
        """Return a random order of n examples."""
        return rng.permutation(n)

    def grouped(self, rng: np.random.Generator, drawn: Ints) -> Ints:
        """Return examples that were drawn independently in an order that the room can follow."""
        return drawn

    def drawn(self, rng: np.random.Generator, chances: Floats, n: int) -> Ints:
        """Draw n examples by their chances, in an order that the room can follow."""
        return rng.choice(len(chances), size=n, p=chances)

    def ends(self, order: Ints) -> Ints:
        """Return where the runs of an order end that can be visited without leaving a block."""
        return np.array([len(order)], dtype=np.int64)

    def enter(self, order: Ints, begin: int, end: int) -> None:
        """Prepare for changes to the examples order[begin:end], a run within one block."""

    def window(self, n: int) -> list[RoomBlock]:
        """Return the blocks that were entered last, whose examples may be visited in any order.

        Parameters
        ----------
        n : int
            How many examples there are.
        """
        return [RoomBlock(0, 0, n)]

    def put(self, name: str, block: int, arrays: Mapping[str, Any]) -> None:
        """Put arrays of a block away; the only block in memory is never left."""

    def take(self, name: str, block: int) -> dict[str, Any] | None:
        """Return the arrays of a block that were put away under a name; None if none were."""
        return None

    def sweep(self, n: int, changes: bool = False) -> Iterator[tuple[int, int]]:
        """Go through n examples as they are stored; yields the first and the end of each run.

        Parameters
        ----------
        n : int
            How many examples there are.
        changes : bool
            Whether arrays that the room keeps will be changed on the way.
        """
        yield 0, n

    def keeps(self, array: Any) -> bool:
        """Return whether the room itself preserves the values of an array across processes."""
        return False

    def mark(self) -> dict[str, Any]:
        """Begin a state that `back_to` can return to, and return what describes it.

        The state marked before can be returned to as well, until `release` is called.
        """
        return {}

    def release(self, mark: Mapping[str, Any]) -> None:
        """Forget the states before a mark, because the mark is safely stored."""

    def back_to(self, mark: Mapping[str, Any]) -> None:
        """Return all arrays that the room keeps to their values at a mark."""

    def close(self, remove: bool = False) -> None:
        """Let go of what the room holds.

        Parameters
        ----------
        remove : bool
            Whether to delete its files, if there are any.
        """
