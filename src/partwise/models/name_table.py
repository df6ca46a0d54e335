"""Distinct names in little memory, numbered in the order in which they are first seen.

The names lie one after the other in one array of bytes, and a table with open addressing leads from
their hashes to their numbers. A name of b bytes takes about b + 22 bytes, where a dict of strings
takes about b + 140.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..compiled.jit import njit
from ..errors import DataError
from .vocabulary import Vocabulary, packed

__all__ = ["NameTable", "concatenated", "hashes", "joined"]

_OFFSET: Final = np.uint64(0xCBF29CE484222325)
_PRIME: Final = np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW: Final = np.uint64(0xFFFFFFFF)
#: An entry of the table that holds no name.
_FREE: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
#: The largest share of the table that is used, in eighths.
_LOAD: Final = 6
_MOST: Final = 2**31 - 1


class NameTable:
    """A set of names that grows; the number of a name is the number of names before it."""

    def __init__(self) -> None:
        self._bytes = np.zeros(0, np.uint8)
        self._ends = np.zeros(1, np.int64)
        self._slots = np.full(8, _FREE)
        self._n = 0

    @classmethod
    def of(cls, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NameTable:
        """Make a table of distinct names, as `Vocabulary.pack` returns them."""
        made = cls()
        made.add_packed(data, offsets)
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        # What was sent by another process may be in memory that is not the array's own, and then
        # an array cannot grow.
        vars(self).update(state)
        self._bytes, self._ends = self._bytes.copy(), self._ends.copy()
        self._slots = _writeable(self._slots)

    def __len__(self) -> int:
        """Return the number of names."""
        return self._n

    @property
    def nbytes(self) -> int:
        """The memory that the table takes."""
        return self._bytes.nbytes + self._ends.nbytes + self._slots.nbytes

    def add(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers of some names; those that are not in the table yet are added."""
        return self.add_packed(*packed(names))

    def join(self, other: NameTable) -> NDArray[np.int32]:
        """Add the names of another table, and return the number of each of them in this one."""
        n = other._n
        return self.add_packed(other._bytes[: other._ends[n]], other._ends[: n + 1])

    def find(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers of some names; -1 for those that are not in the table."""
        data, offsets = packed(names)
        data = _writeable(data)
        found = np.empty(len(names), np.int32)
        _find(data, offsets, hashes(data, offsets), self._bytes, self._ends, self._slots, found)
        return found

    def finish(self, separator: str = "=") -> Vocabulary:
        """Return the names as a vocabulary, which takes over their memory: the table is empty."""
        data, ends = self._bytes, self._ends
        data.resize(int(ends[self._n]), refcheck=False)
        ends.resize(self._n + 1, refcheck=False)
        self.__init__()  # type: ignore[misc]
        return Vocabulary.of_packed(data, ends, separator)

    def add_packed(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Do the same as `add`, for names in the form of `Vocabulary.pack`."""
        data, offsets = _writeable(data), _writeable(offsets)
        numbers = np.empty(len(offsets) - 1, np.int32)
        hashed = hashes(data, offsets)
        at = 0
        # As many names as there is room for, until all are there.
        while at < len(numbers):
            self._make_room(len(numbers) - at, data[offsets[at] :].size)
            self._n, at = _enter(
                data, offsets, hashed, at, self._bytes, self._ends, self._slots, self._n, numbers
            )
        return numbers

    def _make_room(self, n_names: int, n_bytes: int) -> None:
        """Make room for at least one more name; much room is made in small steps only."""
        n, used = self._n, int(self._ends[self._n])
        if n >= _MOST:
            raise DataError(
                f"more than {_MOST:,} names of features; hash them, with --hashing N or hashing=N"
            )
        # By a quarter at a time: the memory is moved by the system, and not copied. Many of the
        # names may be in the table already.
        more = min(n_bytes, used // 4 + (1 << 16))
        if self._bytes.size < used + more:
            self._bytes.resize(used + more, refcheck=False)
        if self._ends.size < n + 2:
            self._ends.resize(n + 2 + min(n_names, n // 4 + (1 << 12)), refcheck=False)
        if 8 * (n + 1) > _LOAD * self._slots.size:
            slots = np.full(3 * self._slots.size // 2, _FREE)
            _move(self._slots, slots)
            self._slots = slots


def joined(
    texts: Sequence[str], items: Sequence[tuple[Any, Any, NDArray[np.int64]]], n: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return n names in the form of `Vocabulary.pack`: texts, and between each two of them an item.

    Parameters
    ----------
    texts
        The texts, one more than there are items.
    items
        For each item its values, packed, and which of them each name has.
    n
        The number of names.
    """
    fixed = [text.encode("utf-8", "surrogatepass") for text in texts]
    sizes = np.full(n, sum(map(len, fixed)), np.int64)
    for _, offsets, which in items:
        sizes += np.diff(offsets)[which]
    ends = np.zeros(n + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    out, at = np.empty(int(ends[-1]), np.uint8), ends[:-1].copy()
    alone, nothing = np.zeros(n, np.int64), np.zeros(0, np.uint8)
    for place, text in enumerate(fixed):
        if text:
            bounds = np.array([0, len(text)])
            _append(np.frombuffer(bytearray(text), np.uint8), bounds, alone, out, at)
        if place < len(items):
            data, offsets, which = items[place]
            _append(_writeable(data) if data.size else nothing, offsets, which, out, at)
    return out, ends


def concatenated(
    several: Sequence[tuple[NDArray[np.uint8], NDArray[np.int64]]], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return all of several packed names, in another order."""
    begins = np.cumsum([0, *(data.size for data, _ in several)]).tolist()
    data = np.concatenate([*(one for one, _ in several), np.zeros(0, np.uint8)])
    starts = [ends[:-1] + begin for (_, ends), begin in zip(several, begins, strict=False)]
    offsets = np.concatenate([*starts, np.array([data.size])])
    ends = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.diff(offsets)[order], out=ends[1:])
    out = np.empty(data.size, np.uint8)
    _append(data, offsets, order, out, ends[:-1].copy())
    return out, ends


@njit
def _append(data: Any, offsets: Any, which: Any, out: Any, at: Any) -> None:
    """Write name which[i] at the place at[i] of out, and move the place behind it."""
    for i in range(which.size):
        k = at[i]
        for j in range(offsets[which[i]], offsets[which[i] + 1]):
            out[k] = data[j]
            k += 1
        at[i] = k


def hashes(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a hash of each name, the same on all machines: FNV-1a, then spread over 64 bits."""
    found = np.empty(len(offsets) - 1, np.uint64)
    _hash(_writeable(data), _writeable(offsets), found)
    return found


def _writeable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the one kind that compiled functions take."""
    return np.require(array, requirements=["C", "W"])


@njit
def _hash(data: Any, offsets: Any, out: Any) -> None:
    for i in range(out.size):
        z = _OFFSET
        for j in range(offsets[i], offsets[i + 1]):
            z = (z ^ np.uint64(data[j])) * _PRIME
        # The finaliser of splitmix64: low bits of FNV alone are not random enough.
        z = (z ^ (z >> _S30)) * _MIX_1
        z = (z ^ (z >> _S27)) * _MIX_2
        out[i] = z ^ (z >> _S31)


# An entry of the table is (the upper half of the hash) << 32 | number. Its place follows from the
# upper half too, so that a table is enlarged without another look at the names. The half is mapped
# to places by a product, which needs no size that is a power of two.


@njit
def _begin(mark: Any, size: Any) -> Any:
    return np.int64((mark * np.uint64(size)) >> _S32)


@njit
def _same(data: Any, begin: Any, size: Any, kept: Any, at: Any) -> Any:
    j = 0
    while j < size and data[begin + j] == kept[at + j]:
        j += 1
    return j == size


@njit
def _place(slots: Any, data: Any, begin: Any, end: Any, mark: Any, kept: Any, ends: Any) -> Any:
    """Return the place of a name in the table, or the free one where it belongs."""
    at = _begin(mark, slots.size)
    while slots[at] != _FREE:
        if slots[at] >> _S32 == mark:
            k = np.int64(slots[at] & _LOW)
            size = ends[k + 1] - ends[k]
            if size == end - begin and _same(data, begin, size, kept, ends[k]):
                return at
        at = at + 1 if at + 1 < slots.size else 0
    return at


@njit
def _find(
    data: Any, offsets: Any, hashed: Any, kept: Any, ends: Any, slots: Any, numbers: Any
) -> None:
    """numbers[i] = the number of name i, or -1."""
    for i in range(numbers.size):
        mark = hashed[i] >> _S32
        at = _place(slots, data, offsets[i], offsets[i + 1], mark, kept, ends)
        numbers[i] = -1 if slots[at] == _FREE else np.int32(slots[at] & _LOW)


@njit
def _enter(
    data: Any, offsets: Any, hashed: Any, first: Any, kept: Any, ends: Any, slots: Any, n: Any,
    numbers: Any,
) -> Any:  # fmt: skip
    """numbers[i] = the number of name i, for i from `first` as long as there is room.

    Returns the number of names in the table, and the first i that is left.
    """
    for i in range(first, numbers.size):
        begin, end = offsets[i], offsets[i + 1]
        mark = hashed[i] >> _S32
        at = _place(slots, data, begin, end, mark, kept, ends)
        if slots[at] == _FREE:
            full = 8 * (n + 1) > _LOAD * slots.size or n + 2 > ends.size
            if full or ends[n] + end - begin > kept.size:
                return n, i
            for j in range(end - begin):
                kept[ends[n] + j] = data[begin + j]
            ends[n + 1] = ends[n] + end - begin
            slots[at] = (mark << _S32) | np.uint64(n)
            n += 1
        numbers[i] = np.int32(slots[at] & _LOW)
    return n, numbers.size


@njit
def _move(old: Any, new: Any) -> None:
    """Enter all names of a table into a larger one."""
    for entry in old:
        if entry != _FREE:
            at = _begin(entry >> _S32, new.size)
            while new[at] != _FREE:
                at = at + 1 if at + 1 < new.size else 0
            new[at] = entry
