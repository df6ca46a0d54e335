"""Faults of a file: raised one by one, or collected so that all of them can be shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from partwise.errors import DataError, Place

__all__ = ["STRICT", "Fault", "Faults"]


@dataclass(frozen=True)
class Fault:
    """One fault of a file.

    Attributes
    ----------
    path : str
        The file.
    line : int or None
        The line, counted from 1; None if the fault has no line.
    column : int or None
        The character in the line at which the fault begins, counted from 1.
    text : str
        What is wrong, and what to do.
    """

    path: str
    line: int | None
    column: int | None
    text: str

    @property
    def place(self) -> str:
        """The file, the line and the character, as compilers write them."""
        return str(Place(self.path, self.line, self.column))

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"

    def record(self) -> dict[str, Any]:
        """Return the fault as JSON can hold it."""
        return {"line": self.line, "column": self.column, "fault": self.text}


@dataclass
class Faults:
    """Where readers report faults.

    Attributes
    ----------
    keep : bool
        Whether faults are collected. If not, the first one is raised as a DataError.
    found : list of Fault
        The collected faults.
    """

    keep: bool = False
    found: list[Fault] = field(default_factory=list)

    def add(self, path: str, line: int | None, text: str, column: int | None = None) -> None:
        """Report a fault: collect it, or raise it as a DataError."""
        if not self.keep:
            raise DataError(text, place=Place(path, line))
        self.found.append(Fault(path, line, column, text))

    @contextmanager
    def from_errors(self, path: str) -> Iterator[None]:
        """Report a DataError about a file as a fault."""
        try:
            yield
        except DataError as error:
            if not self.keep:
                raise
            place = error.place
            column = 1 if place.line is not None and place.column is None else place.column
            self.add(path, place.line, error.sentence, column)


#: The first fault is raised.
STRICT: Final = Faults()
