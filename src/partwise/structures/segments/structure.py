"""Semi-Markov chains: T positions cut into segments of at most M positions, each with a label.

Parts, in this order (L labels; a segment begins at s and has d positions):

    position     T x L             theta[t, k]: once for each position inside a segment of label k
    segment      S x L             theta[s, d, k]: S pairs (s, d), s ascending, then d = 1, 2, ...
    transitions  L x L             theta[j, k], tied: labels of neighbouring segments
    lengths      M x L             theta[d, k], tied
    start, end   L each, where asked for: the labels of the first and the last segment

The compiled recursions are in ``oracles.py`` and ``search.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ..base import Constraints, label_tuples
from ..sequence import SequenceStructure
from ..steps import StepList, Steps
from .oracles import semi_markov_marginals
from .search import semi_markov_k_best, semi_markov_maximum, semi_markov_sample


class SegmentConstraints(NamedTuple):
    """Hard constraints on segmentations, in label numbers.

    The fields are those of :class:`~partwise.structures.base.Constraints`, where ``transitions``,
    ``starts`` and ``ends`` are about segments and ``allowed`` is about positions. ``segments``
    holds segments (start, end, label) that must be there; end is exclusive. ``begins`` are the
    positions where a segment must begin, and ``joins`` positions where none may.
    """

    labels: Sequence[int] = ()
    transitions: Sequence[tuple[int, int]] = ()
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    allowed: Sequence[tuple[int, Sequence[int]]] = ()
    segments: Sequence[tuple[int, int, int]] = ()
    begins: Sequence[int] = ()
    joins: Sequence[int] = ()


@final
class SemiMarkov(SequenceStructure):
    """Segmentations with one label per segment.

    A label is an int64 array with one row (start, end, label) per segment, in order; end is
    exclusive. Every segment has parts of its own, so an example takes T x M x L numbers; time
    grows with T M L + T L^2.

    Parameters
    ----------
    n_labels : int
        How many labels there are.
    max_length : int
        How many positions a segment has at most.
    label_lengths : sequence of int or None
        For each label, how many positions its segments have at most; None means max_length for
        all labels. As a rule it is 1 for the label of what is outside of all names.
    start, end : bool
        Whether the labels of the first and the last segment have scores of their own.
    """

    name: ClassVar[str] = "semi-markov"
    kinds = ("position", "segment", "transition", "length", "start", "end")
    marginals: ClassVar[Any] = semi_markov_marginals
    maximum: ClassVar[Any] = semi_markov_maximum
    max_labels: ClassVar[int] = 2**14

    def __init__(
        self,
        n_labels: int,
        max_length: int,
        label_lengths: Sequence[int] | None = None,
        start: bool = False,
        end: bool = False,
    ) -> None:
        if max_length < 1:
            raise DataError(f"segments of at most {max_length} positions; give 1 or more")
        lengths = [max_length] * n_labels if label_lengths is None else list(label_lengths)
        if len(lengths) != n_labels:
            raise DataError(f"label_lengths has {len(lengths)} numbers for {n_labels} labels")
        for k, most in enumerate(lengths):
            if not 1 <= most <= max_length:
                raise DataError(
                    f"label_lengths[{k}] is {most}; give a number from 1 to max_length, which is "
                    f"{max_length}"
                )
        super().__init__(n_labels, start, end)
        self.max_length = max_length
        self.label_lengths = tuple(int(most) for most in lengths)

    def constants(self) -> dict[str, Any]:
        return {
            "n_labels": self.n_labels,
            "max_length": self.max_length,
            "label_lengths": list(self.label_lengths),
            "start": self.start,
            "end": self.end,
        }

    def inner_slots(self, other: SemiMarkov, labels: Ints) -> tuple[Ints, ...]:
        row = np.arange(self.max_length)[:, None]
        known = (labels >= 0) & (row < other.max_length)
        lengths = np.where(known, row * other.n_labels + labels, -1).ravel()
        return labels, labels, label_tuples(labels, other.n_labels, 2), lengths

    @property
    def spec(self) -> Ints:
        """The constants ``[n_labels, max_length, start, end]``, then ``label_lengths``."""
        head = (self.n_labels, self.max_length, self.start, self.end)
        return np.array(head + self.label_lengths, dtype=np.int64)

    @property
    def inner_widths(self) -> tuple[int, ...]:
        n = self.n_labels
        return n, n, n * n, self.max_length * n

    def segments(self, topo: Ints) -> Ints:
        """List the (start, end) of all segments, in the order of their sites and features."""
        length = int(topo[0])
        starts = np.arange(length)
        reach = np.minimum(self.max_length, length - starts)
        first = np.repeat(np.cumsum(reach) - reach, reach)
        start = np.repeat(starts, reach)
        return np.stack([start, start + 1 + np.arange(len(start)) - first], axis=1)

    def rivals(self, topo: Ints) -> Ints:
        found, length = super().rivals(topo), int(topo[0])
        begin, end = self.segments(topo).T
        found[:, length : length + len(begin)] = 0 * begin, begin, end, 0 * begin + length
        return found

    def _n_segments(self, length: int) -> int:
        longest = min(self.max_length, length)
        return length * longest - longest * (longest - 1) // 2

    def runs(self, length: int) -> list[tuple[int, int]]:
        return [(length, 1), (self._n_segments(length), 1), (1, max(length - 1, 0)), (1, length)]

    def work_size(self, topo: Ints) -> int:
        """Count the weights of all segments, gamma, alpha, q, E twice and the scales."""
        n, length = self.n_labels, int(topo[0])
        longest = min(self.max_length, length)
        return (length + 1) * (longest + 3) * n + 2 * n * n + 2 * length + longest + 1

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        n, length = self.n_labels, int(topo[0])
        start, end, y = self._checked(label, length).T
        longest = min(self.max_length, length)
        cut = np.maximum(start - (length - longest), 0)
        site = start * longest - cut * (cut - 1) // 2 + (end - start - 1)
        positions = np.arange(length) * n + np.repeat(y, end - start)
        pairs = self.parts_of("transition", topo).start + y[:-1] * n + y[1:]
        lengths = self.parts_of("length", topo).start + (end - start - 1) * n + y
        return self.joined([positions, (length + site) * n + y], [pairs, lengths], y, topo)

    def _checked(self, label: Ints, length: int) -> Ints:
        """Return the rows of a label; raise a DataError if they are no segmentation."""
        rows = np.asarray(label, dtype=np.int64).reshape(-1, 3)
        expected = 0
        for i, (start, end, k) in enumerate(rows.tolist()):
            if start != expected or not start < end <= length:
                raise DataError(
                    f"segment {i} (counted from 0) goes from {start} to {end}; expected one that "
                    f"begins at {expected} and ends at {expected + 1} to {length}: the segments "
                    "must cover all positions in order"
                )
            if not 0 <= k < self.n_labels:
                raise DataError(f"segment {i} has label {k}; there are 0 to {self.n_labels - 1}")
            if end - start > self.label_lengths[k]:
                raise DataError(
                    f"segment {i} from {start} to {end} has {end - start} positions; label {k} "
                    f"allows {self.label_lengths[k]}: raise max_length or label_lengths"
                )
            expected = end
        if expected != length:
            raise DataError(
                f"the segments end at {expected}; expected {length}: cover all positions"
            )
        return rows

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        """Return the segments whose counts are 1."""
        counts = mu[self.parts_of("segment", topo)]
        site, label = np.divmod(np.flatnonzero(counts > 0.5), self.n_labels)
        return np.column_stack([self.segments(topo)[site], label]).astype(np.int64)

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        start, end, y = self._checked(label, int(topo[0])).T
        return super().part_cost(np.repeat(y, end - start), topo, matrix)

    def mask(self, topo: Ints, constraints: Constraints | SegmentConstraints) -> Floats:
        """Forbid labels and pairs as in all sequences, and segments across fixed ones."""
        mask = super().mask(topo, constraints)
        if isinstance(constraints, SegmentConstraints):
            segments = mask[self.parts_of("segment", topo)].reshape(-1, self.n_labels)
            self._fix(segments, topo, constraints.segments)
            starts, ends = self.segments(topo).T
            for t in constraints.begins:
                segments[(starts < t) & (t < ends)] = -np.inf
            for t in constraints.joins:
                segments[(starts == t) | (ends == t)] = -np.inf
        return mask

    def _fix(self, mask: Floats, topo: Ints, fixed: Sequence[tuple[int, int, int]]) -> None:
        """Forbid all segments that overlap a fixed segment, but not the segment itself."""
        starts, ends = self.segments(topo).T
        for start, end, k in fixed:
            if not 0 <= start < end <= topo[0] or not 0 <= k < self.n_labels:
                raise DataError(
                    f"the fixed segment {(start, end, k)} is not (start, end, label) with "
                    f"0 <= start < end <= {int(topo[0])} and a label from 0 to {self.n_labels - 1}"
                )
            if end - start > self.label_lengths[k]:
                raise DataError(
                    f"the fixed segment {(start, end, k)} has {end - start} positions; label {k} "
                    f"allows {self.label_lengths[k]}"
                )
            barred = np.zeros_like(mask)
            barred[(starts < end) & (ends > start)] = -np.inf
            barred[(starts == start) & (ends == end), k] = 0.0
            mask += barred

    def steps(self, topo: Ints) -> Steps:
        """List the segments, and the steps from the label of each to that of the next."""
        n, length, found = self.n_labels, int(topo[0]), StepList()
        # Item 2 s n + k: a segment of label k is to begin at s; n less: one has ended there.
        goal = 2 * length * n
        if length == 0:
            found.add(goal)
            return found.steps(goal + 1)
        label = np.arange(n)
        found.add(label, parts=[self.end_parts("start", topo)])
        s, j, k = np.ogrid[1:length, :n, :n]
        pairs = self.parts_of("transition", topo).start + j * n + k
        found.add(2 * s * n + k, [(2 * s - 1) * n + j], [pairs])
        segments, lengths = self.segments(topo), self.parts_of("length", topo).start
        own = np.arange(len(segments))[:, None]
        start, end = segments[:, :1], segments[:, 1:]
        fits = end - start <= np.array(self.label_lengths)
        parts = [(length + own) * n + label, lengths + (end - start - 1) * n + label]
        for d in range(self.max_length):
            parts.append(np.where(start + d < end, (start + d) * n + label, -1))
        heads, tails = (2 * end - 1) * n + label, 2 * start * n + label
        found.add(heads[fits], [tails[fits]], [part[fits] for part in parts])
        found.add(goal, [goal - n + label], [self.end_parts("end", topo)])
        return found.steps(goal + 1)

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Run Viterbi's algorithm with k back-pointers per state."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        scores, segments, sizes = semi_markov_k_best(self.spec, topo, theta, k)
        return scores, _rows(segments, sizes)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        theta = self._drawable(theta, topo)
        uniform = rng.random((size, 2 * int(topo[0])))
        return _rows(*semi_markov_sample(self.spec, topo, theta, uniform))


def _rows(segments: Ints, sizes: Ints) -> list[Ints]:
    """Return the last rows of each label, as many as it has segments."""
    return [rows[len(rows) - m :].copy() for rows, m in zip(segments, sizes, strict=True)]
