"""CQDB, the tables of names in CRFsuite's model files: from names to numbers and back.

A CQDB holds its names, 256 hash tables (open addressing, half empty) over Bob Jenkins' hash
``hashlittle`` of the names, and one offset per number. Offsets count from its start.
"""

from __future__ import annotations

import struct
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from ...arrays import Ints
from ...errors import DataError, ModelFileError

__all__ = ["LARGEST", "damaged", "read_names", "words_at", "write_names"]

_Bytes = npt.NDArray[np.uint8]
_Words = npt.NDArray[np.uint32]

#: The largest offset.
LARGEST: Final = 2**32 - 1

_DATABASE: Final = struct.Struct("<4s5I")
_BYTE_ORDER: Final = 0x62445371
_N_TABLES: Final = 256
#: Where the first name of a CQDB stands: after its header and the references to its tables.
_FIRST_NAME: Final = _DATABASE.size + 8 * _N_TABLES


def damaged(why: str) -> NoReturn:
    """Refuse a model file."""
    raise ModelFileError(f"{why}; the model file of CRFsuite is damaged: copy or train it again")


def words_at(raw: _Bytes, offsets: Ints) -> Ints:
    """Read the 32-bit numbers at some offsets, which need not be multiples of 4."""
    parts = [raw[offsets + i].astype(np.int64) << (8 * i) for i in range(4)]
    return parts[0] | parts[1] | parts[2] | parts[3]


def read_names(data: bytes, raw: _Bytes, start: int, count: int, what: str) -> tuple[str, ...]:
    """Read the names of a CQDB in the order of their numbers."""
    if start + _FIRST_NAME > len(data):
        damaged(f"the {what}s start at byte {start} of {len(data)}")
    found, size, _, order, n_back, at_back = _DATABASE.unpack_from(data, start)
    if found != b"CQDB" or order != _BYTE_ORDER:
        damaged(f"at byte {start} there is no table of {what}s")
    if start + size > len(data) or at_back + 4 * n_back > size:
        damaged(f"the table of {what}s goes beyond its end")
    if n_back != count:
        damaged(f"the header says {count} {what}s and there are {n_back}")
    records = np.frombuffer(data, "<u4", count, start + at_back).astype(np.int64) + start
    if not count:
        return ()
    if records.min() < start + _FIRST_NAME or records.max() + 8 > start + size:
        damaged(f"a {what} stands outside of its table")
    numbers, lengths = words_at(raw, records), words_at(raw, records + 4)
    if (numbers != np.arange(count)).any():
        damaged(f"the {what}s are not numbered from 0")
    ends = records + 8 + lengths
    # Sound names do not overlap, so that together they are no longer than the file.
    if lengths.min() < 1 or ends.max() > start + size or lengths.sum() > size:
        damaged(f"a {what} goes beyond the end of its table")
    names = [data[a:b] for a, b in zip((records + 8).tolist(), (ends - 1).tolist(), strict=True)]
    if raw[ends - 1].any() or any(b"\0" in name for name in names):
        damaged(f"a {what} does not end with its only zero byte")
    if len(set(names)) != count:
        damaged(f"two {what}s have the same name")
    return tuple(name.decode("utf-8", "surrogateescape") for name in names)


def write_names(names: tuple[str, ...], what: str) -> bytes:
    """Return a CQDB of some names."""
    try:
        keys = [name.encode("utf-8", "surrogateescape") + b"\0" for name in names]
    except UnicodeEncodeError as error:
        raise DataError(f"the {what} {error.object!r} has a lone surrogate; remove it") from error
    for name, key in zip(names, keys, strict=True):
        if b"\0" in key[:-1]:
            raise DataError(f"the {what} {name!r} has a zero byte, which CRFsuite cannot store")
    if len(set(keys)) != len(keys):
        raise DataError(f"two {what}s have the same name")
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    records = _FIRST_NAME + np.cumsum(lengths + 8) - (lengths + 8)
    parts = [struct.pack("<II", number, len(key)) + key for number, key in enumerate(keys)]
    hashes = _hashes(keys)
    order = np.argsort(hashes % _N_TABLES, kind="stable")
    counts = np.bincount(hashes % _N_TABLES, minlength=_N_TABLES)
    at = _FIRST_NAME + int((lengths + 8).sum())
    tables = np.zeros((_N_TABLES, 2), "<u4")
    buckets = []
    for table, chosen in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        if not len(chosen):
            continue
        tables[table] = at & LARGEST, 2 * len(chosen)
        buckets.append(_buckets(hashes[chosen], records[chosen]))
        at += buckets[-1].nbytes
    links = (records & LARGEST).astype("<u4")
    size = (at + links.nbytes) & LARGEST
    back = at & LARGEST if keys else 0
    header = _DATABASE.pack(b"CQDB", size, 0, _BYTE_ORDER, len(keys), back)
    rest = [bucket.tobytes() for bucket in buckets]
    return b"".join([header, tables.tobytes(), *parts, *rest, links.tobytes()])


def _buckets(hashes: Ints, records: Ints) -> npt.NDArray[np.uint32]:
    """Return a hash table with open addressing, twice as large as it has entries."""
    n = 2 * len(hashes)
    table = np.zeros((n, 2), "<u4")
    used = [False] * n
    for value, record, place in zip(
        hashes.tolist(), (records & LARGEST).tolist(), ((hashes >> 8) % n).tolist(), strict=True
    ):
        while used[place]:
            place = (place + 1) % n
        used[place] = True
        table[place] = value, record
    return table


def _hashes(keys: list[bytes]) -> Ints:
    """Compute Bob Jenkins' lookup3 hash ``hashlittle`` of every key, with initial value 0.

    Keys of the same number of blocks of 12 bytes are hashed together. A key is not empty.
    """
    hashes = np.zeros(len(keys), np.int64)
    blocks = np.fromiter(((len(key) + 11) // 12 for key in keys), np.int64, len(keys))
    for n_blocks in np.unique(blocks).tolist():
        chosen = np.flatnonzero(blocks == n_blocks)
        padded = b"".join(keys[i].ljust(12 * n_blocks, b"\0") for i in chosen)
        words = np.frombuffer(padded, "<u4").reshape(len(chosen), n_blocks, 3)
        lengths = np.array([len(keys[i]) for i in chosen], np.uint32)
        hashes[chosen] = _mixed(words.astype(np.uint32), lengths)
    return hashes


def _rotated(x: _Words, k: int) -> _Words:
    turned: _Words = (x << np.uint32(k)) | (x >> np.uint32(32 - k))
    return turned


def _mixed(words: _Words, lengths: _Words) -> _Words:
    a: _Words = lengths + np.uint32(0xDEADBEEF)
    b: _Words = a.copy()
    c: _Words = a.copy()
    for block in range(words.shape[1]):
        a += words[:, block, 0]
        b += words[:, block, 1]
        c += words[:, block, 2]
        if block == words.shape[1] - 1:
            break
        for k in (4, 6, 8, 16, 19, 4):
            # One round of mix() turns the roles of the three by one.
            a -= c
            a ^= _rotated(c, k)
            c += b
            a, b, c = b, c, a
    for k in (14, 11, 25, 16, 4, 14, 24):
        # So does one round of final().
        c ^= b
        c -= _rotated(b, k)
        a, b, c = b, c, a
    return b
