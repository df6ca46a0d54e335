"""How often each feature occurred in training, in the form of the header of a model file.

They are a text in `meta`, and not an array: versions that do not know them can then read the file.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["Counts", "pack_counts", "unpack_counts"]

Counts = npt.NDArray[np.uint32]

_STORED: Final = np.dtype("<u4")


def pack_counts(counts: Counts) -> str:
    """Return counts as text: little-endian uint32, compressed by zlib, in base64."""
    return base64.b64encode(zlib.compress(counts.astype(_STORED).tobytes())).decode("ascii")


def unpack_counts(text: Any, n: int) -> Counts | None:
    """Return the counts of n features; None for anything that `pack_counts` did not make."""
    if not isinstance(text, str):
        return None
    reader = zlib.decompressobj()
    try:
        # No more than what is wanted, whatever the text would unfold to.
        data = reader.decompress(base64.b64decode(text, validate=True), 4 * n + 1)
    except (binascii.Error, ValueError, zlib.error):
        return None
    if len(data) != 4 * n or not reader.eof:
        return None
    return np.frombuffer(data, _STORED).astype(np.uint32)
