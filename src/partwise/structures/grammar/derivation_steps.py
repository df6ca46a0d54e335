"""The steps in which a grammar derives sentences: every rule A -> B C at every split (i, k, j)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Ints
from ..steps import StepList, Steps
from .chart import cell_of, part_offsets
from .constraints import allowed_splits

if TYPE_CHECKING:
    from .structure import Grammar


def grammar_steps(grammar: Grammar, topo: Ints) -> Steps:
    """List the steps of a sentence; those whose children cannot be derived are left out."""
    length, n, found = int(topo[0]), grammar.n_labels, StepList()
    span_at, split_at, rule_at, root_at, _ = (int(at) for at in part_offsets(grammar.spec, topo))
    lexical, starts, classes = map(np.array, (grammar.lexical, grammar.starts, grammar.classes))
    parent, left, right = np.array(grammar.rules).T
    rules = np.arange(len(parent))
    splits = allowed_splits(topo)
    # Cells in the order of their widths, so that children come before parents.
    cells = np.array([cell_of(topo, i, j) for i, _, j in splits.tolist()], dtype=np.int64)
    width = np.ones(length + int(topo[1]), dtype=np.int64)
    width[cells] = splits[:, 2] - splits[:, 0]
    rank = np.argsort(np.argsort(width, kind="stable"), kind="stable")
    known = np.zeros((len(width), n), dtype=bool)
    known[:length, lexical] = True

    word = np.arange(length)[:, None]
    found.add(rank[word] * n + lexical, parts=[word * len(lexical) + np.arange(len(lexical))])
    for wide in range(2, length + 1):
        own = np.flatnonzero(width[cells] == wide)
        if not len(own):
            continue
        i, k, j = splits[own].T
        cell = cells[own]
        first = np.array([cell_of(topo, a, b) for a, b in zip(i.tolist(), k.tolist(), strict=True)])
        last = np.array([cell_of(topo, a, b) for a, b in zip(k.tolist(), j.tolist(), strict=True)])
        at, r = np.nonzero(known[first][:, left] & known[last][:, right])
        known[cell[at], parent[r]] = True
        found.add(
            rank[cell[at]] * n + parent[r],
            [rank[first[at]] * n + left[r], rank[last[at]] * n + right[r]],
            [
                span_at + (cell[at] - length) * grammar.n_classes + classes[parent[r]],
                split_at + own[at] if grammar.split else -1,
                rule_at + rules[r] + (own[at] * len(rules) if grammar.anchored else 0),
            ],
        )
    goal = len(width) * n
    root: Any = rank[cell_of(topo, 0, length)] * n + starts
    found.add(goal, [root], [root_at + np.arange(len(starts))])
    return found.steps(goal + 1)
