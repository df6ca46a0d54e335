"""Items of python-crfsuite: how the features of a token become attributes with values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from ...errors import DataError

__all__ = [
    "Attributes",
    "ItemError",
    "ItemSequence",
    "LabelListError",
    "number_items",
    "read_labels",
]

#: The attributes of a token with their values. A name may occur twice; its values add up.
Attributes: TypeAlias = list[tuple[str, float]]

_Item = TypeVar("_Item")

#: The largest depth of nested features; more means that a dict holds itself.
_DEEPEST = 100


class ItemError(DataError, TypeError):
    """Features or labels that python-crfsuite does not know.

    python-crfsuite raises a TypeError or a SystemError in some of these cases, and accepts nonsense
    in others. A `DataError` is a ValueError.
    """


class LabelListError(ItemError):
    """Labels that python-crfsuite does not know."""


class ItemSequence:
    """The features of the tokens of a sequence, read once.

    A trainer or a tagger takes it in place of the features, and does not read them again.

    Parameters
    ----------
    pyseq : iterable
        One item per token:

        - ``{"len": 3}`` is the attribute ``len`` of value 3, and ``{"title": True}`` is ``title``
          of value 1; False is the value 0, and the attribute counts as seen;
        - ``{"w": "the"}`` is the attribute ``w:the`` of value 1;
        - ``["w:the", "title"]``, or another iterable of strings, are attributes of value 1;
        - dicts, lists and sets may be nested: ``{"next": {"w": ["dog"]}}`` is ``next:w:dog``.

        Names may be bytes of UTF-8.

    Examples
    --------
    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: Any) -> None:
        if isinstance(pyseq, ItemSequence):
            self.attributes: list[Attributes] = pyseq.attributes
        else:
            self.attributes = _each(pyseq, _read_item)

    def items(self) -> list[dict[str, float]]:
        """Return the attributes of each token with their values."""
        return [dict(item) for item in self.attributes]

    def __len__(self) -> int:
        return len(self.attributes)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def number_items(sequence: Any, numbers: dict[str, int]) -> list[dict[int, float]]:
    """Return the attributes of all tokens of a sequence by their numbers, with their values.

    Parameters
    ----------
    sequence : ItemSequence or iterable
        The features, as `ItemSequence` takes them.
    numbers : dict
        The numbers of the attributes. Its ``__missing__`` numbers a new one, or returns -1 to
        leave it out.
    """
    if isinstance(sequence, ItemSequence):
        return [_numbered(item, numbers, {}) for item in sequence.attributes]
    return _each(sequence, lambda item: _number_item(item, numbers))


def _each(sequence: Any, read: Callable[[Any], _Item]) -> list[_Item]:
    """Read every item of a sequence; an error names the token."""
    if isinstance(sequence, (str, bytes, dict)) or not isinstance(sequence, Iterable):
        raise ItemError(
            f"a sequence is a {type(sequence).__name__}; give a list with one dict or one list of "
            "strings per token"
        )
    found: list[_Item] = []
    for item in sequence:
        try:
            found.append(read(item))
        except ItemError as error:
            error.within(part="token", position=len(found))
            raise
    return found


def _number_item(item: Any, numbers: dict[str, int]) -> dict[int, float]:
    """Number the attributes of one token, without a list of names where that is possible."""
    row: dict[int, float] = {}
    if type(item) is not dict:
        return _numbered(_read_item(item), numbers, row)
    for key, value in item.items():
        # Nearly all features are of these two kinds.
        if type(value) is str and type(key) is str:
            feature, x = numbers[f"{key}:{value}"], 1.0
        elif type(value) is bool and type(key) is str:
            feature, x = numbers[key], 1.0 if value else 0.0
        else:
            several: Attributes = []
            _add(_name(key), value, 1, several)
            _numbered(several, numbers, row)
            continue
        if feature in row:
            row[feature] += x
        elif feature >= 0:
            row[feature] = x
    return row


def _numbered(item: Attributes, numbers: dict[str, int], row: dict[int, float]) -> dict[int, float]:
    """Add attributes to a row of numbers."""
    for name, value in item:
        feature = numbers[name]
        if feature >= 0:
            row[feature] = row.get(feature, 0.0) + value
    return row


def _read_item(item: Any) -> Attributes:
    """Return the attributes of one token by their names."""
    found: Attributes = []
    if isinstance(item, dict):
        for key, value in item.items():
            _add(_name(key), value, 1, found)
        return found
    if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
        raise ItemError(
            f"the features of a token are a {type(item).__name__}; give a dict or a list of strings"
        )
    return [(_name(key), 1.0) for key in item]


def _add(name: str, value: Any, depth: int, found: Attributes) -> None:
    """Add the attributes of a feature of any kind."""
    if isinstance(value, (str, bytes)):
        found.append((f"{name}:{_name(value)}", 1.0))
    elif isinstance(value, dict):
        if depth == _DEEPEST:
            raise ItemError(f"{name[:40]!r}... is a dict inside {depth} others; use fewer")
        for key, inner in value.items():
            _add(f"{name}:{_name(key)}", inner, depth + 1, found)
    elif isinstance(value, (list, set)):
        names = map(_name, value)
        # The order of a set changes from process to process.
        inside = sorted(names) if isinstance(value, set) else names
        found.extend((f"{name}:{one}", 1.0) for one in inside)
    else:
        found.append((name, _number(value, name)))


def _name(name: Any) -> str:
    if isinstance(name, bytes):
        # The bytes come back in the model file.
        name = name.decode("utf-8", "surrogateescape")
    if not isinstance(name, str):
        raise ItemError(
            f"{name!r} is a {type(name).__name__} where the name of a feature is expected; give a "
            "string"
        )
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
        remedy = (
            "leave out values that are missing" if math.isnan(number) else "give a finite number"
        )
        raise ItemError(f"the feature {name!r} is {number}; {remedy}")
    return number


def read_labels(labels: Any) -> list[str]:
    """Return the labels of a sequence as strings."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise LabelListError(
            f"the labels of a sequence are a {type(labels).__name__}; give a list of strings"
        )
    found = []
    for label in labels:
        if not isinstance(label, (str, bytes)):
            raise LabelListError(
                f"the label {label!r} is a {type(label).__name__}; labels are strings, so give "
                f"{str(label)!r}"
            )
        found.append(_name(label))
    return found
