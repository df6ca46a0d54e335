"""The built-in feature templates for column files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...errors import DataError, ModelFileError
from .extraction import MAX_COLUMNS, ColumnTemplates, Item, Look, Plan, Recipe

__all__ = [
    "MAX_COLUMNS",
    "Conjunction",
    "TemplateSet",
    "View",
    "template_for",
    "word_shape",
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MAX_OFFSET = 100


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
class TemplateSet(ColumnTemplates):
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
    steps
        Whether pairs of neighbouring tokens have the features of the second one too, as a line with
        ``*`` has it in Wapiti.
    """

    views: tuple[View, ...]
    conjunctions: tuple[Conjunction, ...]
    edges: bool = True
    steps: bool = False

    @cached_property
    def n_columns(self) -> int:
        """The number of input columns that are used."""
        return 1 + max(view.column for view in self.views)

    def name(self, conjunction: Conjunction) -> str:
        """Return the name of a conjunction, such as ``w[-1]|w[0]``."""
        return "|".join(f"{self.views[view].name}[{offset}]" for view, offset in conjunction)

    @property
    def names(self) -> list[str]:
        return list(map(self.name, self.conjunctions))

    @property
    def examples(self) -> list[str]:
        return [f"{name}=..." for name in self.names[:3]]

    @cached_property
    def positions(self) -> Plan:
        looks = (
            Look(view.column, None if view.kind == "same" else _KINDS[view.kind])
            for view in self.views
        )
        recipes = []
        for conjunction in self.conjunctions:
            between = ("|",) * (len(conjunction) - 1)
            texts = (self.name(conjunction) + "=", *between, "")
            recipes.append(Recipe(texts, tuple(Item(*item) for item in conjunction)))
        return Plan(tuple(looks), tuple(recipes), edges=self.edges)

    @cached_property
    def transitions(self) -> Plan | None:
        return replace(self.positions, edges=False, steps=True) if self.steps else None

    def to_json(self) -> dict[str, Any]:
        return {
            "views": [[view.name, view.column, view.kind] for view in self.views],
            "conjunctions": [[list(item) for item in items] for items in self.conjunctions],
            "edges": self.edges,
            # Only where it is not as in most models, so that their files are as they were.
            **({"steps": True} if self.steps else {}),
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
        known = {"views", "conjunctions", "edges"}
        _check(data.keys() - {"steps"} == known, "unexpected keys")
        _check(isinstance(data.get("steps", True), bool), "steps is not true or false")
        _check(isinstance(data["edges"], bool), "edges is not true or false")
        _check(all(isinstance(data[key], list) for key in ("views", "conjunctions")), "no lists")
        views = tuple(_view(item) for item in data["views"])
        _check(bool(views), "no views")
        _check(len({view.name for view in views}) == len(views), "a view occurs twice")
        conjunctions = tuple(_conjunction(items, len(views)) for items in data["conjunctions"])
        _check(len(set(conjunctions)) == len(conjunctions), "a conjunction occurs twice")
        return cls(views, conjunctions, data["edges"], data.get("steps", False))


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
    further = [*runs[:5], (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, 0), (-1, 1), (0, 2)]
    conjunctions: list[Conjunction] = [
        tuple((column, offset) for offset in range(first, last + 1))
        for column in range(n_columns)
        for first, last in (further if column else runs)
    ]
    if spelling:
        for kind in _KINDS:
            if kind == "same":
                continue
            offsets = (-1, 0, 1) if kind == "lower" else (0,)
            conjunctions.extend(((len(views), offset),) for offset in offsets)
            views.append(View(kind, 0, kind))
    return TemplateSet(tuple(views), tuple(conjunctions))
