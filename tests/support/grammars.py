"""Grammars for the tests, and all their derivations in the plainest way."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from partwise.arrays import Ints
from partwise.structures.grammar.derivations import confused_symbols
from partwise.structures.grammar.structure import Grammar
from support.laws import Label

Row = tuple[int, int, int, int]


def spans_of(topo: Ints) -> set[tuple[int, int]]:
    """The allowed spans of two words or more, read off the definition of topo."""
    length = int(topo[0])
    pairs = [(i, j) for i in range(length) for j in range(i + 2, length + 1)]
    return {pair for pair, number in zip(pairs, topo[3:], strict=False) if number >= 0}


def derivations(grammar: Grammar, topo: Ints) -> list[tuple[Row, ...]]:
    length, spans = int(topo[0]), spans_of(topo)

    @cache
    def below(symbol: int, i: int, j: int) -> list[tuple[Row, ...]]:
        if j == i + 1:
            return [((symbol, i, j, -1),)] if symbol in grammar.lexical else []
        if (i, j) not in spans:
            return []
        return [
            ((symbol, i, j, k), *x, *y)
            for k in range(i + 1, j)
            for a, b, c in grammar.rules
            if a == symbol
            for x in below(b, i, k)
            for y in below(c, k, j)
        ]

    return [tree for start in grammar.starts for tree in below(start, 0, length)]


def rows_of(label: Label) -> list[Row]:
    return [(a, i, j, k) for a, i, j, k in np.reshape(label, (-1, 4)).tolist()]


def random_grammar(
    seed: int, n_symbols: int, n_rules: int, shared: bool, split: bool, anchored: bool
) -> Grammar | None:
    rng = np.random.default_rng(seed)
    rules = np.unique(rng.integers(0, n_symbols, (n_rules, 3)), axis=0)
    rng.shuffle(rules)
    lexical = rng.permutation(n_symbols)[: rng.integers(1, n_symbols + 1)].tolist()
    starts = rng.permutation(n_symbols)[: rng.integers(1, n_symbols + 1)].tolist()
    classes = rng.integers(0, max(1, n_symbols - 1), n_symbols) if shared else None
    flags = None
    if rng.random() < 0.5:
        flags = (rng.random(n_symbols if classes is None else classes.max() + 1) < 0.5).tolist()
    if classes is not None and not anchored and confused_symbols(rules, lexical, starts, classes):
        return None
    given = None if classes is None else classes.tolist()
    return Grammar(n_symbols, rules.tolist(), lexical, starts, given, flags, split, anchored)


def dense_grammar(n_symbols: int, n_rules: int, **options: Any) -> Grammar:
    """Random rules and, so that there are derivations, 0 -> 0 p and 0 -> p 0 for a few p."""
    rng = np.random.default_rng(0)
    lexical = list(range(0, n_symbols, 5))
    rules = {(0, 0, p) for p in lexical} | {(0, p, 0) for p in lexical}
    while len(rules) < n_rules:
        rules.add(tuple(rng.integers(0, n_symbols, 3).tolist()))
    return Grammar(n_symbols, sorted(rules), lexical, [0], **options)
