"""The best projective tree, and trees drawn at random.

Both walk from the root down through the charts of the inside pass and choose, for every span of
the tree, where it is split: at the largest term of its sum, or at one drawn in proportion.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.jit import cfunc, njit
from ..base import ORACLE
from .projective_oracles import LOG, MAX, charts_size, cut_charts, inside, weigh_arcs


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
