"""Sentences in codes, and where the words, spans and splits of a sentence are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Ints
from ...formats.tree import Tree
from ...models.vocabulary import Vocabulary
from .templates import COLUMNS, LENGTHS, PAD, TEMPLATE_SHIFT, Template

__all__ = [
    "MARKS",
    "Places",
    "SpanSentence",
    "SpanTokens",
    "code_sentences",
    "encode",
    "places_of",
    "site_keys",
]

#: Returns the numbers of some names, -1 for those that have none.
Find = Callable[[Sequence[str]], npt.NDArray[np.int32]]

#: The codes before those of the vocabulary.
MARKS: Final = ("<unknown>", "<begin>", "<end>")
_BEGIN, _END = 1, 2


class SpanSentence(NamedTuple):
    """The words of a sentence and their tags, None if these are not known."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None

    @classmethod
    def of(cls, tree: Tree) -> SpanSentence:
        """Return the words and tags of a tree."""
        return cls(tuple(tree.words), tuple(tree.tags))


class SpanTokens(NamedTuple):
    """Sentences in codes: 0 is a value that is missing or was not seen in training.

    A sentence of T words takes T + 2 PAD positions: PAD times a begin mark, the words, PAD times
    an end mark. N positions in all.
    """

    first: Ints  # sentences: the position of the first word
    lengths: Ints  # sentences: T
    code: npt.NDArray[np.int64]  # columns, N


class Places(NamedTuple):
    """Sites, by the positions that their features look at; S sites.

    ``left`` and ``right`` are the words beside the split; those of words and spans are not used.
    """

    first: Ints  # S
    last: Ints
    left: Ints
    right: Ints


def _values(sentence: SpanSentence) -> list[Sequence[str]]:
    words = sentence.words
    return [
        words,
        sentence.tags if sentence.tags is not None else [""] * len(words),
        [word[:3] for word in words],
        [word[-3:] for word in words],
        [word[-2:] for word in words],
        [word[-1:] for word in words],
        [_shape(word) for word in words],
    ]


def _shape(word: str) -> str:
    """Write ``Xx-d`` for ``Mid-1990``: kinds of characters, runs of one kind once."""
    kinds = "".join(
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word
    )
    return re.sub(r"(.)\1+", r"\1", kinds, flags=re.DOTALL)


def encode(sentences: Sequence[SpanSentence], names: Sequence[Vocabulary]) -> SpanTokens:
    """Replace values by codes; what a vocabulary does not have gets 0."""
    return code_sentences(sentences, [vocabulary.find for vocabulary in names])


def code_sentences(sentences: Sequence[SpanSentence], find: Sequence[Find]) -> SpanTokens:
    """Replace values by codes; what has no number gets 0.

    Parameters
    ----------
    sentences
        The sentences.
    find
        For each column, a function that returns the numbers of some values; -1 for those that have
        none.
    """
    lengths = np.array([len(sentence.words) for sentence in sentences], dtype=np.int64)
    ends = np.cumsum(lengths + 2 * PAD)
    first = ends - lengths - PAD
    code = np.full((len(COLUMNS), int(ends[-1]) if len(ends) else 0), _END, dtype=np.int64)
    for mark in range(1, PAD + 1):
        code[:, first - mark] = _BEGIN
    own = np.arange(lengths.sum()) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    columns = [_values(sentence) for sentence in sentences]
    for column, (row, each) in enumerate(zip(code, find, strict=True)):
        values = [value for some in columns for value in some[column]]
        distinct = list(dict.fromkeys(values))
        codes = (each(distinct).astype(np.int64) + len(MARKS)).tolist()
        index = {v: k if k >= len(MARKS) else 0 for v, k in zip(distinct, codes, strict=True)}
        row[own] = np.fromiter(map(index.__getitem__, values), np.int64, len(values))
    return SpanTokens(first, lengths, code)


def site_keys(template: Template, number: int, tokens: SpanTokens, places: Places) -> Ints:
    """Return the key of a template at every site, -1 where a value is missing.

    Parameters
    ----------
    template, number
        The template, and its number.
    tokens, places
        The sentences in codes, and the sites.
    """
    key = np.full(len(places.first), 0, dtype=np.int64)
    complete = np.ones(len(key), dtype=np.bool_)
    for atom in template:
        if atom.place < 0:
            code = np.searchsorted(LENGTHS, places.last - places.first + 1, side="right")
        else:
            code = tokens.code[atom.column, places[atom.place] + atom.offset]
        complete &= code > 0
        key = (key << atom.bits) | code
    return np.where(complete, key | (number << TEMPLATE_SHIFT), -1)


def places_of(tokens: SpanTokens, which: slice, kind: str) -> Places:
    """Return the sites of some sentences, in the order in which a grammar has them.

    Parameters
    ----------
    tokens
        The sentences.
    which
        Some of them.
    kind
        "word": every word; "span": all (i, j) of two words or more, by i and then j; "split": all
        (i, k, j), by i, then j, then k.
    """
    known: dict[int, tuple[Ints, Ints, Ints]] = {}
    first, last, right = [], [], []
    for at, length in zip(
        tokens.first[which].tolist(), tokens.lengths[which].tolist(), strict=True
    ):
        if length not in known:
            known[length] = _sites(length, kind)
        i, j, k = known[length]
        first.append(at + i)
        last.append(at + j - 1)
        right.append(at + k)
    empty = np.zeros(0, dtype=np.int64)
    split = np.concatenate([*right, empty])
    return Places(np.concatenate([*first, empty]), np.concatenate([*last, empty]), split - 1, split)


def _sites(length: int, kind: str) -> tuple[Ints, Ints, Ints]:
    """Return the sites (i, j, k) of a sentence; k is i where nothing is split."""
    if kind == "word":
        i = np.arange(length)
        return i, i + 1, i
    i, j = np.triu_indices(length + 1, 2)
    if kind == "span":
        return i, j, i
    many = j - i - 1
    i, j = np.repeat(i, many), np.repeat(j, many)
    within = np.arange(len(i)) - np.repeat(np.cumsum(many) - many, many)
    return i, j, i + 1 + within
