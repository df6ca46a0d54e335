"""How many columns a column file has, and which of its lines have others."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from partwise.counted import counted
from partwise.errors import DataError, Place
from partwise.formats.faults import Faults

__all__ = ["common_width", "separator_hint"]

#: Characters that separate columns in files of other programs.
_OTHER_MARKS: Final = ";,|"
#: The share of the lines that such a character has to split alike.
_NEARLY_ALL: Final = 0.8


def common_width(
    name: str,
    lines: list[str],
    mark: str,
    where: NDArray[np.int64],
    n_columns: int | None,
    faults: Faults,
) -> int:
    """Return the number of columns; lines with another number are reported, and cut or filled.

    It is the number of the first line, unless more than half of the lines agree on another one:
    then it is the first line that is wrong, such as a heading.

    Parameters
    ----------
    name : str
        The file.
    lines : list of str
        The lines of tokens.
    mark : str
        What separates columns.
    where : array
        The number of every line in the file.
    n_columns : int or None
        The number of columns that the file must have.
    faults : Faults
        Where lines are reported.
    """
    widths = np.array([line.count(mark) for line in lines]) + 1
    values, counts = np.unique(widths, return_counts=True)
    most = int(counts.argmax())
    width = int(values[most]) if 2 * counts[most] > len(lines) else int(widths[0])
    first = int(np.flatnonzero(widths == width)[0])
    if n_columns is not None and width != n_columns:
        raise DataError(
            f"{counted(width, 'column')} where {n_columns} "
            f"{'is' if n_columns == 1 else 'are'} expected; give every token "
            f"{counted(n_columns, 'column')}",
            place=Place(name, where[first]),
        )
    told = f"line {where[first]} has" if not first else "most lines have"
    for bad in np.flatnonzero(widths != width).tolist():
        heading = "; if it is a comment or a heading, remove it" if bad < first else ""
        faults.add(
            name,
            int(where[bad]),
            f"{counted(int(widths[bad]), 'column')} where {told} {width}{heading}; every token "
            "needs the same columns, and a blank line ends a sentence",
            len(mark.join(lines[bad].split(mark)[:width])) + 1,
        )
        lines[bad] = mark.join([*lines[bad].split(mark), *["?"] * width][:width])
    return width


def separator_hint(lines: list[str]) -> str:
    """Return advice to give `separator`, if another character splits lines of one column alike.

    A few lines may differ, since a token can be that character itself.

    Parameters
    ----------
    lines : list of str
        The lines of tokens.
    """
    for mark in _OTHER_MARKS:
        [(count, n)] = Counter(line.count(mark) for line in lines).most_common(1) or [(0, 0)]
        if count and n >= _NEARLY_ALL * len(lines):
            of = "it" if n == len(lines) else "most lines"
            return (
                f"give separator={mark!r} (--separator {mark!r}), which makes {count + 1} columns "
                f"of {of}"
            )
    return ""
