"""Application of feature templates to columns, without making one string per token.

Templates of every kind become a `Plan`. It is applied to codes of the distinct values of each
column, and only the distinct combinations of codes get names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, Place
from ...formats.columns import Columns
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from ...wording import counted
from .combinations import ABSENT, Combinations

__all__ = [
    "MAX_COLUMNS",
    "ColumnTemplates",
    "Item",
    "Look",
    "Plan",
    "Recipe",
    "look_up",
    "number_features",
]

#: The maximum number of input columns that templates can use.
MAX_COLUMNS = 2**15 + 1
#: Used instead of the number of a feature that has no number.
_UNKNOWN: Final = -2
#: What templates make of themselves, once.
_MADE: Final = ("n_columns", "positions", "transitions")
#: From this number of tokens on, names are numbered by compiled code, in little memory.
_MANY: Final = 5000


class Look(NamedTuple):
    """One way to look at an input column.

    Attributes
    ----------
    column
        The input column, counted from 0.
    derive
        What is derived from a field; None is the field itself. If the result is None, a token has
        no feature.
    """

    column: int
    derive: Callable[[str], str | None] | None = None


class Item(NamedTuple):
    """One look at one token.

    Attributes
    ----------
    look
        The number of the look.
    offset
        The place of the token, counted from the origin.
    origin
        The current token, the first token of the sentence, or the place after its last token.
    """

    look: int
    offset: int
    origin: Literal["token", "first", "end"] = "token"


class Recipe(NamedTuple):
    """One template: texts, and between each two of them an item.

    Attributes
    ----------
    texts
        The fixed parts of the name, one more than there are items.
    items
        What stands between them.
    """

    texts: tuple[str, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Plan:
    """What features tokens have, in terms of the columns around them.

    Attributes
    ----------
    looks
        The ways to look at the columns.
    recipes
        The templates.
    outside
        What fields are outside of a sentence: for the first, second, ... token before it, and the
        same after it; the last one is for all that are farther away. If None, a template that looks
        outside gives no feature.
    finish
        Brings a name into its final form, if it is not None.
    edges
        Whether the first token of a sentence gets ``__BOS__`` and the last ``__EOS__``.
    steps
        Whether the features belong to pairs of neighbouring tokens. They are then made at the
        second one of each pair, so that the first token of a sentence has none.
    """

    looks: tuple[Look, ...]
    recipes: tuple[Recipe, ...]
    outside: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    finish: Callable[[str], str] | None = None
    edges: bool = False
    steps: bool = False


class ColumnTemplates(ABC):
    """Templates of one kind, which travel with a model."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of input columns that are used."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The templates, as users know them."""

    @property
    @abstractmethod
    def examples(self) -> list[str]:
        """Some forms of the names of features, for messages."""

    @property
    @abstractmethod
    def positions(self) -> Plan:
        """The features of tokens."""

    @property
    def transitions(self) -> Plan | None:
        """The features of pairs of neighbouring tokens; None if there are none."""
        return None

    @property
    def plain_transition(self) -> bool:
        """Whether every pair of neighbouring labels has a weight that holds everywhere."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        # Plans hold functions, and are made again.
        return {name: held for name, held in vars(self).items() if name not in _MADE}

    def check(self, columns: Columns) -> None:
        """Raise a DataError unless there are all the columns that are used."""
        if self.n_columns > len(columns.fields):
            raise DataError(
                f"{counted(len(columns.fields), 'input column')} where the "
                f"templates look at {self.n_columns}; give the columns that the templates were "
                "made for",
                place=Place(columns.path),
            )

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the templates as JSON can hold them."""


def number_features(columns: Columns, plan: Plan) -> tuple[Rows, Vocabulary]:
    """Apply a plan, and number the features that occur, in the order in which they are first seen.

    Returns
    -------
    rows, vocabulary
        The features of every token or pair of tokens, and their names.
    """
    found = Combinations(columns, plan)
    if len(columns) >= _MANY:
        from ...models.name_table import NameTable

        table = NameTable()
        numbers = table.add_packed(*found.packed_names())
        vocabulary = table.finish()
    else:
        names = found.names()
        seen = dict.fromkeys(names)
        index = dict(zip(seen, range(len(seen)), strict=True))
        numbers = np.fromiter(map(index.__getitem__, names), np.int32, len(names))
        vocabulary = Vocabulary(seen)
    return _rows(*found.numbered(numbers), len(vocabulary)), vocabulary


def look_up(
    columns: Columns, plan: Plan, vocabulary: Vocabulary, tally: Tally | None = None
) -> Rows:
    """Apply a plan, and look up the features; those without a number are dropped.

    Parameters
    ----------
    columns
        The tokens.
    plan, vocabulary
        The plan that `number_features` was called with, and the vocabulary that it returned.
    tally
        Counts the given and the known features, if it is not None.
    """
    if vocabulary.hashed:
        return vocabulary.rows(*number_features(columns, plan), tally)
    found = Combinations(columns, plan)
    table, repeated = found.numbered(vocabulary.find(found.names(), _UNKNOWN))
    if tally is not None:
        # The ends of sentences come last. They do not count, because they are always known.
        inner = table[:, : len(plan.recipes)]
        tally.add(int((inner != ABSENT).sum()), int((inner >= 0).sum()))
    return _rows(table, repeated, len(vocabulary))


def _rows(table: NDArray[np.int32], repeated: bool, n_features: int) -> Rows:
    """Return the features of each row of a table; one that occurs n times has the value n."""
    present = table >= 0
    times = _times(table) if repeated else None
    if times is not None:
        present &= times > 0
    indptr = np.zeros(len(table) + 1, np.int64)
    np.cumsum(np.count_nonzero(present, axis=1), out=indptr[1:])
    values = None if times is None else times[present].astype(np.float64)
    if values is not None and (values == 1.0).all():
        values = None
    return Rows.sound(indptr, table[present], values, n_features)


def _times(table: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how often each entry occurs in its row, in the place of the first; 0 in the others."""
    order = np.argsort(table, axis=1, kind="stable")
    ranked = np.take_along_axis(table, order, axis=1)
    new = np.ones(table.shape, np.bool_)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    starts = np.flatnonzero(new)
    runs = np.zeros(table.size, np.int64)
    runs[starts] = np.diff(starts, append=table.size)
    times = np.empty(table.shape, np.int64)
    np.put_along_axis(times, order, runs.reshape(table.shape), axis=1)
    return times
