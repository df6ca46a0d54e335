"""Tag schemes that encode spans: ``B-NP I-NP O`` is an NP of two tokens and one token outside.

A tag is a letter, alone or followed by ``-`` and a type. In a scheme, a letter says something about
the neighbours of its token. This is written as two marks, for the left and for the right side:

    y   the neighbour belongs to the same span       n   it does not
    t   it belongs to another span of the same type  ?   either of y and n
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from partwise.errors import DataError

__all__ = [
    "PREFIXES",
    "SCHEME_ALIASES",
    "SEGMENT_SCHEMES",
    "TAG_SCHEMES",
    "UNTYPED",
    "Rule",
    "Span",
    "TagScheme",
    "broken_rule",
    "fits",
    "is_span_tag",
    "lenient_pair",
    "lenient_spans",
    "lenient_tag",
    "likely_scheme",
    "may_follow",
    "span_tags",
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


#: The share of labels that must be tags of spans for a file to be taken as one of spans.
_MOST = 0.8


def is_span_tag(label: str) -> bool:
    """Return whether a label is ``O``, or a letter of a scheme with ``-`` and a type: ``B-NP``."""
    return label == "O" or (len(label) > 2 and label[0] in PREFIXES and label[1] == "-")


def fits(scheme: TagScheme, label: object) -> bool:
    """Return whether a label is O, or a letter of the scheme, alone or with ``-`` and a type."""
    if not isinstance(label, str) or label[:1] not in scheme.sides:
        return False
    return label == "O" if label[:1] == "O" else label[1:2] in ("", "-")


def may_follow(scheme: TagScheme, before: str | None, now: str | None) -> bool:
    """Return whether a tag may follow another one; None is the start or the end of a sentence."""
    a, b = before or "O", now or "O"
    right, left = scheme.sides[a[0]][1], scheme.sides[b[0]][0]
    same = a != "O" and b != "O" and a[1:] == b[1:]
    if "t" in (right, left):
        return same and "y" not in (right, left)
    return (same and right in "y?" and left in "y?") or (right in "n?" and left in "n?")


def likely_scheme(sentences: Iterable[Sequence[str]]) -> str | None:
    """Return the scheme of the tags of a file, by their letters; None if they are no tags.

    ``B``, ``I`` and ``O`` are IOB1 if every ``B`` follows a tag of the same type and some ``I``
    does not, and otherwise IOB2.
    """
    letters: set[str] = set()
    tagged = other = typed = 0
    first_b = first_i = 0
    for labels in sentences:
        before = "O"
        for label in labels:
            if is_span_tag(label):
                tagged += 1
                typed += label != "O"
                letters.add(label[0])
                same = before[0] != "O" and before[1:] == label[1:]
                first_b += label[0] == "B" and not same
                first_i += label[0] == "I" and not same
            else:
                other += 1
            before = label or "O"
    if not typed or tagged < _MOST * (tagged + other):
        return None
    if letters & {"L", "U"}:
        return "BILOU"
    if letters & {"E", "S"}:
        return "IOBES" if letters & {"B", "S"} else "IOE2"
    return "IOB1" if first_i and not first_b else "IOB2"


def broken_rule(name: str, before: str | None, now: str | None) -> str | None:
    """Return what is wrong with a tag after another one, and what to do; None if nothing is.

    Parameters
    ----------
    name : str
        The name of a scheme.
    before, now : str or None
        The tags; None is the start or the end of a sentence.
    """
    name = SCHEME_ALIASES.get(name, name)
    scheme = TAG_SCHEMES[name]
    if now is not None and not fits(scheme, now):
        letters = ", ".join(sorted(set(scheme.sides) - {"O"}))
        return (
            f"{now!r} is no tag of {name}: a tag is O, or one of {letters} followed by - and a "
            "type; correct it, or name another --scheme"
        )
    if (before is not None and not fits(scheme, before)) or may_follow(scheme, before, now):
        return None
    first = "at the start of a sentence" if before is None else f"after {before}"
    what = f"a sentence that ends {first}" if now is None else f"{now} {first}"
    return f"{what} breaks {name}; {_remedy(scheme, before, now)}, or name another --scheme"


def _remedy(scheme: TagScheme, before: str | None, now: str | None) -> str:
    for letter in scheme.sides:
        instead = "O" if letter == "O" else letter + (now or "O")[1:]
        if now not in (None, "O") and letter != "O" and may_follow(scheme, before, instead):
            return f"write {instead}" + (", correct the tag before it" if before else "")
    return "correct one of the two tags" if now is not None else f"correct {before}"


class Span(NamedTuple):
    """A labelled range of tokens, from `start` up to but not including `end`.

    Examples
    --------
    >>> from partwise.metrics import Span
    >>> Span(0, 2, "NP")
    Span(start=0, end=2, label='NP')
    """

    start: int
    end: int
    label: str


def lenient_tag(label: str) -> tuple[str, str]:
    """Return the letter of a label, as in IOBES, and the type of its span."""
    type_ = label[1:].split("-", maxsplit=1)[-1] or UNTYPED
    return {"L": "E", "U": "S"}.get(label[0], label[0]), type_


def lenient_pair(before: str, now: str) -> tuple[bool, bool, bool]:
    """Return whether a span begins at the second of two labels, goes on there, or ends before.

    A span also begins where the type changes, regardless of the letters.
    """
    (left, left_type), (right, right_type) = lenient_tag(before), lenient_tag(now)
    changed = left_type != right_type
    ends = left in "ES" or (left in "BI" and right in "BSO") or (left not in "O." and changed)
    begins = right in "BS" or (left in "ESO" and right in "EI")
    begins = begins or (right not in "O." and changed)
    return begins, not ends and left not in "O.", ends


def lenient_spans(labels: Sequence[str]) -> list[Span]:
    """Return the spans, in order."""
    found = []
    before, start = "O", 0
    for place, label in enumerate([*labels, "O"]):
        if not label:
            raise DataError(f"label {place} (counting from 0) is empty; use `O` outside of spans")
        begins, _, ends = lenient_pair(before, label)
        if ends:
            found.append(Span(start, place, lenient_tag(before)[1]))
        if begins:
            start = place
        before = label
    return found


def span_tags(spans: Sequence[Span], length: int, scheme: str) -> list[str]:
    """Return the tags of a sequence with some spans, which are in order and do not overlap.

    Parameters
    ----------
    spans
        The spans.
    length
        The number of tokens.
    scheme
        The name of a scheme of tags.
    """
    tags = ["O"] * length
    for number, (start, end, label) in enumerate(spans):
        before = spans[number - 1] if number else None
        after = spans[number + 1] if number + 1 < len(spans) else None
        left = "t" if before is not None and before[1:] == (start, label) else "n"
        right = "t" if after is not None and after[::2] == (end, label) else "n"
        for t in range(start, end):
            sides = ("y" if t > start else left, "y" if t < end - 1 else right)
            letter = tag_letter(scheme, *sides)
            tags[t] = letter if label == UNTYPED else f"{letter}-{label}"
    return tags
