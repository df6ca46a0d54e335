"""The trees and the sentences that parsers of phrase structure take from users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DataError, Place
from ...formats.brackets import Brackets
from ...formats.tree import Tree
from ..source import Source
from .partial_trees import PartialTree, is_marked, partial_tree
from .tokens import SpanSentence

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Trees", "read_sentences", "read_trees"]


@dataclass(frozen=True, eq=False)
class Trees(Source):
    """Trees from Python or from a bracketed file.

    Attributes
    ----------
    trees : list of Tree
        The trees.
    path : str or None
        The file that they were read from.
    partial : list of PartialTree or None
        For each tree None, or what is known of it instead of the tree. None if there is no such
        tree.
    """

    trees: list[Tree]
    path: str | None = None
    partial: list[PartialTree | None] | None = None

    @classmethod
    def of(cls, brackets: Brackets) -> Self:
        """Return the trees of a file."""
        return cls(brackets.trees, brackets.path)

    def __len__(self) -> int:
        return len(self.trees)

    @property
    def n_positions(self) -> int:
        return sum(len(tree.leaves()) for tree in self.trees)

    def given(self) -> tuple[Any, Any, dict[str, Any]]:
        return self.trees, None, {}

    def take(self, which: Sequence[int]) -> Self:
        partial = None if self.partial is None else [self.partial[i] for i in which]
        return type(self)([self.trees[i] for i in which], self.path, partial)

    def known(self, mark: Any) -> list[PartialTree | None]:
        """Return what is known of each tree; None where the tree is.

        Trees in which a label is the mark of a missing one are known in part.
        """
        given = self.partial or [None] * len(self.trees)
        return [
            partial_tree(tree, mark) if mine is None and is_marked(tree, mark) else mine
            for tree, mine in zip(self.trees, given, strict=True)
        ]


def read_trees(trees: Any) -> list[Tree]:
    """Return trees that a user gives as a list, and raise a DataError for anything else."""
    if isinstance(trees, (Trees, Brackets)):
        return trees.trees
    if isinstance(trees, (str, bytes, Tree)) or not isinstance(trees, Iterable):
        raise DataError(
            f"{type(trees).__name__} where a list of trees is expected; read_brackets(path).trees "
            "gives one"
        )
    read = list(trees)
    for i, tree in enumerate(read):
        if not isinstance(tree, Tree):
            raise DataError(
                f"is a {type(tree).__name__}; expected a "
                "partwise.formats.tree.Tree, as parse_tree and read_brackets give them",
                place=Place.nth("tree", i),
                subject=True,
            )
    return read


def read_sentences(sentences: Any) -> list[SpanSentence]:
    """Return the words and tags of sentences that a user gives.

    Parameters
    ----------
    sentences : iterable
        Trees, lists of pairs (word, tag), lists of words, or sentences that were read before; or
        the trees of a file.
    """
    if isinstance(sentences, (Trees, Brackets)):
        sentences = sentences.trees
    if isinstance(sentences, (str, bytes, Tree)) or not isinstance(sentences, Iterable):
        raise DataError(
            f"{type(sentences).__name__} where a list of sentences is expected; put a single one "
            "into a list"
        )
    return [_read_sentence(i, sentence) for i, sentence in enumerate(sentences)]


def _read_sentence(i: int, sentence: Any) -> SpanSentence:
    if isinstance(sentence, SpanSentence):
        return sentence
    if isinstance(sentence, Tree):
        return SpanSentence.of(sentence)
    if isinstance(sentence, Iterable) and not isinstance(sentence, (str, bytes)):
        items = list(sentence)
        if items and all(isinstance(item, str) for item in items):
            return SpanSentence(tuple(items))
        if items and all(map(_is_pair, items)):
            words, tags = zip(*items, strict=True)
            return SpanSentence(words, tags)
    raise DataError(
        f"is {repr(sentence)[:60]}; expected a list of pairs (word, "
        "tag), a list of words, or a tree, and at least one word",
        place=Place.nth("sentence", i),
        subject=True,
    )


def _is_pair(item: Any) -> bool:
    two = isinstance(item, (tuple, list)) and len(item) == 2
    return two and all(isinstance(text, str) for text in item)
