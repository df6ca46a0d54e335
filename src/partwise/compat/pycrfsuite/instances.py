"""The data set of a trainer: sequences whose attributes and labels are numbered."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Ints
from ...errors import DataError
from ...problem.rows import Rows
from .items import ItemError, number_items

__all__ = ["Instances", "Known", "NumberedSequences", "make_rows"]


class NumberedSequences(NamedTuple):
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


class Known(dict[str, int]):
    """The numbers of the attributes of a model; others have the number -1."""

    def __missing__(self, name: str) -> int:
        return -1


class _Growing(dict[str, int]):
    """Numbers of names, in the order in which they are first seen."""

    def __missing__(self, name: str) -> int:
        if "\0" in name:
            raise ItemError(f"the name {name!r} has a zero byte, which a model file cannot hold")
        number = self[name] = len(self)
        return number

    def shorten(self, n: int) -> None:
        """Forget all but the first n names."""
        while len(self) > n:
            self.popitem()


def make_rows(sequences: Iterable[Any], known: Known) -> tuple[Rows, Ints]:
    """Return the known attributes of all tokens as rows, and the lengths of the sequences.

    Parameters
    ----------
    sequences
        Sequences of tokens, as `ItemSequence` takes them.
    known
        The attributes that have numbers.
    """
    entries, lengths = _Entries(), []
    for sequence in sequences:
        rows = number_items(sequence, known)
        entries.add(rows)
        lengths.append(len(rows))
    return entries.rows(len(known)), np.array(lengths, dtype=np.int64)


class _Entries:
    """Collects the entries of rows, one sequence after the other."""

    def __init__(self) -> None:
        self.ends, self.indices, self.values = array("q", [0]), array("i"), array("d")

    def add(self, rows: list[dict[int, float]]) -> None:
        """Add the rows of the tokens of a sequence."""
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
        self.attributes = _Growing()
        self.labels = _Growing()
        self._entries = _Entries()
        self._gold = array("q")
        self._lengths = array("q")
        self._groups = array("q")

    def __len__(self) -> int:
        return len(self._lengths)

    def append(self, sequence: Any, labels: Sequence[str], group: int = 0) -> None:
        """Append a sequence and its labels. If they are not valid, nothing is changed.

        Parameters
        ----------
        sequence
            The features of the tokens, as `ItemSequence` takes them.
        labels : sequence of str
            The label of each token.
        group : int
            The group that they belong to.
        """
        before = len(self.attributes), len(self.labels)
        try:
            rows = number_items(sequence, self.attributes)
            if len(rows) != len(labels):
                raise DataError(
                    f"The numbers of items and labels differ: |x| = {len(rows)}, "
                    f"|y| = {len(labels)}"
                )
            gold = [self.labels[label] for label in labels]
        except DataError:
            self.attributes.shorten(before[0])
            self.labels.shorten(before[1])
            raise
        self._entries.add(rows)
        self._gold.extend(gold)
        self._lengths.append(len(rows))
        self._groups.append(group)

    def sample(self, group: int, held_out: bool) -> NumberedSequences:
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
        return NumberedSequences(rows, lengths[chosen], [labels[i] for i in kept])
