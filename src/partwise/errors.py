"""What partwise raises and warns, in one place."""

from __future__ import annotations

import sys


class PartwiseError(Exception):
    """Base of every error that partwise raises on purpose."""


class DataError(PartwiseError, ValueError):
    """Bad input: the message names the place, what was expected and what to do."""


class LabelError(DataError):
    """A gold label that is none of those expected.

    Attributes
    ----------
    label
        The label.
    """

    def __init__(self, label: object, why: str) -> None:
        super().__init__(label, why)
        self.label, self.why = label, why

    def __str__(self) -> str:
        """Give the reason; both arguments are kept, so that workers can send the error."""
        return self.why


class ModelFileError(PartwiseError, ValueError):
    """A model file that is damaged, hostile or of an unknown version."""


class MismatchError(PartwiseError, ValueError):
    """Structure, loss and solver that do not go together; the message names what would fit."""


def level_outside() -> int:
    """Return the stack level of the code that called the package, for a warning to point at."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "partwise":
        level, frame = level + 1, frame.f_back
    return level
