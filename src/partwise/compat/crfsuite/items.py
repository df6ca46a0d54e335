"""Items of python-crfsuite: how the features of a token become attributes with values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from ...errors import DataError

__all__ = ["Attributes", "ItemError", "read_item", "read_items", "read_labels"]

#: The attributes of a token with their values. A name may occur twice; its values add up.
Attributes: TypeAlias = list[tuple[str, float]]

#: The largest depth of nested features; more means that a dict holds itself.
_DEEPEST = 100


class ItemError(DataError, TypeError):
    """Features or labels that python-crfsuite does not know.

    python-crfsuite raises a TypeError or a SystemError in some of these cases, and accepts nonsense
    in others. A `DataError` is a ValueError.
    """


def read_items(sequence: Any) -> list[Attributes]:
    """Return the attributes of all tokens of a sequence.

    Parameters
    ----------
    sequence : iterable
        One item per token:

        - ``{"len": 3}`` is the attribute ``len`` of value 3, and ``{"title": True}`` is ``title``
          of value 1; False is the value 0, and the attribute counts as seen;
        - ``{"w": "the"}`` is the attribute ``w:the`` of value 1;
        - ``["w:the", "title"]``, or another iterable of strings, are attributes of value 1;
        - dicts, lists and sets may be nested: ``{"next": {"w": ["dog"]}}`` is ``next:w:dog``.

        Names may be bytes of UTF-8.
    """
    if isinstance(sequence, (str, bytes, dict)) or not isinstance(sequence, Iterable):
        raise ItemError(
            f"a sequence is a {type(sequence).__name__}; give a list with one dict or one list of "
            "strings per token"
        )
    found = []
    for t, item in enumerate(sequence):
        try:
            found.append(read_item(item))
        except ItemError as error:
            raise ItemError(f"token {t} (counted from 0): {error}") from error
    return found


def read_item(item: Any) -> Attributes:
    """Return the attributes of one token, see `read_items`."""
    if isinstance(item, dict):
        return list(_named(item, "", 1))
    if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
        raise ItemError(
            f"the features of a token are a {type(item).__name__}; give a dict or a list of strings"
        )
    return [(_name(key), 1.0) for key in item]


def _named(features: dict[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, float]]:
    for key, value in features.items():
        # Nearly all features are of the first two kinds.
        name = prefix + (key if type(key) is str and "\0" not in key else _name(key))
        if isinstance(value, (str, bytes)):
            yield f"{name}:{_name(value)}", 1.0
        elif isinstance(value, (bool, int, float)):
            yield name, _number(value, name)
        elif isinstance(value, dict):
            if depth == _DEEPEST:
                raise ItemError(f"{name[:40]!r}... is a dict inside {depth} others; use fewer")
            yield from _named(value, f"{name}:", depth + 1)
        elif isinstance(value, (list, set)):
            # The order of a set changes from process to process.
            names = map(_name, value)
            for inner in sorted(names) if isinstance(value, set) else names:
                yield f"{name}:{inner}", 1.0
        else:
            yield name, _number(value, name)


def _name(name: Any) -> str:
    if isinstance(name, bytes):
        # The bytes come back in the model file.
        name = name.decode("utf-8", "surrogateescape")
    if not isinstance(name, str):
        raise ItemError(
            f"{name!r} is a {type(name).__name__} where the name of a feature is expected; give a "
            "string"
        )
    if "\0" in name:
        raise ItemError(f"the name {name!r} has a zero byte, which a model file cannot hold")
    return name


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ItemError(
            f"the feature {name!r} is {value!r}; give a number, a bool, a string, a dict, a list "
            "or a set"
        ) from None
    if not math.isfinite(number):
        raise ItemError(f"the feature {name!r} is {number}; leave out values that are missing")
    return number


def read_labels(labels: Any) -> list[str]:
    """Return the labels of a sequence as strings."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise ItemError(
            f"the labels of a sequence are a {type(labels).__name__}; give a list of strings"
        )
    found = []
    for label in labels:
        if not isinstance(label, (str, bytes)):
            raise ItemError(
                f"the label {label!r} is a {type(label).__name__}; labels are strings, so give "
                f"{str(label)!r}"
            )
        found.append(_name(label))
    return found
