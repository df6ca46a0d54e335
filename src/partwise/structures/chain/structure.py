"""First-order chains: one label per position, and one score per pair of neighbouring labels.

Parts, in this order (L labels):

    unary        T x L             theta[t, k]
    transitions  L x L tied, or (T-1) x L x L when they depend on the input
    start, end   L each, where asked for

The compiled recursions are in ``oracles.py``, ``scaled.py`` and ``search.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ..base import label_tuples
from ..sequence import SequenceStructure
from ..steps import StepList, Steps
from .oracles import chain_entropy, chain_marginals, chain_maximum
from .scaled import pitch, pitched_rows
from .search import chain_k_best, chain_sample


@final
class Chain(SequenceStructure):
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
    max_labels: ClassVar[int] = 2**14

    def __init__(
        self, n_labels: int, tied: bool = True, start: bool = False, end: bool = False
    ) -> None:
        super().__init__(n_labels, start, end)
        self.tied = tied

    def constants(self) -> dict[str, Any]:
        return {
            "n_labels": self.n_labels,
            "tied": self.tied,
            "start": self.start,
            "end": self.end,
        }

    def inner_slots(self, other: Chain, labels: Ints) -> tuple[Ints, ...]:
        return labels, label_tuples(labels, other.n_labels, 2)

    @property
    def spec(self) -> Ints:
        """The constants ``[n_labels, tied, start, end]``."""
        return np.array([self.n_labels, self.tied, self.start, self.end], dtype=np.int64)

    @property
    def has_entropy(self) -> bool:
        """Whether every pair of neighbours has marginals: if transitions are not tied."""
        return not self.tied

    @property
    def inner_widths(self) -> tuple[int, ...]:
        return self.n_labels, self.n_labels**2

    def _matrices(self, length: int) -> int:
        return 1 if self.tied else max(length - 1, 0)

    def runs(self, length: int) -> list[tuple[int, int]]:
        steps = max(length - 1, 0)
        return [(length, 1), (1, steps) if self.tied else (steps, 1)]

    def work_size(self, topo: Ints) -> int:
        """Count the exponentials of all parts, alpha, a matrix, beta and the scales."""
        length, p, rows = int(topo[0]), pitch(self.n_labels), pitched_rows(self.n_labels)
        return int((self._matrices(length) + 1) * rows * p + (2 * length + 2) * p + length)

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        if len(label) and not 0 <= np.min(label) <= np.max(label) < self.n_labels:
            raise DataError(f"a label number of {label} is none of 0 to {self.n_labels - 1}")
        _, parts, counts = self.encode_all([label], [topo])
        return parts, counts

    def encode_all(
        self, labels: Sequence[Ints], topologies: Sequence[Ints]
    ) -> tuple[Ints, Ints, Floats]:
        """Encode all labels as one long chain, which is cut where examples begin."""
        n = self.n_labels
        length = np.array([topo[0] for topo in topologies], dtype=np.int64)
        if not np.array_equal(length, [len(label) for label in labels]):
            raise ValueError("a chain of labels that is not as long as its example")
        ends = np.cumsum(length)
        y = np.concatenate([*labels, np.zeros(0, dtype=np.int64)]).astype(np.int64, copy=False)
        owner = np.repeat(np.arange(len(length)), length)
        t = np.arange(len(y)) - (ends - length)[owner]
        # A step is named by the later one of its two positions.
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
        # The sort is stable, so the parts of one label keep their order: unary parts, transitions,
        # start and end.
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

    def steps(self, topo: Ints) -> Steps:
        """List the steps from each label of a position to each of the next."""
        n, length, found = self.n_labels, int(topo[0]), StepList()
        goal = length * n
        if length == 0:
            found.add(goal)
            return found.steps(goal + 1)
        t, j, k = np.ogrid[1:length, :n, :n]
        label = np.arange(n)
        pairs = goal + j * n + k + (0 if self.tied else n * n) * (t - 1)
        found.add(label, parts=[label, self.end_parts("start", topo)])
        found.add(t * n + k, [t * n - n + j], [t * n + k, pairs])
        found.add(goal, [goal - n + label], [self.end_parts("end", topo)])
        return found.steps(goal + 1)

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Run Viterbi's algorithm with k back-pointers per state."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        scores, labels = chain_k_best(self.spec, topo, theta, k)
        return scores, list(labels)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        theta = self._drawable(theta, topo)
        return list(chain_sample(self.spec, topo, theta, rng.random((size, int(topo[0])))))
