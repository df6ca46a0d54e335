"""Second-order chains: one label per position, and scores of neighbouring pairs and triples.

Parts, in this order (L labels):

    unary        T x L             theta[t, k]
    transitions  L x L             theta[j, k], tied
    triples      L x L x L         theta[i, j, k], tied
    start, end   L each, where asked for

The compiled recursions are in ``oracles.py``, ``logspace.py`` and ``search.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ..base import label_tuples
from ..sequence import SequenceStructure
from ..steps import StepList, Steps
from .oracles import second_order_marginals
from .search import second_order_k_best, second_order_maximum, second_order_sample


@final
class SecondOrderChain(SequenceStructure):
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
    max_labels: ClassVar[int] = 2**9

    def __init__(self, n_labels: int, start: bool = False, end: bool = False) -> None:
        super().__init__(n_labels, start, end)

    def constants(self) -> dict[str, Any]:
        return {"n_labels": self.n_labels, "start": self.start, "end": self.end}

    def inner_slots(self, other: SecondOrderChain, labels: Ints) -> tuple[Ints, ...]:
        n = other.n_labels
        return labels, label_tuples(labels, n, 2), label_tuples(labels, n, 3)

    @property
    def spec(self) -> Ints:
        """Labels, and two switches."""
        return np.array([self.n_labels, self.start, self.end], dtype=np.int64)

    @property
    def inner_widths(self) -> tuple[int, ...]:
        return self.n_labels, self.n_labels**2, self.n_labels**3

    def runs(self, length: int) -> list[tuple[int, int]]:
        return [(length, 1), (1, max(length - 1, 0)), (1, max(length - 2, 0))]

    def work_size(self, topo: Ints) -> int:
        """Count the exponentials of all parts, H twice, alpha, g, beta and the scales."""
        n, length = self.n_labels, int(topo[0])
        exponentials = length * n + n**2 + n**3 + max(n**3, length * n)
        return exponentials + (2 * length + 3) * n**2 + 2 * n + length

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        n, length = self.n_labels, int(topo[0])
        y = np.asarray(label, dtype=np.int64)
        pairs = length * n + y[:-1] * n + y[1:]
        triples = length * n + n**2 + (y[:-2] * n + y[1:-1]) * n + y[2:]
        return self.joined([np.arange(length) * n + y], [pairs, triples], y, topo)

    def steps(self, topo: Ints) -> Steps:
        """List the steps from each pair of neighbouring labels to each that continues it."""
        n, length, found = self.n_labels, int(topo[0]), StepList()
        # Item k is the first label, and item n + (t - 1) n^2 + j n + k a pair that ends at t.
        goal = n + (length - 1) * n * n if length else 0
        if length == 0:
            found.add(goal)
            return found.steps(goal + 1)
        label, begin = np.arange(n), length * n
        found.add(label, parts=[label, self.end_parts("start", topo)])
        j, k = np.ogrid[:n, :n]
        if length > 1:
            found.add(n + j * n + k, [j], [n + k, begin + j * n + k])
        t, i, j, k = np.ogrid[2:length, :n, :n, :n]
        pairs, triples = begin + j * n + k, begin + n * n + (i * n + j) * n + k
        at = n + (t - 1) * n * n
        found.add(at + j * n + k, [at - n * n + i * n + j], [t * n + k, pairs, triples])
        last = label if length == 1 else np.arange(goal - n * n, goal)
        ends = self.end_parts("end", topo)
        found.add(goal, [last], [np.tile(ends, len(last) // n)])
        return found.steps(goal + 1)

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Run Viterbi's algorithm with k back-pointers per pair of labels."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        scores, labels = second_order_k_best(self.spec, topo, theta, k)
        return scores, list(labels)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        theta = self._drawable(theta, topo)
        return list(second_order_sample(self.spec, topo, theta, rng.random((size, int(topo[0])))))
