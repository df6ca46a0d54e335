"""The grammar of a treebank as a structure, and what its symbols stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats, Ints
from ...formats.tree import Tree
from .normal_form import restore, split_symbol, symbol_class
from .treebank import Productions, from_derivation

if TYPE_CHECKING:
    from ...structures.grammar.structure import Grammar

__all__ = ["grammar_of", "label_matrix", "phrase_labels", "symbols_of_tags", "tree_of"]


def grammar_of(found: Productions, split: bool) -> Grammar:
    """Make the structure of all trees that a grammar derives.

    Symbols that stand over single words alone need no classes of their own, as words have a part
    for each of them: plain tags share one class, and ``NP+NN`` is of the class ``NP``, as errors
    are counted by class. So there are a third as many parts.

    Parameters
    ----------
    found : Productions
        The grammar.
    split : bool
        Whether the splits of spans have scores.
    """
    # Each import loads compiled code.
    from ...structures.grammar.structure import Grammar

    phrases = set(found.rules[:, 0].tolist())
    names: list[str] = []
    for number, symbol in enumerate(found.symbols):
        chain, _, _ = symbol.rpartition("+")
        names.append(symbol_class(symbol) if number in phrases else chain)
    classes = {name: number for number, name in enumerate(sorted(set(names)))}
    # The class of plain tags is the only one without a name; partial phrases do not count either.
    constituents = [bool(name) and not split_symbol(name).partial for name in classes]
    return Grammar(
        len(found.symbols),
        found.rules.tolist(),
        found.lexical.tolist(),
        found.start.tolist(),
        [classes[name] for name in names],
        constituents,
        split=split,
    )


def symbols_of_tags(grammar: Grammar, symbols: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return for every tag the symbols over a word that end in it: ``NN``, ``NP+NN``, ..."""
    found: dict[str, list[int]] = {}
    for number in grammar.lexical:
        found.setdefault(split_symbol(symbols[number]).labels[-1], []).append(number)
    return {tag: tuple(numbers) for tag, numbers in found.items()}


def _phrases(symbol: str, lexical: bool) -> tuple[str, ...]:
    """Return the labels of the phrases that a symbol stands for, without the tag of a word."""
    labels, partial = split_symbol(symbol)
    return () if partial else labels[:-1] if lexical else labels


def phrase_labels(grammar: Grammar, symbols: Sequence[str]) -> tuple[str, ...]:
    """Return the labels that phrases can have, sorted."""
    inner = {a for a, _, _ in grammar.rules}
    found = {label for number in inner for label in _phrases(symbols[number], False)}
    found |= {label for number in grammar.lexical for label in _phrases(symbols[number], True)}
    return tuple(sorted(found))


def label_matrix(
    grammar: Grammar, symbols: Sequence[str], labels: Sequence[str]
) -> tuple[Floats, Floats]:
    """Count the labels that each symbol over a word, and each class over a span, stands for.

    Returns
    -------
    words : ndarray of shape (P, L)
        For each lexical symbol.
    spans : ndarray of shape (Q, L)
        For each class.
    """
    index = {label: number for number, label in enumerate(labels)}
    words = np.zeros((len(grammar.lexical), len(labels)))
    for row, number in zip(words, grammar.lexical, strict=True):
        for label in _phrases(symbols[number], True):
            row[index[label]] += 1.0
    spans = np.zeros((grammar.n_classes, len(labels)))
    # All symbols of a class that have rules differ in their ancestors and siblings only.
    for number in {grammar.classes[a]: a for a, _, _ in grammar.rules}.values():
        for label in _phrases(symbols[number], False):
            spans[grammar.classes[number], index[label]] += 1.0
    return words, spans


def tree_of(
    derivation: Ints, symbols: Sequence[str], words: Sequence[str], tags: Sequence[str] | None
) -> Tree:
    """Return the tree that a derivation stands for, with the given tags over the words if any."""
    tree = restore(from_derivation(derivation, symbols, words))
    if tags is None or tree.tags == list(tags):
        return tree
    left = list(tags)
    # A fold visits the words from the last to the first.
    return tree.fold(
        lambda node: Tree(left.pop(), word=node.word),
        lambda node, children: Tree(node.label, tuple(children)),
    )
