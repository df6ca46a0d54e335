"""First-order chains: a label for each of T positions, and a score for each neighbouring pair.

Parts, in this order (L labels):

    unary        T x L             theta[t, k]
    transitions  L x L tied, or (T-1) x L x L when they depend on the input
    start, end   L each, where asked for

The compiled recursions are in ``chain_kernels.py`` and ``chain_search.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ..storage import filled_width
from .base import (
    Constraints,
    Floats,
    Ints,
    Sites,
    Structure,
    check_n_labels,
    label_costs,
    label_tuples,
)
from .chain_entropy import chain_entropy
from .chain_kernels import chain_marginals, chain_maximum
from .chain_search import chain_k_best, chain_sample


@final
class Chain(Structure):
    """Sequences over n_labels labels.

    Parameters
    ----------
    n_labels : int
        How many labels there are.
    tied : bool
        Whether all positions share one matrix of transition scores.
    start, end : bool
        Whether the first and the last label have scores of their own.
    """

    name: ClassVar[str] = "chain"
    kinds = ("label", "transition", "start", "end")
    marginals: ClassVar[Any] = chain_marginals
    maximum: ClassVar[Any] = chain_maximum
    marginal_entropy: ClassVar[Any] = chain_entropy

    def __init__(
        self, n_labels: int, tied: bool = True, start: bool = False, end: bool = False
    ) -> None:
        self.n_labels = n_labels
        self.tied = tied
        self.start = start
        self.end = end

    def constants(self) -> dict[str, Any]:
        """As given."""
        return {
            "n_labels": self.n_labels,
            "tied": self.tied,
            "start": self.start,
            "end": self.end,
        }

    @classmethod
    def check_constants(cls, constants: dict[str, Any]) -> None:
        """At most 2**14 labels: a chain holds a number a pair."""
        super().check_constants(constants)
        check_n_labels(cls.name, constants["n_labels"], 2**14)

    def match_slots(self, other: Structure, labels: Ints) -> tuple[Ints, ...]:
        """Chains may differ in their labels and switches."""
        if not isinstance(other, Chain):
            return super().match_slots(other, labels)
        n = other.n_labels
        ends = (labels if self.start else labels[:0], labels if self.end else labels[:0])
        return labels, label_tuples(labels, n, 2), *ends

    @property
    def spec(self) -> Ints:
        """Labels, and three switches."""
        return np.array([self.n_labels, self.tied, self.start, self.end], dtype=np.int64)

    @property
    def has_entropy(self) -> bool:
        """Whether the marginals of every pair of neighbours are known: transitions are not tied."""
        return not self.tied

    @property
    def widths(self) -> tuple[int, ...]:
        """Labels, pairs of labels, first and last labels."""
        n = self.n_labels
        return n, n * n, self.start * n, self.end * n

    def topology(self, shape: int) -> Ints:
        """The length."""
        return np.array([shape], dtype=np.int64)

    def _matrices(self, length: int) -> int:
        return 1 if self.tied else max(length - 1, 0)

    def n_parts(self, topo: Ints) -> int:
        """Unary parts, transitions, start and end."""
        n, length = self.n_labels, int(topo[0])
        return length * n + self._matrices(length) * n * n + (self.start + self.end) * n

    def work_size(self, topo: Ints) -> int:
        """Room for the exponentials of all parts, alpha, beta and the scales."""
        n, length = int(filled_width(self.n_labels)), int(topo[0])
        return (self._matrices(length) + 1) * n * n + (2 * length + 4) * n + length

    def sites(self, topo: Ints) -> Sites:
        """A site a position, then the transition matrices, then start and end."""
        n, length = self.n_labels, int(topo[0])
        part = [t * n for t in range(length)]
        width = [n] * length
        kind = [0] * length
        uses = [1] * length
        at = length * n
        for _ in range(self._matrices(length)):
            part.append(at)
            width.append(n * n)
            kind.append(1)
            uses.append(max(length - 1, 0) if self.tied else 1)
            at += n * n
        for number, wanted in ((2, self.start), (3, self.end)):
            if wanted:
                part.append(at)
                width.append(n)
                kind.append(number)
                uses.append(min(length, 1))
                at += n
        return Sites(*(np.array(column, dtype=np.int64) for column in (part, width, kind, uses)))

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        """Unary parts and transitions; tied transitions are counted."""
        n, length = self.n_labels, int(topo[0])
        y = np.asarray(label, dtype=np.int64)
        pairs = length * n + y[:-1] * n + y[1:]
        if self.tied:
            # What np.unique does, at a third of its cost for so few numbers.
            pairs.sort()
            first = np.flatnonzero(np.concatenate(([-1], pairs[:-1])) != pairs)
            counts = np.diff(first, append=len(pairs)).astype(np.float64)
            pairs = pairs[first]
        else:
            pairs += np.arange(len(pairs)) * n * n
            counts = np.ones(len(pairs))
        parts = [np.arange(length) * n + y, pairs]
        at = length * n + self._matrices(length) * n * n
        for wanted, ends in ((self.start, y[:1]), (self.end, y[-1:])):
            if wanted:
                parts.append(at + ends)
                at += n
        together = np.concatenate(parts)
        times = np.ones(len(together))
        times[length : length + len(counts)] = counts
        return together, times

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        """The largest unary count at every position."""
        length = int(topo[0])
        unary = mu[: length * self.n_labels].reshape(length, self.n_labels)
        return np.argmax(unary, axis=1).astype(np.int64) if length else np.zeros(0, dtype=np.int64)

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        """The cost of a label at a position goes to its unary part."""
        cost = label_costs(label, self.n_labels, matrix)
        spread = np.zeros(self.n_parts(topo))
        spread[: cost.size] = np.ravel(cost)
        return spread

    def mask(self, topo: Ints, constraints: Constraints) -> Floats:
        """Forbid labels, first and last labels in the unary parts, pairs in the transitions."""
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
        at = length * n
        transitions = mask[at : at + self._matrices(length) * n * n].reshape(-1, n, n)
        for a, b in constraints.transitions:
            transitions[:, a, b] = -np.inf
        return mask

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Viterbi with k back-pointers a state."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        scores, labels = chain_k_best(self.spec, topo, theta, k)
        return scores, list(labels)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Filter forwards, sample backwards."""
        self._check_drawable(self.log_partition(theta, topo))
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        return list(chain_sample(self.spec, topo, theta, rng.random((size, int(topo[0])))))
