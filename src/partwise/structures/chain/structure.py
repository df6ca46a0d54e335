"""First-order chains: a label for each of T positions, and a score for each neighbouring pair.

Parts, in this order (L labels):

    unary        T x L             theta[t, k]
    transitions  L x L tied, or (T-1) x L x L when they depend on the input
    start, end   L each, where asked for

The compiled recursions are in ``chain_kernels.py``, ``chain_scaled.py`` and ``chain_search.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ..base import Constraints, Sites, Structure, check_n_labels, label_costs, label_tuples
from .entropy import chain_entropy
from .oracles import chain_marginals, chain_maximum
from .scaled import pitch, pitched_rows
from .search import chain_k_best, chain_sample


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
        """Room for the exponentials of all parts, alpha, a matrix, beta and the scales."""
        length, p, rows = int(topo[0]), pitch(self.n_labels), pitched_rows(self.n_labels)
        return int((self._matrices(length) + 1) * rows * p + (2 * length + 2) * p + length)

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
        _, parts, counts = self.encode_all([label], [topo])
        return parts, counts

    def encode_all(
        self, labels: Sequence[Ints], topologies: Sequence[Ints]
    ) -> tuple[Ints, Ints, Floats]:
        """All labels as one long chain, cut where an example begins."""
        n = self.n_labels
        length = np.array([topo[0] for topo in topologies], dtype=np.int64)
        if not np.array_equal(length, [len(label) for label in labels]):
            raise ValueError("a chain of labels that is not as long as its example")
        ends = np.cumsum(length)
        y = np.concatenate([*labels, np.zeros(0, dtype=np.int64)]).astype(np.int64, copy=False)
        owner = np.repeat(np.arange(len(length)), length)
        t = np.arange(len(y)) - (ends - length)[owner]
        # A step is the later one of its two positions.
        step = np.flatnonzero(t)
        pairs = y[step - 1] * n + y[step]
        if self.tied:
            pairs, count = np.unique(owner[step] * n * n + pairs, return_counts=True)
            step_owner, pairs = np.divmod(pairs, n * n)
        else:
            count, step_owner = np.ones(len(step), dtype=np.int64), owner[step]
            pairs += (t[step] - 1) * n * n
        owners = [owner, step_owner]
        parts = [t * n + y, length[step_owner] * n + pairs]
        at = length * n + (1 if self.tied else np.maximum(length - 1, 0)) * n * n
        filled = np.flatnonzero(length)
        for wanted, places in ((self.start, ends - length), (self.end, ends - 1)):
            if wanted:
                owners.append(filled)
                parts.append(at[filled] + y[places[filled]])
                at += n
        # Stable: unary parts, transitions, start and end of one label after those of another.
        together = np.concatenate(owners)
        order = np.argsort(together, kind="stable")
        times = np.ones(len(together))
        times[len(y) : len(y) + len(count)] = count
        sizes = np.bincount(together, minlength=len(length))
        return (
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate(parts)[order],
            times[order],
        )

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
