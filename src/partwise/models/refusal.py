"""Naming the example whose shape a structure refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DataError

if TYPE_CHECKING:
    from ..arrays import Ints
    from ..structures.base import Structure

__all__ = ["name_refused"]


def name_refused(structure: Structure, shapes: Sequence[Any] | Ints, first: int = 0) -> None:
    """Raise a DataError that names the first example that the structure refuses, if there is one.

    It is called after an error only: the shapes of graphs take long to describe.

    Parameters
    ----------
    structure : Structure
        The structure.
    shapes : sequence
        The shapes of some examples.
    first : int
        The number of the first of them.
    """
    for i, shape in enumerate(shapes, first):
        try:
            structure.topology(shape)
        except DataError as why:
            raise DataError(f"example {i} (counted from 0): {why}") from why
