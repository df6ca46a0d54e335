"""The names and the numbers of the features that templates give.

Features are numbered in the order in which they are first seen: by rows, and in a row by templates.
So the numbers of the features of some text are the same whether it is read at once or in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .combinations import Found

if TYPE_CHECKING:
    from ...models.name_table import NameTable

__all__ = ["number_compactly", "number_strings"]

_Numbers = NDArray[np.int32]
_Finish = Callable[[str], str] | None


def number_strings(
    found: Sequence[Found], finish: _Finish, number: Callable[[list[str]], _Numbers]
) -> list[_Numbers]:
    """Number features by names that are strings.

    Parameters
    ----------
    found
        The features of each template.
    finish
        Brings a name into its final form, if it is not None.
    number
        Returns the numbers of all names.
    """
    every = list(chain.from_iterable(_names(one, finish) for one in found))
    order = _order(found)
    numbers = np.empty(len(every), np.int32)
    numbers[order] = number(list(map(every.__getitem__, order.tolist())))
    return _split(numbers, found)


def number_compactly(found: Sequence[Found], finish: _Finish, table: NameTable) -> list[_Numbers]:
    """Number features by a table of names, without making a string of each name.

    Parameters
    ----------
    found, finish
        As in `number_strings`.
    table
        The table, to which the names are added.
    """
    from ...models.name_table import concatenated, joined
    from ...models.vocabulary import packed

    # The texts of an item are shared by many templates.
    texts: dict[int, tuple[NDArray[np.uint8], NDArray[np.int64]]] = {}
    names = []
    for one in found:
        if finish is not None:
            names.append(packed(_names(one, finish)))
            continue
        items = []
        for known, codes in one.items:
            if id(known) not in texts:
                texts[id(known)] = packed(known)
            items.append((*texts[id(known)], codes))
        names.append(joined(one.texts, items, len(one)))
    order = _order(found)
    numbers = np.empty(len(order), np.int32)
    numbers[order] = table.add_packed(*concatenated(names, order))
    return _split(numbers, found)


def _names(found: Found, finish: _Finish) -> list[str]:
    # Joining may give two combinations ("a|b", "c" and "a", "b|c") the same name: both then get
    # the same number, as they would if features were strings throughout.
    if not found.items:
        names = [found.texts[0]] * len(found)
    else:
        form = "%s".join(text.replace("%", "%%") for text in found.texts)
        seen = [map(texts.__getitem__, codes.tolist()) for texts, codes in found.items]
        names = list(map(form.__mod__, zip(*seen, strict=True)))
    return names if finish is None else list(map(finish, names))


def _order(found: Sequence[Found]) -> NDArray[np.int64]:
    """Return all features, one template after the other, in the order in which they are seen."""
    first = np.concatenate([*(one.first for one in found), np.zeros(0, np.int64)])
    return np.argsort(first, kind="stable")


def _split(numbers: _Numbers, found: Sequence[Found]) -> list[_Numbers]:
    ends = np.cumsum([0, *map(len, found)]).tolist()
    return [numbers[a:b] for a, b in pairwise(ends)]
