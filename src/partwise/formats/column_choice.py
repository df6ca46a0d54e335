"""Which columns a file has, which of them are inputs, and which one is the label."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, Place
from partwise.formats.faults import Faults
from partwise.wording import counted

__all__ = ["ColumnChoice", "check_inputs", "common_width", "listed", "separator_hint"]

_RANGE = re.compile(r"(-?[0-9]{1,6})(?:-([0-9]{1,6}))?", re.ASCII)


def listed(given: Any) -> list[str] | None:
    """Return the items of a list, or of a string in which commas separate them."""
    if given is None:
        return None
    items = given.split(",") if isinstance(given, str) else [str(item) for item in given]
    names = [item.strip() for item in items]
    if not names or "" in names:
        raise DataError(f"{given!r} has nothing between two commas; write such as 1,3")
    return names


def check_inputs(name: str, found: int, n_columns: int | None, inputs: int | None) -> None:
    """Raise a DataError unless a file has as many inputs as are expected.

    Parameters
    ----------
    name : str
        The file.
    found : int
        The number of its inputs.
    n_columns, inputs
        As in :func:`partwise.formats.read_columns`.
    """
    wanted = inputs if inputs is not None else None if n_columns is None else n_columns - 1
    if wanted is not None and found != wanted:
        plural = "" if found == 1 else "s"
        raise DataError(
            f"{found} input{plural} where {wanted} are expected; choose with --columns "
            "those that the model was trained with",
            place=Place(name),
        )


@dataclass(frozen=True)
class ColumnChoice:
    """The choice of columns, before it is known how many there are.

    Attributes
    ----------
    label : int or None
        The column of the label, counted from 1, or from the end if negative; None is the last.
    columns : tuple of tuple of int, or None
        Ranges of input columns; None is all but the label.
    """

    label: int | None = None
    columns: tuple[tuple[int, int], ...] | None = None

    @classmethod
    def of(cls, label: Any, columns: Any) -> ColumnChoice:
        """Make a choice from the values of ``--label-column`` and ``--columns``."""
        if label is not None and (not isinstance(label, int) or label == 0):
            raise DataError(
                f"the label column is {label!r}; columns count from 1, or from -1 at the end"
            )
        names = listed(columns)
        return cls(label, None if names is None else tuple(map(_range, names)))

    def resolved(
        self, name: str, width: int, labelled: bool, inputs: int | None
    ) -> tuple[list[int], int | None]:
        """Return the input columns and the label column, counted from 0.

        Parameters
        ----------
        name : str
            The file, for messages.
        width : int
            The number of its columns.
        labelled, inputs
            As in :func:`partwise.formats.read_columns`.
        """
        every = list(range(width))
        if self.columns is not None:
            chosen = [
                column
                for first, last in self.columns
                for column in _between(name, first, last, width)
            ]
            if inputs is not None:
                check_inputs(name, len(chosen), None, inputs)
                at = -1 if self.label is None else self.label
                present = -width <= at <= width
                label = _at(name, at, width) if present else None
                return chosen, None if label in chosen else label
            if not labelled:
                return chosen, None
            label = _at(name, -1 if self.label is None else self.label, width)
            if label in chosen:
                raise DataError(
                    f"column {label + 1} is the label, and --columns names it as an input "
                    "too; choose another with --label-column",
                    place=Place(name),
                )
            return chosen, label
        if inputs is not None and width == inputs:
            return every, None
        if inputs is None and not labelled:
            return every, None
        label = _at(name, -1 if self.label is None else self.label, width)
        every.remove(label)
        check_inputs(name, len(every), None, inputs)
        return every, label


def _range(text: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise DataError(
            f"{text!r} is no column; write numbers from 1, ranges such as 2-4, or -1 for the last"
        )
    first = int(found[1])
    return first, first if found[2] is None else int(found[2])


def _between(name: str, first: int, last: int, width: int) -> list[int]:
    begin, end = _at(name, first, width), _at(name, last, width)
    if end < begin:
        raise DataError(
            f"the columns {first}-{last} run backwards; name the smaller first", place=Place(name)
        )
    return list(range(begin, end + 1))


def _at(name: str, place: int, width: int) -> int:
    if not (1 <= place <= width or -width <= place <= -1):
        raise DataError(
            f"there is no column {place} in a file of {width} columns; count from 1, or "
            "from -1 at the end",
            place=Place(name),
        )
    return place - 1 if place > 0 else width + place


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
            place=Place(name, int(where[first])),
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
