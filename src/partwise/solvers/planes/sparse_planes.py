"""The planes of single examples: c_i F_i^T (gold_i - m), few of whose places are not 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...problem.design import any_change, scatter
from ...problem.problem import Problem


class SparsePlanes(NamedTuple):
    """Sparse vectors; the entries of vector k are pointer[k] : pointer[k + 1]."""

    pointer: Ints
    place: NDArray[np.uint32]
    value: Floats

    def joined(self, other: SparsePlanes) -> SparsePlanes:
        """Return these planes followed by others."""
        return SparsePlanes(
            np.concatenate([self.pointer, self.pointer[-1] + other.pointer[1:]]),
            np.concatenate([self.place, other.place]),
            np.concatenate([self.value, other.value]),
        )

    def sound(self, n: int, places: int) -> bool:
        """Return whether there are n planes with entries below a number of places."""
        ptr = self.pointer
        rises = len(ptr) == n + 1 and ptr[0] == 0 and bool((ptr[1:] >= ptr[:-1]).all())
        if not rises or ptr[-1] != len(self.place) or len(self.place) != len(self.value):
            return False
        return bool((self.place < places).all())

    def chosen(self, stay: NDArray[np.bool_]) -> SparsePlanes:
        """Return some of the planes."""
        sizes = np.diff(self.pointer)
        entries = np.repeat(stay, sizes)
        pointer = np.concatenate([[0], np.cumsum(sizes[stay])])
        return SparsePlanes(pointer, self.place[entries], self.value[entries])


def no_planes() -> SparsePlanes:
    """Return an empty set, to which planes can be joined."""
    return SparsePlanes(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0))


@njit
def _changed(design: Any, i: int, way: Any) -> Any:
    """Return a bound on how many places of F_i^T way are not 0."""
    total = 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        if any_change(way[design.site_part[s] : design.site_part[s] + n]):
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                total += design.size[e] if e >= design.sparse_ptr[s] else n
    return total


@njit
def _collect(design: Any, i: int, way: Any, d: Any, place: Any, value: Any, at: int) -> Any:
    """Move the places of d that F_i^T way touches into a list and clear them; returns its end."""
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        if not any_change(way[design.site_part[s] : design.site_part[s] + n]):
            continue
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            first = np.int64(design.start[e])
            size = design.size[e] if e >= design.sparse_ptr[s] else n
            for k in range(first, first + size):
                if d[k] != 0.0:
                    place[at] = k
                    value[at] = d[k]
                    d[k] = 0.0
                    at += 1
    return at


@njit
def _of_ways(a: Any, example: Any, way: Any, way_ptr: Any, d: Any) -> Any:
    """Compute F_i^T way for each of some examples, whose ways follow one another."""
    room = 0
    for k in range(example.size):
        room += _changed(a.design, example[k], way[way_ptr[k] : way_ptr[k + 1]])
    pointer = np.zeros(example.size + 1, dtype=np.int64)
    place, value = np.empty(room, dtype=np.uint32), np.empty(room)
    for k in range(example.size):
        i, own = example[k], way[way_ptr[k] : way_ptr[k + 1]]
        scatter(a.design, i, own, d)
        pointer[k + 1] = _collect(a.design, i, own, d, place, value, pointer[k])
    return pointer, place[: pointer[-1]].copy(), value[: pointer[-1]].copy()


def planes_of(
    problem: Problem, example: Ints, way: Floats, way_ptr: Ints, d: Floats
) -> SparsePlanes:
    """Compute F_i^T way for each of some examples; d holds zeros, as many as there are weights."""
    return SparsePlanes(*_of_ways(problem.arrays, example, way, way_ptr, d))


@njit(fastmath=FAST)
def against(planes: Any, x: Any) -> Any:
    """Return the inner product of every plane with a vector."""
    out = np.empty(planes.pointer.size - 1)
    for k in range(out.size):
        total = 0.0
        for e in range(planes.pointer[k], planes.pointer[k + 1]):
            total += planes.value[e] * x[planes.place[e]]
        out[k] = total
    return out


@njit(fastmath=FAST)
def mixed_in(planes: Any, by: Any, x: Any) -> None:
    """Add sum_k by_k plane_k to x."""
    for k in range(by.size):
        if by[k] != 0.0:
            for e in range(planes.pointer[k], planes.pointer[k + 1]):
                x[planes.place[e]] += by[k] * planes.value[e]


@njit(fastmath=FAST)
def last_products(planes: Any, new: int, d: Any) -> Any:
    """Return the inner products of the last planes with all; d holds zeros before and after."""
    m = planes.pointer.size - 1
    out = np.empty((new, m))
    for k in range(m - new, m):
        own = range(planes.pointer[k], planes.pointer[k + 1])
        for e in own:
            d[planes.place[e]] = planes.value[e]
        out[k - (m - new)] = against(planes, d)
        for e in own:
            d[planes.place[e]] = 0.0
    return out
