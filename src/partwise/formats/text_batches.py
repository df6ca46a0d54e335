"""Files that are read a part at a time, for data that are larger than the memory.

Readers take whole texts. Here they are given one batch of whole examples after the other in place
of the file, with what they need to number its lines as in the file.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Generic, Protocol, TypeVar

from partwise.errors import DataError, Place
from partwise.formats.source import GZIP_MAGIC, damaged_gzip, fed, opened
from partwise.formats.stream import first_end, line_count, whole

__all__ = ["BATCH_BYTES", "TextBatch", "TextBatches", "check_cuttable"]

#: The bytes of text that are read at a time.
BATCH_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 18
#: The number of examples at the start that are tried until some of them can be read on their own.
_TRIED: Final = 100


class Readable(Protocol):
    """What a reader returns."""

    def __len__(self) -> int:
        """Return the number of examples."""


Examples = TypeVar("Examples", bound=Readable)


@dataclass(frozen=True)
class TextBatch(Generic[Examples]):
    """Some examples of a file.

    Attributes
    ----------
    examples
        What the reader returned.
    skipped
        How many of the examples at its start were read again and belong to an earlier batch.
    """

    examples: Examples
    skipped: int


def check_cuttable(name: str, encoding: str | None) -> None:
    """Raise a DataError if text in an encoding cannot be cut at the ends of its lines."""
    if encoding is not None and "\n".encode(encoding) != b"\n":
        raise DataError(
            f"text in {encoding} cannot be read a part at a time; convert it, for example "
            f"with `iconv -f {encoding.upper()} -t UTF-8`",
            place=Place(name),
        )


class TextBatches(Generic[Examples]):
    """The examples of a file, some at a time.

    Parameters
    ----------
    path : str
        The file, plain or gzipped; ``-`` is stdin.
    ends : str
        What ends an example, see `Format.ends`.
    read : callable
        Reads the file: it calls `read_text` with the path.
    size : int
        How many bytes of text are read at a time; a longer example is read whole.
    """

    def __init__(
        self,
        path: str,
        ends: str,
        read: Callable[[], Examples],
        size: int = BATCH_BYTES,
    ) -> None:
        self.path, self.ends, self.read, self.size = path, ends, read, size
        self.name = "<stdin>" if path == "-" else path

    def __iter__(self) -> Iterator[TextBatch[Examples]]:
        head, skipped, lines, begin, line = b"", 0, 0, 0, 0
        for data in self._pieces():
            if not begin or data.strip():
                found = self._read(head, data, line - lines, begin - len(head))
                if len(found) > skipped:
                    yield TextBatch(found, skipped)
            if not begin:
                head, skipped = self._head(data)
                lines = line_count(head)
            begin += len(data)
            line += line_count(data)

    def _read(self, head: bytes, data: bytes, moved: int, moved_bytes: int) -> Examples:
        lines = line_count(head)
        with fed(head + data, self.path, moved_bytes=moved_bytes, head=lines, moved=moved):
            return self.read()

    def _head(self, data: bytes) -> tuple[bytes, int]:
        """Return the first examples of a file, which may say how it is laid out, and their number.

        They are read again with all others.
        """
        if self.ends == "brackets":
            return b"", 0
        end = 0
        for _ in range(_TRIED):
            end += first_end(data[end:], self.ends)
            # A document may begin with a line that belongs to no example.
            try:
                n = len(self._read(b"", data[:end], 0, 0))
            except DataError:
                n = 0
            if n or end >= len(data):
                return (data[:end], n) if n else (b"", 0)
        return b"", 0

    def _pieces(self) -> Iterator[bytes]:
        """Yield whole examples, about as many bytes at a time as wanted."""
        with opened(self.path) as stream:
            held: list[bytes] = []
            size = 0
            chunks = _chunks(self.name, stream, min(self.size, _CHUNK))
            for data in whole(chunks, self.ends, self.name):
                held.append(data)
                size += len(data)
                if size >= self.size and any(part.strip() for part in held):
                    yield b"".join(held)
                    held, size = [], 0
            # An empty file is read too, so that the reader says what it expects.
            yield b"".join(held)


def _chunks(name: str, stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the bytes of a stream, some at a time, unpacked if they are gzipped."""
    read: Any = getattr(stream, "read1", stream.read)
    first = read(size)
    while 0 < len(first) < len(GZIP_MAGIC) and (more := read(size)):
        first += more
    if not first.startswith(GZIP_MAGIC):
        while first:
            yield first
            first = read(size)
        return
    with gzip.GzipFile(fileobj=_Again(first, read)) as file:  # type: ignore[call-overload]
        while True:
            try:
                found = file.read(size)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise damaged_gzip(name, error) from error
            if not found:
                return
            yield found


class _Again:
    """A stream whose first bytes were read already."""

    def __init__(self, first: bytes, read: Callable[[int], bytes]) -> None:
        self._first, self._more = first, read

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; nothing at the end."""
        if not self._first:
            self._first = self._more(max(size, _CHUNK))
        found, self._first = self._first[:size], self._first[size:]
        return found
