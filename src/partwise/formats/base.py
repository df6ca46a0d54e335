"""The description of a file format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from partwise.formats.options import Option

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
        keyword arguments as the reader of the built-in format, and its own options.
    summary : str
        What the files look like, in a few words.
    ends : {"blank line", "line", "brackets"} or None
        What ends an example, so that text can be read as it arrives: a blank line, the end of its
        line, or the end of the line on which its brackets are closed. With "blank line", a later
        example is read together with the first one, which may say how the file is laid out. If
        None, the text is read as a whole.
    separate : {"blank line", "line", "brackets"} or None
        The same for files to train on, if it differs from `ends`: formats whose predictions are
        written as a whole may be read in parts all the same.
    verbatim : bool
        Whether predictions are written into the file as it is, blank lines included.
    write : callable or None
        ``write(path, columns, labels=None, probabilities=None, notes=None, **options)`` writes a
        file, see :func:`partwise.formats.columns.write_tokens`; None if there is no writer.
    options : tuple of Option
        What can be set. Each is a keyword argument of `read`, and of `write` where it applies.
    signs : callable or None
        ``signs(lines)`` takes the first lines of a file, without blank ones, and says in a few
        words why they look like this format; None if they do not.
    finds_all : bool
        Whether `read` takes `faults`, a :class:`partwise.formats.faults.Faults`, and reports all
        faults of a file to it.
    by_name : bool
        Whether the files hold features of tokens by name, and no columns.

    Examples
    --------
    >>> from partwise.formats.base import Format
    >>> from partwise.formats.columns import read_columns
    >>> Format("tokens in columns", read_columns, "columns of my own", ends="blank line").cut
    'blank line'
    """

    holds: str
    read: Callable[..., Any]
    summary: str
    write: Callable[..., None] | None = None
    options: tuple[Option, ...] = ()
    signs: Callable[[Sequence[str]], str | None] | None = None
    finds_all: bool = False
    by_name: bool = False

    def own(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return those of some options that the format has."""
        names = {option.name for option in self.options}
        return {name: value for name, value in given.items() if name in names}

    ends: str | None = None
    verbatim: bool = False
    separate: str | None = None

    @property
    def cut(self) -> str | None:
        """What ends an example in a file to train on; None if such files are read as a whole."""
        return self.separate or self.ends
