"""Where the arrays of a problem live, and in which order its examples are visited."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints

__all__ = ["Room"]


class Room:
    """Memory, in which all examples are as near as any other."""

    def order(self, rng: np.random.Generator, n: int) -> Ints:
        """Draw the order in which an epoch visits n examples."""
        return rng.permutation(n)

    def parts(self, name: str, n: int) -> Floats:
        """Return an array for one number per part, with any content."""
        return np.empty(n)

    def bounds(self, order: Ints) -> list[tuple[int, int]]:
        """Return the runs of an order that lie within one block each."""
        return [(0, len(order))]

    def enter(self, examples: Ints) -> None:
        """Prepare for a visit to examples of one block, whose duals will be changed."""

    def sweep(self, n: int, changes: bool = False) -> Iterator[tuple[int, int]]:
        """Go through all n examples in their order, one block after the other.

        Parameters
        ----------
        n : int
            How many examples there are.
        changes : bool
            Whether duals will be changed on the way.
        """
        yield 0, n

    def keeps(self, array: npt.NDArray[Any]) -> bool:
        """Return whether an array is preserved by the room itself, so that a mark covers it."""
        return False

    def mark(self) -> dict[str, Any]:
        """Note this moment, and return what `back_to` needs to bring it back."""
        return {}

    def back_to(self, mark: dict[str, Any]) -> None:
        """Bring the content of the arrays back that they had at a mark."""

    def close(self, remove: bool = False) -> None:
        """Let go of what the room holds.

        Parameters
        ----------
        remove : bool
            Whether to delete its files, if there are any.
        """

    def release(self, mark: dict[str, Any]) -> None:
        """Forget all marks before this one."""
