"""The data set of a trainer: sequences whose attributes and labels are numbered."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import Ints
from ...errors import DataError
from ...problem.rows import Rows
from .items import Attributes, ItemError

__all__ = ["Instances", "Sample", "make_rows"]


class Sample(NamedTuple):
    """Some sequences, as numbers.

    Attributes
    ----------
    rows : Rows
        The attributes of every token. Values of 0 are kept: such an attribute was seen.
    lengths : ndarray of int
        The number of tokens of each sequence.
    gold : list of ndarray
        The labels of each sequence.
    """

    rows: Rows
    lengths: Ints
    gold: list[Ints]


def make_rows(
    sequences: Sequence[Sequence[Attributes]], number: Callable[[str], int | None], n_features: int
) -> tuple[Rows, Ints]:
    """Return the attributes of all tokens as rows, and the lengths of the sequences.

    Parameters
    ----------
    sequences
        Sequences of tokens.
    number
        Returns the number of an attribute, or None to leave it out.
    n_features
        How many attributes have numbers.
    """
    entries = _Entries()
    for sequence in sequences:
        entries.add(sequence, number)
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    return entries.rows(n_features), lengths


class _Entries:
    """The entries of rows, as they are added."""

    def __init__(self) -> None:
        self.ends, self.indices, self.values = array("q", [0]), array("i"), array("d")

    def add(self, sequence: Sequence[Attributes], number: Callable[[str], int | None]) -> None:
        """Add the tokens of a sequence; if `number` raises, none of them."""
        rows: list[dict[int, float]] = []
        for item in sequence:
            row: dict[int, float] = {}
            for name, value in item:
                feature = number(name)
                if feature is not None:
                    row[feature] = row[feature] + value if feature in row else value
            rows.append(row)
        for row in rows:
            self.indices.extend(row)
            self.values.extend(row.values())
            self.ends.append(len(self.indices))

    def rows(self, n_features: int) -> Rows:
        values = np.array(self.values, dtype=np.float64)
        ends, indices = np.array(self.ends, np.int64), np.array(self.indices, np.int32)
        return Rows(ends, indices, None if (values == 1.0).all() else values, n_features)


class Instances:
    """Sequences with labels and group numbers.

    Attributes
    ----------
    attributes, labels : dict of str to int
        The numbers of the names, in the order in which they were first seen. Both are those of
        all groups, as in CRFsuite.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        self._entries = _Entries()
        self._gold = array("q")
        self._lengths = array("q")
        self._groups = array("q")

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, items: Sequence[Attributes], labels: Sequence[str], group: int = 0) -> None:
        """Append a sequence."""
        if len(items) != len(labels):
            raise DataError(
                f"The numbers of items and labels differ: |x| = {len(items)}, |y| = {len(labels)}"
            )
        for name in labels:
            if name not in self.labels:
                self.labels[_stored(name)] = len(self.labels)
        self._entries.add(items, self._number)
        self._gold.extend(map(self.labels.__getitem__, labels))
        self._lengths.append(len(items))
        self._groups.append(group)

    def _number(self, name: str) -> int:
        """Return the number of an attribute, which may be new."""
        number = self.attributes.get(name)
        if number is None:
            number = self.attributes[_stored(name)] = len(self.attributes)
        return number

    def sample(self, group: int, held_out: bool) -> Sample:
        """Return the sequences of a group, or those of all other groups.

        Empty sequences are left out: they have one label sequence only, the empty one.
        """
        lengths = np.array(self._lengths, dtype=np.int64)
        chosen = (np.array(self._groups, dtype=np.int64) == group) == held_out
        chosen &= lengths > 0
        rows = self._entries.rows(len(self.attributes))
        if not chosen.all():
            rows = rows.take(np.repeat(chosen, lengths))
        ends = np.cumsum(lengths)
        gold = np.array(self._gold, dtype=np.int64)
        labels = [gold[end - n : end] for end, n in zip(ends, lengths, strict=True)]
        kept = np.flatnonzero(chosen).tolist()
        return Sample(rows, lengths[chosen], [labels[i] for i in kept])


def _stored(name: str) -> str:
    """Return a name that a model file can hold."""
    if "\0" in name:
        raise ItemError(f"the name {name!r} has a zero byte, which a model file cannot hold")
    return name
