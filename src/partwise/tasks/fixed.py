"""Labels that a file has before prediction, and that stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..errors import DataError, Place
from ..formats.options import Option

__all__ = ["FIXED", "by_place", "known_label", "no_known_labels"]

FIXED: Final = Option(
    "--fixed",
    "keep the labels that the file has, and predict only where it has MARK instead of one, as in "
    "--fixed _",
    metavar="MARK",
)


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
