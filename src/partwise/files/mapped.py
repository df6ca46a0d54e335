"""Arrays that live in files and are mapped into memory.

Compiled code sees them as plain arrays. The system reads a page of the file when it is first
looked at, writes it back when it was changed, and forgets it when memory is short. It is told
beforehand what will be needed and what will not, as far as it takes such advice.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from ..errors import DataError

__all__ = ["ArrayWriter", "MappedFile"]

#: How much is asked for at a time: the system ignores what exceeds its own window.
_WINDOW: Final = 1 << 20
#: Numbers of Linux that Python does not name.
_POPULATE_READ: Final = 22
_POPULATE_WRITE: Final = 23
#: Zeros that fill a new file where the system cannot reserve room for it.
_ZEROS: Final = bytes(1 << 20)


class ArrayWriter:
    """Appends arrays to a new file.

    Parameters
    ----------
    path : Path
        The file.
    dtype : dtype
        What it holds.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.path, self.dtype, self.size = path, np.dtype(dtype), 0
        self._file: BinaryIO = open(path, "xb", buffering=0)  # noqa: SIM115 - closed by `close`
        self._closing = weakref.finalize(self, self._file.close)

    def append(self, array: npt.NDArray[Any]) -> None:
        """Write an array after those before."""
        packed = np.ascontiguousarray(array, self.dtype)
        left = packed.data.cast("B")
        # A write may be cut short, by a signal or by a full disk, which the next one reports.
        while len(left):
            left = left[self._file.write(left) :]
        self.size += len(packed)

    def close(self) -> None:
        """Close the file."""
        self._closing()

    def mapped(self) -> MappedFile:
        """Close the file, and map what was written."""
        self.close()
        return MappedFile(self.path, self.dtype, self.size)


class MappedFile:
    """An array in a file.

    Parameters
    ----------
    path : Path
        The file.
    dtype : dtype
        What it holds.
    size : int
        How many numbers.
    new : bool
        Whether to make the file, filled with zeros. Its room on the disk is reserved: a page that
        cannot be written when the disk is full would kill the process.

    Attributes
    ----------
    array : ndarray
        The array. Whatever is written to it reaches the file, even if the process is killed.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike, size: int, new: bool = False) -> None:
        self.path, self.dtype = path, np.dtype(dtype)
        self.nbytes = size * self.dtype.itemsize
        self._map: mmap.mmap | None = None
        self._file = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_EXCL if new else 0), 0o666)
        try:
            if new and self.nbytes:
                _reserve(self._file, self.nbytes)
            found = os.fstat(self._file).st_size
            if found != self.nbytes:
                raise DataError(
                    f"{path} has {found:,} bytes where {self.nbytes:,} are expected; it belongs to "
                    "other data, or was damaged: delete the folder, and begin anew"
                )
            self.array: npt.NDArray[Any] = np.zeros(0, self.dtype)
            if self.nbytes:
                self._map = mmap.mmap(self._file, self.nbytes)
                self.array = np.frombuffer(self._map, self.dtype)
        except BaseException:
            os.close(self._file)
            raise
        self._closing = weakref.finalize(self, os.close, self._file)

    def will_need(self, begin: int, end: int) -> None:
        """Ask the system to read some of the numbers, which will be needed soon."""
        if not hasattr(os, "posix_fadvise"):
            return
        first, last = begin * self.dtype.itemsize, end * self.dtype.itemsize
        with suppress(OSError):
            for at in range(first, last, _WINDOW):
                os.posix_fadvise(self._file, at, min(_WINDOW, last - at), os.POSIX_FADV_WILLNEED)

    def populate(self, begin: int, end: int, changes: bool) -> None:
        """Wait until some of the numbers are in memory, so that nobody has to wait later.

        Parameters
        ----------
        begin, end : int
            Which numbers.
        changes : bool
            Whether they will be changed.
        """
        madvise = _madvise()
        if self._map is None or madvise is None:
            return
        first = begin * self.dtype.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
        last = min(end * self.dtype.itemsize, self.nbytes)
        if last > first:
            # What fails here is done page by page when the numbers are looked at.
            advice = _POPULATE_WRITE if changes else _POPULATE_READ
            madvise(self.array.ctypes.data + first, last - first, advice)

    def forget(self, begin: int, end: int) -> None:
        """Tell the system that some of the numbers are not needed for a while.

        Those that were changed are written to the file first, which takes a while; what is still
        being written is forgotten at the next call.
        """
        if self._map is None:
            return
        # Whole pages only: others may be in use.
        page = mmap.PAGESIZE
        first = -(-begin * self.dtype.itemsize // page) * page
        last = end * self.dtype.itemsize // page * page
        if last <= first:
            return
        with suppress(OSError):
            if hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(self._file, first, last - first, os.POSIX_FADV_DONTNEED)

    def flush(self) -> None:
        """Wait until all changes are on the disk."""
        if self._map is not None:
            # On some systems only the map knows what was changed.
            self._map.flush()

    def close(self) -> None:
        """Close the file; the array stays as long as somebody holds it."""
        self._closing()
        self._map = None


@functools.cache
def _madvise() -> Any:
    """Return madvise of the C library; that of Python would make all threads wait."""
    if not sys.platform.startswith("linux"):
        return None
    found = ctypes.CDLL(None).madvise
    found.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    return found


def _reserve(file: int, nbytes: int) -> None:
    """Set the size of a file, and reserve room on the disk for all of it."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, nbytes)
        return
    left = nbytes
    while left:
        left -= os.write(file, _ZEROS[: min(left, len(_ZEROS))])
