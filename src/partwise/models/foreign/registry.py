"""The registry of model formats by name, and the functions that use it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ...errors import DataError, MismatchError
from ...registry import Registry
from .base import ModelFormat

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["MODEL_FORMATS", "read_model", "write_model"]

#: The names of all model formats end in "-model".
MODEL_FORMATS: Final[Registry[ModelFormat]] = Registry(
    "partwise.model_formats",
    {
        "partwise-model": "models.file:FORMAT",
        "crfsuite-model": "models.foreign.crfsuite:FORMAT",
        "wapiti-model": "models.foreign.wapiti:FORMAT",
        "crfpp-model": "models.foreign.crfpp:FORMAT",
        "liblinear-model": "models.foreign.liblinear:FORMAT",
        "sklearn-model": "models.foreign.sklearn:FORMAT",
        "json-model": "models.foreign.plain_json:FORMAT",
        "safetensors-model": "models.foreign.safetensors:FORMAT",
    },
)


def read_model(path: str | os.PathLike[str], format: str, *, inputs: int | None = None) -> Model:
    """Read a model of another toolkit.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : str
        A name in ``MODEL_FORMATS``, such as "wapiti-model".
    inputs : int or None
        The number of input columns, for formats that do not store it.

    Returns
    -------
    Model
        The model. Its `origin` says where it comes from, and its certificate certifies nothing.

    Raises
    ------
    DataError
        If the format is unknown or cannot be read.
    ModelFileError
        If the file is missing, damaged or hostile.

    Examples
    --------
    >>> from partwise import SequenceTagger, read_model, write_model
    >>> tagger = SequenceTagger().fit([["the", "dog"]], [["DET", "NOUN"]])
    >>> write_model(tagger.model_, "tags.crfsuite", "crfsuite-model")
    >>> model = read_model("tags.crfsuite", "crfsuite-model")
    >>> model.predict([["the", "dog"]]), model.certificate.converged
    ([['DET', 'NOUN']], False)
    """
    found = _format(format)
    if found.read is None:
        raise DataError(f"models of the format {format!r} can be written and not read")
    if inputs is None:
        return found.read(os.fspath(path))
    if "inputs" not in found.options:
        raise MismatchError(
            f"models of the format {format!r} store the number of columns or have none; leave out "
            "inputs"
        )
    return found.read(os.fspath(path), inputs=inputs)


def write_model(model: Model, path: str | os.PathLike[str], format: str) -> None:
    """Write a model in the format of another toolkit.

    Parameters
    ----------
    model : Model
        The model.
    path : str or path-like
        The file. An existing file is replaced only when the new one is complete on disk.
    format : str
        A name in ``MODEL_FORMATS``, such as "crfsuite-model".

    Raises
    ------
    DataError
        If the format is unknown, cannot be written, or cannot hold the model.

    Examples
    --------
    >>> from partwise import SequenceTagger, write_model
    >>> tagger = SequenceTagger().fit([["the", "dog"]], [["DET", "NOUN"]])
    >>> write_model(tagger.model_, "tags.crfsuite", "crfsuite-model")
    """
    write = _format(format).write
    if write is None:
        raise DataError(
            f"models of the format {format!r} can be read and not written; use one of "
            + ", ".join(name for name, one in MODEL_FORMATS.usable().items() if one.write)
        )
    write(model, os.fspath(path))


def _format(name: str) -> ModelFormat:
    if name not in MODEL_FORMATS:
        raise DataError(f"unknown model format {name!r}; use one of {', '.join(MODEL_FORMATS)}")
    return MODEL_FORMATS[name]
