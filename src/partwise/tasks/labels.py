"""The labels in files: their order and spelling, missing ones, and those that stay as they are."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, Place
from ..formats.options import Option

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = [
    "FIXED",
    "by_place",
    "known_label",
    "missing_of",
    "no_known_labels",
    "note_absent",
    "order_of_labels",
    "spelled",
]

_log = logging.getLogger(__name__)

FIXED: Final = Option(
    "--fixed",
    "keep the labels that the file has, and predict only where it has MARK instead of one, as in "
    "--fixed _",
    metavar="MARK",
)


def spelled(labels: Sequence[str | int | float | bool]) -> list[str]:
    """Return the labels of a model as they are written in files: 3.0 is `3`."""
    return [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in labels
    ]


def order_of_labels(label: str) -> tuple[bool, float, str]:
    """Return the sort key of a label in a file: numbers come first, by value."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


def note_absent(option: str, wanted: Collection[str], found: Collection[str]) -> None:
    """Log a warning about parts of speech that no word has, which may be spelled differently."""
    absent = sorted(set(wanted) - set(found))
    if absent and found:
        some = _some(sorted(found))
        _log.warning(
            "%s: no word has the part of speech %s, so nothing is left out for it; the file has %s",
            option, " or ".join(map(repr, absent)), some,
        )  # fmt: skip


def missing_of(model: Model) -> Any:
    """Return the label that stood for a missing one when a model was trained, or None."""
    return model.settings.get("missing_label")


def by_place(item: Any, i: int, n: int, places: str) -> Mapping[Any, Any]:
    """Return what is known about the labels of an example before prediction, by place.

    Parameters
    ----------
    item
        What a user gave: None, a dict from places to labels, or a list with one entry per place.
    i : int
        The number of the example.
    n : int
        How many places it has.
    places : str
        What they are called.
    """
    if item is None:
        return {}
    if isinstance(item, Mapping):
        return item
    if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
        raise DataError(
            f"is {item!r}; give None, a dict or a list of labels",
            place=Place.item("fixed", i),
            subject=True,
        )
    known = list(item)
    if len(known) != n:
        raise DataError(
            f"has {len(known)} entries for {n} {places}", place=Place.item("fixed", i), subject=True
        )
    return dict(enumerate(known))


def known_label(names: Mapping[str, Any], label: str, place: Place, mark: str) -> Any:
    """Return the label of a model from its spelling in a file.

    Parameters
    ----------
    names : mapping
        The labels of the model by their spelling.
    label : str
        The label.
    place : Place
        Where it is.
    mark : str
        What stands for a label that is not known.
    """
    if label not in names:
        raise DataError(
            f"the label {label!r} is none that the model knows; write {mark!r} if it is "
            f"to be predicted, or one of {_some([*names])}",
            place=place,
        )
    return names[label]


def no_known_labels(path: str, where: str) -> DataError:
    """Return the error for ``--fixed`` and a file without labels.

    Parameters
    ----------
    path : str
        The file.
    where : str
        Where labels are expected, ``"in the last column"`` for example.
    """
    return DataError(
        f"no labels; --fixed keeps the labels of the file ({where}), so give a file with "
        "labels, or leave --fixed out",
        place=Place(path),
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
