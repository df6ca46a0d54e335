"""Which weights a model has, and in which order.

A *feature* points at a contiguous *block* of weights, one weight for each part of the sites it can
occur at (a site is a run of parts that the same features score; see ``structures.base``), or only
for the parts it was seen with. The layout belongs to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..memory import check_memory


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
