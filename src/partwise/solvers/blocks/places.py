"""The weights that some examples touch, and what is done with these places of a vector.

A chunk of a block touches few of all weights, so that what is exchanged after it is a list of runs
of places and the numbers there. A run is the stored block of one feature.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...compiled.lanes import LINE, prefetch
from ...problem.design import Design

__all__ = ["Marks", "Places", "add_at", "gather", "subtract_at", "take"]

#: A run is fetched while this many are left before it ...
_AHEAD: Final = 6
#: ... but not more than this much of it.
_FETCHED: Final = 4 * LINE


class Places(NamedTuple):
    """Runs of places, each at most once: the blocks of some features."""

    begin: npt.NDArray[np.uint32]  # where each run begins
    size: npt.NDArray[np.uint32]  # how many places it has

    @property
    def total(self) -> int:
        """How many places there are."""
        return int(self.size.sum(dtype=np.int64))


class Marks:
    """Tells which runs were met before; one number per place.

    Parameters
    ----------
    n_places : int
        How many numbers are stored.
    """

    def __init__(self, n_places: int) -> None:
        self.mark = np.zeros(n_places, dtype=np.uint32)
        self.number = 0

    def _next(self) -> int:
        self.number += 1
        if self.number >= 2**32:
            self.mark[:] = 0
            self.number = 1
        return self.number

    def touched(self, design: Design, examples: Ints) -> Places:
        """Return the blocks of the features of some examples, in the order of their first use.

        Parameters
        ----------
        design : Design
            The features.
        examples : ndarray of int64
            The examples, counted from 0.
        """
        first, last = design.site_ptr[examples], design.site_ptr[examples + 1]
        most = int((design.entry_ptr[last] - design.entry_ptr[first]).sum())
        most = min(most, len(self.mark))
        begin, size = np.empty(most, dtype=np.uint32), np.empty(most, dtype=np.uint32)
        count = _touch(design, examples, self.mark, self._next(), begin, size)
        return Places(begin[:count].copy(), size[:count].copy())

    def union(self, several: list[Places]) -> Places:
        """Return the runs of several lists, each once, in the order of their first use."""
        most = min(sum(len(places.begin) for places in several), len(self.mark))
        begin, size = np.empty(most, dtype=np.uint32), np.empty(most, dtype=np.uint32)
        number, count = self._next(), 0
        for places in several:
            count = _unite(places.begin, places.size, self.mark, number, begin, size, count)
        return Places(begin[:count].copy(), size[:count].copy())


def gather(places: Places, vector: Floats) -> Floats:
    """Return the numbers of a vector at some places."""
    out = np.empty(places.total)
    _gather(places.begin, places.size, vector, out)
    return out


def take(places: Places, vector: Floats) -> Floats:
    """Return the numbers of a vector at some places, and set them to 0 there."""
    out = np.empty(places.total)
    _take(places.begin, places.size, vector, out)
    return out


def add_at(places: Places, values: Floats, vector: Floats, factor: float = 1.0) -> None:
    """Add a factor times some values to the numbers of a vector at some places."""
    _add_at(places.begin, places.size, values, vector, factor)


def subtract_at(places: Places, before: Floats, vector: Floats, by: float) -> Floats:
    """Return (vector - before) / by at some places, and put `before` back there.

    Parameters
    ----------
    places : Places
        The places.
    before : ndarray
        The numbers that the vector had there.
    vector : ndarray
        The vector.
    by : float
        What the difference is divided by.
    """
    out = np.empty_like(before)
    _subtract_at(places.begin, places.size, before, vector, by, out)
    return out


# The runs are far from each other in a long vector, so each is fetched some runs ahead.


@njit(inline="always")
def _fetch(begin: Any, size: Any, b: int, vector: Any) -> None:
    """Prefetch a run that comes soon."""
    if b + _AHEAD < begin.size:
        at = np.int64(begin[b + _AHEAD])
        for j in range(at, at + min(size[b + _AHEAD], _FETCHED), LINE):
            prefetch(vector, j)


@njit
def _touch(design: Any, examples: Any, mark: Any, number: int, begin: Any, size: Any) -> Any:
    """List the blocks of the features of some examples; return how many there are."""
    count = 0
    for i in examples:
        last = design.entry_ptr[design.site_ptr[i + 1]]
        for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                if e + _AHEAD < last:
                    prefetch(mark, np.int64(design.start[e + _AHEAD]))
                at = design.start[e]
                if mark[at] != number:
                    mark[at] = number
                    begin[count] = at
                    dense = e < design.sparse_ptr[s]
                    size[count] = design.site_width[s] if dense else design.size[e]
                    count += 1
    return count


@njit
def _unite(
    begin: Any, size: Any, mark: Any, number: int, all_begin: Any, all_size: Any, count: int
) -> Any:
    """Append the runs that are not yet marked; return how many there are now."""
    for b in range(begin.size):
        if b + _AHEAD < begin.size:
            prefetch(mark, np.int64(begin[b + _AHEAD]))
        if mark[begin[b]] != number:
            mark[begin[b]] = number
            all_begin[count], all_size[count] = begin[b], size[b]
            count += 1
    return count


@njit
def _gather(begin: Any, size: Any, vector: Any, out: Any) -> None:
    k = 0
    for b in range(begin.size):
        _fetch(begin, size, b, vector)
        run = vector[begin[b] : begin[b] + size[b]]
        kept = out[k : k + run.size]
        for j in range(run.size):
            kept[j] = run[j]
        k += run.size


@njit
def _take(begin: Any, size: Any, vector: Any, out: Any) -> None:
    k = 0
    for b in range(begin.size):
        _fetch(begin, size, b, vector)
        run = vector[begin[b] : begin[b] + size[b]]
        kept = out[k : k + run.size]
        for j in range(run.size):
            kept[j] = run[j]
            run[j] = 0.0
        k += run.size


@njit
def _add_at(begin: Any, size: Any, values: Any, vector: Any, factor: float) -> None:
    k = 0
    for b in range(begin.size):
        _fetch(begin, size, b, vector)
        run = vector[begin[b] : begin[b] + size[b]]
        kept = values[k : k + run.size]
        for j in range(run.size):
            run[j] += factor * kept[j]
        k += run.size


@njit
def _subtract_at(begin: Any, size: Any, before: Any, vector: Any, by: float, out: Any) -> None:
    k = 0
    for b in range(begin.size):
        _fetch(begin, size, b, vector)
        run = vector[begin[b] : begin[b] + size[b]]
        kept, found = before[k : k + run.size], out[k : k + run.size]
        for j in range(run.size):
            found[j] = (run[j] - kept[j]) / by
            run[j] = kept[j]
        k += run.size
