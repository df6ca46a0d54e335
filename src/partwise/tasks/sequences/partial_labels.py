"""Labels of positions that are missing, or of which several are possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...structures.base import Constraints
from .tokens import cut

if TYPE_CHECKING:
    from .tokens import Tokens

__all__ = ["UNKNOWN", "Labelled", "NumberedLabels", "holds_partial", "is_certain",
           "number_labels", "number_sets", "refuse_partial"]  # fmt: skip

#: The number of a position whose label is not known, or not known for certain.
UNKNOWN: Final = -1


class Labelled(Protocol):
    """Positions with labels: the common interface of the sources of sequences."""

    def labels(self, tokens: Tokens, missing: Any = None) -> list[Any]:
        """Return the labels of all positions, one after the other.

        None is a label that is missing, such as those that equal `missing`; a frozenset holds the
        labels that a position may have.
        """

    def ordered(self, labels: set[Any]) -> list[Any]:
        """Return distinct labels in the order of their numbers."""

    def place(self, s: int, t: int) -> Place:
        """Return the place of position t of example s."""

    def take(self, which: Sequence[int]) -> Labelled:
        """Return some of the examples."""


class NumberedLabels(NamedTuple):
    """The labels of positions as numbers.

    Attributes
    ----------
    labels : list
        The distinct labels, in the order of their numbers.
    gold : sequence of ndarray
        The label numbers of each example; ``UNKNOWN`` where there is no certain label.
    allowed : list or None
        For each example None if all its labels are certain, otherwise `Constraints` that hold the
        labels its positions may have. None if all labels of all examples are certain.
    """

    labels: list[Any]
    gold: Sequence[Ints]
    allowed: list[Constraints | None] | None


def number_labels(source: Labelled, flat: Sequence[Any], lengths: Ints) -> NumberedLabels:
    """Number the labels of all positions.

    Parameters
    ----------
    source
        The source of the positions.
    flat : sequence
        Their labels, one example after the other, as `Labelled.labels` returns them.
    lengths : ndarray of int
        How many positions each example has.
    """
    distinct = set(flat)
    unsure = {item for item in distinct if item is None or isinstance(item, frozenset)}
    if not unsure:
        labels = source.ordered(distinct)
        numbers = {label: number for number, label in enumerate(labels)}
        numbered = np.fromiter(map(numbers.__getitem__, flat), np.int64, len(flat))
        return NumberedLabels(labels, cut(numbered, lengths), None)
    several: set[Any] = set().union(*(item for item in unsure if item is not None))
    labels = source.ordered((distinct - unsure) | several)
    numbers = {label: number for number, label in enumerate(labels)}
    # A set of one label is that label.
    sure = {item: numbers[next(iter(item))] for item in unsure if item and len(item) == 1}
    numbers.update(sure)
    numbered = np.array([numbers.get(item, UNKNOWN) for item in flat], dtype=np.int64)
    gold = cut(numbered, lengths)
    ends = np.cumsum(lengths) - lengths
    allowed = [
        _allowed(y, flat[at : at + len(y)], numbers) if (y == UNKNOWN).any() else None
        for y, at in zip(gold, ends.tolist(), strict=True)
    ]
    return NumberedLabels(labels, gold, allowed)


def _allowed(y: Ints, items: Sequence[Any], numbers: dict[Any, int]) -> Constraints:
    """Return the labels that the positions of an example may have."""
    known = [
        (t, [k] if k != UNKNOWN else sorted(numbers[label] for label in item))
        for t, (k, item) in enumerate(zip(y.tolist(), items, strict=True))
        if item is not None
    ]
    return Constraints(allowed=known)


def is_certain(label: Any) -> bool:
    """Return whether this is a label, and neither None nor a set."""
    return label is not None and not isinstance(label, (set, frozenset))


def holds_partial(y: Any) -> bool:
    """Return whether the labels of some examples are missing, or sets of labels."""
    if isinstance(y, (list, tuple)) or getattr(y, "dtype", None) == np.dtype(object):
        return not all(map(is_certain, y))
    return False


def number_sets(
    numbers: Ints, allowed: Sequence[Constraints | None], n_labels: int
) -> tuple[Ints, list[Constraints]]:
    """Number the sets of labels that examples with one position each may have.

    Parameters
    ----------
    numbers : ndarray of int
        The label number of each example, or ``UNKNOWN``.
    allowed : sequence
        For each example None or the labels that it may have.
    n_labels : int
        The number of labels.

    Returns
    -------
    numbers, sets
        The numbers, where `n_labels` and larger ones are those of sets, and ``UNKNOWN`` is left
        where nothing is known; and the sets.
    """
    found: dict[tuple[int, ...], int] = {}
    out = numbers.copy()
    for i in np.flatnonzero(numbers == UNKNOWN).tolist():
        held = allowed[i]
        if held is not None and held.allowed:
            out[i] = n_labels + found.setdefault(tuple(held.allowed[0][1]), len(found))
    return out, [Constraints(allowed=[(0, list(labels))]) for labels in found]


def refuse_partial(source: Labelled, gold: Sequence[Ints], loss: str) -> None:
    """Raise a DataError that names the first uncertain label, as the loss cannot take it."""
    for s, y in enumerate(gold):
        where = np.flatnonzero(y == UNKNOWN)
        if len(where):
            raise DataError(
                f"the label is missing or uncertain, and the "
                f"{loss} loss has no cost for a set of labels; use the log loss",
                place=source.place(s, int(where[0])),
            )
