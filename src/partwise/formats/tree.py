"""Ordered labelled trees over words. Nothing in here recurses, so the depth is not limited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from partwise.errors import DataError

__all__ = ["Bracket", "Tree"]

T = TypeVar("T")


class Bracket(NamedTuple):
    """A labelled range of words, from `start` up to but not including `end`."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A node with the nodes below it: a tag over one word, or a phrase over children.

    Attributes
    ----------
    label
        The part of speech or the category.
    children
        The nodes below, from left to right; empty for a tag.
    word
        The word below; None for a phrase.

    Raises
    ------
    DataError
        If the node has neither children nor a word, or both.

    Examples
    --------
    >>> from partwise.formats import Tree
    >>> tree = Tree("S", (Tree("NN", word="dogs"), Tree("VB", word="bark")))
    >>> print(tree)
    (S (NN dogs) (VB bark))
    >>> tree.words, tree.tags
    (['dogs', 'bark'], ['NN', 'VB'])
    """

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def __post_init__(self) -> None:
        if (self.word is None) != bool(self.children):
            raise DataError(
                f"a node {self.label!r} with "
                f"{'a word and children' if self.children else 'neither a word nor children'}; "
                "give a tag one word and no children, and a phrase children and no word"
            )

    def nodes(self) -> Iterator[Tree]:
        """Iterate over all nodes, parents first and from left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def leaves(self) -> list[Tree]:
        """Return the tags, from left to right."""
        return [node for node in self.nodes() if node.word is not None]

    @property
    def words(self) -> list[str]:
        """The words, from left to right."""
        return [node.word for node in self.nodes() if node.word is not None]

    @property
    def tags(self) -> list[str]:
        """The labels over the words, from left to right."""
        return [node.label for node in self.leaves()]

    def fold(self, leaf: Callable[[Tree], T], phrase: Callable[[Tree, list[T]], T]) -> T:
        """Compute a value from the bottom up.

        Parameters
        ----------
        leaf
            Returns the value of a tag.
        phrase
            Returns the value of a phrase from the node and the values of its children.
        """
        values: list[T] = []
        # Backwards through the pre-order: the values of the children are then on top of the
        # stack, the first child topmost.
        for node in reversed(list(self.nodes())):
            if node.word is not None:
                values.append(leaf(node))
            else:
                values.append(phrase(node, [values.pop() for _ in node.children]))
        return values.pop()

    def brackets(self) -> list[Bracket]:
        """Return the bracket of every phrase, parents first and from left to right."""
        lengths: list[int] = []
        found: list[Bracket] = []
        end = len(self.leaves())
        # Backwards through the pre-order, `end` is the number of words that are not yet visited.
        for node in reversed(list(self.nodes())):
            if node.word is not None:
                lengths.append(1)
                end -= 1
            else:
                length = sum(lengths.pop() for _ in node.children)
                lengths.append(length)
                found.append(Bracket(node.label, end, end + length))
        return found[::-1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        pairs = [(self, other)]
        while pairs:
            a, b = pairs.pop()
            if a is b:
                continue
            if a.label != b.label or a.word != b.word or len(a.children) != len(b.children):
                return False
            pairs.extend(zip(a.children, b.children, strict=True))
        return True

    def __hash__(self) -> int:
        return hash((self.label, self.word, len(self.children)))

    def __str__(self) -> str:
        """Return the tree on one line, in brackets; nothing is escaped."""
        out: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                out.append(")")
                continue
            out.append(f" ({node.label}" if out else f"({node.label}")
            if node.word is not None:
                out.append(f" {node.word})")
            else:
                stack.append(None)
                stack.extend(reversed(node.children))
        return "".join(out)

    def __repr__(self) -> str:
        text = str(self)
        return f"<Tree {text if len(text) <= 200 else text[:200] + '...'}>"
