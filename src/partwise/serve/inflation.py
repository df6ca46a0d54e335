"""Compressed bodies, which may become far larger than they are."""

from __future__ import annotations

import zlib
from typing import Final

from .faults import Fault

__all__ = ["ENCODINGS", "inflated"]

#: The encodings of a body, and how zlib is told about each: gzip with its header, and deflate,
#: which is a zlib stream.
ENCODINGS: Final = {"identity": 0, "gzip": 31, "x-gzip": 31, "deflate": 15}


def inflated(body: bytes, encoding: str, most: int) -> bytes:
    """Decompress a body, and stop as soon as it is too large.

    Parameters
    ----------
    body : bytes
        The body as it was sent.
    encoding : str
        One of `ENCODINGS`.
    most : int
        The most bytes that it may become.

    Raises
    ------
    Fault
        If it is larger, damaged, cut off or followed by something else.
    """
    bits = ENCODINGS[encoding]
    if not bits:
        if len(body) > most:
            raise _too_large(most)
        return body
    stream = zlib.decompressobj(bits)
    try:
        found = stream.decompress(body, most + 1)
    except zlib.error:
        raise _damaged(encoding) from None
    if len(found) > most:
        raise _too_large(most)
    # Streams that follow each other are refused: thousands of empty ones would fit into a body.
    if not stream.eof or stream.unused_data:
        raise _damaged(encoding)
    return found


def _too_large(most: int) -> Fault:
    return Fault(
        413, "too_large",
        f"the body is larger than {most:,} bytes after decompression; send fewer examples at a "
        "time",
    )  # fmt: skip


def _damaged(encoding: str) -> Fault:
    return Fault(
        400, "not_compressed", f"the body is not one whole {encoding} stream; send it again",
        "Content-Encoding",
    )  # fmt: skip
