"""Treebank grammars: what a grammar needs is read off trees in normal form, and derivations.

A derivation is a tree as numbers: an int64 array with one row per node, parents first and from
left to right. A row is (symbol, start, end, split): the node covers the words from start up to but
not including end, and its children meet at split, which is -1 over a single word. A sentence of T
words has 2T - 1 rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ...arrays import Ints
from ...errors import DataError, Place
from ...formats.tree import Tree
from .normal_form import split_symbol, symbol_class

__all__ = [
    "ProductionCounts",
    "Productions",
    "from_derivation",
    "productions",
    "to_derivation",
]


@dataclass(frozen=True, eq=False)
class Productions:
    """The rules that occur in some trees in normal form, with S symbols and C classes.

    Attributes
    ----------
    symbols
        The names of the symbols, sorted; elsewhere symbols are their numbers in here.
    rules, rule_counts
        The binary rules as rows (parent, left, right), sorted, and how often each occurs.
    lexical, lexical_counts
        The symbols that stand over words, and how often. The same symbol may stand over phrases.
    start, start_counts
        The symbols that stand at the root, and how often.
    classes
        The names of the span classes, sorted. All symbols that differ only in their ancestors are
        of one class, and all partial phrases of one phrase are of another.
    class_of
        The class of every symbol, shape (S,).
    constituent
        Whether a class holds phrases of the treebank, shape (C,): neither partial phrases nor
        plain tags do, but a chain over a tag does.
    """

    symbols: tuple[str, ...]
    rules: Ints
    rule_counts: Ints
    lexical: Ints
    lexical_counts: Ints
    start: Ints
    start_counts: Ints
    classes: tuple[str, ...]
    class_of: Ints
    constituent: NDArray[np.bool_]

    @property
    def numbers(self) -> dict[str, int]:
        """The number of every symbol."""
        return {symbol: number for number, symbol in enumerate(self.symbols)}


def productions(trees: Iterable[Tree]) -> Productions:
    """Read a grammar off trees in normal form.

    Parameters
    ----------
    trees
        Trees as `partwise.tasks.constituency.normal_form.NormalForm.apply` makes them.

    Raises
    ------
    DataError
        If there are no trees, or a node has neither two children nor a word.
    """
    counts = ProductionCounts()
    counts.add(trees)
    return counts.finish()


class ProductionCounts:
    """The rules of the trees so far, and how often they occur."""

    def __init__(self) -> None:
        self._rules: Counter[tuple[str, str, str]] = Counter()
        self._lexical: Counter[str] = Counter()
        self._start: Counter[str] = Counter()

    def add(self, trees: Iterable[Tree]) -> None:
        """Count the rules of some more trees in normal form."""
        for place, tree in enumerate(trees):
            self._start[tree.label] += 1
            for node in tree.nodes():
                if node.word is not None:
                    self._lexical[node.label] += 1
                elif len(node.children) == 2:
                    left, right = node.children
                    self._rules[node.label, left.label, right.label] += 1
                else:
                    raise DataError(f"{_not_binary(node)}", place=Place.nth("tree", place))

    def join(self, other: ProductionCounts) -> None:
        """Add the rules of other trees."""
        self._rules.update(other._rules)
        self._lexical.update(other._lexical)
        self._start.update(other._start)

    def finish(self) -> Productions:
        """Return the grammar of all trees."""
        rules, lexical, start = self._rules, self._lexical, self._start
        if not start:
            raise DataError("no trees, so no grammar can be read off; give at least one tree")
        phrases = {parent for parent, _, _ in rules}
        symbols = tuple(sorted(phrases | set(lexical)))
        number = {symbol: i for i, symbol in enumerate(symbols)}
        rows = sorted((*(number[s] for s in rule), count) for rule, count in rules.items())
        table = np.array(rows, np.int64).reshape(-1, 4)
        classes = tuple(sorted({symbol_class(symbol) for symbol in symbols}))
        class_number = {name: i for i, name in enumerate(classes)}
        class_of = np.array([class_number[symbol_class(s)] for s in symbols], np.int64)
        constituent = np.zeros(len(classes), np.bool_)
        for symbol, class_ in zip(symbols, class_of.tolist(), strict=True):
            parts = split_symbol(symbol)
            whole = not parts.partial and (symbol in phrases or len(parts.labels) > 1)
            constituent[class_] |= whole
        return Productions(
            symbols,
            np.ascontiguousarray(table[:, :3]),
            np.ascontiguousarray(table[:, 3]),
            *_counted(lexical, number),
            *_counted(start, number),
            classes,
            class_of,
            constituent,
        )


def _counted(counts: Counter[str], number: dict[str, int]) -> tuple[Ints, Ints]:
    pairs = sorted((number[symbol], count) for symbol, count in counts.items())
    return np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)


def _not_binary(node: Tree) -> str:
    return (
        f"the node {node.label!r} has {len(node.children)} children where 2 or a word are "
        "expected; put the tree into normal form first"
    )


def to_derivation(tree: Tree, numbers: Mapping[str, int]) -> Ints:
    """Turn a tree in normal form into a derivation.

    Parameters
    ----------
    tree
        A tree as `partwise.tasks.constituency.normal_form.NormalForm.apply` makes it.
    numbers
        The number of every symbol.

    Returns
    -------
    ndarray of int64, shape (2T - 1, 4)
        Rows (symbol, start, end, split), parents first.

    Raises
    ------
    DataError
        If a node has neither two children nor a word, or its symbol has no number.
    """
    nodes = list(tree.nodes())
    rows: list[tuple[int, int, int, int]] = []
    lengths: list[int] = []
    at = sum(node.word is not None for node in nodes)
    # Backwards, so that the words of a node are those that have been passed last.
    for node in reversed(nodes):
        symbol = numbers.get(node.label)
        if symbol is None:
            raise DataError(
                f"the symbol {node.label!r} is not in the grammar; read the grammar off trees that "
                "have it, or leave this tree out"
            )
        if node.word is not None:
            at -= 1
            lengths.append(1)
            rows.append((symbol, at, at + 1, -1))
        elif len(node.children) == 2:
            left = lengths.pop()
            length = left + lengths.pop()
            lengths.append(length)
            rows.append((symbol, at, at + length, at + left))
        else:
            raise DataError(_not_binary(node))
    return np.array(rows[::-1], np.int64)


def from_derivation(derivation: Ints, symbols: Sequence[str], words: Sequence[str]) -> Tree:
    """Turn a derivation into a tree in normal form.

    Parameters
    ----------
    derivation
        Rows (symbol, start, end, split), parents first.
    symbols
        The names of the symbols.
    words
        The words of the sentence.

    Raises
    ------
    DataError
        If the array is not a derivation of these words.
    """
    if derivation.shape != (2 * len(words) - 1, 4):
        raise DataError(
            f"a derivation of shape {derivation.shape} for {len(words)} words; expected "
            f"{(max(2 * len(words) - 1, 0), 4)}"
        )
    done: list[tuple[Tree, int, int]] = []

    def fail(place: int) -> NoReturn:
        raise DataError(
            f"row {place} {derivation[place].tolist()} does not fit the rows below it; expected "
            "(symbol, start, end, split) with parents first, from left to right"
        )

    rows = derivation.tolist()
    for place in range(len(rows) - 1, -1, -1):
        symbol, start, end, split = rows[place]
        if not 0 <= symbol < len(symbols):
            fail(place)
        if split == -1:
            if not (0 <= start < len(words) and end == start + 1):
                fail(place)
            done.append((Tree(symbols[symbol], word=words[start]), start, end))
            continue
        if len(done) < 2:
            fail(place)
        left, right = done.pop(), done.pop()
        if (left[1], left[2], right[1], right[2]) != (start, split, split, end):
            fail(place)
        done.append((Tree(symbols[symbol], (left[0], right[0])), start, end))
    if len(done) != 1 or done[0][1:] != (0, len(words)):
        fail(0)
    return done[0][0]
