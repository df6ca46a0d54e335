"""Where the weights stand in memory while they are trained.

The blocks of a layout, in its order, made fit for vector instructions:

- a block whose width is a little below a multiple of 8 is filled up to it (22 to 24) and begins at
  a cache line: the inner loops then have no rest, and touch fewer lines;
- a block that holds weights for many but not all parts of its site is spread to full width, and
  the places without a weight are marked as not *live*.

What is added holds 0 and stays 0, so norms and scores are those of the layout's weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..compiled.jit import njit
from ..compiled.lanes import LINE
from ..errors import DataError
from ..memory import check_memory

# Which weights a model has, and in which order.
#
# A *feature* points at a contiguous *block* of weights, one weight for each part of the sites it
# can occur at (a site is a run of parts that the same features score; see ``structures.base``), or
# only for the parts it was seen with. The layout belongs to the model.


@dataclass(frozen=True)
class Layout:
    """The weights that exist.

    Attributes
    ----------
    widths : tuple of int
        For each kind of site, how many parts it has.
    n_features : tuple of int
        For each kind of site, how many features it has. The features of all kinds are numbered
        one after the other.
    first : ndarray of int64
        Where the block of each feature begins.
    slot : ndarray of int32
        Empty if every block holds a weight for every part of its site. Otherwise, for each
        weight, the part it belongs to, counted within the site; the last weight of a block
        is stored as its complement (~slot), which ends the block.
    n_weights : int
        How many weights there are.
    counts : ndarray of uint32 or None
        How often each feature occurs in the training data; None if that is not known.
    """

    widths: tuple[int, ...]
    n_features: tuple[int, ...]
    first: Ints
    slot: npt.NDArray[np.int32]
    n_weights: int
    counts: npt.NDArray[np.uint32] | None = None

    @staticmethod
    def full(widths: Sequence[int], counts: Sequence[Ints]) -> Layout:
        """Make a layout in which every feature has a weight for every part of its site.

        ``counts[kind][f]`` is how often feature f occurs: frequent blocks are laid side by side, so
        that they share cache lines and pages.
        """
        n_features = tuple(len(c) for c in counts)
        width = np.repeat(np.asarray(widths, dtype=np.int64), n_features)
        every = np.concatenate([*counts, np.zeros(0, dtype=np.int64)])
        order = np.argsort(-every, kind="stable")
        ends = np.cumsum(width[order])
        first = np.empty(len(width), dtype=np.int64)
        first[order] = ends - width[order]
        n_weights = int(ends[-1]) if len(ends) else 0
        known = np.minimum(every, np.iinfo(np.uint32).max).astype(np.uint32)
        nothing = np.zeros(0, dtype=np.int32)
        return Layout(tuple(widths), n_features, first, nothing, n_weights, known)

    @staticmethod
    def of_scores(
        widths: Sequence[int], n_scores: Sequence[int], n_features: Sequence[int]
    ) -> Layout:
        """Make a layout where the first features of a kind are scores, with one weight each.

        Parameters
        ----------
        widths, n_features : sequence of int
            For each kind of site, how many parts and features it has.
        n_scores : sequence of int
            How many of the features are scores, each of one part: as many as parts, or none.
        """
        slots, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for width, scores, n in zip(widths, n_scores, n_features, strict=True):
            block = np.arange(width)
            slots.append(~block[:scores])
            block[-1:] = ~block[-1:]
            slots.append(np.tile(block, n - scores))
            sizes += [np.ones(scores, np.int64), np.full(n - scores, width)]
        size, slot = np.concatenate(sizes), np.concatenate(slots).astype(np.int32)
        first = np.cumsum(size) - size
        return Layout(tuple(widths), tuple(n_features), first, slot, len(slot))

    def restricted(self, seen: npt.NDArray[np.bool_]) -> Layout:
        """Keep only the weights of a full layout that are marked in seen.

        A feature without any keeps the weight of its first part: only the features of a kind that
        the structure does not use have an empty block.
        """
        width = np.repeat(np.asarray(self.widths, dtype=np.int64), self.n_features)
        order = np.argsort(self.first, kind="stable")
        begins, width = self.first[order], width[order]
        marked = np.flatnonzero(seen)
        kept = np.searchsorted(marked, begins + width) - np.searchsorted(marked, begins)
        bare = (kept == 0) & (width > 0)
        if bare.any():
            marked = np.union1d(marked, begins[bare])
            kept[bare] = 1
        ends = np.cumsum(kept)
        first = np.empty_like(self.first)
        first[order] = ends - kept
        slot = (marked - np.repeat(begins, kept)).astype(np.int32)
        last = ends[kept > 0] - 1
        slot[last] = ~slot[last]
        return Layout(self.widths, self.n_features, first, slot, len(slot), self.counts)

    def sizes(self) -> Ints:
        """Return how many weights the block of each feature has."""
        if not self.slot.size:
            return np.repeat(np.asarray(self.widths, dtype=np.int64), self.n_features)
        ends = np.flatnonzero(self.slot < 0)
        # Features of a kind without parts have no block; they may begin past the last one.
        block = np.minimum(np.searchsorted(ends, self.first), len(ends) - 1)
        sizes: Ints = ends[block] + 1 - self.first
        return sizes

    def feature_offset(self, kind: int) -> int:
        """Return the number of the first feature of a kind."""
        return sum(self.n_features[:kind])

    def dense(self, weights: Floats, kind: int) -> Floats:
        """Spread the weights of one kind into a matrix, features by parts of the site.

        A few weights may stand for many features and labels, so the matrix can be far larger than
        they are.
        """
        width, n = self.widths[kind], self.n_features[kind]
        check_memory(8.0 * n * width, f"a matrix of {n:,} features by {width:,} labels")
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


#: Blocks with weights for at least this share of their site are spread to full width.
_SPREAD: Final = 1 / 5


@njit
def filled_width(width: int) -> Any:
    """Return the next multiple of 8, if that is at most an eighth more."""
    filled = (width + 7) // 8 * 8
    return filled if filled - width <= width // 8 else width


@dataclass(frozen=True)
class Storage:
    """The places of the weights of a layout.

    Attributes
    ----------
    layout : Layout
        What is stored.
    first : ndarray of int64
        Where the block of each feature begins.
    size : ndarray of int64
        For each feature the number of its weights if these are stored one after the other with
        their slots; 0 if its block has the full width of its site.
    slot : ndarray of uint32
        For a place in a block that is not of full width, its part, counted within the site. Empty
        if all blocks are of full width.
    live : ndarray of uint8
        1 where there is a weight, 0 where the place is to stay 0. Empty if all places of blocks
        of full width hold weights.
    filled : bool
        Whether blocks of full width are filled up (`filled_width`).
    n_places : int
        How many numbers are stored.
    """

    layout: Layout
    first: Ints
    size: Ints
    slot: npt.NDArray[np.uint32]
    live: npt.NDArray[np.uint8]
    filled: bool
    n_places: int

    @cached_property
    def blocks(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """The arrays `first` and `size` in narrow numbers, as they are looked up at random."""
        return self.first.astype(np.uint32), self.size.astype(np.uint32)

    @staticmethod
    def plain(layout: Layout) -> Storage:
        """Store the weights as the layout has them, as a model does."""
        nothing = np.zeros(0, dtype=np.uint8)
        slot = np.where(layout.slot < 0, ~layout.slot, layout.slot).astype(np.uint32)
        size = layout.sizes() if len(slot) else np.zeros(len(layout.first), dtype=np.int64)
        return Storage(layout, layout.first, size, slot, nothing, False, layout.n_weights)

    @staticmethod
    def spread(layout: Layout) -> Storage:
        """Store the weights for training."""
        width = np.repeat(np.asarray(layout.widths, dtype=np.int64), layout.n_features)
        held = layout.sizes()
        full = (held == width) | ((width >= LINE) & (held >= _SPREAD * width))
        wide = np.array([filled_width(w) for w in layout.widths], dtype=np.int64)
        place = np.where(full, np.repeat(wide, layout.n_features), held)
        order = np.argsort(layout.first, kind="stable")
        aligned = (full & (place % LINE == 0) & (place > 0))[order]
        first = np.empty_like(layout.first)
        first[order], n_places = _begin(place[order], aligned)
        if n_places >= 2**32:
            raise DataError(
                f"{layout.n_weights:,} weights are more than 2^32; cut rare features (min_count), "
                "or keep the observed weights only"
            )
        size = np.where(full, 0, held)
        slot, live = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint8)
        storage = Storage(layout, first, size, slot, live, True, int(n_places))
        if not layout.slot.size:
            return storage
        slot = np.zeros(n_places, dtype=np.uint32)
        live = np.zeros(n_places, dtype=np.uint8)
        places = storage.places()
        slot[places] = np.where(layout.slot < 0, ~layout.slot, layout.slot)
        live[places] = 1
        return Storage(layout, first, size, slot, live, True, int(n_places))

    def zeros(self) -> Floats:
        """Return zeros for all weights, beginning at a cache line."""
        room = np.zeros(self.n_places + LINE)
        skipped = -(room.ctypes.data // room.itemsize) % LINE
        return room[skipped : skipped + self.n_places]

    def places(self) -> Ints:
        """Return where each weight of the layout is stored."""
        layout = self.layout
        out = np.empty(layout.n_weights, dtype=np.int64)
        _places(layout.first, layout.sizes(), layout.slot, self.first, self.size, out)
        return out

    def gather(self, stored: Floats) -> Floats:
        """Return the weights of the layout."""
        if self.n_places == self.layout.n_weights:
            return stored
        weights = np.empty(self.layout.n_weights)
        self._copy(stored, weights, True)
        return weights

    def scatter(self, weights: Floats) -> Floats:
        """Return the weights of the layout as they are stored."""
        if self.n_places == self.layout.n_weights:
            return weights
        stored = self.zeros()
        self._copy(stored, weights, False)
        return stored

    def _copy(self, stored: Floats, weights: Floats, out: bool) -> None:
        layout = self.layout
        blocks = layout.first, layout.sizes(), layout.slot, self.first, self.size
        _copy_weights(*blocks, stored, weights, out)


@njit
def _begin(size: Any, aligned: Any) -> Any:
    """Lay blocks one after the other; those that are aligned begin at a multiple of 8."""
    first = np.empty_like(size)
    at = 0
    for b in range(size.size):
        if aligned[b]:
            at = (at + 7) // 8 * 8
        first[b] = at
        at += size[b]
    return first, at


@njit
def _within(at: int, j: int, slot: Any, size: int) -> Any:
    """Return where weight j of a block is in its stored block; the block begins at weight `at`."""
    if slot.size == 0 or size > 0:
        return j
    k = slot[at + j]
    return ~k if k < 0 else k


@njit
def _places(first: Any, held: Any, slot: Any, stored: Any, size: Any, out: Any) -> None:
    """Set out[weight] to the place of each weight."""
    for f in range(first.size):
        for j in range(held[f]):
            out[first[f] + j] = stored[f] + _within(first[f], j, slot, size[f])


@njit
def _copy_weights(
    first: Any, held: Any, slot: Any, begin: Any, size: Any, stored: Any, weights: Any, out: bool
) -> None:
    """Copy every weight out of its place, or into it.

    There is no list of places, which would be long.
    """
    for f in range(first.size):
        for j in range(held[f]):
            place = begin[f] + _within(first[f], j, slot, size[f])
            if out:
                weights[first[f] + j] = stored[place]
            else:
                stored[place] = weights[first[f] + j]
