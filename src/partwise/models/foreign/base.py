"""What all formats of models share.

That is their description, where a converted model comes from, the bytes of a file, and numbers in
its text.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...errors import DataError, ModelFileError
from ...memory import memory_limit

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["ModelFormat", "Origin", "decoded", "named_file", "read_bytes", "real", "whole"]

#: A file may take 1 / _SHARE of the memory, because what is made of it takes several times more.
_SHARE: Final = 8
_WHOLE: Final = re.compile(r"\d{1,18}", re.ASCII)
#: What pickles begin with, of all protocols that a program of today writes; joblib writes such
#: pickles too, and skops does not.
_PICKLES: Final = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


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


@dataclass(frozen=True)
class Origin:
    """Where a converted model comes from, and what is known of its objective.

    Attributes
    ----------
    toolkit : str
        The program that trained the model.
    objective : str
        The objective that it was trained for, as far as the file says, in words.
    comparable : bool
        Whether partwise has that objective too, so that a fit with the same data and settings
        tells how far the weights were from its optimum.
    settings : dict
        What else the file says about the training, as JSON can hold it.
    """

    toolkit: str
    objective: str
    comparable: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The verdict of the certificate of a converted model."""
        return f"converted from {self.toolkit}, not certified"

    def to_json(self) -> dict[str, Any]:
        """Return the contents as JSON can hold them."""
        return {
            "toolkit": self.toolkit,
            "objective": self.objective,
            "comparable": self.comparable,
            "settings": self.settings,
        }

    @staticmethod
    def from_json(data: Any) -> Origin | None:
        """Make an origin from what `to_json` returned; None if the data are anything else."""
        wanted = {"toolkit": str, "objective": str, "comparable": bool, "settings": dict}
        if not isinstance(data, dict) or data.keys() != wanted.keys():
            return None
        if not all(type(data[name]) is kind for name, kind in wanted.items()):
            return None
        return Origin(**data)


def read_bytes(path: str) -> bytes:
    """Read a whole file that another program wrote.

    Raises
    ------
    ModelFileError
        If it cannot be read, is not a plain file, is too large, or is a pickle.
    """
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        # A pipe could keep the reader waiting for ever.
        raise ModelFileError(f"{path} is not a plain file; give the path of a model file")
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > memory_limit() / _SHARE:
                raise ModelFileError(
                    f"{path} has {size:,} bytes, which is too much for the memory of this machine; "
                    "convert it on a larger one"
                )
            data = file.read()
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read: {error.strerror or error}; give the path of a model file"
        ) from error
    except ValueError as error:  # a zero byte in the name
        raise ModelFileError(f"{path!r} is no name of a file; give the path of one") from error
    # A file of safetensors begins with the length of its JSON, which may look like a pickle.
    if data.startswith(_PICKLES) and data[5:9] != b"\0\0\0{":
        raise ModelFileError(
            f"{path} is a pickle, and reading a pickle may run anything; export the model where it "
            "was made, and convert the export; the lines for it are on the page 'Bringing and "
            "taking models' of the documentation"
        )
    return data


@contextmanager
def named_file(path: str, toolkit: str) -> Iterator[None]:
    """Turn what is wrong with the contents of a file into a ModelFileError that names it."""
    try:
        yield
    except (DataError, ModelFileError) as error:
        raise ModelFileError(
            f"{path} is not a valid model file of {toolkit}: {error}; write it again, or give "
            "another file"
        ) from error


def decoded(data: bytes, where: str) -> str:
    """Return the text of some bytes, which must be UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where} has the byte 0x{data[error.start]:02x}, which is not UTF-8"
        ) from None


def whole(text: str | bytes, what: str, most: int | None = None) -> int:
    """Return a whole number from 0 in decimal digits.

    Parameters
    ----------
    text : str or bytes
        The digits.
    what : str
        What the number is, for the message.
    most : int or None
        The largest that it may be.
    """
    given = text.decode("latin-1") if isinstance(text, bytes) else text
    if _WHOLE.fullmatch(given) is None:
        raise DataError(f"{what} is {given[:40]!r} where a whole number is expected")
    number = int(given)
    if most is not None and number > most:
        raise DataError(f"{what} is {number:,}, and {most:,} is the most that the file can hold")
    return number


def real(text: str, what: str) -> float:
    """Return a finite number, decimal or as C's ``%a`` writes it."""
    # float() would also take 1_0 and digits of other scripts.
    plain = text.isascii() and "_" not in text
    try:
        number = float.fromhex(text) if "0x" in text else float(text) if plain else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{what} is {text[:40]!r} where a finite number is expected")
    return number
