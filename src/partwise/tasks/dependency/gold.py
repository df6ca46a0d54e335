"""Dependency trees to train on, made such that a structure can predict them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...formats.conll import UNKNOWN, Sentence
from ...structures.dependency.projectivity import (
    crossing_arcs,
    find_cycle,
    is_projective,
    projectivise,
)
from .partial_trees import allowed_trees, certain_heads, first_uncertain, is_certain, relation_names

if TYPE_CHECKING:
    from ...structures.dependency.arcs import ArcConstraints
    from .treebank import Treebank

__all__ = [
    "Changes",
    "GoldTrees",
    "check_trees",
    "gold_trees",
    "number_trees",
    "refuse_partial",
]

_log = logging.getLogger(__name__)

#: The path of sentences that were given in Python.
_GIVEN: Final = "<columns>"


class Changes(NamedTuple):
    """What was done to trees that are not projective.

    Attributes
    ----------
    trees
        How many trees there were.
    lifted, words
        How many were made projective, and how many of their words were lifted.
    skipped
        How many were left out.
    """

    trees: int = 0
    lifted: int = 0
    words: int = 0
    skipped: int = 0

    def plus(self, other: Changes) -> Changes:
        """Return the changes of these trees and of others."""
        return Changes(*(a + b for a, b in zip(self, other, strict=True)))

    def note(self) -> None:
        """Log a warning if trees were lifted, and one if some were left out."""
        if self.lifted:
            _log.warning(
                "%d of %d trees are not projective: %d words in them were lifted to heads further "
                "up",
                self.lifted, self.trees, self.words,
            )  # fmt: skip
        if self.skipped:
            _log.warning(
                "%d of %d trees are not projective: these sentences were left out",
                self.skipped, self.trees,
            )  # fmt: skip

    def meta(self) -> dict[str, Any]:
        """Return what a model keeps of this."""
        return {"nonprojective": {"lifted": self.lifted, "skipped": self.skipped}}

    def record(self) -> dict[str, Any]:
        """Return the entries in the record of a command."""
        return {"n_lifted": self.lifted, "n_skipped": self.skipped}


@dataclass(frozen=True, eq=False)
class GoldTrees:
    """Sentences and their trees.

    Attributes
    ----------
    sentences
        Those that are trained on.
    trees
        For each sentence an array of shape (T, 2): the head of every word, and the number of its
        relation, 0 without relations.
    relations
        The relations in the order of their numbers; empty if arcs have none.
    kept
        Which of the given sentences these are.
    changes
        What was done to trees that are not projective.
    heads
        For each sentence the heads of its words; None or a frozenset where they are not certain.
    allowed
        For each sentence None if its tree is known, or the trees that it may have; its entry in
        `trees` then has no meaning. None if all trees are known.
    """

    sentences: list[Sentence]
    trees: list[Ints]
    relations: tuple[str, ...]
    kept: list[int]
    changes: Changes
    heads: list[Sequence[Any]]
    allowed: list[ArcConstraints | None] | None = None


def gold_trees(
    sentences: Sequence[Sentence],
    heads: Sequence[Sequence[Any]],
    relations: Sequence[Sequence[Any]] | None = None,
    *,
    projective: bool = True,
    single_root: bool = True,
    nonprojective: str = "lift",
    names: Sequence[str] | None = None,
) -> GoldTrees:
    """Check trees, and lift or leave out those that are not projective if they have to be.

    What was lifted or left out is counted, and not logged.

    Parameters
    ----------
    sentences
        The sentences.
    heads
        For each sentence the head of every word; 0 is the root. A frozenset holds heads of which
        one is right, and None is any head.
    relations
        For each sentence the relation of every word to its head, or a frozenset, or None; None
        without relations.
    projective
        Whether trees must be projective.
    single_root
        Whether exactly one word must hang from the root.
    nonprojective
        If trees must be projective: "lift" words of others until they are
        (:func:`partwise.structures.dependency.projectivity.projectivise`), "skip" these
        sentences, or "raise".
    names
        The relations in the order of their numbers; None: those that occur, sorted.

    Raises
    ------
    DataError
        If heads form no tree, or one that is not wanted; the message names the sentence.
    """
    if relations is None:
        names = ()
    elif names is None:
        names = relation_names(relations)
    kept: list[int] = []
    chosen: list[Sequence[Any]] = []
    lifted = words = 0
    for i, (sentence, of) in enumerate(zip(sentences, heads, strict=True)):
        if not is_certain(of, None if relations is None else relations[i]):
            kept.append(i)
            chosen.append(of)
            continue
        _check_tree(sentence, i, of, single_root)
        if projective and not is_projective(of):
            if nonprojective == "raise":
                raise DataError(_crossing(of), place=_name(sentence, i))
            if nonprojective == "skip":
                continue
            of, moved = projectivise(of)
            lifted += 1
            words += len(moved)
        kept.append(i)
        chosen.append(of)
    skipped = len(sentences) - len(kept)
    own = None if relations is None else [relations[i] for i in kept]
    return GoldTrees(
        [sentences[i] for i in kept],
        number_trees(list(map(certain_heads, chosen)), own, names),
        tuple(names),
        kept,
        Changes(len(sentences), lifted, words, skipped),
        chosen,
        _allowed([sentences[i] for i in kept], kept, chosen, own, names),
    )


def _allowed(
    sentences: Sequence[Sentence],
    numbers: Sequence[int],
    heads: Sequence[Sequence[Any]],
    relations: Sequence[Sequence[Any]] | None,
    names: Sequence[str],
) -> list[ArcConstraints | None] | None:
    """Return the trees that sentences may have, None for those whose tree is known."""
    index = {name: number for number, name in enumerate(names)}
    found: list[ArcConstraints | None] = []
    for i, (number, sentence, of) in enumerate(zip(numbers, sentences, heads, strict=True)):
        own = None if relations is None else relations[i]
        certain = is_certain(of, own)
        where = _name(sentence, number)
        found.append(None if certain else allowed_trees(sentence, where, of, own, index))
    return None if all(one is None for one in found) else found


def refuse_partial(source: Treebank, loss: str) -> None:
    """Raise a DataError that names the first word whose head or relation is not certain."""
    for i, (sentence, heads) in enumerate(zip(source.sentences, source.heads, strict=True)):
        relations = None if source.relations is None else source.relations[i]
        if not is_certain(heads, relations):
            raise DataError(
                f"the head or the relation of word "
                f"{first_uncertain(heads, relations)} (counted from 1) is missing or uncertain, "
                f"and the {loss} loss has no cost for a set of labels; use the log loss",
                place=_name(sentence, i),
            )


def check_trees(
    sentences: Sequence[Sentence],
    heads: Sequence[Sequence[Any]],
    relations: Sequence[Sequence[Any]] | None = None,
    *,
    partial: bool = False,
) -> None:
    """Raise a DataError unless heads form trees of any kind; the message names the sentence.

    If trees may be known in part, those that are not certain are not looked at.
    """
    for i, (sentence, of) in enumerate(zip(sentences, heads, strict=True)):
        own = None if relations is None else relations[i]
        if is_certain(of, own):
            _check_tree(sentence, i, of, single_root=False)
        elif not partial:
            raise DataError(
                f"the head or the relation of word "
                f"{first_uncertain(of, own)} (counted from 1) is missing or uncertain; only whole "
                "trees have a probability",
                place=_name(sentence, i),
            )


def number_trees(
    heads: Sequence[Sequence[int]],
    relations: Sequence[Sequence[str]] | None,
    names: Sequence[Any],
) -> list[Ints]:
    """Return trees as structures take them.

    A tree has one row per word: its head, and the number of its relation, 0 without relations.

    A relation that has no name among `names` gets the number -1.
    """
    index = {name: number for number, name in enumerate(names)}
    trees = []
    for i, of in enumerate(heads):
        tree = np.zeros((len(of), 2), dtype=np.int64)
        tree[:, 0] = of
        if relations is not None:
            tree[:, 1] = [index.get(relation, -1) for relation in relations[i]]
        trees.append(tree)
    return trees


def _name(sentence: Sentence, i: int) -> Place:
    """Return where a sentence stands: in its file, or among those that were given."""
    if sentence.path == _GIVEN:
        return Place.nth("sentence", i)
    return sentence.where(1)


def _check_tree(sentence: Sentence, i: int, heads: Sequence[int], single_root: bool) -> None:
    if len(heads) != len(sentence):
        raise DataError(
            f"{len(heads)} heads for {len(sentence)} words; give one a word",
            place=_name(sentence, i),
        )
    if UNKNOWN in heads:
        raise DataError(
            f"word {list(heads).index(UNKNOWN) + 1} (counted from 1) has no "
            f"head; {_no_head(sentence)}",
            place=_name(sentence, i),
        )
    try:
        cycle = find_cycle(heads)
    except DataError as error:
        error.place = _name(sentence, i)
        raise
    if cycle:
        words, are = f"words {', '.join(map(str, cycle))}", "are heads of each other"
        if len(cycle) == 1:
            words, are = f"word {cycle[0]}", "is its own head"
        raise DataError(
            f"{words} (counted from 1) {are}; {_no_root(heads)}", place=_name(sentence, i)
        )
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    if single_root and len(roots) > 1:
        raise DataError(
            f"words {roots[0]} and {roots[1]} (counted from 1) both have "
            "head 0 where one word may; attach one to the other, or allow several roots",
            place=_name(sentence, i),
        )


def _no_head(sentence: Sentence) -> str:
    """Return what to do about a word without a head."""
    if sentence.path == _GIVEN:
        return (
            f"it was left out or is {UNKNOWN}. Heads count words from 1, and 0 is the root: if "
            "yours count from 0, add 1 to each; if the head is not known, set missing_label='_'"
        )
    return "sentences to train on or to compare with must be parsed, unless missing_label is '_'"


def _no_root(heads: Sequence[int]) -> str:
    """Return what to do about words that do not hang from the root."""
    if 0 in heads:
        return "correct one, so that all words hang from the root"
    return (
        "no word has the head 0, which is the root. Heads count words from 1: if yours count from "
        "0, add 1 to each, and give 0 to the word that hangs from the root"
    )


def _crossing(heads: Sequence[int]) -> str:
    (a, b), (c, d) = crossing_arcs(heads, limit=1)[0]
    return (
        f"the arcs from {a} to {b} and from {c} to {d} (words counted from 1, 0 is the root) "
        "cross; lift or skip trees that are not projective, or train a parser of any trees"
    )
