"""Trees that are known in part: heads and relations that are missing, or one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import DataError, Place
from ...formats.conll import UNKNOWN, Sentence

if TYPE_CHECKING:
    from ...structures.dependency.arcs import ArcConstraints

__all__ = [
    "allowed_trees",
    "certain_heads",
    "certain_words",
    "first_uncertain",
    "is_certain",
    "possible_arcs",
    "relation_names",
    "with_missing",
]


def with_missing(
    heads: Sequence[Sequence[Any]], relations: Sequence[Sequence[Any]] | None, mark: Any
) -> tuple[list[list[Any]], list[list[Any]] | None]:
    """Return heads and relations with None in the place of a mark.

    Parameters
    ----------
    heads, relations
        Those of each sentence. A head that a file leaves open, ``_``, is `UNKNOWN`.
    mark
        The relation that stands for a missing one; ``"_"`` is also the mark of a missing head. If
        it is None, nothing is changed.
    """
    if mark is None:
        return list(map(list, heads)), None if relations is None else list(map(list, relations))
    found = [[None if h == UNKNOWN and mark == "_" else h for h in of] for of in heads]
    if relations is None:
        return found, None
    return found, [[None if relation == mark else relation for relation in of] for of in relations]


def is_certain(heads: Sequence[Any], relations: Sequence[Any] | None) -> bool:
    """Return whether all heads and relations of a sentence are known."""
    return not any(
        item is None or isinstance(item, frozenset) for item in (*heads, *(relations or ()))
    )


def certain_heads(heads: Sequence[Any]) -> list[int]:
    """Return the heads of a sentence, `UNKNOWN` where they are not certain."""
    return [UNKNOWN if h is None or isinstance(h, frozenset) else h for h in heads]


def possible_arcs(heads: Sequence[Any]) -> list[list[int]]:
    """Return lists of heads that together hold every arc that the heads of a sentence name once.

    Words of which nothing is known have no arc.
    """
    several = [sorted(h) if isinstance(h, frozenset) else [] for h in heads]
    rows = [certain_heads(heads)]
    for k in range(max(map(len, several), default=0)):
        rows.append([held[k] if k < len(held) else UNKNOWN for held in several])
    return rows


def allowed_trees(
    sentence: Sentence,
    where: Place,
    heads: Sequence[Any],
    relations: Sequence[Any] | None,
    numbers: dict[str, int],
) -> ArcConstraints:
    """Return the trees that a sentence may have, as the structure takes them.

    Parameters
    ----------
    sentence : Sentence
        The sentence.
    where : str
        Where it stands, for messages.
    heads
        The heads of its words: a number, several as a frozenset, or None.
    relations
        The relations of its words, likewise; None without relations.
    numbers
        The number of every relation.
    """
    # Structures need the compiler, and a model file is read without it.
    from ...structures.dependency.arcs import ArcConstraints

    length = len(sentence)
    chosen = []
    for word, held in enumerate(heads, 1):
        if held is None:
            continue
        several = sorted(held) if isinstance(held, frozenset) else [held]
        for head in several:
            if not 0 <= head <= length or head == word:
                raise DataError(
                    f"word {word} (counted from 1) has the head {head}; expected 0 for "
                    f"the root or another word, 1 to {length}",
                    place=where,
                )
        chosen.append((word, several))
    allowed = []
    for word, held in enumerate(relations or (), 1):
        if held is None:
            continue
        several = sorted(held) if isinstance(held, frozenset) else [held]
        known = [numbers[relation] for relation in several]
        allowed += [((head, word), known) for head in range(length + 1) if head != word]
    return ArcConstraints(heads=chosen, allowed=allowed)


def relation_names(relations: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """Return the relations that occur, sorted."""
    found: set[str] = set()
    for of in relations:
        for item in of:
            if item is not None:
                found.update(item if isinstance(item, frozenset) else (item,))
    return tuple(sorted(found))


def first_uncertain(heads: Sequence[Any], relations: Sequence[Any] | None) -> int:
    """Return the first word, counted from 1, whose head or relation is not certain."""
    known = set(certain_words(heads, relations))
    return 1 + next(t for t in range(len(heads)) if t not in known)


def certain_words(heads: Sequence[Any], relations: Sequence[Any] | None) -> list[int]:
    """Return the words, counted from 0, whose head and relation are certain."""
    pairs = zip(heads, heads if relations is None else relations, strict=True)
    return [t for t, pair in enumerate(pairs) if is_certain(pair, None)]
