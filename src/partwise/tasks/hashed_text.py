"""The names that were hashed to slots, as the examples of a user have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..arrays import Ints
from ..models.hashed_names import hashed_numbers, mixed
from ..models.vocabulary import Vocabulary
from ..problem.rows import Rows
from .example_form import columns

__all__ = ["NamesOfKeys", "NamesOfRows", "names_of_rows"]


class NamesOfKeys:
    """The names of the features of arcs or spans, found by their keys."""

    def __init__(self, table: Any, keys: Sequence[Callable[[], tuple[Ints, Ints]]]) -> None:
        self._table, self._make, self._example = table, keys, -1
        self._known: dict[int, list[str]] = {}

    def __call__(self, example: int, row: int, slots: Sequence[int]) -> list[list[str]]:
        if example != self._example:
            keys, owner = self._make[example]()
            order = np.argsort(owner, kind="stable")
            self._keys, self._slots = keys[order], owner[order]
            self._example, self._known = example, {}
        new = np.array([slot for slot in slots if slot not in self._known], dtype=np.int64)
        if len(new):
            ends = np.searchsorted(self._slots, [new, new + 1]).T.tolist()
            keys = np.concatenate([self._keys[first:last] for first, last in ends])
            names = iter(self._table.describe_keys(keys))
            for slot, (first, last) in zip(new.tolist(), ends, strict=True):
                self._known[slot] = [*islice(names, last - first)]
        return [self._known[slot] for slot in slots]


class NamesOfRows:
    """The names of rows of features before they were hashed."""

    def __init__(
        self, rows: Rows, slots: Any, names: Callable[[Sequence[int]], list[str]], copies: int = 1
    ) -> None:
        self._rows, self._slots, self._names, self._copies = rows, slots, names, copies

    def __call__(self, example: int, row: int, slots: Sequence[int]) -> list[list[str]]:
        a, b = self._rows.indptr[row // self._copies :][:2].tolist()
        numbers = self._rows.indices[a:b]
        own = self._slots[numbers]
        return [self._names(numbers[own == slot].tolist()) for slot in slots]


def names_of_rows(
    rows: Rows, names: Vocabulary | None, known: Any, n: int, copies: int = 1
) -> NamesOfRows:
    """Return the names behind the slots of rows, which have names or only numbers."""
    if names is None:
        slots = hashed_numbers(mixed(np.arange(rows.n_features)), n)
        return NamesOfRows(rows, slots, columns, copies)
    return NamesOfRows(rows, known.find(names.names), names.some, copies)
