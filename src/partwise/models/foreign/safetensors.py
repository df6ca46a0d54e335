"""Models as files of safetensors.

Such a file is a length (uint64, little endian), a header in JSON, and the arrays one after the
other. This is so little that no package is needed to write it, and reading it here checks what a
model file must not hold.

The arrays are those of a model file of partwise, under the same names: ``weights``, and ``first``
and ``slot``, which say what they belong to, and those of the features, among them the names, as
joined bytes and offsets. The rest of the model is JSON in the metadata, under "partwise". So a
model of any task can be written, and is the same when it is read back.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ...errors import DataError, ModelFileError
from ...files.container import strict_json
from ...files.whole_files import replacing
from ..file import pack_model, unpack_model
from .base import ModelFormat, decoded, named_file, read_bytes

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT", "read_safetensors_model", "write_safetensors_model"]

_DTYPES: Final = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "U8": "|u1", "BOOL": "|b1"
}  # fmt: skip
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}
_METADATA: Final = "__metadata__"
_KEY: Final = "partwise"
_LENGTH: Final = struct.Struct("<Q")
_ENTRY: Final = {"dtype", "shape", "data_offsets"}


def write_safetensors_model(model: Model, path: str) -> None:
    """Write a model of any task as a file of safetensors, completely or not at all."""
    header, arrays = pack_model(model, path)
    packed = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    # Larger numbers come first, so that every array begins where its numbers may.
    order = sorted(packed, key=lambda name: -packed[name].itemsize)
    held: dict[str, Any] = {_METADATA: {"format": "np", _KEY: json.dumps(header)}}
    at = 0
    for name in order:
        array = packed[name]
        dtype = _NAMES[array.dtype.newbyteorder("<").str]
        end = at + array.nbytes
        held[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(held).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    with replacing(path) as file:
        file.write(_LENGTH.pack(len(text)) + text)
        for name in order:
            file.write(packed[name].astype(packed[name].dtype.newbyteorder("<")).tobytes())


def read_safetensors_model(path: str) -> Model:
    """Read a file that `write_safetensors_model` wrote.

    Raises
    ------
    ModelFileError
        If it is not a valid file of safetensors, or holds no model of partwise.
    """
    data = read_bytes(path)
    with named_file(path, "partwise as safetensors"):
        header, arrays = _parse(data)
    return unpack_model(path, header, arrays)


def _parse(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    if len(data) < _LENGTH.size or _LENGTH.unpack_from(data)[0] > len(data) - _LENGTH.size:
        raise DataError("its header is longer than the file")
    begin = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    held = _json(decoded(data[_LENGTH.size : begin], "its header"))
    metadata = held.pop(_METADATA, None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise DataError(
            'its metadata have no "partwise", so that it holds arrays and not such a model'
        )
    return _json(metadata[_KEY]), _arrays(held, data[begin:])


def _json(text: str) -> dict[str, Any]:
    try:
        held = strict_json(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"its header is not valid JSON ({error})") from error
    if not isinstance(held, dict):
        raise DataError("its header is no object")
    return held


def _arrays(held: dict[str, Any], data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays, which must fill the rest of the file without gaps."""
    found, sizes = {}, []
    for name, entry in held.items():
        sound = isinstance(entry, dict) and entry.keys() == _ENTRY and entry["dtype"] in _NAMED
        numbers = [*entry["shape"], *entry["data_offsets"]] if sound and _lists(entry) else [-1]
        if len(numbers) < 2 or not all(type(n) is int and 0 <= n <= len(data) for n in numbers):
            raise DataError(f"its array {name[:40]!r} is not described as it should be")
        begin, end = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        if end - begin != dtype.itemsize * math.prod(entry["shape"]):
            raise DataError(f"its array {name[:40]!r} has another size than its shape says")
        sizes.append((begin, end))
        if dtype == np.bool_ and (np.frombuffer(data[begin:end], np.uint8) > 1).any():
            raise DataError(f"its array {name[:40]!r} holds something that is neither true nor not")
        # A copy, because compiled code wants arrays that may be written to.
        found[name] = np.frombuffer(data[begin:end], dtype).reshape(entry["shape"]).copy()
    sizes.sort()
    ends = [0, *(end for _, end in sizes)]
    if [begin for begin, _ in sizes] != ends[:-1] or ends[-1] != len(data):
        raise DataError("its arrays do not fill the file")
    return found


def _lists(entry: dict[str, Any]) -> bool:
    shape, offsets = entry["shape"], entry["data_offsets"]
    return isinstance(shape, list) and isinstance(offsets, list) and len(offsets) == 2


_NAMED: Final = tuple(_DTYPES)


def _read(path: str) -> Model:
    return read_safetensors_model(path)


def _write(model: Model, path: str) -> None:
    try:
        write_safetensors_model(model, path)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be written: {error.strerror or error}") from error


FORMAT: Final = ModelFormat("all arrays of a model, as safetensors", _read, _write)
