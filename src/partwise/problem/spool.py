"""Batches of examples on their way to a problem on disk."""

from __future__ import annotations

import hashlib
import pickle
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import DataError

__all__ = ["Spool"]


class Spool:
    """Objects that are written to a file one after the other, and read again in that order.

    Whatever describes an example may be written, as the structures of users have shapes and labels
    of their own. Reading such a file back can run any code that is in it, so an object is read only
    if its bytes are those that this process wrote: their digests stay in memory.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO = open(path, "x+b")  # noqa: SIM115 - closed by `remove`
        self._closing = weakref.finalize(self, self._file.close)
        self._entries: list[tuple[int, bytes]] = []  # length, digest

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return sum(length for length, _ in self._entries)

    def add(self, thing: Any) -> None:
        """Write an object."""
        data = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        self._file.write(data)
        self._entries.append((len(data), _digest(data)))

    def __len__(self) -> int:
        """Return how many objects there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        """Read the objects."""
        self._file.flush()
        with open(self.path, "rb") as file:
            for length, digest in self._entries:
                data = file.read(length)
                if _digest(data) != digest:
                    raise DataError(
                        f"{self.path} was changed while it was in use; give a folder that no other "
                        "process writes to"
                    )
                yield pickle.loads(data)

    def remove(self) -> None:
        """Close and delete the file."""
        self._closing()
        self.path.unlink()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=32).digest()
