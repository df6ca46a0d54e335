"""Text that is read a part at a time: as it arrives on stdin, or for data larger than the memory.

A piece of stdin holds all examples that can be read without waiting, so that a program at the other
end of a pipe gets its answer at once, and a large file is still read in large pieces.

Readers take whole texts. They are given one part of whole examples after the other in place of the
file, with what they need to number its lines as in the file.
"""

from __future__ import annotations

import gzip
import re
import select
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Generic, NamedTuple, Protocol, TypeVar

from partwise.errors import DataError, Place
from partwise.formats.source import GZIP_MAGIC, check_size, damaged_gzip, fed, opened, unreadable
from partwise.memory import memory_limit

__all__ = ["BATCH_BYTES", "Piece", "TextBatch", "TextBatches", "check_cuttable", "first_end",
           "line_count", "pieces", "whole"]  # fmt: skip

#: As many bytes are read at most before the examples among them are handed on.
_MOST: Final = 1 << 22
_BLANK: Final = re.compile(rb"(?:[ \t\r]*\n)+")
_END: Final = re.compile(rb"\n(?:[ \t\r]*\n)+")


class Piece(NamedTuple):
    """Some whole examples.

    Attributes
    ----------
    blank
        Blank lines before them that belong to no example.
    data
        The examples, with the blank lines after them.
    line
        The number of lines before the data.
    """

    blank: bytes
    data: bytes
    line: int


def pieces(ends: str) -> Iterator[Piece]:
    """Read stdin, and yield its examples as they arrive.

    The first piece holds one example. Gzipped text comes in one piece.

    Parameters
    ----------
    ends : str
        What ends an example, see `Format.ends`.
    """
    if sys.stdin is None:
        raise DataError("<stdin>: is closed; give a file, or something to read on stdin")
    line, first = 0, True
    for data in whole(_arrivals(sys.stdin.buffer), ends):
        blank = b""
        if not first and ends == "blank line" and (found := _BLANK.match(data)):
            blank, data = found.group(), data[found.end() :]
            line += line_count(blank)
        if first and not data.startswith(GZIP_MAGIC):
            at = first_end(data, ends)
            if data[:at].strip():
                yield Piece(b"", data[:at], line)
                line += line_count(data[:at])
                data, first = data[at:], False
            if not data:
                continue
        yield Piece(blank, data, line)
        line += line_count(data)
        first = False


def _arrivals(stream: Any) -> Iterator[bytes]:
    """Yield what can be read without waiting, up to a limit, and wait if that is nothing."""
    while chunk := _read(stream, _MOST):
        found, size = [chunk], len(chunk)
        while size < _MOST and _ready(stream) and (chunk := _read(stream, _MOST - size)):
            found.append(chunk)
            size += len(chunk)
        yield b"".join(found)


def _read(stream: Any, size: int) -> bytes:
    try:
        found: bytes = stream.read1(size)
    except OSError as error:
        raise unreadable("<stdin>", error) from error
    return found


def _ready(stream: Any) -> bool:
    """Return whether there is something to read now, as far as the system can tell."""
    try:
        return bool(select.select([stream.fileno()], [], [], 0)[0])
    except (OSError, ValueError):  # not a file of the system, or a system that selects sockets only
        return False


def whole(arrivals: Iterable[bytes], ends: str, name: str = "<stdin>") -> Iterator[bytes]:
    """Yield runs of whole examples, and at the end what is left; gzipped text is left as it is."""
    most = memory_limit()
    held: list[bytes] = []  # whole lines of an example that has not ended
    rest: list[bytes] = []  # the beginning of a line
    depth, size, packed = 0, 0, None
    for chunk in arrivals:
        size += len(chunk)
        check_size(name, size, most)
        if packed is None:
            packed = chunk.startswith(GZIP_MAGIC[:1])
        at = chunk.rfind(b"\n") + 1
        if packed or not at:
            rest.append(chunk)
            continue
        lines = b"".join([*rest, chunk[:at]])
        rest = [chunk[at:]]
        end, depth = _last_end(lines, ends, any(part.strip() for part in held), depth)
        if not end:
            held.append(lines)
            continue
        yield b"".join([*held, lines[:end]])
        held = [lines[end:]]
        size = len(lines) - end + len(chunk) - at
    left = b"".join([*held, *rest])
    if left:
        yield left


def _last_end(lines: bytes, ends: str, begun: bool, depth: int) -> tuple[int, int]:
    """Return where the last whole example of some lines ends, and how many brackets are open.

    Parameters
    ----------
    lines : bytes
        Whole lines.
    ends : str
        What ends an example.
    begun : bool
        Whether an example began before these lines.
    depth : int
        How many brackets were open before these lines.
    """
    if ends == "line":
        return len(lines), 0
    end = 0
    if ends == "brackets":
        at = 0
        for line in lines.splitlines(keepends=True):
            at += len(line)
            depth = max(depth + line.count(b"(") - line.count(b")"), 0)
            end = end if depth else at
        return end, depth
    head = _BLANK.match(lines)
    if begun and head:
        end = head.end()
    for found in _END.finditer(lines, head.end() if head else 0):
        end = found.end()
    return end, 0


def first_end(data: bytes, ends: str) -> int:
    """Return where the first of some whole examples ends."""
    if ends != "blank line":
        return data.find(b"\n") + 1 or len(data) if ends == "line" else len(data)
    head = _BLANK.match(data)
    found = _END.search(data, head.end() if head else 0)
    return found.end() if found else len(data)


def line_count(data: bytes) -> int:
    """Return the number of line ends of all kinds."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


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
