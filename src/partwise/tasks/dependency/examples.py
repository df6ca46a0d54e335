"""Sentences and dependency trees as users hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError, Place
from ...formats.conll import UNKNOWN, Sentence

if TYPE_CHECKING:
    from ...structures.dependency.arcs import ArcConstraints

__all__ = ["read_fixed_heads", "read_sentences", "read_trees"]

_COLUMNS: Final = ("form", "lemma", "cpos", "pos", "feats", "head", "deprel")
_ABSENT: Final = "_"


def read_sentences(given: Any) -> list[Sentence]:
    """Read sentences of any of the known shapes.

    Parameters
    ----------
    given : iterable
        Each item a :class:`partwise.formats.Sentence`; or a dict of columns, lists with one
        entry per word (``{"form": [...], "pos": [...]}``); or a list of words, each a dict
        (``{"form": "dog", "pos": "NN", "head": 2}``). Columns are form, lemma, cpos, pos, feats,
        head and deprel; all but the form may be missing.
    """
    single = isinstance(given, (str, bytes, Mapping, Sentence))
    if single or not isinstance(given, Iterable):
        raise DataError(f"sentences are of type {type(given).__name__}; give a list of sentences")
    return [_sentence(item, s) for s, item in enumerate(given)]


def _sentence(item: Any, s: int) -> Sentence:
    if isinstance(item, Sentence):
        return item
    where = Place.nth("sentence", s)
    if isinstance(item, Mapping):
        columns = {name: _values(column, name, where) for name, column in item.items()}
    elif isinstance(item, (list, tuple)) and all(isinstance(word, Mapping) for word in item):
        names = dict.fromkeys(name for word in item for name in word)
        columns = {
            name: [word.get(name, UNKNOWN if name == "head" else _ABSENT) for word in item]
            for name in names
        }
    else:
        raise DataError(
            f"is of type {type(item).__name__}; give a Sentence, a dict of columns or a "
            "list of words, each a dict",
            place=where,
            subject=True,
        )
    _check_columns(columns, where)
    form = columns.pop("form")
    try:
        return Sentence.from_columns(form, **columns)
    except DataError as error:
        error.place = where
        raise


def _values(column: Any, what: str, place: Place) -> list[Any]:
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise DataError(
            f"{what} is {column!r}; give a list with one entry a word".lstrip(),
            place=place,
            subject=not what,
        )
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _check_columns(columns: Mapping[Any, list[Any]], where: Place) -> None:
    unknown = [name for name in columns if name not in _COLUMNS]
    if unknown:
        raise DataError(f"no column {unknown[0]!r}; choose from {', '.join(_COLUMNS)}", place=where)
    if not columns.get("form"):
        raise DataError("has no words; give the form of at least one", place=where, subject=True)
    for name, values in columns.items():
        wanted: Any = (int, np.integer) if name == "head" else str
        for t, value in enumerate(values, 1):
            if not isinstance(value, wanted) or isinstance(value, bool):
                what = "a whole number" if name == "head" else "a string"
                raise DataError(
                    f"the {name} of word {t} (counted from 1) is {value!r}; give {what}",
                    place=where,
                )


def read_trees(
    sentences: Sequence[Sentence], heads: Any, labels: Any, labelled: bool
) -> tuple[list[list[Any]], list[list[Any]] | None]:
    """Read trees: those that are given, else those of the sentences.

    Parameters
    ----------
    sentences
        The sentences.
    heads
        None, or for each sentence a list of the heads of its words, or of pairs of a head and a
        label. None is a head that is missing, and a set holds possible ones.
    labels
        None, or for each sentence a list of the labels of its arcs, which may be missing, too.
    labelled
        Whether labels are wanted.

    Returns
    -------
    heads, labels
        A list for each sentence; labels are None if they are not wanted.
    """
    found: list[list[Any]]
    if heads is None:
        found = [list(sentence.head) for sentence in sentences]
    else:
        rows = _parallel(heads, sentences, "heads")
        pairs = [item for row in rows for item in row if item is not None]
        if labels is None and pairs and all(map(_is_pair, pairs)):
            rows = [[(None, None) if item is None else item for item in row] for row in rows]
            labels = [[label for _, label in row] for row in rows]
            rows = [[head for head, _ in row] for row in rows]
        found = [[_heads(h, s, t) for t, h in enumerate(row, 1)] for s, row in enumerate(rows)]
    if not labelled:
        return found, None
    if labels is None:
        names = [list(sentence.deprel) for sentence in sentences]
        if sentences and {name for of in names for name in of} == {_ABSENT}:
            raise DataError("the sentences have no relations (deprel); give labels")
        return found, names
    given = _parallel(labels, sentences, "labels")
    return found, [[_label(x, s, t) for t, x in enumerate(row, 1)] for s, row in enumerate(given)]


def _label(label: Any, s: int, t: int) -> Any:
    """Return a label, a frozenset of labels, or None."""
    several = label if isinstance(label, (set, frozenset)) else (label,)
    if not several or not all(one is None or isinstance(one, str) for one in several):
        raise DataError(
            f"{label!r} of word {t} (counted from 1) is no string, nor a set of strings",
            place=Place.nth("sentence", s, argument="labels"),
        )
    return frozenset(several) if isinstance(label, (set, frozenset)) else label


def _heads(head: Any, s: int, t: int) -> Any:
    """Return a head, a frozenset of heads, or None."""
    if head is None:
        return None
    if isinstance(head, (set, frozenset)) and head:
        return frozenset(_head(one, s, t) for one in head)
    return _head(head, s, t)


def _is_pair(item: Any) -> bool:
    return isinstance(item, (tuple, list)) and len(item) == 2


def _head(head: Any, s: int, t: int) -> int:
    if not isinstance(head, (int, np.integer)) or isinstance(head, bool):
        raise DataError(
            f"{head!r} of word {t} (counted from 1) is no head; give the number of a word, or 0 "
            "for the root",
            place=Place.nth("sentence", s, argument="heads"),
        )
    return int(head)


def _parallel(given: Any, sentences: Sequence[Sentence], what: str) -> list[list[Any]]:
    """Read one list per sentence, with one entry per word."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise DataError(f"{what} are of type {type(given).__name__}; give a list a sentence")
    rows = [
        _values(row, "", Place.nth("sentence", s, argument=what)) for s, row in enumerate(given)
    ]
    if len(rows) != len(sentences):
        raise DataError(f"{what} of {len(rows)} sentences where there are {len(sentences)}")
    for s, (row, sentence) in enumerate(zip(rows, sentences, strict=True)):
        if len(row) != len(sentence):
            raise DataError(
                f"has {len(row)} for {len(sentence)} words; give one a word",
                place=Place.nth("sentence", s, argument=what),
                subject=True,
            )
    return rows


def read_fixed_heads(fixed: Any, sentences: Sequence[Sentence]) -> list[Any] | None:
    """Read what is known of trees before they are predicted.

    Parameters
    ----------
    fixed
        None, or for each sentence one of: None; an `ArcConstraints`; a dict from words (counted
        from 1) to a head or several that are allowed; a list with one entry per word, a head or
        several, None where nothing is known.
    sentences
        The sentences.
    """
    if fixed is None:
        return None
    items = list(fixed)
    if len(items) != len(sentences):
        raise DataError(f"fixed has {len(items)} entries where there are {len(sentences)}")
    pairs = enumerate(zip(items, sentences, strict=True))
    return [_fixed(item, s, len(of)) for s, (item, of) in pairs]


def _fixed(item: Any, s: int, length: int) -> ArcConstraints | None:
    # Structures need the compiler, and a model file is read without it.
    from ...structures.dependency.arcs import ArcConstraints

    if item is None or isinstance(item, ArcConstraints):
        return item
    if not isinstance(item, Mapping):
        known = _values(item, "", Place.item("fixed", s))
        if len(known) != length:
            raise DataError(
                f"has {len(known)} entries for {length} words",
                place=Place.item("fixed", s),
                subject=True,
            )
        item = dict(enumerate(known, 1))
    heads = []
    for word, of in item.items():
        if of is None:
            continue
        if not isinstance(word, (int, np.integer)) or not 1 <= word <= length:
            raise DataError(
                f"names the word {word!r}; there are 1 to {length}",
                place=Place.item("fixed", s),
                subject=True,
            )
        several = (
            [of]
            if isinstance(of, (int, np.integer))
            else _values(of, "", Place.item("fixed", s, "word", int(word)))
        )
        if not several:
            raise DataError(
                f"allows no head for word {word}; give at least one",
                place=Place.item("fixed", s),
                subject=True,
            )
        heads.append((int(word), [_head(head, s, int(word)) for head in several]))
    return ArcConstraints(heads=heads)
