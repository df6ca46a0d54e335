"""Feature templates for column files, applied without making one string per token."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, ModelFileError
from partwise.formats.columns import Columns
from partwise.models.tally import Tally
from partwise.models.vocabulary import Vocabulary
from partwise.problem.rows import Rows

__all__ = [
    "MAX_COLUMNS",
    "WORD_AND_TAG",
    "Conjunction",
    "TemplateSet",
    "View",
    "extract",
    "extract_fit",
    "template_for",
    "word_shape",
]

_BEGIN = "__BOS__"
_END = "__EOS__"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MAX_OFFSET = 100
#: The maximum number of input columns that templates can use.
MAX_COLUMNS = 2**15 + 1
_MAX_KEY = 2**62
#: Used instead of the number of a feature that a token does not have, or that has no number.
_ABSENT, _UNKNOWN = -1, -2


def word_shape(word: str) -> str:
    """Return the kinds of characters in order, with runs collapsed: `McX-12` is `XxX-0`."""
    kinds = "".join(
        "X" if c.isupper() else "x" if c.islower() else "0" if c.isdigit() else c for c in word
    )
    return re.sub(r"(.)\1+", r"\1", kinds, flags=re.DOTALL)


def _affix(length: int, suffix: bool) -> Callable[[str], str | None]:
    def cut(word: str) -> str | None:
        if len(word) < length:
            return None
        return word[-length:] if suffix else word[:length]

    return cut


def _flag(test: Callable[[str], bool]) -> Callable[[str], str | None]:
    return lambda word: "1" if test(word) else None


# What can be derived from a field. If the result is None, the feature is absent.
_KINDS: dict[str, Callable[[str], str | None]] = {
    "same": lambda word: word,
    "lower": str.lower,
    **{f"prefix{n}": _affix(n, suffix=False) for n in range(1, 5)},
    **{f"suffix{n}": _affix(n, suffix=True) for n in range(1, 5)},
    "shape": word_shape,
    "digit": _flag(lambda word: any(map(str.isdigit, word))),
    "hyphen": _flag(lambda word: "-" in word),
    "title": _flag(str.istitle),
    "upper": _flag(str.isupper),
}


@dataclass(frozen=True)
class View:
    """One way to look at an input column.

    Attributes
    ----------
    name
        Its name in the names of features.
    column
        The input column, counted from 0.
    kind
        ``"same"`` for the field itself, or what to derive from it: ``"lower"``, ``"prefix1"`` to
        ``"prefix4"``, ``"suffix1"`` to ``"suffix4"``, ``"shape"``, ``"digit"``, ``"hyphen"``,
        ``"title"`` or ``"upper"``.
    """

    name: str
    column: int
    kind: str = "same"


Conjunction = tuple[tuple[int, int], ...]
"""Pairs of a view's number and an offset in tokens; ``w[-1]|w[0]`` is ``((0, -1), (0, 0))``."""


@dataclass(frozen=True)
class TemplateSet:
    """The features of a token, in terms of the columns around it.

    Attributes
    ----------
    views
        The ways to look at the columns.
    conjunctions
        The templates. Each gives a token one feature, named as in ``w[-1]|w[0]=the|dog``, or none
        if it reaches outside the sentence.
    edges
        Whether the first token of a sentence gets ``__BOS__`` and the last ``__EOS__``.
    """

    views: tuple[View, ...]
    conjunctions: tuple[Conjunction, ...]
    edges: bool = True

    @property
    def n_columns(self) -> int:
        """The number of input columns that are used."""
        return 1 + max(view.column for view in self.views)

    def name(self, conjunction: Conjunction) -> str:
        """Return the name of a conjunction, such as ``w[-1]|w[0]``."""
        return "|".join(f"{self.views[view].name}[{offset}]" for view, offset in conjunction)

    def to_json(self) -> dict[str, Any]:
        """Return the set as JSON can hold it."""
        return {
            "views": [[view.name, view.column, view.kind] for view in self.views],
            "conjunctions": [[list(item) for item in items] for items in self.conjunctions],
            "edges": self.edges,
        }

    @classmethod
    def from_json(cls, data: Any) -> TemplateSet:
        """Rebuild a set from what `to_json` returned.

        Raises
        ------
        ModelFileError
            If the object cannot be the result of `to_json`.
        """
        _check(isinstance(data, dict), "not an object")
        _check(data.keys() == {"views", "conjunctions", "edges"}, "unexpected keys")
        _check(isinstance(data["edges"], bool), "edges is not true or false")
        _check(all(isinstance(data[key], list) for key in ("views", "conjunctions")), "no lists")
        views = tuple(_view(item) for item in data["views"])
        _check(bool(views), "no views")
        _check(len({view.name for view in views}) == len(views), "a view occurs twice")
        conjunctions = tuple(_conjunction(items, len(views)) for items in data["conjunctions"])
        _check(len(set(conjunctions)) == len(conjunctions), "a conjunction occurs twice")
        return cls(views, conjunctions, data["edges"])


def _check(sound: bool, why: str) -> None:
    if not sound:
        raise ModelFileError(f"feature templates: {why}; the model file is damaged")


def _is_int(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _view(item: Any) -> View:
    _check(isinstance(item, list) and len(item) == 3, "a view is not [name, column, kind]")
    name, column, kind = item
    _check(isinstance(name, str) and bool(_NAME.fullmatch(name)), f"bad view name {name!r}")
    _check(_is_int(column, 0, MAX_COLUMNS - 1), f"bad column {column!r}")
    _check(isinstance(kind, str) and kind in _KINDS, f"unknown kind {kind!r}")
    return View(name, column, kind)


def _conjunction(items: Any, n_views: int) -> Conjunction:
    _check(isinstance(items, list) and bool(items), "a conjunction is not a list of items")
    for item in items:
        _check(isinstance(item, list) and len(item) == 2, "an item is not [view, offset]")
        _check(_is_int(item[0], 0, n_views - 1), f"bad view number {item[0]!r}")
        _check(_is_int(item[1], -_MAX_OFFSET, _MAX_OFFSET), f"bad offset {item[1]!r}")
    return tuple((item[0], item[1]) for item in items)


def template_for(n_columns: int, spelling: bool = False) -> TemplateSet:
    """Return the default templates for files with some number of input columns.

    The first column is the word: itself, its neighbours up to two tokens away, and the bigrams
    that hold it. Every further column is used like a part of speech: the same window, and all
    bigrams and trigrams within it. For two columns these are the features of CRFsuite's chunking
    tutorial.

    Parameters
    ----------
    n_columns
        The number of input columns, without the label.
    spelling
        Whether to also use the spelling of the word: lower case (also of its neighbours), prefixes
        and suffixes of 1 to 4 characters, shape, and whether it has digits, has hyphens, or is
        capitalised.

    Returns
    -------
    TemplateSet
    """
    if n_columns < 1:
        raise DataError(f"{n_columns} input columns where at least 1 is needed")
    names = ["w", "pos", *(f"col{n}" for n in range(3, n_columns + 1))][:n_columns]
    views = [View(name, column) for column, name in enumerate(names)]
    runs = [(-2, -2), (-1, -1), (0, 0), (1, 1), (2, 2), (-1, 0), (0, 1)]
    conjunctions = [_run(0, first, last) for first, last in runs]
    runs = [*runs[:5], (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, 0), (-1, 1), (0, 2)]
    for column in range(1, n_columns):
        conjunctions.extend(_run(column, first, last) for first, last in runs)
    if spelling:
        for kind in _KINDS:
            if kind == "same":
                continue
            offsets = (-1, 0, 1) if kind == "lower" else (0,)
            conjunctions.extend(((len(views), offset),) for offset in offsets)
            views.append(View(kind, 0, kind))
    return TemplateSet(tuple(views), tuple(conjunctions))


def _run(view: int, first: int, last: int) -> Conjunction:
    return tuple((view, offset) for offset in range(first, last + 1))


WORD_AND_TAG: TemplateSet = template_for(2)
"""The features of CRFsuite's chunking tutorial, for the columns word and part of speech."""


def extract_fit(columns: Columns, templates: TemplateSet) -> tuple[Rows, Vocabulary]:
    """Apply templates, and number the features that occur.

    Parameters
    ----------
    columns
        The tokens.
    templates
        The templates.

    Returns
    -------
    rows, vocabulary
        The features of every token, ordered by template, and their names.
    """
    index: dict[str, int] = {}
    table = _table(columns, templates, lambda name: index.setdefault(name, len(index)))
    return _rows(table, len(index)), Vocabulary(index)


def extract(
    columns: Columns,
    templates: TemplateSet,
    vocabulary: Vocabulary,
    tally: Tally | None = None,
) -> Rows:
    """Apply templates, and look up the features; those without a number are dropped.

    Parameters
    ----------
    columns
        The tokens.
    templates, vocabulary
        The templates that `extract_fit` was called with, and the vocabulary that it returned.
    tally
        Counts the given and the known features, if it is not None.

    Returns
    -------
    Rows
    """
    index = vocabulary.index
    table = _table(columns, templates, lambda name: index.get(name, _UNKNOWN))
    if tally is not None:
        # The ends of sentences come last. They do not count, because they are always known.
        inner = table[:, : len(templates.conjunctions)]
        tally.add(int((inner != _ABSENT).sum()), int((inner >= 0).sum()))
    return _rows(table, len(vocabulary))


def _rows(table: NDArray[np.int32], n_features: int) -> Rows:
    present = table >= 0
    indptr = np.zeros(len(table) + 1, np.int64)
    np.cumsum(np.count_nonzero(present, axis=1), out=indptr[1:])
    return Rows(indptr, table[present], None, n_features)


def _table(
    columns: Columns, templates: TemplateSet, number: Callable[[str], int]
) -> NDArray[np.int32]:
    """Return the feature of every token (row) and template (column), _ABSENT if it has none."""
    if templates.n_columns > len(columns.fields):
        raise DataError(
            f"{columns.path}: {len(columns.fields)} input columns where the templates look at "
            f"{templates.n_columns}; give the columns that the templates were made for"
        )
    conjunctions = templates.conjunctions
    table = np.full((len(columns), len(conjunctions) + 2 * templates.edges), _ABSENT, np.int32)
    starts = np.cumsum(columns.lengths) - columns.lengths
    before = np.arange(len(columns)) - np.repeat(starts, columns.lengths)
    after = np.repeat(columns.lengths, columns.lengths) - 1 - before
    coded = _coded(columns, templates.views)
    for place, conjunction in enumerate(conjunctions):
        offsets = [offset for _, offset in conjunction]
        tokens = np.flatnonzero((before >= -min(offsets)) & (after >= max(offsets)))
        for view, offset in conjunction:
            tokens = tokens[coded[view][0][tokens + offset] >= 0]
        parts = [(coded[view][0][tokens + offset], coded[view][1]) for view, offset in conjunction]
        first, inverse = _distinct([(codes, len(values)) for codes, values in parts])
        texts = [map(values.__getitem__, codes[first].tolist()) for codes, values in parts]
        prefix = templates.name(conjunction) + "="
        # Joining may give two combinations ("a|b", "c" and "a", "b|c") the same name: both then get
        # the same number, as they would if features were strings throughout.
        names = map("|".join, zip(*texts, strict=True))
        numbers = np.fromiter((number(prefix + name) for name in names), np.int32, len(first))
        table[tokens, place] = numbers[inverse]
    if templates.edges and len(columns):
        table[before == 0, -2] = number(_BEGIN)
        table[after == 0, -1] = number(_END)
    return table


def _coded(columns: Columns, views: tuple[View, ...]) -> list[tuple[NDArray[np.int64], list[str]]]:
    """Return, for every view, the code of every token (-1 if absent) and the texts of the codes."""
    by_column: dict[int, tuple[NDArray[np.int64], list[str]]] = {}
    result = []
    for view in views:
        if view.column not in by_column:
            field = columns.fields[view.column]
            index = {text: code for code, text in enumerate(dict.fromkeys(field))}
            codes = np.fromiter(map(index.__getitem__, field), np.int64, len(field))
            by_column[view.column] = codes, list(index)
        codes, texts = by_column[view.column]
        if view.kind != "same":
            derived = list(map(_KINDS[view.kind], texts))
            present = dict.fromkeys(text for text in derived if text is not None)
            index = {text: code for code, text in enumerate(present)}
            recode = np.array([-1 if text is None else index[text] for text in derived], np.int64)
            codes, texts = recode[codes], list(index)
        result.append((codes, texts))
    return result


def _distinct(
    parts: list[tuple[NDArray[np.int64], int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct combinations of codes.

    Parameters
    ----------
    parts
        Parallel arrays of codes, each with the number of distinct codes.

    Returns
    -------
    first, inverse
        The first position of each distinct combination, and the combination at each position.
    """
    key, size = parts[0]
    for codes, more in parts[1:]:
        if size * more > _MAX_KEY:
            seen, key = np.unique(key, return_inverse=True)
            size = len(seen)
        key = key * more + codes
        size *= more
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return first, inverse
