"""Second-order chains: one label per position, and scores of neighbouring pairs and triples.

Parts, in this order (L labels):

    unary        T x L             theta[t, k]
    transitions  L x L             theta[j, k], tied
    triples      L x L x L         theta[i, j, k], tied
    start, end   L each, where asked for

The sums are in ``oracles.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import cfunc, njit
from ..base import ORACLE, label_tuples
from ..logspace import any_bad, draw
from ..sequence import SequenceStructure, merge_lists
from ..steps import StepList, Steps
from .oracles import second_order_forward, second_order_marginals, second_order_unary, spread_ends

# The best labels of a second-order chain, and labels drawn at random.
#
# A state is a pair (j, k) of the last two labels; at position 0, where there is no j, only j = 0 is
# used, and at position 1 only i = 0.


@njit
def _step(theta: Any, length: int, n: int, t: int, i: int, j: int, k: int) -> Any:
    """Return the score of going from the pair (i, j) to (j, k) at t, without the unary score."""
    at = length * n + j * n + k
    return theta[at] + theta[at + (i + 1) * n * n] if t > 1 else theta[at]


@cfunc(ORACLE)
def second_order_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Find the best labels by Viterbi's algorithm; the first of equal labels wins.

    No back-pointers are kept: those along the best path are found again.
    """
    n = spec[0]
    nn = n * n
    length = topo[0]
    for p in range(mu.size):
        mu[p] = 0.0
    if length == 0:
        return 0.0
    used = length * n + (nn if length > 1 else 0) + (nn * n if length > 2 else 0)
    unary, score = work[: length * n], work[length * n : length * n + length * nn]
    second_order_unary(spec, length, theta, unary)
    if any_bad(unary) or any_bad(theta[:used]):
        return np.nan
    for p in range(length * nn):
        score[p] = -np.inf
    for k in range(n):
        score[k] = unary[k]
    for t in range(1, length):
        unary_t = unary[t * n : t * n + n]
        for j in range(n):
            best = score[t * nn + j * n : t * nn + j * n + n]
            pair = theta[length * n + j * n : length * n + j * n + n]
            for i in range(n if t > 1 else 1):
                before = score[(t - 1) * nn + i * n + j]
                if t > 1:
                    at = length * n + (i + 1) * nn + j * n
                    triple = theta[at : at + n]
                    for k in range(n):
                        s = before + (pair[k] + triple[k])
                        best[k] = s if s > best[k] else best[k]
                else:
                    for k in range(n):
                        best[k] = before + pair[k]
            for k in range(n):
                best[k] += unary_t[k]
    last = score[(length - 1) * nn : length * nn]
    p = 0
    for q in range(nn):
        if last[q] > last[p]:
            p = q
    top = last[p]
    if top == -np.inf or mu.size == 0:
        return top
    j, k = p // n, p % n
    for t in range(length - 1, -1, -1):
        mu[t * n + k] = 1.0
        if t == 0:
            break
        i, best_s = 0, -np.inf
        for a in range(n if t > 1 else 1):
            s = score[(t - 1) * nn + a * n + j] + _step(theta, length, n, t, a, j, k)
            if s > best_s:
                i, best_s = a, s
        mu[length * n + j * n + k] += 1.0
        if t > 1:
            mu[length * n + (i + 1) * nn + j * n + k] += 1.0
        j, k = i, j
    spread_ends(spec, length, mu)
    return top


@njit
def second_order_k_best(spec: Any, topo: Any, theta: Any, n_best: int) -> Any:
    """Find the n_best best labels: each pair keeps its best n_best prefixes, merged from L lists.

    Returns the scores, and the labels as rows; fewer than n_best if fewer labels are allowed.
    """
    n = spec[0]
    length = topo[0]
    if length == 0:
        return np.zeros(min(1, n_best)), np.zeros((min(1, n_best), 0), dtype=np.int64)
    unary = np.empty(length * n)
    second_order_unary(spec, length, theta, unary)
    # score, and the label and rank two before it, of the r-th best prefix that ends in (j, k) at t
    score = np.full((length, n * n, n_best), -np.inf)
    label = np.zeros((length, n * n, n_best), dtype=np.int64)
    rank = np.zeros((length, n * n, n_best), dtype=np.int64)
    head = np.zeros(n * n, dtype=np.int64)
    steps = np.zeros(n * n)
    score[0, :n, 0] = unary[:n]
    for t in range(1, length):
        for p in range(n * n):
            j, k = p // n, p % n
            # The pairs (i, j) before; at position 1 there is no i.
            before = score[t - 1, j::n] if t > 1 else score[0, j : j + 1 : n]
            for i in range(before.shape[0]):
                steps[i] = _step(theta, length, n, t, i, j, k)
            merge_lists(before, steps, head, score[t, p], label[t, p], rank[t, p])
            score[t, p] += unary[t * n + k]
    scores = np.full(n_best, -np.inf)
    last, last_rank = np.zeros(n_best, dtype=np.int64), np.zeros(n_best, dtype=np.int64)
    steps[:] = 0.0
    merge_lists(score[length - 1], steps, head, scores, last, last_rank)
    found = int((scores > -np.inf).sum())
    labels = np.empty((found, length), dtype=np.int64)
    for f in range(found):
        p, r = last[f], last_rank[f]
        for t in range(length - 1, -1, -1):
            labels[f, t] = p % n
            p, r = label[t, p, r] * n + p // n, rank[t, p, r]
    return scores[:found], labels


@njit
def second_order_sample(spec: Any, topo: Any, theta: Any, uniform: Any) -> Any:
    """Filter forwards in log space, then draw the last pair and, backwards, all labels before."""
    n = spec[0]
    nn = n * n
    length = topo[0]
    size = uniform.shape[0]
    labels = np.zeros((size, length), dtype=np.int64)
    if length == 0:
        return labels
    alpha = np.empty(length * nn)
    row = np.empty(n)
    second_order_forward(spec, length, theta, np.empty(length * n), alpha, np.empty(length), row)
    for s in range(size):
        p = draw(alpha[(length - 1) * nn :], nn, uniform[s, length - 1])
        j, k = p // n, p % n
        labels[s, length - 1] = k
        for t in range(length - 2, -1, -1):
            labels[s, t] = j
            if t > 0:
                for i in range(n):
                    row[i] = alpha[t * nn + i * n + j] + _step(theta, length, n, t + 1, i, j, k)
                j, k = draw(row, n, uniform[s, t]), j
    return labels


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
        """The constants ``[n_labels, start, end]``."""
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
