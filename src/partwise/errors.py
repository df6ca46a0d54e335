"""What partwise raises and warns, in one place."""

from __future__ import annotations


class PartwiseError(Exception):
    """Base of every error that partwise raises on purpose."""


class DataError(PartwiseError, ValueError):
    """Bad input: the message names the place, what was expected and what to do."""


class ModelFileError(PartwiseError, ValueError):
    """A model file that is damaged, hostile or of an unknown version."""


class MismatchError(PartwiseError, ValueError):
    """Structure, loss and solver that do not go together; the message names what would fit."""
