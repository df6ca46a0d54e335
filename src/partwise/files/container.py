r"""The format of model files: a JSON header and named arrays. It holds data, never code.

Layout (all integers little-endian)::

    offset  bytes
         0      9   magic b"partwise\n"
         9      1   zero
        10      2   format version, uint16
        12      4   zero
        16     32   SHA-256 of every byte from offset 48 to the end of the file
        48      8   length of the whole file, uint64
        56      8   length of the JSON header, uint64
        64          JSON header in UTF-8: {"header": {...}, "arrays": [{"name", "dtype", "shape",
                    "offset", "nbytes"}, ...]}
                    the arrays in that order, each at the next multiple of 64, gaps zero

The digest is checked before anything in the header is used. A header with a good digest is still
checked against the size of the file, because a digest protects against damage and not against
malice. Arrays are read as views of one memory map, so that processes that load the same model share
its pages. The map is copy-on-write: the arrays are writeable, as compiled code requires, and writes
stay in the process.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn

import numpy as np
import numpy.typing as npt

from ..errors import ModelFileError, Place
from .whole_files import remedy, replacing

__all__ = ["FORMAT_VERSION", "MAGIC", "container_kind", "read_container", "strict_json",
           "write_container"]  # fmt: skip

#: The one version of the layout that this release reads and writes.
FORMAT_VERSION: Final = 1

MAGIC: Final = b"partwise\n"
_PROLOGUE: Final = struct.Struct("<9sxHxxxx32sQQ")
_HASHED_FROM: Final = 48
_ALIGNMENT: Final = 64
_DTYPES: Final = ("<f8", "<f4", "<i8", "<i4", "<i2", "<u4", "|u1", "|b1")
_MAX_NDIM: Final = 8
_MAX_BYTES: Final = 2**63 - 1
_CHUNK: Final = 1 << 20
#: The maximum depth of nested lists and objects, because readers of the header may recurse.
_MAX_DEPTH: Final = 64
_ENTRY_KEYS: Final = {"name", "dtype", "shape", "offset", "nbytes"}


def write_container(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    sync: bool = True,
) -> None:
    """Write a header and named arrays to one file, completely or not at all.

    Parameters
    ----------
    path : str or path-like
        The file. An existing file is replaced only when the new one is complete on disk. A symbolic
        link is kept, and the file behind it is replaced.
    header : mapping
        Anything that JSON can hold, with string keys and finite numbers, in at most 62 levels.
    arrays : mapping of str to ndarray
        Arrays of float64, float32, int64, int32, int16, uint32, uint8 or bool, in any memory
        order.

    Raises
    ------
    ModelFileError
        If the header or an array cannot be stored in such a file, or the file cannot be written.
    """
    target = _file_path(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise _about(target, "cannot be written: it is not a plain file; choose another name")
    packed = {name: _packed(target, name, array) for name, array in arrays.items()}
    text = _header_text(target, header, packed)
    try:
        with replacing(target, sync) as file:
            _write_body(file, text, packed)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _about(target, f"cannot be written: {reason}; {remedy(error)}") from error


def read_container(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read and check a file that `write_container` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    header : dict
        The header as it was given.
    arrays : dict of str to ndarray
        Views of a copy-on-write memory map of the file, in the order in which they were written.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, hostile, or of another format version.
    """
    source = _file_path(path)
    if os.path.exists(source) and not os.path.isfile(source) and not os.path.isdir(source):
        # A pipe could keep the reader waiting for ever.
        _fail(source, "cannot be read: it is not a plain file", "give a file that partwise saved")
    try:
        with open(source, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            text = _checked_text(source, file, size)
            header, entries = _parsed(source, text)
            layout = _checked_entries(source, entries, _PROLOGUE.size + len(text), size)
            pages = np.memmap(file, dtype=np.uint8, mode="c")
            _check_bools(source, layout, pages)
    except OSError as error:
        reason = error.strerror or str(error)
        raise _about(
            source, f"cannot be read: {reason}; give the path of a model file that you may read"
        ) from error
    arrays = {
        name: np.ndarray(shape, dtype, buffer=pages, offset=offset)
        for name, dtype, shape, offset in layout
    }
    return header, arrays


def container_kind(path: str | os.PathLike[str]) -> str | None:
    """Return the ``"kind"`` in the header of a file, without checking the rest of the file.

    None if the file cannot be read or is no container.
    """
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            prologue = file.read(_PROLOGUE.size)
            if len(prologue) < _PROLOGUE.size or not prologue.startswith(MAGIC):
                return None
            size = _PROLOGUE.unpack(prologue)[-1]
            if size > os.fstat(file.fileno()).st_size:
                return None
            header, _ = _parsed(Path(path), file.read(size))
    except (OSError, ModelFileError):
        return None
    kind = header.get("kind")
    return kind if isinstance(kind, str) else None


def _about(path: Path, what: str) -> ModelFileError:
    """Return an error about a file."""
    return ModelFileError(what, place=Place(str(path)), subject=True)


def _file_path(path: str | os.PathLike[str]) -> Path:
    if os.fspath(path) == "-":
        raise ModelFileError(
            "a model cannot be read from or written to a stream ('-'), because it is mapped into "
            "memory; give the path of a file"
        )
    return Path(path)


# Writing


def _packed(target: Path, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array in C order, with one of the dtypes of the format."""
    if not isinstance(name, str):
        raise _about(target, f"cannot hold an array named {name!r}; name it by a string")
    given = np.asarray(array)
    dtype = given.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise _about(
            target,
            f"cannot hold the array {name!r} of dtype {given.dtype}; convert it to one "
            f"of {', '.join(_DTYPES)}",
        )
    if given.ndim > _MAX_NDIM:
        raise _about(
            target,
            f"cannot hold the array {name!r} of {given.ndim} dimensions; reshape it to "
            f"at most {_MAX_NDIM}",
        )
    return np.asarray(given, dtype=dtype, order="C")


def _header_text(
    target: Path, header: Mapping[str, Any], packed: Mapping[str, npt.NDArray[Any]]
) -> bytes:
    """Return the JSON header with the offsets of the arrays.

    The offsets depend on the length of the header, so it is encoded until its length is stable.
    """
    try:
        # Also read it back: keys such as 1 and "1" differ in Python but not in JSON.
        strict_json(json.dumps({"header": dict(header)}, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _about(
            target,
            f"cannot hold this header: {error}; use strings, finite numbers, lists and dicts",
        ) from error
    length = 0
    while True:
        entries = []
        end = _PROLOGUE.size + length
        for name, array in packed.items():
            offset = _aligned(end)
            end = offset + array.nbytes
            entries.append(
                {
                    "name": name,
                    "dtype": array.dtype.str,
                    "shape": list(array.shape),
                    "offset": offset,
                    "nbytes": array.nbytes,
                }
            )
        text = json.dumps({"header": dict(header), "arrays": entries}, allow_nan=False).encode()
        if len(text) <= length:
            return text.ljust(length)
        length = len(text)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _write_body(file: BinaryIO, text: bytes, packed: Mapping[str, npt.NDArray[Any]]) -> None:
    end = _PROLOGUE.size + len(text)
    parts: list[bytes | memoryview] = [b"", text]
    for array in packed.values():
        begin = _aligned(end)
        parts += [bytes(begin - end), array.reshape(-1).view(np.uint8).data]
        end = begin + array.nbytes
    parts[0] = struct.pack("<QQ", end, len(text))
    digest = hashlib.sha256()
    file.write(_PROLOGUE.pack(MAGIC, FORMAT_VERSION, bytes(32), 0, 0)[:_HASHED_FROM])
    for part in parts:
        file.write(part)
        digest.update(part)
    file.seek(_HASHED_FROM - digest.digest_size)
    file.write(digest.digest())


# Reading


def _fail(source: Path, what: str, remedy: str = "copy or train it again") -> NoReturn:
    raise _about(source, f"{what}; {remedy}")


def _checked_text(source: Path, file: BinaryIO, size: int) -> bytes:
    """Check magic, version, length and digest, and return the bytes of the JSON header."""
    prologue = file.read(_PROLOGUE.size)
    if prologue[: len(MAGIC)] != MAGIC[: len(prologue)] or not prologue:
        _fail(source, "is not a partwise model file", "give a file that partwise saved")
    if len(prologue) < _PROLOGUE.size:
        _fail(source, f"is truncated: {size:,} bytes where any model has {_PROLOGUE.size:,}")
    _, version, digest, length, text_length = _PROLOGUE.unpack(prologue)
    if version != FORMAT_VERSION:
        _fail(
            source,
            f"is of format version {version} and this partwise reads version {FORMAT_VERSION}",
            "use the release that wrote it, or train it again",
        )
    if prologue != _PROLOGUE.pack(MAGIC, version, digest, length, text_length):
        _fail(source, "is damaged: its prologue has bytes set that must be zero")
    if length > size:
        _fail(source, f"is truncated: {size:,} bytes where its header promises {length:,}")
    if length < size:
        _fail(source, f"is too long: {size:,} bytes where its header promises {length:,}")
    actual = hashlib.sha256(prologue[_HASHED_FROM:])
    while chunk := file.read(_CHUNK):
        actual.update(chunk)
    if actual.digest() != digest:
        _fail(source, "is damaged: its contents do not match their SHA-256 checksum")
    if text_length > length - _PROLOGUE.size:
        _fail(source, "is damaged: its header is longer than the file")
    file.seek(_PROLOGUE.size)
    return file.read(text_length)


def _parsed(source: Path, text: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Parse the JSON header, and return its two parts after checking their types."""
    try:
        parsed = strict_json(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        _fail(source, f"has a header that is not valid JSON ({error})")
    if (
        not isinstance(parsed, dict)
        or parsed.keys() != {"header", "arrays"}
        or not isinstance(parsed["header"], dict)
        or not isinstance(parsed["arrays"], list)
    ):
        _fail(source, 'has a header that does not hold just "header" and "arrays"')
    return parsed["header"], parsed["arrays"]


def strict_json(text: str) -> Any:
    """Parse JSON that has no duplicate keys, no NaN and no infinities."""
    found = json.loads(
        text,
        object_pairs_hook=_unique_pairs,
        parse_constant=_no_constant,
        parse_float=_finite,
    )
    level = [found]
    for _ in range(_MAX_DEPTH):
        level = [
            item
            for held in level
            if isinstance(held, (dict, list))
            for item in (held.values() if isinstance(held, dict) else held)
        ]
    if level:
        raise ValueError(f"it has more than {_MAX_DEPTH} levels")
    return found


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is out of range")
    return number


_Layout = list[tuple[str, np.dtype[Any], tuple[int, ...], int]]


def _checked_entries(source: Path, entries: list[Any], end: int, size: int) -> _Layout:
    """Check the entries of all arrays before any array is made.

    The arrays must lie exactly where `write_container` puts them, so that none can overlap another
    or reach outside the file, and every byte of the file is accounted for.
    """
    layout: _Layout = []
    seen: set[str] = set()
    for position, entry in enumerate(entries):
        where = f"has a header whose array {position}"
        if not isinstance(entry, dict) or entry.keys() != _ENTRY_KEYS:
            _fail(source, f"{where} lacks one of {', '.join(sorted(_ENTRY_KEYS))}")
        name, dtype, shape = entry["name"], entry["dtype"], entry["shape"]
        if not isinstance(name, str) or name in seen:
            _fail(source, f"{where} has no name of its own")
        if dtype not in _DTYPES:
            _fail(source, f"{where} has a dtype other than {', '.join(_DTYPES)}")
        if (
            not isinstance(shape, list)
            or len(shape) > _MAX_NDIM
            or not all(type(n) is int and n >= 0 for n in shape)
            # numpy takes (0, n) only if n alone would fit into memory.
            or math.prod(n for n in shape if n) * 8 > _MAX_BYTES
        ):
            _fail(source, f"{where} has an impossible shape")
        kind = np.dtype(dtype)
        nbytes = math.prod(shape) * kind.itemsize
        offset = _aligned(end)
        if type(entry["nbytes"]) is not int or entry["nbytes"] != nbytes:
            _fail(source, f"{where} has a shape that does not fit its size")
        if type(entry["offset"]) is not int or entry["offset"] != offset:
            _fail(source, f"{where} does not begin where the one before it ends")
        end = offset + nbytes
        if end > size:
            _fail(source, f"{where} reaches past the end of the file")
        seen.add(name)
        layout.append((name, kind, tuple(shape), offset))
    if end != size:
        _fail(source, f"has {size:,} bytes where its arrays end at {end:,}")
    return layout


def _check_bools(source: Path, layout: _Layout, pages: npt.NDArray[np.uint8]) -> None:
    """Raise a ModelFileError for bools other than 0 and 1, which break compiled code."""
    for name, dtype, shape, offset in layout:
        if dtype.kind == "b" and pages[offset : offset + math.prod(shape)].max(initial=0) > 1:
            _fail(source, f"has the array {name!r} of truth values that are neither 0 nor 1")
