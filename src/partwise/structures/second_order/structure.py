"""Second-order chains: a label for each of T positions, scores for neighbouring pairs and triples.

Parts, in this order (L labels):

    unary        T x L             theta[t, k]
    transitions  L x L             theta[j, k], tied
    triples      L x L x L         theta[i, j, k], tied
    start, end   L each, where asked for

The compiled recursions are in ``trigram_kernels.py`` and ``trigram_search.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ..base import Constraints, Sites, Structure, check_n_labels, label_costs, label_tuples
from .oracles import second_order_marginals
from .search import second_order_k_best, second_order_maximum, second_order_sample


@final
class SecondOrderChain(Structure):
    """Sequences over n_labels labels, where a label depends on the two before it.

    Time grows with T L^3, memory with T L^2 + L^3.

    Parameters
    ----------
    n_labels : int
        How many labels there are.
    start, end : bool
        Whether the first and the last label have scores of their own.
    """

    name: ClassVar[str] = "second-order-chain"
    kinds = ("label", "transition", "triple", "start", "end")
    marginals: ClassVar[Any] = second_order_marginals
    maximum: ClassVar[Any] = second_order_maximum

    def __init__(self, n_labels: int, start: bool = False, end: bool = False) -> None:
        self.n_labels = n_labels
        self.start = start
        self.end = end

    def constants(self) -> dict[str, Any]:
        """As given."""
        return {"n_labels": self.n_labels, "start": self.start, "end": self.end}

    @classmethod
    def check_constants(cls, constants: dict[str, Any]) -> None:
        """At most 2**9 labels: there is a number a triple."""
        super().check_constants(constants)
        check_n_labels(cls.name, constants["n_labels"], 2**9)

    def match_slots(self, other: Structure, labels: Ints) -> tuple[Ints, ...]:
        """Chains may differ in their labels and switches."""
        if not isinstance(other, SecondOrderChain):
            return super().match_slots(other, labels)
        n = other.n_labels
        ends = (labels if self.start else labels[:0], labels if self.end else labels[:0])
        return labels, label_tuples(labels, n, 2), label_tuples(labels, n, 3), *ends

    @property
    def spec(self) -> Ints:
        """Labels, and two switches."""
        return np.array([self.n_labels, self.start, self.end], dtype=np.int64)

    @property
    def widths(self) -> tuple[int, ...]:
        """Labels, pairs and triples of labels, first and last labels."""
        n = self.n_labels
        return n, n**2, n**3, self.start * n, self.end * n

    def topology(self, shape: int) -> Ints:
        """The length."""
        return np.array([shape], dtype=np.int64)

    def n_parts(self, topo: Ints) -> int:
        """Unary parts, transitions, triples, start and end."""
        n = self.n_labels
        return int(topo[0]) * n + n**2 + n**3 + (self.start + self.end) * n

    def work_size(self, topo: Ints) -> int:
        """Room for the exponentials of all parts, H twice, alpha, g, beta and the scales."""
        n, length = self.n_labels, int(topo[0])
        exponentials = length * n + n**2 + n**3 + max(n**3, length * n)
        return exponentials + (2 * length + 3) * n**2 + 2 * n + length

    def sites(self, topo: Ints) -> Sites:
        """A site a position, then the pairs, the triples, start and end."""
        length = int(topo[0])
        tied = [(1, max(length - 1, 0)), (2, max(length - 2, 0))]
        tied += [(3, min(length, 1))] * self.start + [(4, min(length, 1))] * self.end
        kind = np.array([0] * length + [number for number, _ in tied], dtype=np.int64)
        uses = np.array([1] * length + [times for _, times in tied], dtype=np.int64)
        width = np.array(self.widths, dtype=np.int64)[kind]
        return Sites(np.cumsum(width) - width, width, kind, uses)

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        """Unary parts; pairs and triples with their counts; start and end."""
        n, length = self.n_labels, int(topo[0])
        y = np.asarray(label, dtype=np.int64)
        pairs, pair_counts = np.unique(y[:-1] * n + y[1:], return_counts=True)
        triples, triple_counts = np.unique((y[:-2] * n + y[1:-1]) * n + y[2:], return_counts=True)
        at = length * n
        parts = [np.arange(length) * n + y, at + pairs, at + n**2 + triples]
        at += n**2 + n**3
        if self.start:
            parts.append(at + y[:1])
            at += n
        if self.end:
            parts.append(at + y[-1:])
        together = np.concatenate(parts)
        counts = np.ones(len(together))
        counts[length : length + len(pairs)] = pair_counts
        counts[length + len(pairs) : length + len(pairs) + len(triples)] = triple_counts
        return together, counts

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
        for a, b in constraints.transitions:
            mask[length * n + a * n + b] = -np.inf
        return mask

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Viterbi with k back-pointers a pair."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        scores, labels = second_order_k_best(self.spec, topo, theta, k)
        return scores, list(labels)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Filter forwards, sample backwards."""
        self._check_drawable(self.log_partition(theta, topo))
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        return list(second_order_sample(self.spec, topo, theta, rng.random((size, int(topo[0])))))
