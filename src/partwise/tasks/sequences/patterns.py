"""Patterns of CRF++ and of Wapiti: one line of a template file each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from ...errors import DataError, Place
from .column_task import DIALECTS
from .extraction import MAX_COLUMNS
from .wapiti_regexp import RegexpError, compile_regexp, lower

__all__ = ["DIALECTS", "OUTSIDE", "Macro", "Pattern", "read_pattern", "sign_of_wapiti"]

#: What stands for tokens before and after a sentence, by their distance.
OUTSIDE: Final = {
    "crfpp": (
        tuple(f"_B-{n}" for n in range(1, 5)),
        tuple(f"_B+{n}" for n in range(1, 5)),
    ),
    "wapiti": (
        tuple(f"_x-{n}" for n in (1, 2, 3, 4, "#")),
        tuple(f"_x+{n}" for n in (1, 2, 3, 4, "#")),
    ),
}
#: CRF++ reads no offsets beyond this.
_REACH: Final = 4
#: No sentence is longer.
_MAX_OFFSET: Final = 2**31 - 1
_KINDS: Final = {"crfpp": "UB", "wapiti": "ub*"}
_MACROS: Final = {"crfpp": "x", "wapiti": "xXtTmM"}
_NUMBER: Final = r"[+-]?(?:0|[1-9][0-9]{0,9})"
_PLACES: Final = {
    "crfpp": re.compile(r"\[()(-?[0-9]{1,9}),([0-9]{1,9})", re.ASCII),
    "wapiti": re.compile(rf"\[(@?)\s*({_NUMBER}),\s*({_NUMBER})", re.ASCII),
}
_QUOTED: Final = re.compile(r',"((?:[^"\\]|\\.)*)"', re.DOTALL)
#: What only Wapiti's files have.
_SIGNS: Final = (
    (re.compile(r"[ub*]"), "begins with {}"),
    (re.compile(r".*?(%[XtTmM])\["), "has {}"),
    (re.compile(r".*?(%x\[@)"), "has {}"),
    (re.compile(r".*?(%x\[[ +][^\]]*\])"), "has {}"),
    (re.compile(r".*?(%x\[-?(?:[5-9]|[1-9][0-9]+),[^\]]*\])"), "has {}"),
)


class Macro(NamedTuple):
    """A macro of a pattern, such as ``%x[-1,0]``.

    Attributes
    ----------
    letter
        ``x``, ``t`` or ``m``; in upper case, the result is in lower case.
    offset, origin
        The token that it looks at, see :class:`partwise.tasks.sequences.extraction.Item`.
    column
        The column that it looks at, counted from 0.
    regexp
        The expression of ``t`` and ``m``.
    """

    letter: str
    offset: int
    origin: Literal["token", "first", "end"]
    column: int
    regexp: str | None = None

    def derive(self) -> Callable[[str], str | None] | None:
        """Return what the macro makes of a field; None if it is the field itself."""
        if self.regexp is None:
            return None if self.letter == "x" else lower
        match = compile_regexp(self.regexp)
        if self.letter in "tT":
            return lambda text: "false" if match(text) is None else "true"
        if self.letter == "m":
            return lambda text: match(text) or ""
        return lambda text: lower(match(text) or "")


@dataclass(frozen=True)
class Pattern:
    """One pattern.

    Attributes
    ----------
    text
        The pattern as it begins the names of its features; in Wapiti, the first letter is in lower
        case.
    texts
        The fixed parts, one more than there are macros.
    macros
        What stands between them.
    line
        The line of the file, counted from 1.
    columns
        Where each macro begins in the line, counted from 1.
    """

    text: str
    texts: tuple[str, ...]
    macros: tuple[Macro, ...]
    line: int = field(compare=False)
    columns: tuple[int, ...] = field(compare=False)

    @property
    def of_tokens(self) -> bool:
        """Whether it gives features of tokens."""
        return self.text[0] in "uU*"

    @property
    def of_pairs(self) -> bool:
        """Whether it gives features of pairs of neighbouring tokens."""
        return self.text[0] in "bB*"


def sign_of_wapiti(line: str) -> str | None:
    """Return what shows that a line is not for CRF++; None if nothing does."""
    for sign, words in _SIGNS:
        found = sign.match(line)
        if found is not None:
            return words.format(found.group(found.lastindex or 0))
    return None


def read_pattern(line: str, dialect: str, path: str, number: int) -> Pattern | None:
    """Read one line of a template file.

    Parameters
    ----------
    line : str
        The line, without its end.
    dialect : {"crfpp", "wapiti"}
        The program whose rules hold.
    path, number : str, int
        The file and the number of the line, for messages.

    Returns
    -------
    Pattern or None
        None for blank lines and comments.
    """
    if dialect == "wapiti":
        line = line.partition("#")[0].rstrip()
        line = line[:1].lower() + line[1:]
    if not line.strip() or line.startswith("#"):
        return None
    reader = _Reader(line, dialect, path, number)
    if line[0] not in _KINDS[dialect]:
        raise reader.fault(0, f"{line[0]!r} begins no pattern", _BEGINNINGS[dialect])
    return reader.read()


_BEGINNINGS: Final = {
    "crfpp": "begin it with U (for tokens) or B (for pairs of labels), or with # for a comment; "
    "patterns that begin with u, b or * are of the dialect wapiti",
    "wapiti": "begin it with u (for tokens), b (for pairs of labels) or * (for both), or with # "
    "for a comment",
}


class _Reader:
    """Reads the macros of one pattern."""

    def __init__(self, line: str, dialect: str, path: str, number: int) -> None:
        self.line, self.dialect, self.path, self.number = line, dialect, path, number

    def fault(self, at: int, what: str, remedy: str) -> DataError:
        """Return the error for something that is wrong at a place of the line."""
        return DataError(f"{what}; {remedy}", place=Place(self.path, self.number, at + 1))

    def read(self) -> Pattern:
        """Read the whole pattern."""
        texts, macros, columns, at = [], [], [], 0
        while (percent := self.line.find("%", at)) >= 0:
            texts.append(self.line[at:percent])
            macro, at = self.macro(percent)
            macros.append(macro)
            columns.append(percent + 1)
        texts.append(self.line[at:])
        return Pattern(self.line, tuple(texts), tuple(macros), self.number, tuple(columns))

    def macro(self, at: int) -> tuple[Macro, int]:
        """Read the macro at a place, and return it and where it ends."""
        letter = self.line[at + 1 : at + 2]
        known = _MACROS[self.dialect]
        if not letter or letter not in known:
            every = ", ".join(f"%{one}" for one in known)
            more = "; %X, %t, %T, %m and %M are of the dialect wapiti"
            raise self.fault(
                at,
                f"unknown macro {self.line[at : at + 2]!r}",
                f"use {every}{more if self.dialect == 'crfpp' else ''}",
            )
        found = _PLACES[self.dialect].match(self.line, at + 2)
        if found is None:
            raise self.fault(
                at, f"no offset and column after %{letter}", f"write %{letter}[-1,0], for example"
            )
        offset, column = int(found.group(2)), int(found.group(3))
        self.check(at, letter, offset, column)
        regexp, end = None, found.end()
        if letter in "tTmM":
            regexp, end = self.regexp(letter, end)
        if self.line[end : end + 1] != "]":
            raise self.fault(end, f"no ] where %{letter}[ should end", "close the bracket here")
        if not found.group(1):
            return Macro(letter, offset, "token", column, regexp), end + 1
        # Wapiti counts tokens from 1, so that 0 is the one before the first.
        if offset < 0:
            return Macro(letter, offset, "end", column, regexp), end + 1
        return Macro(letter, offset - 1, "first", column, regexp), end + 1

    def check(self, at: int, letter: str, offset: int, column: int) -> None:
        """Raise an error unless there can be such tokens and columns."""
        if self.dialect == "crfpp" and abs(offset) > _REACH:
            raise self.fault(
                at,
                f"%{letter} looks {abs(offset)} tokens away",
                f"CRF++ looks at most {_REACH} away; use a smaller offset, or the dialect wapiti",
            )
        if abs(offset) > _MAX_OFFSET:
            raise self.fault(at, f"the offset {offset} is too large", "use a smaller one")
        if not 0 <= column < MAX_COLUMNS:
            raise self.fault(
                at,
                f"there is no column {column}",
                f"columns are counted from 0, and there can be {MAX_COLUMNS}",
            )

    def regexp(self, letter: str, at: int) -> tuple[str, int]:
        """Read the quoted expression at a place, and return it and where it ends."""
        found = _QUOTED.match(self.line, at)
        if found is None:
            raise self.fault(
                at,
                f"no expression in quotes for %{letter}",
                f'write %{letter}[0,0,"^\\u"], for example; a # begins a comment even in quotes',
            )
        try:
            compile_regexp(found.group(1))
        except RegexpError as error:
            raise self.fault(
                found.start(1) + error.at,
                f"in the expression {found.group(1)!r}: {error}",
                "write a backslash before a character that stands for itself",
            ) from None
        return found.group(1), found.end()
