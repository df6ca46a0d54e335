"""What partwise raises and warns, in one place."""

from __future__ import annotations


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
        super().__init__(why)
        self.label = label


class ModelFileError(PartwiseError, ValueError):
    """A model file that is damaged, hostile or of an unknown version."""


class MismatchError(PartwiseError, ValueError):
    """Structure, loss and solver that do not go together; the message names what would fit."""
