"""Names that are hashed to a fixed number of slots, so that none of them has to be kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..parameters import MAX_HASHED
from ..problem.rows import Rows
from ..values import is_integer
from .vocabulary import Vocabulary, packed

if TYPE_CHECKING:
    from .tally import Tally

__all__ = [
    "MAX_HASHED",
    "HashedNames",
    "first_in_row",
    "hashed_indices",
    "hashed_numbers",
    "is_size",
    "mixed",
    "slot_name",
    "slotted",
]


class HashedNames(Vocabulary):
    """A vocabulary of all names there are, in which a name is known by a hash of it.

    Names that have the same hash share a number, and so a weight. If a token has several of them,
    the first one counts.

    Parameters
    ----------
    n : int
        The number of slots, a power of two.
    separator : str
        As for `Vocabulary`.
    """

    hashed: ClassVar[bool] = True

    def __init__(self, n: int, separator: str = "=") -> None:
        self.n = n
        self.separator = separator
        self._names, self._packed = None, None

    @property
    def names(self) -> tuple[str, ...]:
        """What the slots are called, as the names themselves are not known."""
        return tuple(self)

    @property
    def index(self) -> dict[str, int]:
        """Not there: the number of a name is found by `find`."""
        raise DataError("hashed features are not listed by name; look names up by find()")

    def find(self, names: Sequence[str], unknown: int = -1) -> NDArray[np.int32]:
        """Return the slots of some names."""
        from .name_table import hashes

        return hashed_numbers(hashes(*packed(names)), self.n)

    def some(self, numbers: Sequence[int]) -> list[str]:
        """Return what some slots are called."""
        return [slot_name(number, self.n) for number in numbers]

    def rows(self, rows: Rows, names: Vocabulary, tally: Tally | None = None) -> Rows:
        """Return rows of features that have names with the slots of the names as features.

        Parameters
        ----------
        rows, names
            The rows, and the names of their features.
        tally
            Counts the features, all of which are known.
        """
        if tally is not None:
            tally.add(len(rows.indices), len(rows.indices))
        from .name_table import hashes

        return slotted(rows, hashed_numbers(hashes(*names.pack()), self.n), self.n)

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[str]:
        return (slot_name(number, self.n) for number in range(self.n))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashedNames) and self.n == other.n

    def __hash__(self) -> int:
        return hash(("hashed", self.n))

    def __repr__(self) -> str:
        return f"HashedNames({self.n})"

    def keep(self, mask: NDArray[np.bool_]) -> Vocabulary:
        raise DataError("hashed features are not listed, so that none can be left out")

    def pack(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        raise DataError(
            "the features of the model are hashed, so that their names are not known; train "
            "without hashing"
        )


def slot_name(number: int, n: int) -> str:
    """Return what one of n slots is called, as the names that it stands for are not kept."""
    return f"hash {number} of {n}"


def is_size(n: Any) -> bool:
    """Return whether a number can be that of the slots: a power of two, from 2 to MAX_HASHED."""
    return is_integer(n) and 2 <= n <= MAX_HASHED and n & (n - 1) == 0


def hashed_numbers(hashes: NDArray[np.uint64], n: int) -> NDArray[np.int32]:
    """Return slots from hashes."""
    slots: NDArray[np.int32] = (hashes & np.uint64(n - 1)).astype(np.int32)
    return slots


def slotted(rows: Rows, slots: NDArray[np.int32], n: int) -> Rows:
    """Return rows with the slots of their features as features; of equal ones the first stays.

    Parameters
    ----------
    rows
        The rows.
    slots
        The slot of each feature.
    n
        The number of slots.
    """
    indices = slots[rows.indices]
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    # A stable sort by rows and slots has the first of equal entries first.
    order = np.lexsort((indices, owner))
    ranked, of = indices[order], owner[order]
    again = np.zeros(len(order), np.bool_)
    again[1:] = (ranked[1:] == ranked[:-1]) & (of[1:] == of[:-1])
    if not again.any():
        return Rows(rows.indptr, indices, rows.values, n)
    kept = np.ones(len(order), np.bool_)
    kept[order[again]] = False
    ends = np.concatenate([[0], np.cumsum(kept)])
    values = None if rows.values is None else rows.values[kept]
    return Rows(ends[rows.indptr], indices[kept], values, n)


def hashed_indices(rows: Rows, n: int) -> Rows:
    """Return rows of features that only have numbers with hashes of these numbers as features."""
    distinct, inverse = np.unique(rows.indices, return_inverse=True)
    slots = hashed_numbers(mixed(distinct), n)
    local = Rows.sound(rows.indptr, inverse.astype(np.int32), rows.values, len(distinct))
    return slotted(local, slots, n)


def mixed(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a hash of each number: the finaliser of splitmix64."""
    z = numbers.astype(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def first_in_row(table: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each entry of a table is the first of its value in its row."""
    order = np.argsort(table, axis=1, kind="stable")
    ranked = np.take_along_axis(table, order, axis=1)
    new = np.ones(table.shape, np.bool_)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    found = np.empty(table.shape, np.bool_)
    np.put_along_axis(found, order, new, axis=1)
    return found
