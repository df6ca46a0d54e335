"""Chomsky normal form of trees: two children or a word below every node, undone exactly.

A chain of single children is joined into one symbol: ``S+VP``, or ``NP+NNP`` over a word. A
phrase with more than two children is cut into partial phrases. A partial symbol names the phrase
it is part of and, up to the horizontal order, the nearest siblings that have been cut off:
``NP|<DT;JJ>``. With vertical order 2 or more, the symbols of phrases also name their ancestors,
the nearest first: ``NP^<VP;S>``. Tags, and chains over a tag, carry no ancestors.

The characters ``% + < > ;`` in labels are written ``%25 %2B %3C %3E %3B`` in symbols.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import DataError
from ...formats.tree import Tree

__all__ = ["NormalForm", "SymbolParts", "restore", "split_symbol", "symbol_class"]

_JOIN, _PARTIAL, _ABOVE, _SEPARATOR, _CLOSE = "+", "|<", "^<", ";", ">"
_RESERVED = re.compile("[%+<>;]")
_ESCAPED = re.compile("%(25|2B|3C|3E|3B)")


@dataclass(frozen=True)
class NormalForm:
    """How trees are put into Chomsky normal form.

    Attributes
    ----------
    side
        Where the partial phrases of a long phrase go. ``"right"`` cuts off its children from the
        left: A -> X1 A', A' -> X2 A'', and so on. ``"left"`` cuts them off from the right:
        A -> A' Xk, A' -> A'' Xk-1, and so on.
    horizontal
        How many of the siblings cut off last a partial symbol names; None for all of them.
    vertical
        How many labels of the path to the root a phrase's symbol names, its own included.

    Raises
    ------
    DataError
        If a setting is not one of these.
    """

    side: str = "right"
    horizontal: int | None = 1
    vertical: int = 1

    def __post_init__(self) -> None:
        if self.side not in ("left", "right"):
            raise DataError(f"side is {self.side!r}; choose 'left' or 'right'")
        if self.horizontal is not None and self.horizontal < 0:
            raise DataError(
                f"horizontal order is {self.horizontal}; give 0 or more, or None for no limit"
            )
        if self.vertical < 1:
            raise DataError(f"vertical order is {self.vertical}; give 1 or more")

    def apply(self, tree: Tree) -> Tree:
        """Return the tree in normal form; `restore` gives the tree back.

        Parameters
        ----------
        tree
            The tree, which is left as it is.
        """
        plan: list[tuple[list[str], Tree, tuple[str, ...]]] = []
        stack: list[tuple[Tree, tuple[str, ...]]] = [(tree, ())]
        while stack:
            node, above = stack.pop()
            chain = [_escape(node.label)]
            while len(node.children) == 1:
                node = node.children[0]
                chain.append(_escape(node.label))
            plan.append((chain, node, above))
            below = self._history([*reversed(chain), *above])
            stack.extend((child, below) for child in reversed(node.children))
        done: list[Tree] = []
        for chain, node, above in reversed(plan):
            if node.word is not None:
                done.append(Tree(_JOIN.join(chain), word=node.word))
            else:
                children = [done.pop() for _ in node.children]
                done.append(self._phrase(chain, node, above, children))
        return done.pop()

    def _history(self, labels: list[str]) -> tuple[str, ...]:
        return tuple(labels[: self.vertical - 1])

    def _phrase(
        self, chain: list[str], node: Tree, above: tuple[str, ...], children: list[Tree]
    ) -> Tree:
        symbol = _JOIN.join(chain) + _annotation(above)
        # Partial phrases belong to the last label of a chain, so that S+VP shares them with VP.
        suffix = _annotation(self._history([*reversed(chain[:-1]), *above]))
        labels = [_escape(child.label) for child in node.children]

        def partial(siblings: Sequence[str]) -> str:
            return f"{chain[-1]}{_PARTIAL}{_SEPARATOR.join(siblings)}{_CLOSE}{suffix}"

        n = len(children)
        order = n if self.horizontal is None else self.horizontal
        if self.side == "right":
            rest = children[-1]
            for i in range(n - 2, 0, -1):
                rest = Tree(partial(labels[max(0, i - order) : i]), (children[i], rest))
            return Tree(symbol, (children[0], rest))
        rest = children[0]
        for i in range(1, n - 1):
            rest = Tree(partial(labels[i + 1 : i + 1 + order]), (rest, children[i]))
        return Tree(symbol, (rest, children[-1]))


def restore(tree: Tree) -> Tree:
    """Undo `NormalForm.apply`, whatever its settings were.

    Parameters
    ----------
    tree
        A tree in normal form.

    Raises
    ------
    DataError
        If a partial symbol stands at the root or over a word.
    """

    def leaf(node: Tree) -> list[Tree]:
        labels, partial = split_symbol(node.label)
        if partial:
            raise DataError(
                f"the partial symbol {node.label!r} stands over the word {node.word!r}; partial "
                "phrases have two children"
            )
        return [_chain(labels, Tree(labels[-1], word=node.word))]

    def phrase(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        children = [child for part in below for child in part]
        labels, partial = split_symbol(node.label)
        return children if partial else [_chain(labels, Tree(labels[-1], tuple(children)))]

    found = tree.fold(leaf, phrase)
    if len(found) != 1:
        raise DataError(
            f"the partial symbol {tree.label!r} stands at the root; take a start symbol that is "
            "a whole phrase"
        )
    return found[0]


class SymbolParts(NamedTuple):
    """What a symbol of the normal form is made of.

    Attributes
    ----------
    labels
        The labels of the chain, the topmost first; for a partial symbol, the phrase's one.
    partial
        Whether the symbol is that of a partial phrase.
    """

    labels: tuple[str, ...]
    partial: bool


def split_symbol(symbol: str) -> SymbolParts:
    """Take a symbol of the normal form apart; its ancestors and siblings are left out."""
    base, bar, _ = symbol.partition(_PARTIAL)
    chain = base.partition(_ABOVE)[0].split(_JOIN)
    return SymbolParts(tuple(_unescape(label) for label in chain), bool(bar))


def symbol_class(symbol: str) -> str:
    """Return the name of a symbol without its ancestors and siblings.

    ``NP^<S>`` is of class ``NP``, ``NP|<DT;JJ>^<S>`` of class ``NP|<>``.
    """
    base, bar, _ = symbol.partition(_PARTIAL)
    return base + _PARTIAL + _CLOSE if bar else base.partition(_ABOVE)[0]


def _chain(labels: Sequence[str], lowest: Tree) -> Tree:
    for label in reversed(labels[:-1]):
        lowest = Tree(label, (lowest,))
    return lowest


def _annotation(above: Sequence[str]) -> str:
    return f"{_ABOVE}{_SEPARATOR.join(above)}{_CLOSE}" if above else ""


def _escape(label: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match.group()):02X}", label)


def _unescape(label: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), label)
