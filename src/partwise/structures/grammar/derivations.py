"""Derivations as labels: rows to parts, parts to rows, and when parts tell derivations apart.

If classes are shared, the class of every span and the counts of tied rules need not tell which
symbol stands where: two derivations may exchange the symbols of two places. So brackets, classes
and the symbols of words and root have to tell it alone; then it is also found quickly. That is a
property of the grammar, read as a tree automaton: it must be *unambiguous*. It is decided on pairs
of symbols,

    (p, p) for a lexical p, and (A, A') of one class with A -> B C, A' -> B' C', (B, B'), (C, C'),

the pairs that can stand over the same words: the grammar is ambiguous if such a pair of different
symbols is met on the way down from some (start, start).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Ints
from ...errors import DataError
from ..steps import StepList, Steps
from .chart import cell_of, part_offsets
from .constraints import allowed_splits

if TYPE_CHECKING:
    from .structure import Grammar

# The steps in which a grammar derives sentences: every rule A -> B C at every split (i, k, j).


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


Span = tuple[int, int]
#: The split of a span, and for every symbol that it can have those of its two children.
Choice = tuple[int, dict[int, tuple[int, int]]]


class Step(NamedTuple):
    """A node of two words or more."""

    start: int
    split: int
    end: int
    rule: int


def read_rows(
    label: npt.ArrayLike, length: int, rules: Mapping[tuple[int, int, int], int]
) -> tuple[int, list[int], list[Step]]:
    """Check the rows of a derivation, and return its symbols and nodes.

    Parameters
    ----------
    label : array-like of shape (2T-1, 4)
        Rows (symbol, start, end, split) in pre-order.
    length : int
        T.
    rules : mapping
        The number of each rule (A, B, C).

    Returns
    -------
    tuple
        (the symbol of the whole, those of the words, the nodes of two words or more).
    """
    rows = np.asarray(label, dtype=np.int64)
    if rows.shape != (2 * length - 1, 4):
        raise DataError(
            f"a derivation of {length} words has {2 * length - 1} rows (symbol, start, end, "
            f"split); these have the shape {rows.shape}"
        )
    symbols: dict[Span, int] = {}
    splits: list[tuple[int, int, int]] = []
    pending = [(0, length)]
    for number, (symbol, start, end, split) in enumerate(rows.tolist()):
        expected = pending.pop()
        if (start, end) != expected:
            raise DataError(
                f"row {number} of a derivation covers words {start} to {end}; in pre-order it "
                f"should be {expected[0]} to {expected[1]}"
            )
        symbols[expected] = symbol
        if end == start + 1:
            if split != -1:
                raise DataError(f"row {number} covers one word; its split is -1, not {split}")
        elif not start < split < end:
            raise DataError(
                f"row {number} covers words {start} to {end} and is split at {split}; a split "
                "lies between them"
            )
        else:
            pending += [(split, end), (start, split)]
            splits.append((start, split, end))
    steps = []
    for i, k, j in splits:
        rule = symbols[i, j], symbols[i, k], symbols[k, j]
        if rule not in rules:
            raise DataError(
                f"a derivation has {rule[0]} -> {rule[1]} {rule[2]} over words {i} to {j}: "
                "that is not a rule of the grammar"
            )
        steps.append(Step(i, k, j, rules[rule]))
    return symbols[0, length], [symbols[t, t + 1] for t in range(length)], steps


def write_rows(root: int, length: int, choices: Mapping[Span, Choice]) -> Ints:
    """Return the rows of the derivation with the given root."""
    rows = []
    pending = [(root, 0, length)]
    while pending:
        symbol, i, j = pending.pop()
        if j == i + 1:
            rows.append((symbol, i, j, -1))
            continue
        k, children = choices[i, j]
        left, right = children[symbol]
        rows.append((symbol, i, j, k))
        pending += [(right, k, j), (left, i, k)]
    return np.array(rows, dtype=np.int64)


def choices_of(
    words: Sequence[int],
    brackets: Mapping[Span, int],
    parents: Mapping[tuple[int, int], Sequence[int]],
    classes: Sequence[int],
) -> dict[Span, Choice]:
    """Return the symbols that each span can have, given the symbols of the words and all classes.

    Parameters
    ----------
    words : sequence of int
        The symbol of each word.
    brackets : mapping
        The class of each span of two words or more.
    parents : mapping
        For two children (B, C) every A with a rule A -> B C.
    classes : sequence of int
        The class of each symbol.
    """
    ends: dict[int, list[int]] = defaultdict(list)
    for i, j in brackets:
        ends[i].append(j)
    choices: dict[Span, Choice] = {}
    possible: dict[Span, Sequence[int]] = {(t, t + 1): [p] for t, p in enumerate(words)}
    for i, j in sorted(brackets, key=lambda span: span[1] - span[0]):
        # The left child is the longest span that begins where its parent does.
        k = max((end for end in ends[i] if end < j), default=i + 1)
        children = {
            symbol: (left, right)
            for left in possible[i, k]
            for right in possible[k, j]
            for symbol in parents.get((left, right), ())
            if classes[symbol] == brackets[i, j]
        }
        choices[i, j] = k, children
        possible[i, j] = list(children)
    return choices


def confused_symbols(
    rules: Ints, lexical: Sequence[int], starts: Sequence[int], classes: Ints
) -> tuple[int, int] | None:
    """Find two symbols of one class that the parts of some derivation do not tell apart.

    Parameters
    ----------
    rules : ndarray of shape (R, 3)
        Rows (A, B, C).
    lexical, starts : sequence of int
        The symbols that cover words, and those that cover sentences.
    classes : ndarray of shape (N,)
        The class of each symbol.
    """
    a, b, c = rules.T
    # Children that stand over the same words have the same class: rules are compared within
    # the groups whose classes agree, x with every y of its group.
    _, group, sizes = np.unique(classes[rules], axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(group.ravel(), kind="stable")
    first = np.cumsum(sizes) - sizes
    x = np.repeat(order, np.repeat(sizes, sizes))
    within = np.arange(len(x)) - np.repeat(np.cumsum(sizes**2) - sizes**2, sizes**2)
    y = order[np.repeat(first, sizes**2) + within % np.repeat(sizes, sizes**2)]

    n = len(classes)
    together = np.zeros((n, n), dtype=bool)
    together[lexical, lexical] = True
    seen = -1
    while seen != (seen := int(together.sum())):
        fits = together[b[x], b[y]] & together[c[x], c[y]]
        together[a[x[fits]], a[y[fits]]] = True
    fits = together[b[x], b[y]] & together[c[x], c[y]]
    x, y = x[fits], y[fits]
    met = np.zeros((n, n), dtype=bool)
    met[starts, starts] = together[starts, starts]
    seen = -1
    while seen != (seen := int(met.sum())):
        down = met[a[x], a[y]]
        met[b[x[down]], b[y[down]]] = True
        met[c[x[down]], c[y[down]]] = True
    different = np.argwhere(np.triu(met, 1))
    return (int(different[0, 0]), int(different[0, 1])) if len(different) else None
