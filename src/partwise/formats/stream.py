"""Text that arrives on stdin, cut into pieces of whole examples as soon as they are there.

A piece holds all examples that can be read without waiting, so that a program at the other end of a
pipe gets its answer at once, and a large file is still read in large pieces.
"""

from __future__ import annotations

import re
import select
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from partwise.errors import DataError
from partwise.formats.source import GZIP_MAGIC, check_size, unreadable
from partwise.memory import memory_limit

__all__ = ["Piece", "first_end", "line_count", "pieces", "whole"]

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
