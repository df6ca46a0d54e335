"""Trees that are known in part: some of their brackets, with or without a label.

A tree that is known in part has all the brackets that are named, and perhaps others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import DataError, Place
from ...formats.tree import Tree
from ...values import is_integer
from .normal_form import split_symbol
from .tokens import SpanSentence

if TYPE_CHECKING:
    from ...structures.grammar.constraints import GrammarConstraints

__all__ = ["KnownBracket", "PartialTree", "is_marked", "partial_tree", "read_brackets"]


class KnownBracket(NamedTuple):
    """A phrase over the words from start up to but not including end.

    ``labels`` are those that it may have; None if nothing is known of its label.
    """

    start: int
    end: int
    labels: frozenset[str] | None = None


class PartialTree(NamedTuple):
    """A sentence, and what is known of its tree."""

    sentence: SpanSentence
    brackets: tuple[KnownBracket, ...]

    def constraints(self, symbols: Sequence[str]) -> GrammarConstraints:
        """Return the trees that have these brackets, as the grammar takes them.

        Parameters
        ----------
        symbols : sequence of str
            The symbols of the grammar, in the order of their numbers.
        """
        from ...structures.grammar.constraints import GrammarConstraints

        parts = [split_symbol(symbol) for symbol in symbols]
        found: list[Any] = []
        for start, end, labels in self.brackets:
            # Every word is a node, so that an open bracket around it says nothing.
            if labels is None and end == start + 1:
                continue
            allowed = [
                k
                for k, part in enumerate(parts)
                if not part.partial and (labels is None or not labels.isdisjoint(part.labels))
            ]
            found.append((start, end, allowed))
        return GrammarConstraints(brackets=found)


def is_marked(tree: Tree, mark: Any) -> bool:
    """Return whether a label of a tree is the mark of a missing one."""
    return mark is not None and any(node.label == mark for node in tree.nodes())


def partial_tree(tree: Tree, mark: Any) -> PartialTree:
    """Return what a tree says in which the labels of some phrases are missing."""
    brackets = []
    spans: list[tuple[int, int]] = []
    at = len(tree.leaves())
    # Backwards, so that the words of a node are those that have been passed last.
    for node in reversed(list(tree.nodes())):
        if node.word is not None:
            at -= 1
            if node.label == mark:
                raise DataError(
                    f"the word {node.word!r} has no tag; only the labels of phrases may be missing"
                )
            spans.append((at, at + 1))
            continue
        own = [spans.pop() for _ in node.children]
        spans.append((own[0][0], own[-1][1]))
        labels = None if node.label == mark else frozenset({node.label})
        brackets.append(KnownBracket(*spans[-1], labels))
    return PartialTree(SpanSentence.of(tree), tuple(brackets))


def read_brackets(given: Any, trees: Sequence[Tree]) -> list[PartialTree | None]:
    """Read the brackets that are known of trees.

    Parameters
    ----------
    given
        For each tree None if the tree itself is known; or a list of brackets (start, end) or
        (start, end, label), where the label may be a set of labels.
    trees
        The trees, whose words and tags are used.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise DataError(f"y is of type {type(given).__name__}; give a list of brackets per tree")
    items = list(given)
    if len(items) != len(trees):
        raise DataError(f"y has the brackets of {len(items)} trees where there are {len(trees)}")
    return [
        None if item is None else PartialTree(SpanSentence.of(tree), _brackets(item, i, tree))
        for i, (item, tree) in enumerate(zip(items, trees, strict=True))
    ]


def _brackets(item: Any, i: int, tree: Tree) -> tuple[KnownBracket, ...]:
    length, found = len(tree.leaves()), []
    for one in item if isinstance(item, (list, tuple)) else [item]:
        sound = isinstance(one, (list, tuple)) and len(one) in (2, 3)
        start, end, label = (*one, None)[:3] if sound else (None, None, None)
        sound = sound and is_integer(start) and is_integer(end) and 0 <= start < end <= length
        several = label if isinstance(label, (set, frozenset)) else {label} - {None}
        if not sound or not all(isinstance(name, str) for name in several):
            raise DataError(
                f"the bracket {one!r} is not (start, end) or (start, "
                f"end, label) with 0 <= start < end <= {length}",
                place=Place.nth("tree", i),
            )
        found.append(KnownBracket(int(start), int(end), frozenset(several) or None))
    return tuple(found)
