"""The description of a model format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["ModelFormat"]


@dataclass(frozen=True)
class ModelFormat:
    """A file format of models.

    Attributes
    ----------
    summary : str
        What the files are, in a few words.
    read : callable or None
        ``read(path, **options)`` reads a file and returns a `Model`; it raises a ModelFileError for
        whatever is wrong with the file. None if such files are only written.
    write : callable or None
        ``write(model, path)`` writes a file, completely or not at all; it raises a DataError if
        the format cannot hold the model. None if such files are only read.
    options : tuple of str
        The options that `read` takes: "inputs", the number of input columns.

    Examples
    --------
    >>> from partwise import load_model, save_model
    >>> from partwise.models.foreign.base import ModelFormat
    >>> ModelFormat("models of my own", read=load_model, write=save_model).options
    ()
    """

    summary: str
    read: Callable[..., Model] | None = None
    write: Callable[[Model, str], None] | None = None
    options: tuple[str, ...] = ()
