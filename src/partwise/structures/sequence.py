"""What chains, second-order chains and semi-Markov chains share in Python.

An example is a sequence of T positions, and L labels stand at them. The parts come in runs, one
run per kind of site and in the order of ``kinds``. The first run has one site per position, with
one part per label; a run called "transition" has one part per pair of labels; the last two kinds,
"start" and "end", score the first and the last label where they are asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.jit import njit
from .base import Sites, Structure, label_costs, only_allowed

# Lists of the best prefixes of a sequence, for searches that keep more than one per state.


@njit
def merge_lists(scores: Any, steps: Any, head: Any, out: Any, source: Any, rank: Any) -> None:
    """Fill out with the best numbers of the lists scores[i] + steps[i], each sorted, in order.

    source and rank receive the list of each number and its place there. Numbers that are -inf are
    left out, and what is behind the last number stays as it is. head is scratch.
    """
    n_best = out.size
    head[:] = 0
    for r in range(n_best):
        top, best = -np.inf, -1
        for i in range(scores.shape[0]):
            if head[i] < n_best and scores[i, head[i]] + steps[i] > top:
                top, best = scores[i, head[i]] + steps[i], i
        if best < 0:
            break
        out[r], source[r], rank[r] = top, best, head[best]
        head[best] += 1


# The scores of the first and the last label of a sequence, in compiled loops.
#
# They stand behind all other parts, from part `at` on: n for the first label if `start` is not 0,
# then n for the last label if `end` is not 0.


@njit
def add_ends(
    theta: Any, n: int, length: int, at: int, start: int, end: int, out: Any, p: int
) -> None:
    """Add them to the scores of the first and the last position in out, which has rows of p."""
    if start:
        for k in range(n):
            out[k] += theta[at + k]
        at += n
    if end:
        last = out[(length - 1) * p : length * p]
        for k in range(n):
            last[k] += theta[at + k]


@njit
def count_ends(mu: Any, n: int, length: int, at: int, start: int, end: int) -> None:
    """Fill their expected counts, which are those of the labels at these two positions."""
    if start:
        for k in range(n):
            mu[at + k] = mu[k]
        at += n
    if end:
        for k in range(n):
            mu[at + k] = mu[(length - 1) * n + k]


class SequenceStructure(Structure):
    """Labels over the positions of a sequence.

    Parameters
    ----------
    n_labels : int
        How many labels there are.
    start, end : bool
        Whether the first and the last label have scores of their own.
    """

    def __init__(self, n_labels: int, start: bool, end: bool) -> None:
        self.n_labels = n_labels
        self.start = start
        self.end = end

    @property
    @abstractmethod
    def inner_widths(self) -> tuple[int, ...]:
        """The widths of all kinds of sites but "start" and "end"."""

    @abstractmethod
    def runs(self, length: int) -> list[tuple[int, int]]:
        """Describe the sites of a sequence of this length.

        Returns a pair per kind of site, without "start" and "end": how many sites there are, and
        how many parts of one site a label can hold.
        """

    @abstractmethod
    def inner_slots(self, other: Any, labels: Ints) -> tuple[Ints, ...]:
        """Match the parts of all kinds of sites but "start" and "end"; see `match_slots`."""

    def match_slots(self, other: Structure, labels: Ints) -> tuple[Ints, ...]:
        if not isinstance(other, type(self)):
            return super().match_slots(other, labels)
        nothing = labels[:0]
        ends = (labels if self.start else nothing, labels if self.end else nothing)
        return *self.inner_slots(other, labels), *ends

    @cached_property
    def widths(self) -> tuple[int, ...]:
        n = self.n_labels
        return *self.inner_widths, self.start * n, self.end * n

    def topology(self, shape: int) -> Ints:
        return np.array([shape], dtype=np.int64)

    def _all_runs(self, topo: Ints) -> list[tuple[int, int]]:
        length = int(topo[0])
        once = min(length, 1)
        return [*self.runs(length), (int(self.start), once), (int(self.end), once)]

    def n_parts(self, topo: Ints) -> int:
        runs = self._all_runs(topo)
        return sum(n * width for (n, _), width in zip(runs, self.widths, strict=True))

    def sites(self, topo: Ints) -> Sites:
        counts, uses = np.array(self._all_runs(topo), dtype=np.int64).T
        kind = np.repeat(np.arange(len(counts)), counts)
        width = np.array(self.widths, dtype=np.int64)[kind]
        return Sites(np.cumsum(width) - width, width, kind, uses[kind])

    def parts_of(self, kind: str, topo: Ints) -> slice:
        """Return where the parts of one kind of site are, among all parts of an example."""
        number = self.kinds.index(kind)
        sizes = [n * w for (n, _), w in zip(self._all_runs(topo), self.widths, strict=True)]
        begin = sum(sizes[:number])
        return slice(begin, begin + sizes[number])

    def end_parts(self, kind: str, topo: Ints) -> Ints:
        """Return the parts "start" or "end" of all labels, -1 where they have none."""
        parts = self.parts_of(kind, topo)
        wanted = parts.stop > parts.start and topo[0] > 0
        return np.arange(self.n_labels) + parts.start if wanted else np.full(self.n_labels, -1)

    def joined(
        self, once: Sequence[Ints], tied: Sequence[Ints], labels: Ints, topo: Ints
    ) -> tuple[Ints, Floats]:
        """Put the parts of a label and their counts together, for `encode`.

        Parameters
        ----------
        once : sequence of ndarray
            Parts that the label holds once.
        tied : sequence of ndarray
            Parts of tied sites, repeated as often as the label holds them.
        labels : ndarray
            Its label numbers, in order: the first and the last have parts of their own.
        topo : ndarray
            The shape of the example.
        """
        parts = list(once)
        counts = [np.ones(sum(len(some) for some in once))]
        for repeated in tied:
            distinct, times = np.unique(repeated, return_counts=True)
            parts.append(distinct)
            counts.append(times.astype(np.float64))
        for kind, wanted, ends in (
            ("start", self.start, labels[:1]),
            ("end", self.end, labels[-1:]),
        ):
            if wanted:
                parts.append(self.parts_of(kind, topo).start + ends)
                counts.append(np.ones(len(ends)))
        return np.concatenate(parts), np.concatenate(counts)

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        """Return the label with the largest count at every position."""
        length = int(topo[0])
        unary = mu[: length * self.n_labels].reshape(length, self.n_labels)
        return np.argmax(unary, axis=1).astype(np.int64) if length else np.zeros(0, dtype=np.int64)

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        """Add the cost of a label at a position to the part of that position."""
        cost = label_costs(label, self.n_labels, matrix)
        spread = np.zeros(self.n_parts(topo))
        spread[: cost.size] = np.ravel(cost)
        return spread

    def mask(self, topo: Ints, constraints: Any) -> Floats:
        """Forbid labels at positions, and pairs of labels in the transitions."""
        n, length = self.n_labels, int(topo[0])
        mask = np.zeros(self.n_parts(topo))
        unary = mask[: length * n].reshape(length, n)
        unary[:, list(constraints.labels)] = -np.inf
        unary[:1, list(constraints.starts)] = -np.inf
        unary[length - 1 :, list(constraints.ends)] = -np.inf
        for t, labels in constraints.allowed:
            unary[t] += only_allowed(labels, n)
        transitions = mask[self.parts_of("transition", topo)].reshape(-1, n, n)
        for a, b in constraints.transitions:
            transitions[:, a, b] = -np.inf
        return mask
