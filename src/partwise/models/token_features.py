"""The features of a token that is a dict, some strings or one string: their names and values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from ..errors import DataError, Place

__all__ = ["fail_token", "token_features"]

#: The maximum depth of nested dicts in a token.
_MAX_DEPTH = 100


def token_features(
    token: Any, separator: str, s: int, t: int
) -> tuple[Sequence[str], Mapping[int, float]]:
    """Return the names of the features of a token, and the values of those that are not 1."""
    if isinstance(token, str):
        return (token,), {}
    # A dict is told first, because asking whether something is a Mapping takes longer.
    if isinstance(token, (dict, Mapping)):
        names: list[str] = []
        others: dict[int, float] = {}
        _mapping(token, "", separator, s, t, names, others)
        return names, others
    if isinstance(token, bytes) or not isinstance(token, Iterable):
        fail_token(s, t, f"{type(token).__name__} where a dict, a string or strings are expected")
    return _strings(token, "", s, t), {}


def _strings(items: Iterable[Any], key: str, s: int, t: int) -> Sequence[str]:
    names = list(items)
    for name in names:
        if not isinstance(name, str):
            place = f"feature {key!r} holds" if key else "a list token holds"
            fail_token(s, t, f"{place} {name!r}, which is not a string; use a dict for numbers")
    # The order of a set changes from process to process.
    return sorted(names) if isinstance(items, (set, frozenset)) else names


def _mapping(
    token: Mapping[Any, Any],
    prefix: str,
    separator: str,
    s: int,
    t: int,
    names: list[str],
    others: dict[int, float],
    depth: int = 1,
) -> None:
    """Append the features of a dict to names; put values that are not 1 into others, by place."""
    if depth > _MAX_DEPTH:
        start = prefix[:40] + "..."
        fail_token(
            s, t,
            f"the dict of the feature {start!r} is inside more than {_MAX_DEPTH} others; a dict "
            "must not hold itself",
        )  # fmt: skip
    for key, value in token.items():
        if not isinstance(key, str):
            fail_token(s, t, f"the feature name {key!r} is not a string; use strings as names")
        name = prefix + key
        if isinstance(value, str):
            names.append(f"{name}{separator}{value}")
        elif value is None:
            continue
        elif isinstance(value, (bool, np.bool_)):
            if value:
                names.append(name)
        elif isinstance(value, (float, int, Real)):
            number = _finite(value, name, s, t)
            if number != 0.0:
                others[len(names)] = number
                names.append(name)
        elif isinstance(value, Mapping):
            _mapping(value, f"{name}:", separator, s, t, names, others, depth + 1)
        elif isinstance(value, (list, tuple, set, frozenset)):
            names.extend([f"{name}{separator}{item}" for item in _strings(value, name, s, t)])
        else:
            kind = type(value).__name__
            fail_token(
                s, t, f"feature {name!r} is of type {kind}; give a string, number, bool or list"
            )


def _finite(value: float | Real, name: str, s: int, t: int) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        remedy = (
            "leave out values that are missing" if math.isnan(number) else "give a finite number"
        )
        fail_token(s, t, f"feature {name!r} is {number}; {remedy}")
    return number


def fail_token(s: int, t: int, why: str) -> NoReturn:
    """Raise a DataError about token t of sequence s."""
    raise DataError(why, place=Place.nth("sequence", s, "token", t))
