"""What a file format is."""

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
        What the files hold: "tokens in columns", "rows of numbers", "dependency trees" or
        "phrase-structure trees". Formats that hold the same can stand in for each other.
    read : callable
        ``read(path, **wanted)`` reads a file, ``-`` being stdin, into the type that all formats
        share which hold the same, such as :class:`partwise.formats.columns.Columns`. It takes the
        keyword arguments that the reader of the built-in format takes.
    summary : str
        What the files look like, in a few words.
    """

    holds: str
    read: Callable[..., Any]
    summary: str
