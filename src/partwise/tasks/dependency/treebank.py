"""Sentences and their dependency trees, from Python or from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import DataError, Place
from ...formats.conll import Sentence
from ..source import Source
from .examples import read_sentences, read_trees
from .partial_trees import certain_words, with_missing

__all__ = ["Treebank", "filled", "no_relations", "separated"]


@dataclass(frozen=True, eq=False)
class Treebank(Source):
    """Sentences and their trees.

    Attributes
    ----------
    sentences : list of Sentence
        The sentences.
    heads : list of list of int
        For each sentence the head of every word; `partwise.formats.conll.UNKNOWN` where a file to
        be parsed leaves it open, None where the head is missing, and a frozenset of possible heads.
    relations : list of list of str or None
        For each sentence the relation of every word to its head, or None, or a frozenset; None if
        they were not asked for.
    path : str or None
        The file that they were read from.
    """

    sentences: list[Sentence]
    heads: list[list[Any]]
    relations: list[list[Any]] | None = None
    path: str | None = None

    @classmethod
    def of(cls, sentences: Any, heads: Any, labels: Any, labelled: bool) -> Treebank:
        """Check what a user gives, see `read_sentences` and `read_trees`."""
        read = read_sentences(sentences)
        return cls(read, *read_trees(read, heads, labels, labelled))

    @classmethod
    def of_file(
        cls,
        reader: Callable[..., list[Sentence]],
        path: str,
        *,
        labelled: bool,
        single_root: bool = False,
    ) -> Treebank:
        """Read a file; parameters are those of :func:`partwise.formats.read_conll`."""
        sentences = reader(path, labelled=labelled, single_root=single_root)
        heads = [sentence.head for sentence in sentences]
        relations = [sentence.deprel for sentence in sentences]
        return cls(sentences, heads, relations, "<stdin>" if path == "-" else path)

    def with_missing(self, mark: Any, labelled: bool) -> Treebank:
        """Return the trees with None in the place of a mark, and without unwanted relations."""
        wanted = self.relations if labelled else None
        heads, relations = with_missing(self.heads, wanted, mark)
        return Treebank(self.sentences, heads, relations, self.path)

    def certain(self) -> list[list[int]]:
        """Return for each sentence the words, counted from 0, of which all is known."""
        relations = [None] * len(self) if self.relations is None else self.relations
        return [certain_words(*pair) for pair in zip(self.heads, relations, strict=True)]

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def n_positions(self) -> int:
        return sum(map(len, self.sentences))

    def trees(self) -> list[Any]:
        """Return the heads of every sentence; with relations, pairs of head and relation."""
        if self.relations is None:
            return list(self.heads)
        pairs = zip(self.heads, self.relations, strict=True)
        return [list(zip(*pair, strict=True)) for pair in pairs]

    def given(self) -> tuple[Any, Any, dict[str, Any]]:
        return self.sentences, self.trees(), {}

    def take(self, which: Sequence[int]) -> Treebank:
        relations = None if self.relations is None else [self.relations[i] for i in which]
        sentences, heads = [self.sentences[i] for i in which], [self.heads[i] for i in which]
        return Treebank(sentences, heads, relations, self.path)


def no_relations(path: str | None) -> DataError:
    """Return the error for a file in which no word has a relation, where they are wanted."""
    return DataError(
        "--labelled, and no word has a relation (column 8); leave --labelled out, or give "
        "a file with relations",
        place=Place(path),
    )


def separated(
    trees: Sequence[Any], labelled: bool
) -> tuple[list[list[int]], list[list[str]] | None]:
    """Return the heads and the relations of predicted trees; None if they have no relations."""
    if not labelled:
        return list(trees), None
    relations = [[relation for _, relation in tree] for tree in trees]
    return [[head for head, _ in tree] for tree in trees], relations


def filled(sentences: Sequence[Sentence], trees: Sequence[Any], labelled: bool) -> list[Sentence]:
    """Return sentences with predicted trees; those without relations leave the old ones."""
    heads, relations = separated(trees, labelled)
    names = [None] * len(heads) if relations is None else relations
    return [s.with_tree(head, of) for s, head, of in zip(sentences, heads, names, strict=True)]
