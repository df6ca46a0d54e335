"""Projective dependency trees: no two arcs cross when drawn above the sentence.

The root stands to the left of the first word, and its arcs cross no others either. Parts are the
arcs, as ``arcs.py`` numbers them; the sums over trees are in ``projective_oracles.py``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import cfunc, njit
from ...errors import DataError
from ..base import ORACLE
from ..steps import StepList, Steps
from .arcs import ArcStructure, arc_site
from .projective_oracles import (
    LOG,
    MAX,
    charts_size,
    cut_charts,
    inside,
    projective_marginals,
    weigh_arcs,
)

# The best projective tree, and trees drawn at random.
#
# Both walk from the root down through the charts of the inside pass and choose, for every span of
# the tree, where it is split: at the largest term of its sum, or at one drawn in proportion.


@njit
def _draw(scores: Any, u: float) -> int:
    """Draw k in proportion to exp(scores_k), by inverting the cumulative sum at u in [0, 1)."""
    m = -np.inf
    for k in range(scores.size):
        m = max(m, scores[k])
    total = 0.0
    for k in range(scores.size):
        total += math.exp(scores[k] - m)
    left, last = u * total, 0
    for k in range(scores.size):
        p = math.exp(scores[k] - m)
        if p > 0.0:
            # Rounding may leave a little at the end: the last that can be drawn takes it.
            last = k
            if left < p:
                return k
            left -= p
    return last


@njit
def _choose(x: Any, y: Any, row: Any, u: float) -> int:
    """Return the k with the largest x_k + y_k, or for u >= 0 one that is drawn by `_draw`."""
    best = 0
    for k in range(x.size):
        row[k] = x[k] + y[k]
        if row[k] > row[best]:
            best = k
    return best if u < 0.0 else _draw(row[: x.size], u)


@njit
def _trace(n: int, t: Any, uniform: Any, heads: Any, stack: Any) -> None:
    """Fill heads (0 for the root, words from 1) with the best tree or one that is drawn.

    uniform holds 2 n numbers in [0, 1) to draw by, or -1 for the best tree. A tree has at most n -
    1 spans C(h, e) with h != e, and stack holds two numbers for each of them.
    """
    c, ct, i_, row = t.c, t.ct, t.i, t.row
    top, at, end = 0, 0, n
    while end > 0:  # the modifiers of the root, from the right
        k = _choose(t.i0[:end], ct[end - 1, :end], row, uniform[at])
        start = _choose(t.r[: k + 1], c[k, : k + 1], row, uniform[at + 1])
        at += 2
        heads[k] = 0.0
        for e in (end - 1, start):
            if e != k:
                stack[top], stack[top + 1] = k, e
                top += 2
        end = start
    while top > 0:
        top -= 2
        h, e = int(stack[top]), int(stack[top + 1])
        if e > h:
            m = h + 1 + _choose(i_[h, h + 1 : e + 1], ct[e, h + 1 : e + 1], row, uniform[at])
        else:
            m = e + _choose(i_[h, e:h], ct[e, e:h], row, uniform[at])
        heads[m] = h + 1
        i, j = min(h, m), max(h, m)
        k = i + _choose(c[i, i:j], c[j, i + 1 : j + 1], row, uniform[at + 1])
        at += 2
        for a, b in ((m, e), (i, k), (j, k + 1)):
            if a != b:
                stack[top], stack[top + 1] = a, b
                top += 2


@njit
def _first_label(head: float, m: int, n: int, n_labels: int) -> int:
    """Return the part of the arc from head (0: the root) to word m (from 0) with label 0."""
    slot = int(head) if head <= m else int(head) - 1
    return (m * n + slot) * n_labels


@cfunc(ORACLE)
def projective_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run Eisner's algorithm; the leftmost of equal splits and the first of equal labels win."""
    n_labels, single, n = spec[0], spec[1] != 0, topo[0]
    for p in range(mu.size):
        mu[p] = 0.0
    if n == 0:
        return 0.0
    t = cut_charts(n, n_labels, work)
    score = weigh_arcs(MAX, n, n_labels, theta, mu[:0], t)
    if not math.isfinite(score):
        return score
    score = inside(MAX, n, single, t)
    if score == -np.inf or mu.size == 0:
        return score
    # Nothing of the outside pass is needed here, so its charts are free.
    heads = t.w
    uniform = work[work.size - 2 * n :]
    for p in range(2 * n):
        uniform[p] = -1.0
    _trace(n, t, uniform, heads, t.gc.reshape(n * n))
    for m in range(n):
        first = _first_label(heads[m], m, n, n_labels)
        best = first
        for p in range(first, first + n_labels):
            if theta[p] > theta[best]:
                best = p
        mu[best] = 1.0
    return score


@njit
def projective_sample(spec: Any, topo: Any, theta: Any, uniform: Any) -> Any:
    """Draw trees from the inside charts in log space; uniform[s] has 3 T numbers for tree s.

    Returns an array of shape (size, T, 2): heads and labels.
    """
    n_labels, single, n = spec[0], spec[1] != 0, topo[0]
    size = uniform.shape[0]
    trees = np.zeros((size, n, 2), dtype=np.int64)
    if n == 0:
        return trees
    t = cut_charts(n, n_labels, np.empty(charts_size(n, n_labels)))
    weigh_arcs(LOG, n, n_labels, theta, theta[:0], t)
    inside(LOG, n, single, t)
    heads = np.empty(n)
    stack = np.empty(2 * n)
    for s in range(size):
        _trace(n, t, uniform[s, : 2 * n], heads, stack)
        for m in range(n):
            first = _first_label(heads[m], m, n, n_labels)
            trees[s, m, 0] = int(heads[m])
            trees[s, m, 1] = _draw(theta[first : first + n_labels], uniform[s, 2 * n + m])
    return trees


@final
class ProjectiveTree(ArcStructure):
    """Projective trees, with the labels and parameters of :class:`ArcStructure`."""

    name: ClassVar[str] = "projective"
    marginals: ClassVar[Any] = projective_marginals
    maximum: ClassVar[Any] = projective_maximum

    def work_size(self, topo: Ints) -> int:
        """Count the numbers in the charts, and two per word for the choices of the search."""
        return charts_size(int(topo[0]), self.n_labels) + 2 * int(topo[0])

    def steps(self, topo: Ints) -> Steps:
        """List the steps of Eisner (1996); the root is position 0, to the left of the words."""
        length, found = int(topo[0]), StepList()
        position = np.arange(length + 1)
        # The kinds of items for the span from i to j: an arc between its ends, this arc and all
        # between the two, and an end with all its modifiers in the span. L: its head is j.
        (arc, arc_l, half, half_l, whole, whole_l) = range(6)

        def item(kind: int, i: Any, j: Any) -> Any:
            return ((j - i) * 6 + kind) * (length + 1) + i

        for kind in (whole, whole_l):
            found.add(item(kind, position, position))
        for width in range(1, length + 1):
            i, k = position[: length + 1 - width, None], np.arange(width)
            j, label = i + width, np.arange(self.n_labels)
            # With a single root, the root has no modifiers before its first.
            some = (i > 0) | (k == 0) | (not self.single_root)
            i_all, j_all, k_all = (np.broadcast_to(x, some.shape)[some] for x in (i, j, i + k))
            inner = [item(whole, i_all, k_all), item(whole_l, k_all + 1, j_all)]
            found.add(item(arc, i, j), parts=[arc_site(i, j, length) * self.n_labels + label])
            found.add(item(half, i_all, j_all), [*inner, item(arc, i_all, j_all)])
            found.add(item(whole, i, j), [item(half, i, i + 1 + k), item(whole, i + 1 + k, j)])
            i, j = i[1:], j[1:]  # no arc leads to the root
            inner = [item(whole, i, i + k), item(whole_l, i + k + 1, j)]
            found.add(item(arc_l, i, j), parts=[arc_site(j, i, length) * self.n_labels + label])
            found.add(item(half_l, i, j), [*inner, item(arc_l, i, j)])
            found.add(item(whole_l, i, j), [item(whole_l, i, i + k), item(half_l, i + k, j)])
        goal = 6 * (length + 1) ** 2
        found.add(goal, [item(whole, 0, length)])
        return found.steps(goal + 1)

    def check_tree(self, y: Ints) -> None:
        """Raise a DataError if y, of shape (T, 2), is no projective tree."""
        super().check_tree(y)
        crossing = crossing_arcs(y[:, 0])
        if crossing is not None:
            (h, m), (g, n) = crossing
            raise DataError(
                f"the arcs from {h} to {m} and from {g} to {n} cross; make the tree projective, "
                "or use the structure of non-projective trees"
            )

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        theta = self._drawable(theta, topo)
        return list(projective_sample(self.spec, topo, theta, rng.random((size, 3 * int(topo[0])))))


def crossing_arcs(heads: Ints) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return two arcs (head, modifier) of a tree that cross, or None if it is projective.

    Parameters
    ----------
    heads : ndarray of int64
        The head of each of the words 1 .. T; 0 is the root, to their left.
    """
    modifiers = np.arange(1, len(heads) + 1)
    left, right = np.minimum(heads, modifiers), np.maximum(heads, modifiers)
    first, second = np.nonzero(
        (left[:, None] < left) & (left < right[:, None]) & (right[:, None] < right)
    )
    if len(first) == 0:
        return None
    a, b = int(first[0]), int(second[0])
    return (int(heads[a]), a + 1), (int(heads[b]), b + 1)
