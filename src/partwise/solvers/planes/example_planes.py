"""The planes of single examples, and what a quadratic program over them needs.

A label m of example i has the plane a = c_i F_i^T (gold_i - m), few of whose places are not 0, and
the offset b = c_i cost_i(m). Only the inner products of the planes of one example are kept, so that
memory is linear in the entries of the planes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...errors import DataError
from ...problem.design import any_change, scatter
from ...problem.problem import Problem


class Planes(NamedTuple):
    """Planes in the order in which they were added. All arrays but ``last`` have room to spare."""

    pointer: Ints  # the entries of plane k are pointer[k] : pointer[k + 1]
    place: npt.NDArray[np.uint32]
    value: Floats
    label_ptr: Ints  # its label: the parts where m is not gold
    part: Ints
    differs: Floats  # m - gold there
    product_ptr: Ints  # its inner products, with itself and with those before it of its example
    product: Floats
    offset: Floats  # b
    alpha: Floats
    idle: Ints  # in how many programs in a row alpha was 0
    before: Ints  # the plane of the same example that was added before it, or -1
    last: Ints  # one per example: its last plane, or -1


def no_planes(n_examples: int) -> Planes:
    """Return planes of which there are none yet."""
    ints, floats, start = np.zeros(0, np.int64), np.zeros(0), np.zeros(1, np.int64)
    last = np.full(n_examples, -1)
    return Planes(
        start, np.zeros(0, np.uint32), floats, start, ints, floats, start, floats, floats, floats,
        ints, ints, last,
    )  # fmt: skip


def check_planes(planes: Planes, n: int, places: int, parts: int) -> None:
    """Raise a DataError unless there are n planes that fit together, e.g. those of a file."""
    lists: tuple[tuple[Ints, npt.NDArray[Any], int], ...] = (
        (planes.pointer, planes.place, places),
        (planes.label_ptr, planes.part, parts),
        (planes.product_ptr, planes.product, 0),
    )
    columns = (planes.offset, planes.alpha, planes.idle, planes.before)
    before = planes.before[:n]
    sound = (
        all(len(p) > n and p[0] == 0 and (np.diff(p[: n + 1]) >= 0).all() for p, _, _ in lists)
        and all(p[n] <= len(x) for p, x, _ in lists)
        and all(((x >= 0) & (x < size)).all() for _, x, size in lists if size)
        and len(planes.value) == len(planes.place)
        and len(planes.differs) == len(planes.part)
        and all(len(x) >= n for x in columns)
        and bool(((before >= -1) & (before < np.arange(n))).all())
        and bool(((planes.last >= -1) & (planes.last < n)).all())
    )
    if not sound:
        raise DataError("the planes of a cutting-plane method do not fit the problem")
    chain = np.zeros(n, dtype=np.int64)
    for k in range(n):
        chain[k] = 1 + (chain[planes.before[k]] if planes.before[k] >= 0 else 0)
    if (np.diff(planes.product_ptr[: n + 1]) != chain).any():
        raise DataError("the planes of a cutting-plane method do not belong together")


@njit
def _labels(a: Any, example: Any, point: Any, begin: int, gold: Any) -> Any:
    """Return where the points of some examples differ from gold; ``point`` starts at part begin."""
    size = 0
    for i in example:
        size += a.part_ptr[i + 1] - a.part_ptr[i]
    pointer = np.zeros(example.size + 1, dtype=np.int64)
    part, count = np.empty(size, dtype=np.int64), np.empty(size)
    at = 0
    for k in range(example.size):
        i = example[k]
        for r in range(a.part_ptr[i], a.part_ptr[i + 1]):
            if point[r - begin] != gold[r]:
                part[at] = r
                count[at] = point[r - begin] - gold[r]
                at += 1
        pointer[k + 1] = at
    return pointer, part[:at].copy(), count[:at].copy()


@njit
def _entries(design: Any, i: int, way: Any) -> Any:
    """Return a bound on how many places of F_i^T way are not 0."""
    total = 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        if any_change(way[design.site_part[s] : design.site_part[s] + n]):
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                total += design.size[e] if e >= design.sparse_ptr[s] else n
    return total


@njit
def _collect(design: Any, i: int, way: Any, d: Any, place: Any, value: Any) -> Any:
    """Move the places of d that F_i^T way touches into a list and clear them; return its end."""
    at = 0
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
def _plane(a: Any, i: int, part: Any, count: Any, way: Any, d: Any) -> Any:
    """Return the places and values of -c_i F_i^T (m - gold); d holds zeros before and after."""
    lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
    for r in range(n):
        way[r] = 0.0
    for e in range(part.size):
        way[part[e] - lo] = -a.weight[i] * count[e]
    own = way[:n]
    room = _entries(a.design, i, own)
    place, value = np.empty(room, dtype=np.uint32), np.empty(room)
    scatter(a.design, i, own, d)
    end = _collect(a.design, i, own, d, place, value)
    return place[:end].copy(), value[:end].copy()


@njit(fastmath=FAST)
def dot(planes: Any, k: int, x: Any) -> Any:
    """Return the inner product of plane k with a vector."""
    total = 0.0
    for e in range(planes.pointer[k], planes.pointer[k + 1]):
        total += planes.value[e] * x[planes.place[e]]
    return total


@njit
def _multiply(planes: Any, k: int, d: Any) -> None:
    """Fill in the inner products of plane k; d holds zeros before and after."""
    for e in range(planes.pointer[k], planes.pointer[k + 1]):
        d[planes.place[e]] = planes.value[e]
    other = k
    for at in range(planes.product_ptr[k], planes.product_ptr[k + 1]):
        planes.product[at] = dot(planes, other, d)
        other = planes.before[other]
    for e in range(planes.pointer[k], planes.pointer[k + 1]):
        d[planes.place[e]] = 0.0


@njit
def mix(planes: Any, n: int, mu: Any) -> None:
    """Add the labels of n planes to mu, by their weights."""
    for k in range(n):
        for e in range(planes.label_ptr[k], planes.label_ptr[k + 1]):
            mu[planes.part[e]] += planes.alpha[k] * planes.differs[e]


@njit
def _surviving(planes: Any, n: int, stay: Any) -> Any:
    """Return which inner products are left, and ``before`` and ``last`` counted anew."""
    number, parent = np.full(n, -1), np.full(n, -1)  # parent: the nearest plane before that stays
    left = np.zeros(planes.product_ptr[n], dtype=np.bool_)
    last = np.full(planes.last.size, -1)
    kept = 0
    for k in range(n):
        near = planes.before[k]
        if near >= 0 and not stay[near]:
            near = parent[near]
        parent[k] = near
        if not stay[k]:
            continue
        other = k
        for at in range(planes.product_ptr[k], planes.product_ptr[k + 1]):
            left[at] = stay[other]
            other = planes.before[other]
        number[k] = kept
        kept += 1
    before = np.full(kept, -1)
    for k in range(n):
        if stay[k] and parent[k] >= 0:
            before[number[k]] = number[parent[k]]
    for i in range(last.size):
        k = planes.last[i]
        if k >= 0:
            last[i] = number[k] if stay[k] else (number[parent[k]] if parent[k] >= 0 else -1)
    return left, before, last


def chosen(planes: Planes, n: int, stay: npt.NDArray[np.bool_]) -> Planes:
    """Return some of n planes.

    Parameters
    ----------
    planes, n
        The planes, and how many there are.
    stay : ndarray of bool
        Which of them.
    """
    left, before, last = _surviving(planes, n, stay)

    def packed(pointer: Ints, stay_inside: npt.NDArray[np.bool_]) -> Ints:
        sums = np.concatenate([[0], np.cumsum(stay_inside)])
        sizes = (sums[pointer[1 : n + 1]] - sums[pointer[:n]])[stay]
        return np.concatenate([[0], np.cumsum(sizes)])

    entries = np.repeat(stay, np.diff(planes.pointer[: n + 1]))
    labels = np.repeat(stay, np.diff(planes.label_ptr[: n + 1]))
    return Planes(
        pointer=packed(planes.pointer, entries),
        place=planes.place[: len(entries)][entries],
        value=planes.value[: len(entries)][entries],
        label_ptr=packed(planes.label_ptr, labels),
        part=planes.part[: len(labels)][labels],
        differs=planes.differs[: len(labels)][labels],
        product_ptr=packed(planes.product_ptr, left),
        product=planes.product[: len(left)][left],
        offset=planes.offset[:n][stay],
        alpha=planes.alpha[:n][stay],
        idle=planes.idle[:n][stay],
        before=before,
        last=last,
    )


def _put(array: Any, at: int, new: Any) -> Any:
    """Write new numbers into an array from some place on; it is enlarged if it is too short."""
    if at + len(new) > len(array):
        longer = np.zeros(max(at + len(new), 2 * len(array)), dtype=array.dtype)
        longer[:at] = array[:at]
        array = longer
    array[at : at + len(new)] = new
    return array


def joined(
    problem: Problem, planes: Planes, n: int, examples: Ints, offset: Floats, point: Floats,
    begin: int, gold: Floats, d: Floats, alpha: float = 0.0,
) -> Planes:  # fmt: skip
    """Add one plane for each of some examples.

    Parameters
    ----------
    problem
        The problem.
    planes, n
        The planes, and how many there are.
    examples : ndarray
        The examples, in rising order.
    offset : ndarray
        The b of each new plane.
    point : ndarray
        The m of all parts from part ``begin`` on.
    begin : int
        The first part of ``point``.
    gold : ndarray
        The gold counts of all parts.
    d : ndarray
        Zeros, as many as there are weights.
    alpha : float
        The weight of the new planes.
    """
    a, new = problem.arrays, len(examples)
    ptr, part, count = _labels(a, examples, point, begin, gold)
    way = np.empty(int((a.part_ptr[examples + 1] - a.part_ptr[examples]).max(initial=0)))
    made = [
        _plane(a, i, part[ptr[j] : ptr[j + 1]], count[ptr[j] : ptr[j + 1]], way, d)
        for j, i in enumerate(examples.tolist())
    ]
    before = planes.last[examples]
    chain = np.append(np.diff(planes.product_ptr[: n + 1]), 0)[before] + 1
    ends = planes.pointer[n] + np.cumsum([len(place) for place, _ in made])
    products = planes.product_ptr[n] + np.cumsum(chain)
    at = int(planes.pointer[n])
    planes.last[examples] = np.arange(n, n + new)
    planes = Planes(
        pointer=_put(planes.pointer, n + 1, ends),
        place=_put(planes.place, at, np.concatenate([place for place, _ in made])),
        value=_put(planes.value, at, np.concatenate([value for _, value in made])),
        label_ptr=_put(planes.label_ptr, n + 1, planes.label_ptr[n] + ptr[1:]),
        part=_put(planes.part, int(planes.label_ptr[n]), part),
        differs=_put(planes.differs, int(planes.label_ptr[n]), count),
        product_ptr=_put(planes.product_ptr, n + 1, products),
        product=_put(planes.product, int(planes.product_ptr[n]), np.zeros(int(chain.sum()))),
        offset=_put(planes.offset, n, offset),
        alpha=_put(planes.alpha, n, np.full(new, alpha)),
        idle=_put(planes.idle, n, np.zeros(new, dtype=np.int64)),
        before=_put(planes.before, n, before),
        last=planes.last,
    )
    for k in range(n, n + new):
        _multiply(planes, k, d)
    return planes
