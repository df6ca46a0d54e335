"""Features in memory: sparse rows, one per token or example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from partwise.errors import DataError, Place

__all__ = ["Renumbering", "Rows", "is_matrix"]

#: Entries that are handled at a time where each of them needs more room than it takes itself.
_STRETCH = 1 << 17

_MAX_FEATURES = 2**31 - 1


class Renumbering(NamedTuple):
    """New numbers of features.

    Attributes
    ----------
    numbers
        The new number of each feature; -1 for one that is dropped.
    n_features
        One more than the highest new number that may occur.
    """

    numbers: NDArray[Any]
    n_features: int


@dataclass(frozen=True, eq=False)
class Rows:
    """Compressed sparse rows.

    Row i holds the features ``indices[indptr[i]:indptr[i + 1]]``, each at most once.

    Attributes
    ----------
    indptr
        Where rows begin and end, of length ``n + 1``.
    indices
        The feature of every entry, counted from 0.
    values
        The value of every entry, or None if all are 1.
    n_features
        One more than the highest feature that may occur.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.problem import Rows
    >>> rows = Rows.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> len(rows), rows.n_features, rows.indices.tolist(), rows.values.tolist()
    (2, 2, [1, 0], [2.0, 1.0])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64] | None
    n_features: int

    def __post_init__(self) -> None:
        """Bring the arrays to one dtype and check that they fit together."""
        if not 0 <= self.n_features <= _MAX_FEATURES:
            raise DataError(
                f"{self.n_features} features where 0 to {_MAX_FEATURES} are possible; drop or "
                "renumber some"
            )
        put = object.__setattr__
        indices = np.asarray(self.indices)
        if len(indices) and not (indices.min() >= 0 and indices.max() < self.n_features):
            raise DataError(
                f"features {indices.min()} to {indices.max()} where 0 to {self.n_features - 1} "
                "are possible; give the right n_features"
            )
        put(self, "indptr", np.ascontiguousarray(self.indptr, np.int64))
        put(self, "indices", np.ascontiguousarray(indices, np.int32))
        if self.values is not None:
            put(self, "values", np.ascontiguousarray(self.values, np.float64))
            if self.values.shape != self.indices.shape:
                raise DataError(f"{len(self.values)} values for {len(self.indices)} indices")
        ptr = self.indptr
        # Compared, not subtracted: the difference of two numbers of a hostile file may wrap.
        rises = len(ptr) and ptr[0] == 0 and ptr[-1] == len(indices) and (ptr[1:] >= ptr[:-1]).all()
        if not rises:
            raise DataError(f"indptr must rise from 0 to the number of entries, {len(indices)}")

    @classmethod
    def sound(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64] | None,
        n_features: int,
    ) -> Rows:
        """Make rows of arrays that come from checked rows, without checking them again."""
        made = object.__new__(cls)
        vars(made).update(indptr=indptr, indices=indices, values=values, n_features=n_features)
        return made

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indptr) - 1

    @classmethod
    def from_dense(cls, array: ArrayLike) -> Rows:
        """Take the entries of a two-dimensional array that are not zero."""
        dense = np.asarray(array)
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise DataError(
                f"an array of shape {dense.shape} and type {dense.dtype} where a two-dimensional "
                "array of numbers is expected"
            )
        row, indices = np.nonzero(dense)
        indptr = np.zeros(len(dense) + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=len(dense)), out=indptr[1:])
        values = dense[row, indices].astype(np.float64)
        return cls(indptr, indices.astype(np.int32), _values(values), dense.shape[1])

    @classmethod
    def from_scipy(cls, matrix: Any) -> Rows:
        """Take a scipy.sparse matrix or array of any layout; repeated entries are summed."""
        if not hasattr(matrix, "tocsr") or len(matrix.shape) != 2:
            raise DataError(
                f"{type(matrix).__name__} where a two-dimensional sparse matrix is expected"
            )
        if matrix.dtype.kind not in "biuf":
            raise DataError(f"a sparse matrix of type {matrix.dtype} where numbers are expected")
        csr = matrix
        if not _is_plain(matrix):
            # A copy, and in floats before the sums: small integers would wrap, booleans saturate.
            csr = matrix.astype(np.float64).tocsr()
            if not csr.has_sorted_indices and csr.nnz > csr.shape[1]:
                # Transposing twice takes less than half the time of sorting long rows.
                csr = csr.tocsc().tocsr()
            csr.sum_duplicates()
            csr.eliminate_zeros()
        values = _values(np.asarray(csr.data, np.float64))
        return cls(csr.indptr, csr.indices, values, int(csr.shape[1]))

    def to_scipy(self) -> Any:
        """Return the rows as a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array

        shape = (len(self), self.n_features)
        return csr_array((self._dense_values(), self.indices, self.indptr), shape)

    @classmethod
    def stack(cls, parts: Sequence[Rows]) -> Rows:
        """Put rows of the same features below each other."""
        widths = {part.n_features for part in parts}
        if len(widths) != 1:
            raise DataError(
                f"stacking needs parts of one number of features, got {sorted(widths)}; resize them"
            )
        starts = np.cumsum([0, *(len(part.indices) for part in parts)])
        ends = [part.indptr[1:] + start for part, start in zip(parts, starts, strict=False)]
        values = None
        if any(part.values is not None for part in parts):
            values = np.concatenate([part._dense_values() for part in parts])
        return cls(
            np.concatenate([np.zeros(1, np.int64), *ends]),
            np.concatenate([part.indices for part in parts]),
            values,
            widths.pop(),
        )

    def check_finite(self, what: str | Place) -> None:
        """Raise a DataError that names the first row with a value that is not a number.

        Parameters
        ----------
        what
            What the rows are, to begin the message with (``"X"``, say), or what they are part of.
        """
        if self.values is None:
            return
        bad = np.flatnonzero(~np.isfinite(self.values))
        if len(bad):
            row = int(np.searchsorted(self.indptr, bad[0], side="right")) - 1
            place = Place.nth("row", row, argument=what) if isinstance(what, str) else what
            if place is what:
                place = place._replace(part=f"{place.part}, row", position=row)
            raise DataError(
                f"feature {self.indices[bad[0]]} is {self.values[bad[0]]}; replace or drop values "
                "that are not finite",
                place=place,
            )

    def take(self, which: slice | NDArray[Any] | Sequence[int]) -> Rows:
        """Return some rows: a slice, positions, or a mask with one truth value per row."""
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step == 1:
                stop = max(start, stop)
                a, b = self.indptr[start], self.indptr[stop]
                values = None if self.values is None else self.values[a:b]
                indptr = self.indptr[start : stop + 1] - a
                return Rows(indptr, self.indices[a:b], values, self.n_features)
            rows = np.arange(start, stop, step)
        else:
            rows = np.asarray(which)
            if rows.dtype == np.bool_ and len(rows) != len(self):
                raise DataError(f"a mask of {len(rows)} for {len(self)} rows")
            rows = np.arange(len(self))[rows if len(rows) else rows.astype(np.int64)]
        lengths = self.indptr[rows + 1] - self.indptr[rows]
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        indices = np.empty(indptr[-1], np.int32)
        values = None if self.values is None else np.empty(indptr[-1])
        # The places of the entries take four times the room of the indices: do a stretch at a time.
        bounds = np.searchsorted(indptr, np.arange(_STRETCH, indptr[-1], _STRETCH))
        for first, last in pairwise([0, *bounds.tolist(), len(rows)]):
            a, b = indptr[first], indptr[last]
            shift = self.indptr[rows[first:last]] - indptr[first:last]
            entries = np.arange(a, b) + np.repeat(shift, lengths[first:last])
            indices[a:b] = self.indices[entries]
            if values is not None and self.values is not None:
                values[a:b] = self.values[entries]
        return Rows(indptr, indices, values, self.n_features)

    def counts(self) -> NDArray[np.int64]:
        """Return in how many rows every feature is not zero."""
        counts = np.zeros(self.n_features, dtype=np.int64)
        # bincount makes a copy twice as large as its argument, so it is called in stretches, which
        # are not shorter than its result.
        stretch = max(_STRETCH, self.n_features)
        for begin in range(0, len(self.indices), stretch):
            indices = self.indices[begin : begin + stretch]
            if self.values is not None:
                indices = indices[self.values[begin : begin + stretch] != 0]
            counts += np.bincount(indices, minlength=self.n_features)
        return counts

    def keep(self, mask: NDArray[np.bool_]) -> Rows:
        """Drop the features whose mask is False, and renumber the others in order."""
        if mask.shape != (self.n_features,):
            raise DataError(f"a mask of shape {mask.shape} for {self.n_features} features")
        renumbered = (np.cumsum(mask) - 1).astype(np.int32)
        kept = mask[self.indices]
        return self._entries(
            _cut(self.indptr, kept), kept, renumbered[self.indices], int(np.count_nonzero(mask))
        )

    def renumber(self, to: Renumbering) -> Rows:
        """Give every feature another number; those whose number is negative are dropped."""
        if to.numbers.shape != (self.n_features,):
            raise DataError(f"{to.numbers.size} numbers for {self.n_features} features")
        found = to.numbers.astype(np.int32, copy=False)[self.indices]
        kept = found >= 0
        return self._entries(_cut(self.indptr, kept), kept, found, to.n_features)

    def resize(self, n_features: int) -> Rows:
        """Change the number of features; entries beyond it are dropped."""
        if n_features == self.n_features:
            return self
        if n_features > self.n_features:
            return Rows(self.indptr, self.indices, self.values, n_features)
        kept = self.indices < n_features
        return self._entries(_cut(self.indptr, kept), kept, self.indices, n_features)

    def append_constant(self, value: float) -> Rows:
        """Add a last feature with the same value in every row, for an intercept."""
        ends = self.indptr[1:]
        indices = np.insert(self.indices, ends, self.n_features)
        values = None
        if self.values is not None or value != 1:
            values = np.insert(self._dense_values(), ends, value)
        indptr = self.indptr + np.arange(len(self.indptr))
        return Rows(indptr, indices, values, self.n_features + 1)

    def _dense_values(self) -> NDArray[np.float64]:
        return np.ones(len(self.indices)) if self.values is None else self.values

    def _entries(
        self,
        indptr: NDArray[np.int64],
        entries: NDArray[Any],
        indices: NDArray[np.int32],
        n_features: int,
    ) -> Rows:
        values = None if self.values is None else self.values[entries]
        return Rows(indptr, indices[entries], values, n_features)


def _values(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    return None if (values == 1).all() else values


def _cut(indptr: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where rows begin once only the kept entries are left."""
    before = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    return before[indptr]


def is_matrix(item: Any) -> bool:
    """Return whether an object is a matrix of numbers: dense, sparse, or a data frame."""
    if hasattr(item, "tocsr") or hasattr(item, "iloc"):
        return True
    return isinstance(item, np.ndarray) and item.ndim == 2 and item.dtype.kind in "biuf"


def _is_plain(matrix: Any) -> bool:
    """Return whether rows can share the arrays of a sparse matrix, which may be most of the memory.

    They are never written to, but compiled code takes writeable arrays only.
    """
    return bool(
        matrix.format == "csr"
        and matrix.dtype == np.float64
        and matrix.data.flags.writeable
        and matrix.has_canonical_format
        and np.count_nonzero(matrix.data) == len(matrix.data)
    )
