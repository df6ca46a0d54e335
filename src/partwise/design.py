"""The features as a linear operator F_i from weights to the part scores of example i.

A *feature* points at a contiguous *block* of weights, one weight for each part of the sites it
can occur at (a site is a run of parts that the same features score; see ``structures.base``).
A :class:`Layout` says which weights exist and where each block begins; it belongs to the model.
A :class:`Design` says which features occur at which site of which example; it belongs to the data.

    score:    q = F_i w           scatter:  v += a F_i^T delta,  its adjoint
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .jit import FAST, njit
from .rows import Rows
from .structures.base import Floats, Ints, Sites, Structure


@dataclass(frozen=True)
class Layout:
    """Which weights exist.

    Attributes
    ----------
    widths : tuple of int
        For each kind of site, how many parts it has.
    n_features : tuple of int
        For each kind of site, how many features it has. Features are numbered through, the kinds
        one after the other.
    first : ndarray of int64
        Where the block of each feature begins.
    slot : ndarray of int32
        Empty if every block holds a weight for every part of its site. Otherwise, for each
        weight, the part it belongs to, counted within the site; the last weight of a block
        stands as its complement (~slot), which ends the block.
    n_weights : int
        How many weights there are.
    """

    widths: tuple[int, ...]
    n_features: tuple[int, ...]
    first: Ints
    slot: npt.NDArray[np.int32]
    n_weights: int

    @staticmethod
    def full(widths: Sequence[int], counts: Sequence[Ints]) -> Layout:
        """Give every feature a weight for every part of its site.

        ``counts[kind][f]`` is how often feature f occurs: frequent blocks are laid side by side,
        so that they share cache lines and pages.
        """
        n_features = tuple(len(c) for c in counts)
        width = np.repeat(np.asarray(widths, dtype=np.int64), n_features)
        order = np.argsort(-np.concatenate([*counts, np.zeros(0, dtype=np.int64)]), kind="stable")
        ends = np.cumsum(width[order])
        first = np.empty(len(width), dtype=np.int64)
        first[order] = ends - width[order]
        n_weights = int(ends[-1]) if len(ends) else 0
        return Layout(tuple(widths), n_features, first, np.zeros(0, dtype=np.int32), n_weights)

    def restricted(self, seen: npt.NDArray[np.bool_]) -> Layout:
        """Keep of a full layout the weights marked in seen.

        A feature without any keeps the weight of its first part: only the features of a kind that
        the structure does not use have an empty block.
        """
        width = np.repeat(np.asarray(self.widths, dtype=np.int64), self.n_features)
        order = np.argsort(self.first, kind="stable")
        marked = np.concatenate([[0], np.cumsum(seen)])
        kept = marked[self.first + width] - marked[self.first]
        bare = (kept == 0) & (width > 0)
        if bare.any():
            seen = seen.copy()
            seen[self.first[bare]] = True
            kept[bare] = 1
        ends = np.cumsum(kept[order])
        first = np.empty_like(self.first)
        first[order] = ends - kept[order]
        owner = np.repeat(self.first[order], width[order])
        slot = (np.arange(self.n_weights) - owner)[seen].astype(np.int32)
        last = ends[kept[order] > 0] - 1
        slot[last] = ~slot[last]
        return Layout(self.widths, self.n_features, first, slot, len(slot))

    def sizes(self) -> Ints:
        """How many weights the block of each feature has."""
        if not self.slot.size:
            return np.repeat(np.asarray(self.widths, dtype=np.int64), self.n_features)
        ends = np.flatnonzero(self.slot < 0)
        # Features of a kind without parts have no block; they may begin past the last one.
        block = np.minimum(np.searchsorted(ends, self.first), len(ends) - 1)
        sizes: Ints = ends[block] + 1 - self.first
        return sizes

    def feature_offset(self, kind: int) -> int:
        """Number of the first feature of a kind."""
        return sum(self.n_features[:kind])

    def dense(self, weights: Floats, kind: int) -> Floats:
        """Spread the weights of one kind into a matrix, features by parts of the site."""
        width, n = self.widths[kind], self.n_features[kind]
        offset = self.feature_offset(kind)
        first = self.first[offset : offset + n]
        if not self.slot.size or width == 0:
            block: Floats = weights[first[:, None] + np.arange(width)]
            return block
        dense = np.zeros((n, width))
        rows, at = np.arange(n), first
        while len(rows):
            slot = self.slot[at]
            dense[rows, np.where(slot < 0, ~slot, slot)] = weights[at]
            more = slot >= 0
            rows, at = rows[more], at[more] + 1
        return dense


class Design(NamedTuple):
    """Which features occur where: the sites of all examples, one after the other."""

    site_ptr: Ints  # n + 1: the sites of example i
    site_part: Ints  # S: first part, counted within the example
    site_width: Ints  # S: number of parts
    entry_ptr: Ints  # S + 1: the entries of a site
    start: Ints  # an entry: where the block of its feature begins
    value: Floats  # an entry: the value of its feature; empty if all are 1
    size: Ints  # an entry: how many weights its block has; empty if as many as the site has parts
    slot: npt.NDArray[np.uint32]  # a weight: its part, counted within the site; empty likewise


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


def make_design(layout: Layout, site_ptr: Ints, sites: Sites, rows: Rows) -> Design:
    """Point every entry at its block."""
    size = np.zeros(0, dtype=np.int64)
    if layout.slot.size:
        size = layout.sizes()[rows.indices]
    return Design(
        site_ptr=site_ptr,
        site_part=sites.part,
        site_width=sites.width,
        entry_ptr=np.ascontiguousarray(rows.indptr, dtype=np.int64),
        start=layout.first[rows.indices],
        value=np.zeros(0) if rows.values is None else rows.values,
        size=size,
        slot=np.where(layout.slot < 0, ~layout.slot, layout.slot).astype(np.uint32),
    )


# The inner loops below run over slices: an index that is a loop variable cannot be negative, so
# numba adds no test for wrap-around and LLVM makes vectors of them.


@njit(fastmath=FAST)
def score(design: Any, i: int, w: Any, q: Any) -> None:
    """q = F_i w."""
    valued = design.value.size > 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        out = q[design.site_part[s] : design.site_part[s] + n]
        for k in range(n):
            out[k] = 0.0
        e, end = design.entry_ptr[s], design.entry_ptr[s + 1]
        if design.slot.size > 0:
            for f in range(e, end):
                at, m = design.start[f], design.size[f]
                block, slot = w[at : at + m], design.slot[at : at + m]
                x = design.value[f] if valued else 1.0
                for j in range(m):
                    out[slot[j]] += x * block[j]
            continue
        # Four blocks at a time: four cache misses overlap, and out is loaded and stored once.
        while e + 4 <= end:
            b0 = w[design.start[e] : design.start[e] + n]
            b1 = w[design.start[e + 1] : design.start[e + 1] + n]
            b2 = w[design.start[e + 2] : design.start[e + 2] + n]
            b3 = w[design.start[e + 3] : design.start[e + 3] + n]
            if valued:
                x0, x1 = design.value[e], design.value[e + 1]
                x2, x3 = design.value[e + 2], design.value[e + 3]
                for k in range(n):
                    out[k] += (x0 * b0[k] + x1 * b1[k]) + (x2 * b2[k] + x3 * b3[k])
            else:
                for k in range(n):
                    out[k] += (b0[k] + b1[k]) + (b2[k] + b3[k])
            e += 4
        while e < end:
            b0 = w[design.start[e] : design.start[e] + n]
            x0 = design.value[e] if valued else 1.0
            for k in range(n):
                out[k] += x0 * b0[k]
            e += 1


@njit(fastmath=FAST)
def scatter(design: Any, i: int, delta: Any, v: Any) -> Any:
    """v += F_i^T delta; returns the change of |v|^2."""
    valued = design.value.size > 0
    norm = 0.0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        change = delta[design.site_part[s] : design.site_part[s] + n]
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            x = design.value[e] if valued else 1.0
            if design.slot.size > 0:
                m = design.size[e]
                block, slot = v[at : at + m], design.slot[at : at + m]
                for j in range(m):
                    d = x * change[slot[j]]
                    norm += (2.0 * block[j] + d) * d
                    block[j] += d
            else:
                block = v[at : at + n]
                for k in range(n):
                    d = x * change[k]
                    norm += (2.0 * block[k] + d) * d
                    block[k] += d
    return norm


@njit(fastmath=FAST)
def scatter_between(design: Any, i: int, delta: Any, v: Any, low: int, high: int) -> None:
    """v += F_i^T delta for the blocks that begin in [low, high).

    Threads share v by blocks, and every weight receives its terms in the order of the examples,
    whatever the number of threads.
    """
    valued = design.value.size > 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        change = delta[design.site_part[s] : design.site_part[s] + n]
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            if not low <= at < high:
                continue
            x = design.value[e] if valued else 1.0
            if design.slot.size > 0:
                m = design.size[e]
                block, slot = v[at : at + m], design.slot[at : at + m]
                for j in range(m):
                    block[j] += x * change[slot[j]]
            else:
                block = v[at : at + n]
                for k in range(n):
                    block[k] += x * change[k]
