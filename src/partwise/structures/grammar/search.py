"""The k best derivations of a sentence, and derivations drawn at random.

Both go down from the root through the finished chart. A node is (symbol, start, end); its *steps*
are the pairs (rule, split) it can be taken apart by, and a derivation is written as the rows of its
nodes in pre-order. The virtual node None above the tree has the start symbols as its steps.
"""

from __future__ import annotations

import heapq
from bisect import bisect
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import cfunc, njit
from ..base import ORACLE
from ..logspace import any_bad
from .chart import (
    carve_chart,
    cell_of,
    empty_chart,
    first_split,
    live_pairs,
    part_offsets,
    place_row,
    read_spec,
    work_numbers,
)
from .logspace import fill_chart, fill_words

# CKY: the best derivation of a sentence.
#
# For tied rules the best split is sought first, once for all rules with the same children,
#
#     X(B, C) = max_k [S(i, k, B) + theta_split(i, k, j) + S(k, j, C)]
#     S(i, j, A) = theta_span(i, j, class A) + max_{A -> B C} [theta_rule + X(B, C)]
#
# four k at a time, as in ``oracles.py``. No back-pointers are kept: the tree has 2T-1 nodes,
# and at each the best rule and split are found again.


@njit
def _best_span(g: Any, chart: Any, theta: Any, i: int, j: int) -> None:
    """Compute raw(A) = max_{A -> B C} [theta + X(B, C)]; theta holds the rules, v the splits."""
    raw, x_pair, right_of = chart.raw, chart.x, chart.pair_right
    raw[:] = -np.inf
    groups = live_pairs(g, chart, i, j)
    n_pairs = chart.group_ptr[groups]
    x_pair[:n_pairs] = -np.inf
    for h in range((i + 1) // 4, (j - 1) // 4 + 1):
        left, right = chart.left[i, h], chart.right[j - 1, h]
        v0, v1, v2, v3 = chart.v[h, 0], chart.v[h, 1], chart.v[h, 2], chart.v[h, 3]
        for q in range(groups):
            b = chart.group[q]
            x0, x1, x2, x3 = left[b, 0] + v0, left[b, 1] + v1, left[b, 2] + v2, left[b, 3] + v3
            if max(max(x0, x1), max(x2, x3)) == -np.inf:
                continue
            for p in range(chart.group_ptr[q], chart.group_ptr[q + 1]):
                c = np.uint64(right_of[p])  # unsigned: not tested for wrapping
                s0, s1 = x0 + right[c, 0], x1 + right[c, 1]
                s2, s3 = x2 + right[c, 2], x3 + right[c, 3]
                s0 = s0 if s0 > s1 else s1
                s2 = s2 if s2 > s3 else s3
                s0 = s0 if s0 > s2 else s2
                x_pair[p] = s0 if s0 > x_pair[p] else x_pair[p]
    for p in range(n_pairs):
        for r in range(g.pair_ptr[chart.pair[p]], g.pair_ptr[chart.pair[p] + 1]):
            a = g.grouped_parent[r]
            raw[a] = max(raw[a], x_pair[p] + theta[g.grouped[r]])


@njit
def _fill_tied(spec: Any, topo: Any, theta: Any, chart: Any) -> None:
    """Fill the chart of best scores for tied rules."""
    g = read_spec(spec)
    length = topo[0]
    span_at, split_at, rule_at, root_at, _ = part_offsets(spec, topo)
    empty_chart(chart, -np.inf)
    chart.v[:] = 0.0
    fill_words(g, length, theta, chart.cells)
    for t in range(length):
        place_row(g, chart, chart.cells[t], t, t + 1, -np.inf)
    for j in range(2, length + 1):
        for i in range(j - 2, -1, -1):
            c = cell_of(topo, i, j)
            if c < 0:
                continue
            if g.split:
                m = first_split(topo, i, j)
                for k in range(i + 1, j):
                    chart.v[k // 4, k % 4] = -np.inf
                    if cell_of(topo, i, k) >= 0 and cell_of(topo, k, j) >= 0:
                        chart.v[k // 4, k % 4] = theta[split_at + m]
                        m += 1
            _best_span(g, chart, theta[rule_at:root_at], i, j)
            at = span_at + (c - length) * g.n_classes
            row = chart.cells[c]
            for a in range(g.n_symbols):
                row[a] = theta[at + g.classes[a]] + chart.raw[a]
            place_row(g, chart, row, i, j, -np.inf)


@njit
def fill_best(spec: Any, topo: Any, theta: Any, work: Any) -> Any:
    """Return the chart of best scores, (T + spans) x N, at the front of the work space."""
    n, n_cells = spec[0], topo[0] + topo[1]
    cells = work[: n_cells * n].reshape((n_cells, n))
    if spec[5]:
        fill_chart(spec, topo, theta, cells, work[n_cells * n :], False)
    else:
        _fill_tied(spec, topo, theta, carve_chart(spec, topo, work))
    return cells


@njit
def _best_step(spec: Any, topo: Any, theta: Any, cells: Any, i: int, j: int, a: int) -> Any:
    """Return the first rule of A, and its split, with the best score over i..j."""
    g = read_spec(spec)
    _, split_at, rule_at, _, _ = part_offsets(spec, topo)
    best, rule, split, number = -np.inf, -1, -1, -1
    for r in range(g.n_rules):
        if g.parent[r] != a:
            continue
        m = first_split(topo, i, j)
        for k in range(i + 1, j):
            below, above = cell_of(topo, i, k), cell_of(topo, k, j)
            if below < 0 or above < 0:
                continue
            s = cells[below, g.left[r]] + (theta[split_at + m] if g.split else 0.0)
            s += cells[above, g.right[r]]
            s += theta[rule_at + r + (m * g.n_rules if g.anchored else 0)]
            if s > best:
                best, rule, split, number = s, r, k, m
            m += 1
    return rule, split, number


@njit
def _count(spec: Any, topo: Any, theta: Any, cells: Any, start: int, mu: Any, stack: Any) -> None:
    """Count the parts of the best tree below a symbol over the whole sentence."""
    g = read_spec(spec)
    length = topo[0]
    span_at, split_at, rule_at, _, _ = part_offsets(spec, topo)
    stack[0], stack[1], stack[2] = start, 0, length
    held = 3
    while held > 0:
        held -= 3
        a, i, j = int(stack[held]), int(stack[held + 1]), int(stack[held + 2])
        if j == i + 1:
            for p in range(g.n_lexical):
                if g.lexical[p] == a:
                    mu[i * g.n_lexical + p] = 1.0
            continue
        mu[span_at + (cell_of(topo, i, j) - length) * g.n_classes + g.classes[a]] = 1.0
        r, k, m = _best_step(spec, topo, theta, cells, i, j, a)
        if g.split:
            mu[split_at + m] = 1.0
        mu[rule_at + r + (m * g.n_rules if g.anchored else 0)] += 1.0
        # The pending spans do not overlap, so there are at most T of them.
        stack[held], stack[held + 1], stack[held + 2] = g.right[r], k, j
        stack[held + 3], stack[held + 4], stack[held + 5] = g.left[r], i, k
        held += 6


@cfunc(ORACLE)
def grammar_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run CKY; the first of equal start symbols, rules and splits wins."""
    for p in range(mu.size):
        mu[p] = 0.0
    if any_bad(theta):
        return np.nan
    g = read_spec(spec)
    length = topo[0]
    root_at = part_offsets(spec, topo)[3]
    cells = fill_best(spec, topo, theta, work)
    row = cells[cell_of(topo, 0, length)]
    top, start = -np.inf, -1
    for s in range(g.n_starts):
        score = row[g.starts[s]] + theta[root_at + s]
        if score > top:
            top, start = score, s
    if start < 0 or mu.size == 0:
        return top
    mu[root_at + start] = 1.0
    # The symbols' rows are read on, the rest of the work space is free.
    stack = work[cells.size :]
    _count(spec, topo, theta, cells, g.starts[start], mu, stack)
    return top


Node = tuple[int, int, int]
Row = tuple[int, int, int, int]


class Ways(NamedTuple):
    """The ways down from a node, best first: their scores, the row and the children of each."""

    scores: list[float]
    rows: list[Row | None]
    children: list[tuple[Node, ...]]


class WaysDown:
    """The ways down from the nodes of one sentence, found when they are first asked for.

    Parameters
    ----------
    spec, topo, theta : ndarray
        As the oracles take them.
    cells : ndarray
        The chart, of best scores or of log sums: the steps of a node share its number by theirs.
    """

    def __init__(self, spec: Ints, topo: Ints, theta: Floats, cells: Floats) -> None:
        self.topo, self.theta, self.cells = topo, theta, cells
        self.grammar = read_spec(spec)
        self.offsets = part_offsets(spec, topo)
        self.known: dict[Node | None, Ways] = {}

    def steps(self, node: Node | None) -> Ways:
        """Return the steps of a node, without those that have no score."""
        if node not in self.known:
            self.known[node] = self._roots() if node is None else self._splits(node)
        return self.known[node]

    def _roots(self) -> Ways:
        g, length = self.grammar, int(self.topo[0])
        scores = self.cells[cell_of(self.topo, 0, length)][g.starts] + self.theta[self.offsets[3] :]
        order = _ranked(scores)
        children: list[tuple[Node, ...]] = [((int(g.starts[s]), 0, length),) for s in order]
        return Ways(scores[order].tolist(), [None] * len(order), children)

    def _splits(self, node: Node) -> Ways:
        symbol, i, j = node
        g, topo, theta = self.grammar, self.topo, self.theta
        if j == i + 1:
            return Ways([0.0], [(symbol, i, j, -1)], [()])
        rules = np.flatnonzero(g.parent == symbol)
        _, split_at, rule_at, _, _ = self.offsets
        at = int(first_split(topo, i, j))
        ks, scores = [], []
        for k in range(i + 1, j):
            below, above = cell_of(topo, i, k), cell_of(topo, k, j)
            if below < 0 or above < 0:
                continue
            s = self.cells[below][g.left[rules]] + self.cells[above][g.right[rules]]
            s += theta[rule_at + rules + (at * g.n_rules if g.anchored else 0)]
            scores.append(s + theta[split_at + at] if g.split else s)
            ks.append(k)
            at += 1
        table = np.concatenate([*scores, np.zeros(0)])
        order = _ranked(table)
        rows: list[Row | None] = []
        children: list[tuple[Node, ...]] = []
        for place in order.tolist():
            k, r = ks[place // len(rules)], rules[place % len(rules)]
            rows.append((symbol, i, j, k))
            children.append(((int(g.left[r]), i, k), (int(g.right[r]), k, j)))
        return Ways(table[order].tolist(), rows, children)


def _ranked(scores: Floats) -> Ints:
    order = np.argsort(-scores, kind="stable")
    return order[scores[order] > -np.inf]


def _label(rows: Any) -> Ints:
    """Return the rows of a chain (last row, (row before it, ...)), in order."""
    found = []
    while rows is not None:
        row, rows = rows
        if row is not None:
            found.append(row)
    return np.array(found[::-1], dtype=np.int64)


def grammar_k_best(spec: Ints, topo: Ints, theta: Floats, k: int) -> tuple[Floats, list[Ints]]:
    """Return the k best derivations, exactly and lazily.

    A *state* is a derivation down to some node in pre-order, with all nodes below and after that
    node still open. Its score is that of its best completion, which the chart knows. So the states
    that leave the queue and have nothing open are the best derivations in order. A state that takes
    the r-th step of its node is followed in the queue by the state that takes step r + 1.
    """
    cells = fill_best(spec, topo, theta, np.empty(work_numbers(spec, topo)))
    descent = WaysDown(spec, topo, theta, cells)
    scores: list[float] = []
    labels: list[Ints] = []
    roots = descent.steps(None)
    ticket = count()  # equal scores: first come, first served, and nothing else is compared
    queue: list[Any] = []
    if roots.scores:
        # (-score, ticket, open nodes, step of the first of them, rows so far)
        queue.append((-roots.scores[0], next(ticket), (None, None), 0, None))
    while queue and len(labels) < k:
        score, _, pending, rank, rows = heapq.heappop(queue)
        while pending is not None:
            steps = descent.steps(pending[0])
            if rank + 1 < len(steps.scores):
                after = score + (steps.scores[rank] - steps.scores[rank + 1])
                heapq.heappush(queue, (after, next(ticket), pending, rank + 1, rows))
            rows = (steps.rows[rank], rows)
            pending = pending[1]
            for child in reversed(steps.children[rank]):
                pending = (child, pending)
            rank = 0
        scores.append(-score)
        labels.append(_label(rows))
    return np.array(scores), labels


def grammar_sample(spec: Ints, topo: Ints, theta: Floats, uniform: Floats) -> list[Ints]:
    """Draw derivations from the top down; step t of sample s inverts uniform[s, t]."""
    n, n_cells = int(spec[0]), int(topo[0] + topo[1])
    cells = np.empty((n_cells, n))
    fill_chart(spec, topo, theta, cells, np.empty(2 * n), True)
    descent = WaysDown(spec, topo, theta, cells)
    mass: dict[Node | None, list[float]] = {}
    labels = []
    for draws in uniform:
        rows: Any = None
        t = 0
        pending: list[Node | None] = [None]
        while pending:
            node = pending.pop()
            steps = descent.steps(node)
            if node not in mass:
                weights = np.exp(np.array(steps.scores) - steps.scores[0])
                mass[node] = (np.cumsum(weights) / weights.sum()).tolist()
            chosen = 0
            if len(steps.scores) > 1:
                chosen = min(bisect(mass[node], draws[t]), len(steps.scores) - 1)
                t += 1
            rows = (steps.rows[chosen], rows)
            pending += steps.children[chosen][::-1]
        labels.append(_label(rows))
    return labels
