"""Arrays of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["SequenceArray", "sequence_array"]


class SequenceArray(np.ndarray[Any, Any]):
    """A one-dimensional array of objects with one list per sequence.

    ``==`` and ``!=`` compare it sequence by sequence, with as many sequences or with a single one,
    where numpy would compare lists with their own items.
    """

    def __eq__(self, other: Any) -> Any:
        pairs = _paired(self, other)
        return NotImplemented if pairs is None else np.array([list(a) == b for a, b in pairs], bool)

    def __ne__(self, other: Any) -> Any:
        pairs = _paired(self, other)
        return NotImplemented if pairs is None else np.array([list(a) != b for a, b in pairs], bool)


def _paired(mine: SequenceArray, other: Any) -> list[tuple[Any, list[Any]]] | None:
    """Pair sequences with those of another object; None if these are no sequences."""
    if isinstance(other, (str, bytes)) or not isinstance(other, Iterable) or mine.ndim != 1:
        return None
    found = list(other)
    nested = [_is_sequence(item) for item in found]
    if found and not any(nested):
        # One sequence for all of them.
        return [(item, found) for item in mine.tolist()]
    if len(found) != len(mine) or not all(nested):
        return None
    return list(zip(mine.tolist(), map(list, found), strict=True))


def _is_sequence(item: Any) -> bool:
    return isinstance(item, (list, tuple, np.ndarray))


def sequence_array(sequences: Sequence[Any]) -> SequenceArray:
    """Return an array with one sequence per entry, also if all have the same length."""
    found = np.empty(len(sequences), dtype=object)
    for i, item in enumerate(sequences):
        found[i] = item
    return found.view(SequenceArray)
