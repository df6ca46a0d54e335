"""Contexts: the examples of a classifier that have the same features.

    counts[x, y] = sum of c_i over the examples i with features x and label y

This is the empirical distribution of the maximum entropy model, times the number of examples. The
duals of a context are alpha[x, y] > 0 with sum_y alpha[x, y] = sum_y counts[x, y]. Each of its
examples has u_i = alpha[x] / sum_y alpha[x, y], so that D(u) and v(u) are those of the examples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...problem.problem import Problem


class Contexts(NamedTuple):
    """The contexts of a problem, in the order of their first examples."""

    first: Ints  # X: the first example
    member: Ints  # n: the context of each example; -1 where the weight is 0
    counts: Floats  # X x L
    total: Floats  # X: sum_y counts
    size: Ints  # X: how many examples with a weight

    def spread(self, rows: Floats, outside: float) -> Floats:
        """Return the row of its context for every example: n x L."""
        taken = rows[self.member]
        taken[self.member < 0] = outside
        return taken


def find_contexts(problem: Problem, together: bool) -> Contexts:
    """Find the contexts; unless ``together``, every example is a context of its own."""
    arrays = problem.arrays
    used = np.flatnonzero(arrays.weight > 0.0)
    first, owner = used, np.arange(len(used))
    if together:
        design = arrays.design
        marks = np.empty(problem.n_examples, dtype=np.uint64)
        _marks(design, design.value.view(np.uint64), marks)
        _, position, owner = np.unique(marks[used], return_index=True, return_inverse=True)
        owner = used[position][owner]  # the first example with the same hash, for every example
        _part(design, used, owner)
        first, owner = np.unique(owner, return_inverse=True)
    n_labels = problem.max_parts
    counts = np.zeros((len(first), n_labels))
    np.add.at(counts, (owner, arrays.gold_part[used]), arrays.weight[used])
    member = np.full(problem.n_examples, -1, dtype=np.int64)
    member[used] = owner
    return Contexts(first, member, counts, counts.sum(axis=1), np.bincount(owner))


@njit
def _marks(design: Any, bits: Any, marks: Any) -> None:
    """Compute a hash of every row of features (FNV-1a over words)."""
    prime = np.uint64(1099511628211)
    for i in range(marks.size):
        mark = np.uint64(14695981039346656037)
        for e in range(design.entry_ptr[i], design.entry_ptr[i + 1]):
            mark = (mark ^ np.uint64(design.start[e])) * prime
            if bits.size > 0:
                mark = (mark ^ bits[e]) * prime
                mark ^= mark >> np.uint64(32)
        marks[i] = mark


@njit
def _part(design: Any, used: Any, owner: Any) -> None:
    """Let an example own itself if its row differs from that of its owner: a hash collision."""
    valued = design.value.size > 0
    for k in range(used.size):
        mine, other = design.entry_ptr[used[k]], design.entry_ptr[owner[k]]
        size = design.entry_ptr[used[k] + 1] - mine
        same = size == design.entry_ptr[owner[k] + 1] - other
        for e in range(size if same else 0):
            same = same and design.start[mine + e] == design.start[other + e]
            if valued:
                same = same and design.value[mine + e] == design.value[other + e]
        if not same:
            owner[k] = used[k]
