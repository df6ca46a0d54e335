"""Faults of a file: raised one by one, or collected so that all of them can be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from partwise.errors import DataError, Place

__all__ = ["STRICT", "Faults", "encoding_advice", "no_line_is_utf8"]


@dataclass
class Faults:
    """Where readers report faults.

    Attributes
    ----------
    keep : bool
        Whether faults are collected. If not, the first one is raised as a DataError.
    found : list of DataError
        The collected faults.
    """

    keep: bool = False
    found: list[DataError] = field(default_factory=list)

    def add(self, path: str, line: int | None, text: str, column: int | None = None) -> None:
        """Report a fault: collect it, or raise it as a DataError."""
        if not self.keep:
            raise DataError(text, place=Place(path, line))
        self.found.append(DataError(text, place=Place(path, line, column)))

    @contextmanager
    def from_errors(self, path: str) -> Iterator[None]:
        """Report a DataError about a file as a fault."""
        try:
            yield
        except DataError as error:
            if not self.keep:
                raise
            error.within(file=path, column=None if error.place.line is None else 1)
            # The traceback would keep what was read in memory.
            self.found.append(error.with_traceback(None))


#: The first fault is raised.
STRICT: Final = Faults()


_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_HEAD: Final = 8192  # bytes that show whether a file is text
#: The bytes 0x80 to 0x9f outside of UTF-8, as the error handler surrogateescape decodes them.
_STRAY: Final = re.compile("[\udc80-\udc9f]")
#: Those that Windows-1252 does not have.
_NOT_CP1252: Final = frozenset("\udc81\udc8d\udc8f\udc90\udc9d")


def no_line_is_utf8(data: bytes) -> bool:
    """Return whether bytes are UTF-16 or no text at all, so that no line of them can be read."""
    return data.startswith(_UTF16_BOMS) or b"\0" in data[:_HEAD]


def encoding_advice(data: bytes, encoding: str | None) -> str:
    """Return what to do about bytes that cannot be decoded.

    Parameters
    ----------
    data : bytes
        The beginning of a file, or all of it.
    encoding : str or None
        The encoding that was named; None is UTF-8.
    """
    if encoding is not None:
        return "give --encoding the name of another encoding, or leave it out for UTF-8"
    if data.startswith(_UTF16_BOMS):
        return "give --encoding utf-16, or convert the file with `iconv -f UTF-16 -t UTF-8`"
    if b"\0" in data[:_HEAD]:
        return "the file is not text at all; give another"
    # In Latin-1, 0x80 to 0x9f are control characters, which no text has; in Windows-1252, nearly
    # all of them are quotes, dashes and such.
    odd = set(_STRAY.findall(data.decode("utf-8", "surrogateescape")))
    name, tool = ("cp1252", "CP1252") if odd and not odd & _NOT_CP1252 else ("latin-1", "LATIN1")
    return (
        f"name its encoding, for example --encoding {name}, or convert the file, for example with "
        f"`iconv -f {tool} -t UTF-8`"
    )
