r"""The regular expressions of Wapiti's patterns.

They are matched against the UTF-8 bytes of a field, and classes of characters are those of ASCII:

    .       any byte
    \x     a class: \a letters, \d digits, \l lower case, \p punctuation, \s blanks,
            \u upper case, \w letters and digits; in upper case, all others; or just x
    x       itself
    ^  $    first or last in the expression: begin and end of the field
    *  ?    the one before it any number of times, as few as possible; at most once, if possible

A field may be cut within a character of several bytes. Such bytes are kept as lone surrogates until
the whole name is known; see `whole_name`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["RegexpError", "compile_regexp", "lower", "whole_name"]

_CLASSES: Final = {
    "a": string.ascii_letters,
    "d": string.digits,
    "l": string.ascii_lowercase,
    "p": string.punctuation,
    "s": string.whitespace,
    "u": string.ascii_uppercase,
    "w": string.ascii_letters + string.digits,
}
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

#: The longest expression, in characters: matching may go one call deeper per byte.
_LONGEST: Final = 100

#: Returns the part of a field that matches, or None.
Matcher = Callable[[str], "str | None"]


class RegexpError(ValueError):
    """An expression that is not one.

    Attributes
    ----------
    at : int
        Where it goes wrong, counted from 0.
    """

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


class _One(NamedTuple):
    """One character of an expression: the bytes that it matches, and how often."""

    allowed: frozenset[int]
    times: str


def lower(text: str) -> str:
    """Return a text with the letters of ASCII in lower case, as Wapiti does."""
    return text.translate(_LOWER)


def whole_name(name: str) -> str:
    r"""Return a name in which every character is whole.

    Bytes that belong to no character are written as ``\xc3``. A zero byte ends the name.
    """
    name = name.partition("\0")[0]
    if name.isascii():
        return name
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        # Only fields from Python can contain other lone surrogates.
        return name


def compile_regexp(text: str) -> Matcher:
    """Return a function that finds the first part of a field that an expression matches.

    Raises
    ------
    RegexpError
        If it is no expression of Wapiti's.
    """
    if len(text) > _LONGEST:
        raise RegexpError(_LONGEST, f"more than {_LONGEST} characters")
    anchored = text.startswith("^")
    ones, ended = _read(text, int(anchored))
    if _miscounts(ones):
        find = _search(ones, ended, anchored)
    else:
        find = _translated(ones, ended, anchored)

    def match(field: str) -> str | None:
        found = find(field.encode("utf-8", "surrogatepass"))
        return None if found is None else found.decode("utf-8", "surrogateescape")

    return match


def _read(text: str, at: int) -> tuple[list[_One], bool]:
    """Read the characters of an expression, and whether it ends where the field ends."""
    ones: list[_One] = []
    while at < len(text):
        if text[at] == "$" and at == len(text) - 1:
            return ones, True
        if text[at] in "*?":
            raise RegexpError(at, f"nothing before {text[at]} that it could repeat")
        sets, width = _allowed(text, at)
        at += width
        times = text[at] if at < len(text) and text[at] in "*?" else ""
        at += len(times)
        # A mark of repetition belongs to the last byte of a character.
        ones += [_One(one, "") for one in sets[:-1]]
        ones.append(_One(sets[-1], times))
    return ones, False


def _allowed(text: str, at: int) -> tuple[list[frozenset[int]], int]:
    """Return the bytes that the character at a place matches, one set per byte, and its width."""
    if text[at] == ".":
        return [frozenset(range(1, 256))], 1
    width = 1
    if text[at] == "\\":
        if at + 1 == len(text):
            raise RegexpError(at, "nothing after the backslash")
        letter, width = text[at + 1], 2
        if letter.lower() in _CLASSES and letter.isascii():
            known = frozenset(_CLASSES[letter.lower()].encode())
            return [known if letter.islower() else frozenset(range(1, 256)) - known], 2
    spelled = text[at + width - 1].encode("utf-8", "surrogatepass")
    return [frozenset((byte,)) for byte in spelled], width


def _miscounts(ones: list[_One]) -> bool:
    """Return whether Wapiti may count the length of a match wrongly.

    What it counts after a character with ``?`` stays counted if the rest does not match and the
    character is then left out. Nothing is counted where only characters with ``?`` follow.
    """
    optional = [place for place, one in enumerate(ones) if one.times == "?"]
    return bool(optional) and any(one.times != "?" for one in ones[optional[0] :])


def _translated(ones: list[_One], ended: bool, anchored: bool) -> Callable[[bytes], bytes | None]:
    spelled = b"".join(_bracketed(one.allowed) + _TIMES[one.times] for one in ones)
    compiled = re.compile(spelled + (rb"\Z" if ended else b""), re.DOTALL)
    find = compiled.match if anchored else compiled.search

    def search(field: bytes) -> bytes | None:
        found = find(field)
        return None if found is None else found.group()

    return search


def _bracketed(allowed: frozenset[int]) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % byte for byte in sorted(allowed)) + b"]"


_TIMES: Final = {"": b"", "*": b"*?", "?": b"?"}


def _search(ones: list[_One], ended: bool, anchored: bool) -> Callable[[bytes], bytes | None]:
    def search(field: bytes) -> bytes | None:
        for begin in range(1 if anchored else len(field) + 1):
            found, length = _match(ones, 0, ended, field, begin, 0)
            if found:
                # What lies behind the end of a field is a zero byte.
                return (field[begin:] + b"\0")[:length]
        return None

    return search


def _match(
    ones: list[_One], n: int, ended: bool, field: bytes, at: int, length: int
) -> tuple[bool, int]:
    """Match from the character n on, as Wapiti does; return also the length that it has counted."""
    if n == len(ones):
        return (at == len(field) or not ended), length
    one = ones[n]
    if one.times == "*":
        while True:
            found, counted = _match(ones, n + 1, ended, field, at, length)
            if found:
                return True, counted
            length += 1
            if at >= len(field) or field[at] not in one.allowed:
                return False, length
            at += 1
    fits = at < len(field) and field[at] in one.allowed
    if one.times == "?":
        if fits:
            found, length = _match(ones, n + 1, ended, field, at + 1, length + 1)
            if found:
                return True, length
            length -= 1
        return _match(ones, n + 1, ended, field, at, length)
    if not fits:
        return False, length + 1
    return _match(ones, n + 1, ended, field, at + 1, length + 1)
