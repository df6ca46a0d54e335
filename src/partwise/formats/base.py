"""The description of a file format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Format"]


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    holds : str
        What the files hold: "tokens in columns", "rows of numbers", "dependency trees",
        "phrase-structure trees" or "graphs". Formats that hold the same can replace each other.
    read : callable
        ``read(path, **wanted)`` reads a file, where ``-`` is stdin. All formats that hold the same
        return the same type, such as :class:`partwise.formats.columns.Columns`. It takes the same
        keyword arguments as the reader of the built-in format.
    summary : str
        What the files look like, in a few words.
    ends : {"blank line", "line", "brackets"} or None
        What ends an example, so that text can be read as it arrives: a blank line, the end of its
        line, or the end of the line on which its brackets are closed. With "blank line", a later
        example is read together with the first one, which may say how the file is laid out. If
        None, the text is read as a whole.
    verbatim : bool
        Whether predictions are written into the file as it is, blank lines included.
    """

    holds: str
    read: Callable[..., Any]
    summary: str
    ends: str | None = None
    verbatim: bool = False
