"""The features as a linear operator F_i from weights to the part scores of example i.

A :class:`Design` says which features occur at which site of which example. A feature is a block of
weights; blocks of the full width of a site are *dense*, others *sparse* (``storage.py``).

    score:    q = F_i w           scatter:  v += a F_i^T delta,  its adjoint
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from itertools import repeat as endless
from operator import is_
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..compiled.jit import FAST, njit
from ..compiled.lanes import (
    LINE,
    add,
    add_product,
    fill,
    load,
    multiply,
    prefetch,
    repeat,
    store,
    total,
    where,
)
from ..structures.base import Sites, Structure
from .rows import Rows
from .storage import Storage, filled_width

#: How much of each block of the next site is fetched ahead; the machine does the rest by itself.
_FETCHED: Final = 4 * LINE
#: How many entries of the next example are fetched ahead.
_FETCHED_ENTRIES: Final = 8 * LINE
#: Sparse blocks are ordered by size up to this.
_TOLD_APART: Final = 16


class Design(NamedTuple):
    """The features that occur at the sites of all examples, one example after the other."""

    site_ptr: Ints  # n + 1: the sites of example i
    site_part: Ints  # S: first part, counted within the example
    site_width: Ints  # S: number of parts
    entry_ptr: Ints  # S + 1: the entries of a site, those with dense blocks first
    sparse_ptr: Ints  # S: the first entry with a sparse block
    start: npt.NDArray[np.uint32]  # per entry: where the block of its feature begins
    value: Floats  # per entry: the value of its feature; empty if all are 1
    size: npt.NDArray[np.uint32]  # per entry: the size of its sparse block; or empty
    slot: npt.NDArray[np.uint32]  # per place: its part, counted within the site; or empty
    live: npt.NDArray[
        np.uint8
    ]  # per place: 1 if there is a weight, 0 if it stays 0; empty if all are weights
    filled: bool  # whether dense blocks are filled up to a multiple of 8
    widest: int  # room for any site


def by_shape(topologies: Sequence[Ints]) -> tuple[list[Ints], Ints]:
    """Return the distinct arrays among topologies, and the number of that of each example.

    Examples of one shape share one array, so that it need not be looked into.
    """
    n = len(topologies)
    if n and all(map(is_, topologies, endless(topologies[0]))):
        return [topologies[0]], np.zeros(n, dtype=np.int64)
    numbers: dict[int, int] = {}
    found = (numbers.setdefault(id(topo), len(numbers)) for topo in topologies)
    which = np.fromiter(found, np.int64, n)
    first = np.unique(which, return_index=True)[1].tolist()
    return [topologies[i] for i in first], which


def site_rows(
    structure: Structure, topologies: Sequence[Ints], features: Sequence[Rows]
) -> tuple[Ints, Sites, Rows]:
    """Lay out the features of all kinds site by site.

    ``features[kind]`` has one row for each site of that kind, in the order of the examples, or a
    single row that stands for all of them (a tied site with constant features).

    Returns
    -------
    site_ptr, sites, rows
        The sites of each example; the sites; one row per site, with the features of all kinds
        numbered one after the other.
    """
    site_ptr, sites = all_sites(structure, topologies)
    return site_ptr, sites, rows_of_sites(structure, sites, features)


def rows_of_sites(structure: Structure, sites: Sites, features: Sequence[Rows]) -> Rows:
    """Return one row per site, of the features that `site_rows` takes."""
    if len(features) != len(structure.kinds):
        raise ValueError(
            f"features for {len(features)} kinds of sites; a {structure.name} has "
            f"{len(structure.kinds)}: {', '.join(structure.kinds)}"
        )
    wanted = np.bincount(sites.kind, minlength=len(features)).tolist()
    for kind, (rows, n) in enumerate(zip(features, wanted, strict=True)):
        if len(rows) != n and len(rows) != 1:
            raise ValueError(
                f"{len(rows)} feature rows for the {n} {structure.kinds[kind]} sites; "
                "give one row per site, or one row for all"
            )
    stacked = _number_through(features)
    one_each = all(len(rows) == n for rows, n in zip(features, wanted, strict=True))
    if one_each and (sites.kind[1:] >= sites.kind[:-1]).all():
        return stacked
    source = np.empty(len(sites.kind), dtype=np.int64)
    base = 0
    for kind, (rows, n) in enumerate(zip(features, wanted, strict=True)):
        mine = sites.kind == kind
        source[mine] = np.arange(base, base + n) if len(rows) == n else base
        base += len(rows)
    return stacked.take(source)


def all_sites(structure: Structure, topologies: Sequence[Ints]) -> tuple[Ints, Sites]:
    """Return where the sites of each example begin and end, and all sites."""
    distinct, which = by_shape(topologies)
    # The columns of Sites, one below the other: joining all of them takes one step.
    shapes = [np.array(structure.sites(topo), dtype=np.int64) for topo in distinct]
    sizes = np.array([shape.shape[1] for shape in shapes], dtype=np.int64)
    counts = sizes[which]
    site_ptr = np.zeros(len(which) + 1, dtype=np.int64)
    np.cumsum(counts, out=site_ptr[1:])
    table = np.concatenate([np.zeros((4, 0), dtype=np.int64), *shapes], axis=1)
    if len(distinct) == len(which):
        # Copies, because a view of one column would keep all of them in memory.
        return site_ptr, Sites(*(column.copy() for column in table))
    begins = np.cumsum(sizes) - sizes
    place = np.repeat(begins[which] - site_ptr[:-1], counts) + np.arange(site_ptr[-1])
    return site_ptr, Sites(*(column.take(place) for column in table))


def _number_through(features: Sequence[Rows]) -> Rows:
    """Put the rows of all kinds below each other, with features numbered one after the other."""
    if len(features) == 1:
        return features[0]
    offsets = accumulate((r.n_features for r in features), initial=0)
    filled = [(r, offset) for r, offset in zip(features, offsets, strict=False) if len(r)]
    ends = [0, *accumulate(len(r.indices) for r, _ in filled)]
    indptr = [np.zeros(1, dtype=np.int64)]
    indptr += [r.indptr[1:] + end for (r, _), end in zip(filled, ends, strict=False)]
    # Filled in place, so that there is only one copy of what is as long as the features.
    indices = np.empty(ends[-1], dtype=np.int32)
    valued = any(r.values is not None for r, _ in filled)
    values = np.ones(ends[-1]) if valued else None
    for (r, offset), (first, last) in zip(filled, pairwise(ends), strict=True):
        np.add(r.indices, offset, out=indices[first:last], casting="unsafe")
        if values is not None and r.values is not None:
            values[first:last] = r.values
    return Rows.sound(np.concatenate(indptr), indices, values, sum(r.n_features for r in features))


def make_design(storage: Storage, site_ptr: Ints, sites: Sites, rows: Rows) -> Design:
    """Point every entry at its block."""
    entry_ptr = rows.indptr
    value = np.zeros(0) if rows.values is None else rows.values
    first, block_size = storage.blocks
    if storage.slot.size:
        given, value = value, np.empty_like(value)
        start = np.empty(len(rows.indices), dtype=np.uint32)
        size, sparse_ptr = np.empty_like(start), np.empty_like(entry_ptr[1:])
        _dense_first(
            entry_ptr, rows.indices, given, first, block_size, start, size, value, sparse_ptr
        )
    else:
        start, size, sparse_ptr = first[rows.indices], first[:0], entry_ptr[1:]
    widest = int(sites.width.max(initial=0))
    return Design(
        site_ptr=site_ptr,
        site_part=sites.part,
        site_width=sites.width,
        entry_ptr=entry_ptr,
        sparse_ptr=sparse_ptr,
        start=start,
        value=value,
        size=size,
        slot=storage.slot,
        live=storage.live,
        filled=storage.filled,
        widest=int(filled_width(widest)) if storage.filled else widest,
    )


@njit
def _dense_first(
    entry_ptr: Any,
    indices: Any,
    value: Any,
    first: Any,
    block_size: Any,
    start: Any,
    size: Any,
    ordered: Any,
    sparse_ptr: Any,
) -> None:
    """Fill in start, size and value of every entry; at every site, dense blocks come first.

    Sparse blocks follow by their size, as long as it is small: the processor predicts the end of a
    loop that is as long as the last one.
    """
    ends = np.empty(_TOLD_APART + 1, dtype=np.int64)
    for s in range(sparse_ptr.size):
        ends[:] = 0
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            ends[min(block_size[indices[e]], _TOLD_APART)] += 1
        ends[0] += entry_ptr[s]
        sparse_ptr[s] = ends[0]
        for m in range(_TOLD_APART):
            ends[m + 1] += ends[m]
        for e in range(entry_ptr[s + 1] - 1, entry_ptr[s] - 1, -1):
            f = indices[e]
            m = min(block_size[f], _TOLD_APART)
            ends[m] -= 1
            start[ends[m]], size[ends[m]] = first[f], block_size[f]
            if value.size > 0:
                ordered[ends[m]] = value[e]


# Blocks of 8 or more places are taken in lanes, the last ones once more where their number is not
# a multiple of 8; entry by entry within the same lanes, so that sums stay in registers. The other
# inner loops run over slices: an index that is a loop variable cannot be negative, so numba adds
# no test for wrap-around and LLVM makes vectors of them.


@njit(inline="always")
def fetch(design: Any, s: int, stop: int, w: Any) -> None:
    """Prefetch what the site after s needs first, unless that is the site stop."""
    if s + 1 < stop:
        most = min(design.site_width[s + 1], _FETCHED)
        for e in range(design.entry_ptr[s + 1], design.sparse_ptr[s + 1]):
            at = np.int64(design.start[e])
            for k in range(0, most, LINE):
                prefetch(w, at + k)
        for e in range(design.sparse_ptr[s + 1], design.entry_ptr[s + 2]):
            at = np.int64(design.start[e])
            prefetch(w, at)
            prefetch(design.slot, at)


@njit(inline="always")
def fetch_example(design: Any, i: int) -> None:
    """Prefetch the entries of the example that is visited next; those of a long row come later."""
    e = design.entry_ptr[design.site_ptr[i]]
    for k in range(0, _FETCHED_ENTRIES, LINE):
        prefetch(design.value, e + k)
    for k in range(0, _FETCHED_ENTRIES, 2 * LINE):
        prefetch(design.start, e + k)


@njit(inline="always")
def _sum_lanes(design: Any, e: int, end: int, w: Any, k: int) -> Any:
    """Sum value times places k to k + 8 of the block over dense entries."""
    valued = design.value.size > 0
    lanes = fill(0.0)
    for f in range(e, end):
        line = load(w, np.int64(design.start[f]) + k)
        lanes = add_product(lanes, line, repeat(design.value, f)) if valued else add(lanes, line)
    return lanes


@njit(fastmath=FAST)
def score(design: Any, i: int, w: Any, q: Any) -> None:
    """Compute q = F_i w."""
    valued = design.value.size > 0
    room = np.empty(design.widest)
    stop = design.site_ptr[i + 1]
    for s in range(design.site_ptr[i], stop):
        n = design.site_width[s]
        width = filled_width(n) if design.filled else n
        site = q[design.site_part[s] : design.site_part[s] + n]
        begin, end = design.entry_ptr[s], design.sparse_ptr[s]
        if n == 1:
            # The arcs of a tree: many sites, one weight per feature, sparse block or dense.
            total = 0.0
            for e in range(begin, design.entry_ptr[s + 1]):
                total += (design.value[e] if valued else 1.0) * w[design.start[e]]
            site[0] = total
            continue
        fetch(design, s, stop, w)
        out = room[:width]
        if width >= LINE:
            for at in range(0, width, LINE):
                k = min(at, width - LINE)
                store(out, k, _sum_lanes(design, begin, end, w, k))
        else:
            for k in range(width):
                out[k] = 0.0
            for e in range(begin, end):
                block = w[design.start[e] : design.start[e] + width]
                x = design.value[e] if valued else 1.0
                for k in range(width):
                    out[k] += x * block[k]
        for e in range(end, design.entry_ptr[s + 1]):
            first, m = design.start[e], design.size[e]
            block, slot = w[first : first + m], design.slot[first : first + m]
            x = design.value[e] if valued else 1.0
            for j in range(m):
                out[slot[j]] += x * block[j]
        for k in range(n):
            site[k] = out[k]


@njit(inline="always")
def _add_lanes(design: Any, e: int, end: int, v: Any, k: int, change: Any) -> Any:
    """Add value times change to places k to k + 8 of the blocks; return the change of |v|^2."""
    valued, masked = design.value.size > 0, design.live.size > 0
    norm = fill(0.0)
    for f in range(e, end):
        at = np.int64(design.start[f]) + k
        d = where(design.live, at, change) if masked else change
        if valued:
            d = multiply(d, repeat(design.value, f))
        old = load(v, at)
        new = add(old, d)
        store(v, at, new)
        norm = add_product(norm, add(old, new), d)
    return norm


@njit
def any_change(site: Any) -> Any:
    """Return whether a change is not 0."""
    for k in range(site.size):  # noqa: SIM110 - any() of a generator does not compile
        if site[k] != 0.0:
            return True
    return False


@njit(fastmath=FAST)
def scatter(design: Any, i: int, delta: Any, v: Any) -> Any:
    """Compute v += F_i^T delta; return the change of |v|^2."""
    valued, masked = design.value.size > 0, design.live.size > 0
    room = np.empty(design.widest)
    norm, norms = 0.0, fill(0.0)
    stop = design.site_ptr[i + 1]
    for s in range(design.site_ptr[i], stop):
        n = design.site_width[s]
        width = filled_width(n) if design.filled else n
        site = delta[design.site_part[s] : design.site_part[s] + n]
        begin, end = design.entry_ptr[s], design.sparse_ptr[s]
        if n == 1:
            d = site[0]
            if d != 0.0:
                for e in range(begin, design.entry_ptr[s + 1]):
                    step = d * design.value[e] if valued else d
                    norm += (2.0 * v[design.start[e]] + step) * step
                    v[design.start[e]] += step
            continue
        if not any_change(site):
            continue
        fetch(design, s, stop, v)
        change = room[:width]
        for k in range(n):
            change[k] = site[k]
        for k in range(n, width):
            change[k] = 0.0
        for e in range(end, design.entry_ptr[s + 1]):
            at, m = design.start[e], design.size[e]
            block, slot = v[at : at + m], design.slot[at : at + m]
            x = design.value[e] if valued else 1.0
            for j in range(m):
                d = x * change[slot[j]]
                norm += (2.0 * block[j] + d) * d
                block[j] += d
        if width >= LINE:
            for first in range(0, width, LINE):
                k = min(first, width - LINE)
                norms = add(norms, _add_lanes(design, begin, end, v, k, load(change, k)))
                # What is taken once more has had its change.
                store(change, k, fill(0.0))
            continue
        for e in range(begin, end):
            at = design.start[e]
            x = design.value[e] if valued else 1.0
            for k in range(width):
                d = x * change[k]
                if masked:
                    d *= design.live[at + k]
                norm += (2.0 * v[at + k] + d) * d
                v[at + k] += d
    return norm + total(norms)


@njit(fastmath=FAST)
def scatter_between(design: Any, i: int, delta: Any, v: Any, low: int, high: int) -> None:
    """Compute v += F_i^T delta for the blocks that begin in [low, high).

    Threads share v by blocks, and every weight receives its terms in the order of the examples,
    whatever the number of threads.
    """
    valued, masked = design.value.size > 0, design.live.size > 0
    stop = design.site_ptr[i + 1]
    for s in range(design.site_ptr[i], stop):
        n = design.site_width[s]
        change = delta[design.site_part[s] : design.site_part[s] + n]
        if n > 1:
            fetch(design, s, stop, v)
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            if not low <= at < high:
                continue
            x = design.value[e] if valued else 1.0
            if e >= design.sparse_ptr[s]:
                m = design.size[e]
                block, slot = v[at : at + m], design.slot[at : at + m]
                for j in range(m):
                    block[j] += x * change[slot[j]]
                continue
            block = v[at : at + n]
            if masked:
                live = design.live[at : at + n]
                for k in range(n):
                    block[k] += x * change[k] * live[k]
            else:
                for k in range(n):
                    block[k] += x * change[k]
