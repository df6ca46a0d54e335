"""JSON from strangers: strict, and no deeper than it may be."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from .faults import Fault

__all__ = ["read_json", "write_json"]

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_ALIKE: Final = bytes.maketrans(b"{}", b"[]")


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
