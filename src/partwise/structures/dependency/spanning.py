"""Non-projective dependency trees: any tree over the words that hangs from the root.

Parts and labels are those of ``arcs.py``. The compiled sums over trees are in
``spanning_oracles.py``.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import cfunc, njit
from ..base import ORACLE
from .arcs import ArcStructure
from .elimination import NOTHING, add_wide, eliminate, normal, room, wide_sum
from .spanning_oracles import LEAST, fill, fill_wide, spanning_marginals

# The best spanning tree of a sentence, and trees drawn at random.
#
# *The best tree* is found as Chu, Liu and Edmonds do: each word takes its best head; a cycle
# becomes one node, whose heads h are worth w_m(h) - w_m(head of m in the cycle), the best over its
# words m. A path of best heads grows until it meets the root or a finished word, or closes a cycle;
# with one pass over a row or column for each node that is made or taken up this is O(T^2).
#
# Only sums, differences and comparisons of scores are needed, so scores may be pairs, compared in
# their first component first. With (-1, score) for an arc from the root and (0, score) for all
# others the fewest root arcs win, and among these trees the best score: if one root arc is
# possible, that is the best tree with one, and no penalty blurs the scores.
#
# *A tree is drawn* word by word, each head from its distribution given the heads drawn before: all
# words but one are eliminated, which gives P(h) ~ w_m(h) q_h(m) as in ``spanning_oracles.py``. Then
# m is merged into its head. That is O(T^4) per tree, whatever the scores are; a random walk
# (Wilson's algorithm) would be faster, but would go round for ever where a cycle has the best
# scores.


@njit
def _best_arcs(n_labels: int, n: int, theta: Any, single: bool, w: Any, tier: Any, arc: Any) -> Any:
    """Find the score of every arc with its best label, and its part; return False for a bad score.

    w, tier and arc are T x (T + 1), with the root last.
    """
    for m in range(n):
        for slot in range(n):
            at = (m * n + slot) * n_labels
            best = at
            for p in range(at, at + n_labels):
                if not theta[p] < np.inf:
                    return False
                best = p if theta[p] > theta[best] else best
            i = m * (n + 1) + (n if slot == 0 else slot - 1 if slot <= m else slot)
            w[i], arc[i] = theta[best], best
            tier[i] = -np.inf if w[i] == -np.inf else -1.0 if single and slot == 0 else 0.0
    return True


@njit
def _better(tier: float, score: float, than_tier: float, than_score: float) -> Any:
    """Return whether a pair (tier, score) is larger than another."""
    return tier > than_tier or (tier == than_tier and score > than_score)


@njit
def _contract(
    cycle: Any, n: int, w: Any, tier: Any, arc: Any, best: Any, best_tier: Any, state: Any
) -> None:
    """Merge the rows and columns of the words of a cycle into those of its first word.

    The other words get the state 3.
    """
    stride = n + 1
    r = cycle[0]
    for i in range(1, cycle.size):
        state[cycle[i]] = 3
    for h in range(stride):
        if state[h] == 3 or h == r:
            continue
        for i in range(cycle.size):
            m = cycle[i]
            score, level = w[m * stride + h] - best[m], tier[m * stride + h] - best_tier[m]
            if i == 0 or _better(level, score, tier[r * stride + h], w[r * stride + h]):
                w[r * stride + h], tier[r * stride + h] = score, level
                arc[r * stride + h] = arc[m * stride + h]
    for m in range(n):
        if state[m] >= 2 or m == r:
            continue
        to = m * stride + r
        for i in range(1, cycle.size):
            j = m * stride + cycle[i]
            if _better(tier[j], w[j], tier[to], w[to]):
                w[to], tier[to], arc[to] = w[j], tier[j], arc[j]


@njit
def _arborescence(
    n: int, width: int, w: Any, tier: Any, arc: Any, best: Any, best_tier: Any, ints: Any
) -> Any:
    """Find the best tree; the first T of ints receive the part of each word's arc.

    A node is a word or a cycle, numbered in the order in which they are made; a row of w is its
    place. A word has `width` parts. Returns False if there is no tree.
    """
    stride = n + 1
    chosen, parent = ints[: 2 * n], ints[2 * n : 4 * n]
    node, path = ints[4 * n : 5 * n], ints[5 * n : 6 * n]
    state = ints[6 * n : 7 * n + 1]  # 0 new, 1 on the path, 2 leads to the root, 3 merged
    for m in range(n):
        node[m], state[m] = m, 0
    state[n] = 2
    made = n
    for start in range(n):
        if state[start] != 0:
            continue
        path[0], state[start] = start, 1
        size = 1
        while size > 0:
            m = path[size - 1]
            head = -1
            best[m], best_tier[m] = -np.inf, -np.inf
            for h in range(stride):
                i = m * stride + h
                if state[h] != 3 and h != m and _better(tier[i], w[i], best_tier[m], best[m]):
                    head, best[m], best_tier[m] = h, w[i], tier[i]
            if head < 0:
                return False
            chosen[node[m]] = arc[m * stride + head]
            if state[head] == 2:
                for i in range(size):
                    state[path[i]] = 2
                size = 0
            elif state[head] == 0:
                path[size], state[head] = head, 1
                size += 1
            else:
                first = size - 1
                while path[first] != head:
                    first -= 1
                for i in range(first, size):
                    parent[node[path[i]]] = made
                _contract(path[first:size], n, w, tier, arc, best, best_tier, state)
                node[head] = made
                made += 1
                size = first + 1
    # The arc into a cycle takes the place of the arc that the word it leads to had there.
    for made_at in range(made - 1, n - 1, -1):
        inner = chosen[made_at] // width
        while parent[inner] != made_at:
            inner = parent[inner]
        chosen[inner] = chosen[made_at]
    return True


@cfunc(ORACLE)
def spanning_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Find the best tree; among equal heads and labels the first is preferred."""
    n_labels, n = spec[0], topo[0]
    for p in range(mu.size):
        mu[p] = 0.0
    if n == 0:
        return 0.0
    single = spec[1] != 0
    size = n * (n + 1)
    w, tier = work[:size], work[size : 2 * size]
    best, best_tier = work[2 * size : 2 * size + n], work[2 * size + n : 2 * size + 2 * n]
    ints = work[2 * size + 2 * n : 3 * size + 10 * n].view(np.int64)
    arc = ints[7 * n + 1 :]
    if not _best_arcs(n_labels, n, theta, single, w, tier, arc):
        return np.nan
    if not _arborescence(n, n * n_labels, w, tier, arc, best, best_tier, ints):
        return -np.inf
    top, roots = 0.0, 0
    for m in range(n):
        top += theta[ints[m]]
        roots += ints[m] - m * n * n_labels < n_labels
    if single and roots > 1:
        return -np.inf
    if mu.size > 0:
        for m in range(n):
            mu[ints[m]] = 1.0
    return top


@njit
def _distribution(
    f: Any, e: Any, n: int, g: Any, g_e: Any, q: Any, q_e: Any, keep_root: bool, wide: bool,
    bits: Any,
) -> Any:  # fmt: skip
    """Fill q_h(m) for m the last of the first n words of the graph f, T x (T + 1).

    g is scratch, n x (n + 1). q has T + 1 numbers, with the root last. Returns False if float64
    does not hold the result.
    """
    last = q.size - 1
    for k in range(n):
        for h in range(n + 1):
            i = k * (last + 1) + (h if h < n else last)
            g[k * (n + 1) + h], g_e[k * (n + 1) + h] = f[i], e[i]
    good, z, _ = eliminate(g, g_e, n, n - 1, keep_root, wide, bits)
    if not good or not (wide or LEAST < z * g[n * (n + 1) - 1] < np.inf):
        return False
    q[last], q_e[last] = 1.0, 0
    q[n - 1], q_e[n - 1] = 0.0, NOTHING
    for k in range(n - 2, -1, -1):
        # The products take the place of p, which is not needed again.
        p, p_e = g[k * (n + 1) : (k + 1) * (n + 1)], g_e[k * (n + 1) : (k + 1) * (n + 1)]
        total, total_e = p[n], p_e[n]
        for h in range(k + 1, n - 1):
            if wide:
                total, total_e = add_wide(total, total_e, p[h] * q[h], p_e[h] + q_e[h])
            else:
                total += p[h] * q[h]
        q[k], q_e[k] = total, total_e
    return True


@njit
def _pick(weight: Any, n: int, uniform: float) -> Any:
    """Draw a number below n with probability weight / sum; -1 if the weights have no sum."""
    total = 0.0
    for v in range(n):
        total += weight[v]
    if not 0.0 < total < np.inf:
        return -1
    mass, picked = 0.0, -1
    for v in range(n):
        mass += weight[v]
        if weight[v] > 0.0:
            picked = v
            if uniform * total < mass:
                break
    return picked


@njit
def _draw_heads(
    f0: Any, e0: Any, n: int, single: bool, wide: bool, uniform: Any, heads: Any,
    space: Any, space_e: Any,
) -> Any:  # fmt: skip
    """Draw a head for each word of the graph f0, T x (T + 1); False if float64 does not hold it."""
    stride = n + 1
    f, e = space[: n * stride], space_e[: n * stride]
    g, g_e = space[n * stride : 2 * n * stride], space_e[n * stride : 2 * n * stride]
    at = 2 * n * stride
    q, q_e = space[at : at + stride], space_e[at : at + stride]
    weight, weight_e = space[at + stride : at + 2 * stride], space_e[at + stride : at + 2 * stride]
    bits, merged = space_e[at + 2 * stride : at + 4 * stride], space_e[at + 4 * stride :]
    for i in range(n * stride):
        f[i], e[i] = f0[i], e0[i]
    for v in range(stride):
        merged[v] = v  # the node of the graph that v is now a part of
    pending = single  # whether a word must still be hung from the root, and just one
    for m in range(n - 1, -1, -1):
        if not _distribution(f, e, m + 1, g, g_e, q, q_e, wide or not pending, wide, bits):
            return False
        for v in range(stride):
            t = merged[v]
            closed = t == m or v == m or (v == n and single and not pending)
            weight[v] = 0.0 if closed else f0[m * stride + v] * q[t]
            if wide:
                weight[v], weight_e[v] = normal(weight[v], e0[m * stride + v] + q_e[t])
        if wide:
            total, total_e = wide_sum(weight, weight_e, stride)
            for v in range(stride):
                x = weight[v] / total
                weight[v] = math.ldexp(x, max(weight_e[v] - total_e, -1100)) if x > 0.0 else 0.0
        head = _pick(weight, stride, uniform[m])
        if head < 0:
            return False
        heads[m] = head
        t = merged[head]
        for v in range(stride):
            merged[v] = t if merged[v] == m else merged[v]
        for x in range(m):
            a, b = x * stride + t, x * stride + m
            if t == n and pending:
                f[a], e[a] = f[b], e[b]
            elif t != x and wide:
                f[a], e[a] = add_wide(f[a], e[a], f[b], e[b])
            elif t != x:
                f[a] += f[b]
        pending = pending and t != n
    return True


@njit
def spanning_sample(spec: Any, topo: Any, theta: Any, uniform: Any) -> Any:
    """Draw trees by inverting uniform[s, 0, m] for the heads and uniform[s, 1, m] for the labels.

    theta must allow a tree.
    """
    n_labels, n = spec[0], topo[0]
    single = spec[1] != 0 and n > 1
    size = uniform.shape[0]
    labels = np.zeros((size, n, 2), dtype=np.int64)
    graph = np.empty((2, n * (n + 1)))  # in float64, and as f 2^e
    exponents = np.zeros(n * (n + 1), dtype=np.int64)
    exps = np.empty(n * n_labels)
    scaled = fill(n_labels, single, n, theta, graph[0], np.empty(2 * n), exps) > -np.inf
    filled = False
    space = np.empty((n + 1) * (2 * n + 5))
    space_e = np.zeros((n + 1) * (2 * n + 5), dtype=np.int64)
    heads = np.zeros(n, dtype=np.int64)
    for s in range(size):
        for attempt in range(0 if scaled else 1, 2):
            wide = attempt == 1
            if wide and not filled:
                fill_wide(n_labels, single, n, theta, graph[1], exponents)
                filled = True
            if _draw_heads(
                graph[attempt], exponents, n, single, wide, uniform[s, 0], heads, space, space_e
            ):
                break
        for m in range(n):
            h = heads[m]
            slot = 0 if h == n else h + 1 if h < m else h
            scores = theta[(m * n + slot) * n_labels : (m * n + slot + 1) * n_labels]
            top = -np.inf
            for k in range(n_labels):
                top = max(top, scores[k])
            for k in range(n_labels):
                exps[k] = math.exp(scores[k] - top)
            labels[s, m, 0] = 0 if h == n else h + 1
            labels[s, m, 1] = _pick(exps, n_labels, uniform[s, 1, m])
    return labels


@final
class SpanningTree(ArcStructure):
    """Trees whose arcs may cross.

    Parameters
    ----------
    n_labels : int
        How many labels an arc can have; 1 for arcs without labels.
    single_root : bool
        Whether exactly one word hangs from the root; otherwise at least one does.

    Notes
    -----
    Finite scores beyond 2**38 in size give a log partition of nan, as nan would.
    """

    name: ClassVar[str] = "spanning-tree"
    marginals: ClassVar[Any] = spanning_marginals
    maximum: ClassVar[Any] = spanning_maximum

    def work_size(self, topo: Ints) -> int:
        """Count the graph, q, the exponentials of a word and the halves, each with exponents."""
        length = int(topo[0])
        return 2 * (length * (2 * length + 3) + 2 + length * self.n_labels + room(length))

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Draw the heads word by word, each given those before it."""
        theta = self._drawable(theta, topo)
        return list(spanning_sample(self.spec, topo, theta, rng.random((size, 2, int(topo[0])))))
