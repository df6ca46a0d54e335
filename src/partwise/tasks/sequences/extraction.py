"""Application of feature templates to columns, without making one string per token.

Templates of every kind become a `Plan`. It is applied to codes of the distinct values of each
column, and only the distinct combinations of codes are written out as names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError
from partwise.formats.columns import Columns
from partwise.models.tally import Tally
from partwise.models.vocabulary import Vocabulary
from partwise.problem.rows import Rows

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
_BEGIN = "__BOS__"
_END = "__EOS__"
_MAX_KEY = 2**62
#: Combinations are found in a table, and not by sorting, up to this number of entries per token.
_SPARE = 4
#: Used instead of the number of a feature that a token does not have, or that has no number.
_ABSENT, _UNKNOWN = -1, -2

_Codes = NDArray[np.int64]
_Number = Callable[[list[str]], NDArray[np.int32]]


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

    def check(self, columns: Columns) -> None:
        """Raise a DataError unless there are all the columns that are used."""
        if self.n_columns > len(columns.fields):
            raise DataError(
                f"{columns.path}: {len(columns.fields)} input columns where the templates look at "
                f"{self.n_columns}; give the columns that the templates were made for"
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
    seen: dict[str, None] = {}

    def number(names: list[str]) -> NDArray[np.int32]:
        seen.update(dict.fromkeys(names))
        if len(seen) == len(names):
            return np.arange(len(names), dtype=np.int32)
        index = dict(zip(seen, range(len(seen)), strict=True))
        return np.fromiter(map(index.__getitem__, names), np.int32, len(names))

    table, repeated = _table(columns, plan, number)
    return _rows(table, len(seen), repeated), Vocabulary(seen)


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
    table, repeated = _table(columns, plan, lambda names: vocabulary.find(names, _UNKNOWN))
    if tally is not None:
        # The ends of sentences come last. They do not count, because they are always known.
        inner = table[:, : len(plan.recipes)]
        tally.add(int((inner != _ABSENT).sum()), int((inner >= 0).sum()))
    return _rows(table, len(vocabulary), repeated)


def _rows(table: NDArray[np.int32], n_features: int, repeated: bool) -> Rows:
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
    return Rows(indptr, table[present], values, n_features)


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


class _Sentences:
    """Where each token stands in its sentence, and the codes of what can be seen there."""

    def __init__(self, columns: Columns, plan: Plan) -> None:
        lengths = columns.lengths
        starts = np.cumsum(lengths) - lengths
        self.before = np.arange(len(columns)) - np.repeat(starts, lengths)
        self.after = np.repeat(lengths, lengths) - 1 - self.before
        self.outside = plan.outside
        self.seen = _coded(columns, plan)

    def codes(self, item: Item, tokens: _Codes) -> _Codes:
        """Return what an item sees from some tokens; -1 if there is nothing."""
        codes = self.seen[item.look][0]
        before, after = self.before[tokens], self.after[tokens]
        # The distance from the token to the one that is looked at.
        away: Any = item.offset
        if item.origin != "token":
            away = item.offset + (-before if item.origin == "first" else after + 1)
        early, late = -(before + away), away - after
        out = (early > 0) | (late > 0)
        found: _Codes = codes[np.where(out, 0, tokens + away)]
        if not out.any():
            return found
        if self.outside is None:
            found[out] = -1
            return found
        first, last = map(len, self.outside)
        begin = len(codes) - first - last
        where = np.where(early > 0, np.minimum(early, first), first + np.minimum(late, last)) - 1
        found[out] = codes[begin + where[out]]
        return found

    def texts(self, item: Item) -> list[str]:
        """Return the texts of the codes that an item may see."""
        return self.seen[item.look][1]


def _table(columns: Columns, plan: Plan, number: _Number) -> tuple[NDArray[np.int32], bool]:
    """Return the feature of every token (row) and template (column), _ABSENT if it has none.

    `number` is called with all names, in the order in which they are first seen: by rows, and in a
    row by templates. So the numbers of the features of some text are the same whether it is read at
    once or in pieces.

    The second result is whether two templates have given the same feature, so that a token may
    have it twice.
    """
    sentences = _Sentences(columns, plan)
    every = np.flatnonzero(sentences.before > 0) if plan.steps else np.arange(len(columns))
    width = len(plan.recipes) + 2 * plan.edges
    # Templates by tokens, until all have their numbers. Before that, the names of each template are
    # counted on their own.
    table = np.full((width, len(every)), _ABSENT, np.int32)
    names, first = [], []
    for place, recipe in enumerate(plan.recipes):
        rows, found, begins = _applied(sentences, plan, recipe, every)
        table[place, slice(None) if rows is None else rows] = found.inverse
        names.append(found.names)
        first.append(begins)
    if plan.edges:
        for place, (name, away) in enumerate(((_BEGIN, sentences.before), (_END, sentences.after))):
            rows = np.flatnonzero(away == 0)
            table[place - 2, rows] = 0
            names.append([name][: len(rows)])
            first.append(rows[:1])
    numbers = _numbered(names, first, number)
    for row, mine in zip(table, numbers, strict=True):
        # The last entry is for -1, which is absent.
        row[:] = np.append(mine, np.int32(_ABSENT))[row]
    repeated = _shared(numbers[: len(plan.recipes)])
    return np.ascontiguousarray(table.T), repeated


def _shared(numbers: Sequence[NDArray[np.int32]]) -> bool:
    """Return whether two templates have a number in common."""
    seen = np.zeros(1 + max((int(mine.max(initial=0)) for mine in numbers), default=0), np.bool_)
    for mine in numbers:
        known = mine[mine >= 0]
        if seen[known].any():
            return True
        seen[known] = True
    return False


class _Names(NamedTuple):
    """The names that one template gives, and which of them each row has."""

    names: list[str]
    inverse: _Codes


def _applied(
    sentences: _Sentences, plan: Plan, recipe: Recipe, every: _Codes
) -> tuple[_Codes | None, _Names, _Codes]:
    """Apply one template to some tokens.

    Returns
    -------
    rows, names, first
        The rows that have a feature, where None is all of them; its names; and the first row that
        has each name.
    """
    rows, parts = _present([sentences.codes(item, every) for item in recipe.items], len(every))
    texts = [sentences.texts(item) for item in recipe.items]
    n = len(every) if rows is None else len(rows)
    first, inverse = _distinct(list(zip(parts, map(len, texts), strict=True)), n)
    # Joining may give two combinations ("a|b", "c" and "a", "b|c") the same name: both then get
    # the same number, as they would if features were strings throughout.
    columns_of = [
        map(known_as.__getitem__, codes[first].tolist())
        for codes, known_as in zip(parts, texts, strict=True)
    ]
    names = _joined(recipe.texts, columns_of, len(first))
    if plan.finish is not None:
        names = list(map(plan.finish, names))
    return rows, _Names(names, inverse), first if rows is None else rows[first]


def _numbered(
    names: Sequence[list[str]], first: Sequence[_Codes], number: _Number
) -> list[NDArray[np.int32]]:
    """Number the names of all templates, by the first row that has them and then by template."""
    if not names:
        return []
    every = list(chain.from_iterable(names))
    order = np.argsort(np.concatenate([*first, np.zeros(0, np.int64)]), kind="stable")
    numbers = np.empty(len(every), np.int32)
    numbers[order] = number(list(map(every.__getitem__, order.tolist())))
    return np.split(numbers, np.cumsum([len(some) for some in names])[:-1])


def _present(parts: list[_Codes], n: int) -> tuple[_Codes | None, list[_Codes]]:
    """Leave out the tokens where something is absent; None stands for all tokens."""
    whole = np.ones(n, np.bool_)
    for codes in parts:
        whole &= codes >= 0
    if whole.all():
        return None, parts
    return np.flatnonzero(whole), [codes[whole] for codes in parts]


def _joined(texts: Sequence[str], items: Sequence[Any], n: int) -> list[str]:
    """Return n names: the texts, and between each two of them what an item saw."""
    if not items:
        return [texts[0]] * n
    form = "%s".join(text.replace("%", "%%") for text in texts)
    return list(map(form.__mod__, zip(*items, strict=True)))


def _coded(columns: Columns, plan: Plan) -> list[tuple[_Codes, list[str]]]:
    """Return, for every look, the code of every token (-1 if absent) and the texts of the codes.

    The codes of what is outside of sentences follow those of the tokens.
    """
    beyond = list(chain(*plan.outside)) if plan.outside is not None else []
    by_column: dict[int, tuple[_Codes, list[str]]] = {}
    result = []
    for look in plan.looks:
        if look.column not in by_column:
            field = columns.fields[look.column]
            index = {text: code for code, text in enumerate(dict.fromkeys(chain(field, beyond)))}
            fields = map(index.__getitem__, chain(field, beyond))
            codes = np.fromiter(fields, np.int64, len(field) + len(beyond))
            by_column[look.column] = codes, list(index)
        codes, texts = by_column[look.column]
        if look.derive is not None:
            derived = list(map(look.derive, texts))
            present = dict.fromkeys(text for text in derived if text is not None)
            index = {text: code for code, text in enumerate(present)}
            recode = np.array([-1 if text is None else index[text] for text in derived], np.int64)
            codes, texts = recode[codes], list(index)
        result.append((codes, texts))
    return result


def _distinct(parts: list[tuple[_Codes, int]], n: int) -> tuple[_Codes, _Codes]:
    """Find the distinct combinations of codes.

    Parameters
    ----------
    parts
        Parallel arrays of codes, each with the number of distinct codes.
    n
        The length of the arrays, if there are none.

    Returns
    -------
    first, inverse
        The first position of each distinct combination, and the combination at each position.
    """
    if not parts:
        return np.zeros(min(1, n), np.int64), np.zeros(n, np.int64)
    key, size = parts[0]
    for codes, more in parts[1:]:
        if size * more > _MAX_KEY:
            seen, key = np.unique(key, return_inverse=True)
            size = len(seen)
        key = key * more + codes
        size *= more
    if size > _SPARE * len(key):
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return first, inverse
    places = np.full(size, -1, np.int64)
    # Of several values for one place the last one stays.
    places[key[::-1]] = np.arange(len(key))[::-1]
    used = np.flatnonzero(places >= 0)
    rank = np.empty(size, np.int64)
    rank[used] = np.arange(len(used))
    return places[used], rank[key]
