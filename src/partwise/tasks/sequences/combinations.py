"""The distinct combinations of what templates see, and the names and numbers that they get.

They are found by the codes of the values of columns. Features are numbered in the order in which
they are first seen: by rows, and in a row by templates. So the numbers of the features of some text
are the same whether it is read at once or in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...formats.columns import Columns

if TYPE_CHECKING:
    from .extraction import Item, Plan, Recipe

__all__ = ["ABSENT", "Combinations", "Found"]

#: Used instead of the number of a feature that a token does not have.
ABSENT: Final = -1
_BEGIN: Final = "__BOS__"
_END: Final = "__EOS__"
_MAX_KEY: Final = 2**62
#: So few tokens have hardly any combination twice, so that all of theirs get names.
_FEW: Final = 100
#: Combinations are found in a table, and not by sorting, up to this number of entries per token.
_SPARE: Final = 4

_LAST: Final = np.array([ABSENT], np.int32)

_Codes = NDArray[np.int64]


class Found(NamedTuple):
    """The distinct features that one template gives.

    Attributes
    ----------
    texts
        The fixed parts of their names.
    items
        What stands between them: for each item its texts, and which of them each feature has.
    first
        The first row that has each feature.
    """

    texts: tuple[str, ...]
    items: Sequence[tuple[Sequence[str], _Codes]]
    first: _Codes


class Combinations:
    """The features of all tokens, or pairs of tokens, before they have numbers.

    Attributes
    ----------
    found : list of Found
        The features of each template, and then those of the ends of sentences.
    order : ndarray of int
        The places of all features in `found`, one template after the other, in the order in which
        they are first seen.
    table : ndarray of shape (templates, tokens)
        Which of its features a template gives to each token; ABSENT if none.
    """

    def __init__(self, columns: Columns, plan: Plan) -> None:
        self._plan, lengths = plan, columns.lengths
        starts = np.cumsum(lengths) - lengths
        # Where each token stands in its sentence.
        self._before = np.arange(len(columns.lines)) - np.repeat(starts, lengths)
        self._after = np.repeat(lengths, lengths) - 1 - self._before
        self._seen = _coded(columns, plan)
        # Several templates look at the same; what they see is kept while it is small.
        self._kept: dict[Item, _Codes] = {}
        every = np.arange(len(self._before))
        if plan.steps:
            every = np.flatnonzero(self._before > 0)
        width = len(plan.recipes) + 2 * plan.edges
        self.table = np.full((width, len(every)), ABSENT, np.int32)
        self.found: list[Found] = []
        for place, recipe in enumerate(plan.recipes):
            self._apply(place, recipe, every)
        if plan.edges:
            for name, away in ((_BEGIN, self._before), (_END, self._after)):
                rows = np.flatnonzero(away == 0)
                self.table[len(self.found), rows] = 0
                self.found.append(Found((name,), [], rows[:1]))
        firsts = [*(one.first for one in self.found), np.zeros(0, np.int64)]
        self.order = np.argsort(np.concatenate(firsts), kind="stable")

    def _apply(self, place: int, recipe: Recipe, every: _Codes) -> None:
        """Apply one template to some tokens."""
        parts = [self._codes(item, every) for item in recipe.items]
        texts = [self._seen[item.look][1] for item in recipe.items]
        # The tokens where nothing is absent; None stands for all of them.
        rows, whole = None, np.ones(len(every), np.bool_)
        for codes in parts:
            whole &= codes >= 0
        if not whole.all():
            rows, parts = np.flatnonzero(whole), [codes[whole] for codes in parts]
        n = len(every) if rows is None else len(rows)
        if parts and n <= _FEW:
            first = inverse = np.arange(n)
        else:
            first, inverse = _distinct(list(zip(parts, map(len, texts), strict=True)), n)
        self.table[place, slice(None) if rows is None else rows] = inverse
        items = [(known, codes[first]) for known, codes in zip(texts, parts, strict=True)]
        self.found.append(Found(recipe.texts, items, first if rows is None else rows[first]))

    def _codes(self, item: Item, tokens: _Codes) -> _Codes:
        """Return the codes of what an item sees from some tokens; -1 if there is nothing."""
        if item in self._kept:
            return self._kept[item]
        codes = self._seen[item.look][0]
        before, after = self._before[tokens], self._after[tokens]
        # The distance from the token to the one that is looked at.
        away: Any = item.offset
        if item.origin != "token":
            away = item.offset + (-before if item.origin == "first" else after + 1)
        early, late = -(before + away), away - after
        out = (early > 0) | (late > 0)
        found: _Codes = codes[np.where(out, 0, tokens + away)]
        if len(tokens) <= _FEW:
            self._kept[item] = found
        if not out.any():
            return found
        if self._plan.outside is None:
            found[out] = -1
            return found
        first, last = map(len, self._plan.outside)
        begin = len(codes) - first - last
        where = np.where(early > 0, np.minimum(early, first), first + np.minimum(late, last)) - 1
        found[out] = codes[begin + where[out]]
        return found

    def names(self) -> list[str]:
        """Return the names of all features, in their order."""
        every = [name for one in self.found for name in _names(one, self._plan.finish)]
        return list(map(every.__getitem__, self.order.tolist()))

    def packed_names(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return what `names` does, packed as in a `NameTable`, without a string per name."""
        from ...models.name_table import concatenated, joined
        from ...models.vocabulary import packed

        # The texts of an item are shared by many templates.
        texts: dict[int, tuple[NDArray[np.uint8], NDArray[np.int64]]] = {}
        names = []
        for one in self.found:
            if self._plan.finish is not None:
                names.append(packed(_names(one, self._plan.finish)))
                continue
            items = []
            for known, codes in one.items:
                if id(known) not in texts:
                    texts[id(known)] = packed(known)
                items.append((*texts[id(known)], codes))
            names.append(joined(one.texts, items, len(one.first)))
        return concatenated(names, self.order)

    def numbered(self, numbers: NDArray[np.int32]) -> tuple[NDArray[np.int32], bool]:
        """Return the table, tokens by templates, with the numbers of features.

        Parameters
        ----------
        numbers
            The numbers of all features, in their order.

        Returns
        -------
        table, repeated
            The table, and whether two templates have a number in common.
        """
        own = np.empty(len(numbers), np.int32)
        own[self.order] = numbers
        seen, repeated, begin = np.zeros(1 + own.max(initial=0), np.bool_), False, 0
        for place, (row, one) in enumerate(zip(self.table, self.found, strict=True)):
            mine = own[begin : begin + len(one.first)]
            begin += len(one.first)
            # The last entry is for ABSENT, which is -1.
            row[:] = np.concatenate((mine, _LAST))[row]
            if place < len(self._plan.recipes):
                known = mine[mine >= 0]
                repeated = repeated or bool(seen[known].any())
                seen[known] = True
        return np.ascontiguousarray(self.table.T), repeated


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


def _names(found: Found, finish: Callable[[str], str] | None) -> list[str]:
    """Return the names of the features of one template, brought into their final form."""
    # Joining may give two combinations ("a|b", "c" and "a", "b|c") the same name: both then get
    # the same number, as they would if features were strings throughout.
    if not found.items:
        names = [found.texts[0]] * len(found.first)
    else:
        form = "%s".join(text.replace("%", "%%") for text in found.texts)
        seen = [map(texts.__getitem__, codes.tolist()) for texts, codes in found.items]
        names = list(map(form.__mod__, zip(*seen, strict=True)))
    return names if finish is None else list(map(finish, names))
