"""The features as a linear operator F_i from weights to the part scores of example i.

A :class:`Design` says which features occur at which site of which example. A feature is a block of
weights; blocks of the full width of a site are *dense*, others *sparse* (``storage.py``).

    score:    q = F_i w           scatter:  v += a F_i^T delta,  its adjoint
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .jit import FAST, njit
from .rows import Rows
from .storage import Storage, filled_width
from .structures.base import Floats, Ints, Sites, Structure


class Design(NamedTuple):
    """Which features occur where: the sites of all examples, one after the other."""

    site_ptr: Ints  # n + 1: the sites of example i
    site_part: Ints  # S: first part, counted within the example
    site_width: Ints  # S: number of parts
    entry_ptr: Ints  # S + 1: the entries of a site, those with dense blocks first
    sparse_ptr: Ints  # S: the first entry with a sparse block
    start: npt.NDArray[np.uint32]  # an entry: where the block of its feature begins
    value: Floats  # an entry: the value of its feature; empty if all are 1
    size: npt.NDArray[np.uint32]  # an entry: how many weights its sparse block has; or empty
    slot: npt.NDArray[np.uint32]  # a place: its part, counted within the site; or empty
    live: Floats  # a place: 1 if there is a weight, 0 if it stays 0; empty if all are weights
    filled: bool  # whether dense blocks are filled up to a multiple of 8
    widest: int  # room for any site


def site_rows(
    structure: Structure, topologies: Sequence[Ints], features: Sequence[Rows]
) -> tuple[Ints, Sites, Rows]:
    """Lay the features of all kinds out site by site.

    ``features[kind]`` has one row for each site of that kind, in the order of the examples, or a
    single row that stands for all of them (a tied site with constant features).

    Returns
    -------
    site_ptr, sites, rows
        The sites of each example; the sites; a row a site, with features numbered through.
    """
    if len(features) != len(structure.kinds):
        raise ValueError(
            f"features for {len(features)} kinds of sites; a {structure.name} has "
            f"{len(structure.kinds)}: {', '.join(structure.kinds)}"
        )
    known: dict[bytes, Sites] = {}
    shapes = []
    for topo in topologies:
        key = topo.tobytes()
        if key not in known:
            known[key] = structure.sites(topo)
        shapes.append(known[key])
    site_ptr = np.concatenate([[0], np.cumsum([len(s.part) for s in shapes], dtype=np.int64)])
    nothing = Sites(*(np.zeros(0, dtype=np.int64),) * 4)
    sites = Sites(*(np.concatenate(column) for column in zip(nothing, *shapes, strict=True)))
    source = np.empty(len(sites.kind), dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([r.n_features for r in features])])
    base = 0
    numbered = []
    for kind, rows in enumerate(features):
        mine = sites.kind == kind
        wanted = int(np.count_nonzero(mine))
        if len(rows) != wanted and len(rows) != 1:
            raise ValueError(
                f"{len(rows)} feature rows for the {wanted} {structure.kinds[kind]} sites; "
                "give one row a site, or one row for all"
            )
        source[mine] = base + (np.arange(wanted) if len(rows) == wanted else 0)
        base += len(rows)
        numbered.append(rows)
    stacked = _number_through(numbered, offsets)
    in_order = len(source) == len(stacked) and bool((source == np.arange(len(source))).all())
    return site_ptr, sites, stacked if in_order else stacked.take(source)


def _number_through(features: Sequence[Rows], offsets: Ints) -> Rows:
    total = int(offsets[-1])
    if len(features) == 1:
        return features[0]
    values = None
    if any(r.values is not None for r in features):
        values = np.concatenate(
            [np.ones(len(r.indices)) if r.values is None else r.values for r in features]
        )
    ends = np.cumsum([0] + [len(r.indices) for r in features])
    indptr = [np.zeros(1, dtype=np.int64)]
    indptr += [r.indptr[1:] + end for r, end in zip(features, ends, strict=False)]
    indices = [r.indices + int(o) for r, o in zip(features, offsets, strict=False)]
    return Rows(np.concatenate(indptr), np.concatenate(indices).astype(np.int32), values, total)


def make_design(storage: Storage, site_ptr: Ints, sites: Sites, rows: Rows) -> Design:
    """Point every entry at its block."""
    entry_ptr = np.ascontiguousarray(rows.indptr, dtype=np.int64)
    indices, values = rows.indices, rows.values
    sparse_ptr, size = entry_ptr[1:], np.zeros(0, dtype=np.uint32)
    if storage.slot.size:
        # Feature by feature, as this is looked up at random.
        block_size = storage.size.astype(np.uint32)
        taken, sparse_ptr = _dense_first(entry_ptr, indices, block_size)
        indices = indices[taken]
        values = None if values is None else values[taken]
        size = block_size[indices]
    widest = int(sites.width.max(initial=0))
    return Design(
        site_ptr=site_ptr,
        site_part=sites.part,
        site_width=sites.width,
        entry_ptr=entry_ptr,
        sparse_ptr=sparse_ptr,
        start=storage.first.astype(np.uint32)[indices],
        value=np.zeros(0) if values is None else values,
        size=size,
        slot=storage.slot,
        live=storage.live,
        filled=storage.filled,
        widest=int(filled_width(widest)),
    )


@njit
def _dense_first(entry_ptr: Any, indices: Any, block_size: Any) -> Any:
    """An order of the entries in which those with dense blocks come first at every site."""
    taken = np.empty(indices.size, dtype=np.int64)
    sparse_ptr = np.empty(entry_ptr.size - 1, dtype=np.int64)
    for s in range(sparse_ptr.size):
        at = entry_ptr[s]
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            if block_size[indices[e]] == 0:
                taken[at] = e
                at += 1
        sparse_ptr[s] = at
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            if block_size[indices[e]] != 0:
                taken[at] = e
                at += 1
    return taken, sparse_ptr


# The inner loops below run over slices: an index that is a loop variable cannot be negative, so
# numba adds no test for wrap-around and LLVM makes vectors of them.


@njit(fastmath=FAST)
def score(design: Any, i: int, w: Any, q: Any) -> None:
    """q = F_i w."""
    valued = design.value.size > 0
    room = np.empty(design.widest)
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        width = filled_width(n) if design.filled else n
        site = q[design.site_part[s] : design.site_part[s] + n]
        e, end = design.entry_ptr[s], design.sparse_ptr[s]
        if n == 1:
            # The arcs of a tree: many sites, one weight a feature, sparse block or dense.
            total = 0.0
            for f in range(e, design.entry_ptr[s + 1]):
                total += (design.value[f] if valued else 1.0) * w[design.start[f]]
            site[0] = total
            continue
        out = room[:width]
        for k in range(width):
            out[k] = 0.0
        # Four blocks at a time: four cache misses overlap, and out is loaded and stored once.
        while e + 4 <= end:
            at = design.start[e : e + 4]
            b0, b1 = w[at[0] : at[0] + width], w[at[1] : at[1] + width]
            b2, b3 = w[at[2] : at[2] + width], w[at[3] : at[3] + width]
            if valued:
                x = design.value[e : e + 4]
                x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
                for k in range(width):
                    out[k] += (x0 * b0[k] + x1 * b1[k]) + (x2 * b2[k] + x3 * b3[k])
            else:
                for k in range(width):
                    out[k] += (b0[k] + b1[k]) + (b2[k] + b3[k])
            e += 4
        while e < end:
            b0 = w[design.start[e] : design.start[e] + width]
            x0 = design.value[e] if valued else 1.0
            for k in range(width):
                out[k] += x0 * b0[k]
            e += 1
        for e in range(end, design.entry_ptr[s + 1]):
            first, m = design.start[e], design.size[e]
            block, slot = w[first : first + m], design.slot[first : first + m]
            x0 = design.value[e] if valued else 1.0
            for j in range(m):
                out[slot[j]] += x0 * block[j]
        for k in range(n):
            site[k] = out[k]


@njit(fastmath=FAST)
def scatter(design: Any, i: int, delta: Any, v: Any) -> Any:
    """v += F_i^T delta; returns the change of |v|^2."""
    valued, masked = design.value.size > 0, design.live.size > 0
    room = np.empty(design.widest)
    norm = 0.0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        width = filled_width(n) if design.filled else n
        site = delta[design.site_part[s] : design.site_part[s] + n]
        if n == 1:
            d = site[0]
            if d != 0.0:
                for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                    step = d * design.value[e] if valued else d
                    norm += (2.0 * v[design.start[e]] + step) * step
                    v[design.start[e]] += step
            continue
        change = room[:width]
        for k in range(n):
            change[k] = site[k]
        for k in range(n, width):
            change[k] = 0.0
        end = design.sparse_ptr[s]
        for e in range(design.entry_ptr[s], end):
            at = design.start[e]
            block = v[at : at + width]
            x = design.value[e] if valued else 1.0
            if masked:
                live = design.live[at : at + width]
                for k in range(width):
                    d = x * change[k] * live[k]
                    norm += (2.0 * block[k] + d) * d
                    block[k] += d
            else:
                for k in range(width):
                    d = x * change[k]
                    norm += (2.0 * block[k] + d) * d
                    block[k] += d
        for e in range(end, design.entry_ptr[s + 1]):
            at, m = design.start[e], design.size[e]
            block, slot = v[at : at + m], design.slot[at : at + m]
            x = design.value[e] if valued else 1.0
            for j in range(m):
                d = x * change[slot[j]]
                norm += (2.0 * block[j] + d) * d
                block[j] += d
    return norm


@njit(fastmath=FAST)
def scatter_between(design: Any, i: int, delta: Any, v: Any, low: int, high: int) -> None:
    """v += F_i^T delta for the blocks that begin in [low, high).

    Threads share v by blocks, and every weight receives its terms in the order of the examples,
    whatever the number of threads.
    """
    valued, masked = design.value.size > 0, design.live.size > 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        change = delta[design.site_part[s] : design.site_part[s] + n]
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
