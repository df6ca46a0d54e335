"""The bodies of requests and answers.

What is compressed may become far larger than it is, and JSON from strangers is read strictly.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from typing import Any, Final, NoReturn

from .faults import Fault

__all__ = ["ENCODINGS", "finite", "inflated", "read_json", "write_json"]

#: The encodings of a body, and how zlib is told about each: gzip with its header, and deflate,
#: which is a zlib stream.
ENCODINGS: Final = {"identity": 0, "gzip": 31, "x-gzip": 31, "deflate": 15}

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_ALIKE: Final = bytes.maketrans(b"{}", b"[]")


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


def read_json(body: bytes, max_depth: int) -> Any:
    """Read the body of a request.

    Parameters
    ----------
    body : bytes
        The body.
    max_depth : int
        How deep lists and objects may be nested.

    Raises
    ------
    Fault
        If it is not JSON as RFC 8259 has it: in UTF-8, without NaN, infinite numbers or names that
        occur twice in an object; or if it is too deep.
    """
    _check_depth(body, max_depth)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Fault(
            400, "not_utf8", f"byte {error.start} of the body is not UTF-8; send JSON in UTF-8"
        ) from None
    try:
        return json.loads(text, parse_constant=_no_number, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise Fault(
            400, "not_json",
            f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
        ) from None  # fmt: skip
    except ValueError:
        # Python refuses to read whole numbers of more than some thousand digits.
        raise Fault(400, "not_json", "a number of the body has too many digits") from None


def _check_depth(body: bytes, max_depth: int) -> None:
    brackets = _STRING.sub(b"", body).translate(_ALIKE, _OTHERS)
    # Each round removes the innermost level.
    for _ in range(max_depth):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"")
    if b"[" in brackets:
        raise Fault(
            400, "too_deep",
            f"lists and objects of the body are nested deeper than {max_depth} levels, or not "
            "closed",
        )  # fmt: skip


def _no_number(name: str) -> NoReturn:
    raise Fault(400, "not_json", f"{name} is not JSON; leave out values that are not finite")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Fault(400, "not_json", f"the name {twice[:80]!r} occurs twice in an object")
    return found


def write_json(value: Any) -> bytes:
    """Return a value as JSON; in ASCII, as labels may hold what UTF-8 cannot encode."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def finite(number: float) -> float | None:
    """Return a number as JSON can hold it."""
    return float(number) if math.isfinite(number) else None
