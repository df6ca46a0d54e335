"""Features of batches, numbered over all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..problem.numbering import Keep
from ..problem.rows import Renumbering, Rows
from .hashed_names import HashedNames, hashed_indices
from .name_table import NameTable
from .vocabulary import Vocabulary

__all__ = ["GrownNames"]


class GrownNames:
    """The features of the batches so far.

    The features of a batch are numbered in the order in which they are first seen, and so are those
    of all batches together: the numbers are those that all batches would have got at once.

    Parameters
    ----------
    min_count : int
        How often a feature must occur to be kept in the end.
    hashing : int or None
        The number of slots that features are hashed to; None lists them.
    constant : float
        The value of a constant feature of every row; 0 for none. It is the first feature of the
        batches, and the last one in the end.
    whole : bool
        Whether there is one batch only: the constant feature is then the last one at once, so that
        no row has to be made anew.
    what : str
        What the features are called, for messages.
    fixed : bool
        Whether features without names have the same number in all batches.
    """

    def __init__(
        self,
        *,
        min_count: int = 1,
        hashing: int | None = None,
        constant: float = 0.0,
        whole: bool = False,
        what: str = "X",
        fixed: bool = True,
    ) -> None:
        self._min_count, self._hashing, self._constant = min_count, hashing, constant
        self._whole, self._what, self._fixed = whole, what, fixed
        self._table: NameTable | None = None
        #: The names of the first batch, which are its numbers already.
        self._first: Vocabulary | None = None
        self._counts = np.zeros(0, np.int64)
        self._named: bool | None = None
        self._separator = "="
        self.n_features = 0

    def add(self, rows: Rows, names: Vocabulary | None, used: NDArray[np.bool_]) -> Rows:
        """Return the rows of a batch with the numbers that hold in all batches.

        Parameters
        ----------
        rows, names
            The rows, and the names of their features; None if they only have numbers.
        used : ndarray of bool
            Which rows count, and are returned.
        """
        named = names is not None
        if self._named not in (None, named) and len(rows):
            raise self._mixed()
        self._named = named if self._named is None or len(rows) else self._named
        if names is not None:
            self._separator = names.separator
        if self._hashing is not None:
            rows = hashed_rows(rows, names, self._hashing, self._separator)
            self.n_features = self._hashing
        elif names is not None:
            rows = self._named_rows(rows, names)
        else:
            if len(rows):
                self._check_width(rows.n_features)
            self.n_features = max(self.n_features, rows.n_features)
        if not used.all():
            rows = rows.take(used)
        if self._min_count > 1:
            self._count(rows.counts())
        if not self._constant:
            return rows
        if self._whole:
            return rows.resize(self.n_features).append_constant(self._constant)
        return _with_constant(rows, self._constant)

    def join(self, other: GrownNames) -> NDArray[np.int64]:
        """Take in the features of the batches that come next, which were numbered by themselves.

        Parameters
        ----------
        other : GrownNames
            Made with the same arguments. It is not used any more.

        Returns
        -------
        ndarray of int64
            The number in all batches of each feature of the others.
        """
        if None not in (self._named, other._named) and self._named != other._named:
            raise self._mixed()
        if other._named is not None:
            self._named, self._separator = other._named, other._separator
        if self._hashing is None and other._named:
            table = self._tabled()
            numbers = table.join(other._tabled()).astype(np.int64)
            self.n_features = len(table)
        else:
            numbers = np.arange(other.n_features)
            if self._hashing is None and other.n_features:
                self._check_width(other.n_features)
            self.n_features = max(self.n_features, other.n_features)
        counts = other._counts[: other.n_features]
        self._count(np.bincount(numbers[: len(counts)], counts, self.n_features).astype(np.int64))
        return np.append(np.zeros(1, np.int64), numbers + 1) if self._constant else numbers

    def _mixed(self) -> DataError:
        return DataError(
            f"{self._what}: some examples have features by name, and others rows of numbers; "
            "give one kind"
        )

    def _named_rows(self, rows: Rows, names: Vocabulary) -> Rows:
        if len(names) != rows.n_features:
            raise DataError(f"a vocabulary of {len(names)} names for {rows.n_features} features")
        if self._table is None and self._first is None:
            self._first, self.n_features = names, len(names)
            return rows
        table = self._tabled()
        numbers = table.add_packed(*names.pack())
        self.n_features = len(table)
        return Rows.sound(rows.indptr, numbers[rows.indices], rows.values, self.n_features)

    def _tabled(self) -> NameTable:
        """Return the table of all names, which one batch does not need."""
        if self._table is None:
            self._table = NameTable()
            if self._first is not None:
                self._table.add_packed(*self._first.pack())
            self._first = None
        return self._table

    def _check_width(self, n: int) -> None:
        if self._fixed and self.n_features not in (0, n):
            raise DataError(
                f"{self._what}: {n} features where those before have "
                f"{self.n_features}; give all examples the same features"
            )

    def _count(self, counts: NDArray[np.int64]) -> None:
        if len(counts) > len(self._counts):
            grown = np.zeros(max(len(counts), 5 * len(self._counts) // 4), np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        self._counts[: len(counts)] += counts

    @property
    def n_in_batches(self) -> int:
        """The number of features of the batches, the constant one included."""
        return self.n_features + (self._constant != 0.0)

    def finish(self) -> tuple[Vocabulary | None, Keep | None]:
        """Return the names that are kept in the end, and what becomes of the features.

        Features that only have numbers keep them: rare ones do not occur any more.
        """
        n = self.n_features
        mask = np.ones(n, np.bool_)
        if self._min_count > 1:
            counts = self._counts[:n]
            mask = np.append(counts >= self._min_count, np.zeros(n - len(counts), np.bool_))
        names: Vocabulary | None = None
        if self._hashing is not None:
            names = HashedNames(self._hashing, self._separator) if self._named else None
        elif self._named:
            first = self._first
            names = first if first is not None else self._tabled().finish(self._separator)
            names = names if mask.all() else names.keep(mask)
        moved = self._constant != 0.0 and not self._whole
        if mask.all() and not moved:
            return names, None
        listed = names is not None and self._hashing is None
        if listed and not moved:
            return names, np.append(mask, True) if self._constant else mask
        numbers = np.where(mask, np.cumsum(mask) - 1 if listed else np.arange(n), -1)
        last = int(np.count_nonzero(mask)) if listed else n
        if not self._constant:
            return names, Renumbering(numbers, last)
        ends = ([last], numbers) if moved else (numbers, [last])
        return names, Renumbering(np.concatenate(ends), last + 1)


def hashed_rows(rows: Rows, names: Vocabulary | None, n: int, separator: str = "=") -> Rows:
    """Return rows with hashes of the names of their features, or of their numbers, as features."""
    if names is None:
        return hashed_indices(rows, n)
    return HashedNames(n, separator).rows(rows, names)


def _with_constant(rows: Rows, value: float) -> Rows:
    """Add a first feature with the same value in every row; its entry is the last of the row."""
    ends = rows.indptr[1:]
    indices = np.insert(rows.indices + 1, ends, 0)
    values = None
    if rows.values is not None or value != 1.0:
        held = np.ones(len(rows.indices)) if rows.values is None else rows.values
        values = np.insert(held, ends, value)
    indptr = rows.indptr + np.arange(len(rows.indptr))
    return Rows.sound(indptr, indices, values, rows.n_features + 1)
