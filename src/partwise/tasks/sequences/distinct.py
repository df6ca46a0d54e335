"""Merging of equal examples, so that a fit only depends on the weighted set of examples.

In the objective, two examples with the same features and label are the same as one example with the
sum of their weights, and the order of examples does not matter. A solver that visits them one by
one would still end at another point within its tolerance. So equal examples are merged and brought
into an order that only depends on the examples.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...problem.rows import Rows

__all__ = ["distinct_examples"]

#: The number of entries of rows that are hashed together.
_STRETCH: Final = 1 << 16
#: Odd numbers whose products spread their factors over all 64 bits (splitmix64).
_SPREAD: Final = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))


def distinct_examples(rows: Rows, label: Ints, weight: Floats) -> tuple[Ints, Floats]:
    """Find the distinct examples, in an order that only depends on the examples.

    Parameters
    ----------
    rows : Rows
        The features, one row per example.
    label : ndarray of int
        The number of the label of each example.
    weight : ndarray
        The weight of each example; those of weight 0 are left out.

    Returns
    -------
    chosen, weight
        The position of one example of each group of equal ones, and the sum of their weights.
    """
    used = np.flatnonzero(weight > 0.0)
    marks = _marks(rows, label)
    order = used[np.argsort(marks[used], kind="stable")]
    new = np.ones(len(order), dtype=np.bool_)
    twins = 1 + np.flatnonzero(marks[order[1:]] == marks[order[:-1]])
    new[twins] = ~_same(rows, label, order[twins - 1], order[twins])
    first = np.flatnonzero(new)
    return order[first], np.add.reduceat(weight[order], first)


def _marks(rows: Rows, label: Ints) -> NDArray[np.uint64]:
    """Return a hash of each example, which is equal for equal features and labels."""
    marks = _mixed(label.astype(np.uint64))
    begin = 0
    while begin < len(rows):
        # As many whole rows as a stretch holds, and at least one.
        at = np.searchsorted(rows.indptr, rows.indptr[begin] + _STRETCH, side="right") - 1
        end = min(max(int(at), begin + 1), len(rows))
        part = rows.take(slice(begin, end))
        entry = _mixed(part.indices.astype(np.uint64))
        if part.values is not None:
            entry = _mixed(entry ^ part.values.view(np.uint64))
        else:
            entry = _mixed(entry ^ np.float64(1.0).view(np.uint64))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry)])  # modulo 2^64
        marks[begin:end] = _mixed(
            marks[begin:end] ^ (sums[part.indptr[1:]] - sums[part.indptr[:-1]])
        )
        begin = end
    return marks


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x + _SPREAD[0]) * _SPREAD[1]
    x = (x ^ (x >> np.uint64(31))) * _SPREAD[2]
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(29))
    return mixed


def _same(rows: Rows, label: Ints, some: Ints, others: Ints) -> NDArray[np.bool_]:
    """Return whether two examples are equal, for many pairs: equal hashes do not prove it."""
    size = np.diff(rows.indptr)
    same: NDArray[np.bool_] = (label[some] == label[others]) & (size[some] == size[others])
    a, b = rows.take(some[same]), rows.take(others[same])
    equal = a.indices == b.indices
    if a.values is not None and b.values is not None:
        equal &= a.values == b.values
    wrong = np.concatenate([[0], np.cumsum(~equal)])
    same[same] = wrong[a.indptr[1:]] == wrong[a.indptr[:-1]]
    return same
