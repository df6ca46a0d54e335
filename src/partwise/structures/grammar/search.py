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
from .chart import cell_of, first_split, part_offsets, read_spec, work_numbers
from .logspace import fill_chart
from .maximum import fill_best

Node = tuple[int, int, int]
Row = tuple[int, int, int, int]


class Steps(NamedTuple):
    """The ways down from a node, best first: their scores, the row and the children of each."""

    scores: list[float]
    rows: list[Row | None]
    children: list[tuple[Node, ...]]


class Descent:
    """The steps of the nodes of one sentence, found when they are first asked for.

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
        self.known: dict[Node | None, Steps] = {}

    def steps(self, node: Node | None) -> Steps:
        """Return the steps of a node, without those that have no score."""
        if node not in self.known:
            self.known[node] = self._roots() if node is None else self._splits(node)
        return self.known[node]

    def _roots(self) -> Steps:
        g, length = self.grammar, int(self.topo[0])
        scores = self.cells[cell_of(self.topo, 0, length)][g.starts] + self.theta[self.offsets[3] :]
        order = _ranked(scores)
        children: list[tuple[Node, ...]] = [((int(g.starts[s]), 0, length),) for s in order]
        return Steps(scores[order].tolist(), [None] * len(order), children)

    def _splits(self, node: Node) -> Steps:
        symbol, i, j = node
        g, topo, theta = self.grammar, self.topo, self.theta
        if j == i + 1:
            return Steps([0.0], [(symbol, i, j, -1)], [()])
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
        return Steps(table[order].tolist(), rows, children)


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
    descent = Descent(spec, topo, theta, cells)
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
    descent = Descent(spec, topo, theta, cells)
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
