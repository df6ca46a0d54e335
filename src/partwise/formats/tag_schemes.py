"""Tag schemes that encode spans: ``B-NP I-NP O`` is an NP of two tokens and one token outside.

A tag is a letter, alone or followed by ``-`` and a type. In a scheme, a letter says something about
the neighbours of its token. This is written as two marks, for the left and for the right side:

    y   the neighbour belongs to the same span       n   it does not
    t   it belongs to another span of the same type  ?   either of y and n
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

__all__ = [
    "PREFIXES",
    "SCHEME_ALIASES",
    "SEGMENT_SCHEMES",
    "TAG_SCHEMES",
    "UNTYPED",
    "Rule",
    "TagScheme",
    "tag_letter",
]

#: A rule for two neighbouring tags: letters before, letters now, and their types: "=" if the types
#: must be the same, "!" if they must differ, "*" if they do not matter.
Rule = tuple[str, str, str]

#: The type of spans whose tags have none: ``B I O``.
UNTYPED: Final = "_"

_ANY: Final = "IOBESUL"


class TagScheme(NamedTuple):
    """A scheme of tags.

    Attributes
    ----------
    sides : mapping
        The letters of the scheme, and the marks of each.
    starts, inside, ends : tuple of Rule
        Where a span starts, continues and is complete. These rules read spans strictly, as seqeval
        does; they also define the meaning of tags that break the scheme.
    """

    sides: Mapping[str, str]
    starts: tuple[Rule, ...]
    inside: tuple[Rule, ...]
    ends: tuple[Rule, ...]

    @property
    def begins(self) -> set[str]:
        """The letters that always begin a new span."""
        return {name for name, marks in self.sides.items() if name != "O" and marks[0] in "nt"}


#: The schemes by name.
TAG_SCHEMES: Final[Mapping[str, TagScheme]] = {
    "IOB1": TagScheme(
        {"I": "??", "O": "nn", "B": "t?"},
        starts=(("OB", "I", "*"), ("I", "I", "!"), ("IB", "B", "=")),
        inside=(("BI", "I", "="),),
        ends=(("IB", "I", "!"), ("IB", "O", "*"), ("I", "B", "*"), ("B", "B", "=")),
    ),
    "IOB2": TagScheme(
        {"I": "y?", "O": "nn", "B": "n?"},
        starts=((_ANY, "B", "*"),),
        inside=(("BI", "I", "="),),
        ends=(("IB", "OB", "*"), ("IB", "I", "!")),
    ),
    "IOE1": TagScheme(
        {"I": "??", "O": "nn", "E": "?t"},
        starts=(("OE", "I", "*"), ("I", "I", "!"), ("E", "E", "=")),
        inside=(("I", "IE", "="),),
        ends=(("I", "IE", "!"), ("I", "O", "*"), ("E", "IE", "=")),
    ),
    "IOE2": TagScheme(
        {"I": "?y", "O": "nn", "E": "?n"},
        starts=(("OE", "IE", "*"), ("I", "IE", "!")),
        inside=(("I", "IE", "="),),
        ends=(("E", _ANY, "*"),),
    ),
    "IOBES": TagScheme(
        {"I": "yy", "O": "nn", "B": "ny", "E": "yn", "S": "nn"},
        starts=((_ANY, "BS", "*"),),
        inside=(("BI", "IE", "="),),
        ends=(("SE", _ANY, "*"),),
    ),
    "BILOU": TagScheme(
        {"B": "ny", "I": "yy", "L": "yn", "O": "nn", "U": "nn"},
        starts=((_ANY, "BU", "*"),),
        inside=(("BI", "IL", "="),),
        ends=(("UL", _ANY, "*"),),
    ),
}

#: Other names of some schemes.
SCHEME_ALIASES: Final[Mapping[str, str]] = {"BIO": "IOB2", "BIOES": "IOBES", "BIOUL": "BILOU"}

#: The schemes in which segments are read and written: those whose letters mark beginnings.
SEGMENT_SCHEMES: Final = tuple(name for name, scheme in TAG_SCHEMES.items() if scheme.begins)

#: The letters of all schemes that stand for a token in a span.
PREFIXES: Final = frozenset(_ANY) - {"O"}


@cache
def tag_letter(scheme: str, left: str, right: str) -> str:
    """Return the letter of a token in a span.

    Parameters
    ----------
    scheme : str
        The name of a scheme.
    left, right : {"y", "n", "t"}
        Whether the neighbour belongs to the same span, to none or one of another type, or to
        another span of the same type.
    """
    sides = TAG_SCHEMES[scheme].sides
    fitting = [
        letter
        for letter, marks in sides.items()
        if letter != "O" and _fits(marks[0], left) and _fits(marks[1], right)
    ]
    # A letter for adjacent spans of the same type takes precedence over others that fit.
    return max(fitting, key=lambda letter: "t" in sides[letter])


def _fits(mark: str, side: str) -> bool:
    return mark in ("y?" if side == "y" else "n?" if side == "n" else "nt?")
