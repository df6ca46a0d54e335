"""Semi-Markov chains: T positions cut into segments of at most M positions, each with a label.

Parts, in this order (L labels; a segment begins at s and has d positions):

    position     T x L             theta[t, k]: once for each position inside a segment of label k
    segment      S x L             theta[s, d, k]: S pairs (s, d), s ascending, then d = 1, 2, ...
    transitions  L x L             theta[j, k], tied: labels of neighbouring segments
    lengths      M x L             theta[d, k], tied
    start, end   L each, where asked for: the labels of the first and the last segment

The compiled recursions are in ``segments_kernels.py`` and ``segments_search.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ..base import Constraints, Sites, Structure, check_n_labels, label_costs, label_tuples
from .oracles import semi_markov_marginals
from .search import semi_markov_k_best, semi_markov_maximum, semi_markov_sample


class SegmentConstraints(NamedTuple):
    """Hard constraints on segmentations, in label numbers.

    As :class:`~partwise.structures.base.Constraints`, where ``transitions``, ``starts`` and
    ``ends`` speak of segments and ``allowed`` of positions. ``segments``: segments
    (start, end, label), end exclusive, that must be there.
    """

    labels: Sequence[int] = ()
    transitions: Sequence[tuple[int, int]] = ()
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    allowed: Sequence[tuple[int, Sequence[int]]] = ()
    segments: Sequence[tuple[int, int, int]] = ()


@final
class SemiMarkov(Structure):
    """Segmentations with a label for each segment.

    A label is an int64 array with a row (start, end, label) for each segment, in order; end is
    exclusive. Every segment has parts of its own, so an example takes T x M x L numbers; time
    grows with T M L + T L^2.

    Parameters
    ----------
    n_labels : int
        How many labels there are.
    max_length : int
        How many positions a segment has at most.
    label_lengths : sequence of int or None
        For each label, how many positions its segments have at most (1 for the label of what is
        outside of all names, as a rule); None: max_length for all.
    start, end : bool
        Whether the labels of the first and the last segment have scores of their own.
    """

    name: ClassVar[str] = "semi-markov"
    kinds = ("position", "segment", "transition", "length", "start", "end")
    marginals: ClassVar[Any] = semi_markov_marginals
    maximum: ClassVar[Any] = semi_markov_maximum

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
        self.n_labels = n_labels
        self.max_length = max_length
        self.label_lengths = tuple(int(most) for most in lengths)
        self.start = start
        self.end = end

    def constants(self) -> dict[str, Any]:
        """As given."""
        return {
            "n_labels": self.n_labels,
            "max_length": self.max_length,
            "label_lengths": list(self.label_lengths),
            "start": self.start,
            "end": self.end,
        }

    @classmethod
    def check_constants(cls, constants: dict[str, Any]) -> None:
        """At most 2**14 labels: there is a number a pair. The constructor checks the lengths."""
        super().check_constants(constants)
        check_n_labels(cls.name, constants["n_labels"], 2**14)

    def match_slots(self, other: Structure, labels: Ints) -> tuple[Ints, ...]:
        """Segmentations may differ in their labels, lengths and switches."""
        if not isinstance(other, SemiMarkov):
            return super().match_slots(other, labels)
        row = np.arange(self.max_length)[:, None]
        known = (labels >= 0) & (row < other.max_length)
        lengths = np.where(known, row * other.n_labels + labels, -1).ravel()
        ends = (labels if self.start else labels[:0], labels if self.end else labels[:0])
        return labels, labels, label_tuples(labels, other.n_labels, 2), lengths, *ends

    @property
    def spec(self) -> Ints:
        """Labels, the longest segment, two switches, the longest segment of each label."""
        head = (self.n_labels, self.max_length, self.start, self.end)
        return np.array(head + self.label_lengths, dtype=np.int64)

    @property
    def widths(self) -> tuple[int, ...]:
        """Labels at positions and segments, pairs of labels, lengths, first and last labels."""
        n = self.n_labels
        return n, n, n * n, self.max_length * n, self.start * n, self.end * n

    def topology(self, shape: int) -> Ints:
        """The length."""
        return np.array([shape], dtype=np.int64)

    def segments(self, topo: Ints) -> Ints:
        """List the (start, end) of all segments, in the order of their sites and features."""
        length = int(topo[0])
        starts = np.arange(length)
        reach = np.minimum(self.max_length, length - starts)
        first = np.repeat(np.cumsum(reach) - reach, reach)
        start = np.repeat(starts, reach)
        return np.stack([start, start + 1 + np.arange(len(start)) - first], axis=1)

    def _n_segments(self, length: int) -> int:
        longest = min(self.max_length, length)
        return length * longest - longest * (longest - 1) // 2

    def n_parts(self, topo: Ints) -> int:
        """Positions, segments, transitions, lengths, start and end."""
        n, length = self.n_labels, int(topo[0])
        tied = n + self.max_length + self.start + self.end
        return (length + self._n_segments(length) + tied) * n

    def work_size(self, topo: Ints) -> int:
        """Room for the weights of all segments, gamma, alpha, q, E twice and the scales."""
        n, length = self.n_labels, int(topo[0])
        longest = min(self.max_length, length)
        return (length + 1) * (longest + 3) * n + 2 * n * n + 2 * length + longest + 1

    def sites(self, topo: Ints) -> Sites:
        """A site a position, one a segment, then transitions, lengths, start and end."""
        length = int(topo[0])
        single = [0] * length + [1] * self._n_segments(length)
        tied = [(2, max(length - 1, 0)), (3, length)]
        tied += [(4, min(length, 1))] * self.start + [(5, min(length, 1))] * self.end
        kind = np.array(single + [number for number, _ in tied], dtype=np.int64)
        uses = np.array([1] * len(single) + [times for _, times in tied], dtype=np.int64)
        width = np.array(self.widths, dtype=np.int64)[kind]
        return Sites(np.cumsum(width) - width, width, kind, uses)

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        """Positions and segments; transitions and lengths with their counts; start and end."""
        n, length = self.n_labels, int(topo[0])
        start, end, y = self._checked(label, length).T
        longest = min(self.max_length, length)
        cut = np.maximum(start - (length - longest), 0)
        site = start * longest - cut * (cut - 1) // 2 + (end - start - 1)
        at = (length + self._n_segments(length)) * n
        pairs, pair_counts = np.unique(y[:-1] * n + y[1:], return_counts=True)
        lengths, length_counts = np.unique((end - start - 1) * n + y, return_counts=True)
        positions = np.arange(length) * n + np.repeat(y, end - start)
        parts = [positions, (length + site) * n + y, at + pairs, at + n * n + lengths]
        counts = [np.ones(length + len(y)), pair_counts, length_counts]
        at += (n + self.max_length) * n
        for wanted, ends in ((self.start, y[:1]), (self.end, y[-1:])):
            if wanted:
                parts.append(at + ends)
                counts.append(np.ones(len(ends)))
                at += n
        return np.concatenate(parts), np.concatenate(counts).astype(np.float64)

    def _checked(self, label: Ints, length: int) -> Ints:
        """The rows of a label, if they are a segmentation."""
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
        """The segments whose counts are 1."""
        n, length = self.n_labels, int(topo[0])
        counts = mu[length * n : (length + self._n_segments(length)) * n]
        site, label = np.divmod(np.flatnonzero(counts > 0.5), n)
        return np.column_stack([self.segments(topo)[site], label]).astype(np.int64)

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        """The cost of a label at a position goes to the part of the position."""
        start, end, y = self._checked(label, int(topo[0])).T
        cost = label_costs(np.repeat(y, end - start), self.n_labels, matrix)
        spread = np.zeros(self.n_parts(topo))
        spread[: cost.size] = np.ravel(cost)
        return spread

    def mask(self, topo: Ints, constraints: Constraints | SegmentConstraints) -> Floats:
        """Forbid labels at positions, pairs in the transitions, segments across fixed ones."""
        n, length = self.n_labels, int(topo[0])
        mask = np.zeros(self.n_parts(topo))
        unary = mask[: length * n].reshape(length, n)
        unary[:, list(constraints.labels)] = -np.inf
        unary[:1, list(constraints.starts)] = -np.inf
        unary[length - 1 :, list(constraints.ends)] = -np.inf
        for t, labels in constraints.allowed:
            only = np.full(n, -np.inf)
            only[list(labels)] = 0.0
            unary[t] += only
        at = (length + self._n_segments(length)) * n
        for a, b in constraints.transitions:
            mask[at + a * n + b] = -np.inf
        if isinstance(constraints, SegmentConstraints) and constraints.segments:
            self._fix(mask[length * n : at].reshape(-1, n), topo, constraints.segments)
        return mask

    def _fix(self, mask: Floats, topo: Ints, fixed: Sequence[tuple[int, int, int]]) -> None:
        """Forbid what overlaps a fixed segment and is not the segment itself."""
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

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Viterbi with k back-pointers a state."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        scores, segments, sizes = semi_markov_k_best(self.spec, topo, theta, k)
        return scores, _rows(segments, sizes)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Filter forwards, sample backwards."""
        self._check_drawable(self.log_partition(theta, topo))
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        uniform = rng.random((size, 2 * int(topo[0])))
        return _rows(*semi_markov_sample(self.spec, topo, theta, uniform))


def _rows(segments: Ints, sizes: Ints) -> list[Ints]:
    """The last rows of each label, as many as it has segments."""
    return [rows[len(rows) - m :].copy() for rows, m in zip(segments, sizes, strict=True)]
