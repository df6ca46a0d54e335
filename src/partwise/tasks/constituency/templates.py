"""Templates for the features of words, spans and splits, written as lists of atoms.

An *atom* is what is seen at one place: ``first.form`` the form of the first word of a span,
``last+1.tag`` the tag of the word after it. A *template* is a few atoms, joined by blanks; it gives
a site one feature for the values that its atoms have there, and none if one of them was not seen
in training.

    place     first, last: the ends of the span (both are the word itself at a word);
              left, right: the words beside the point at which a span is split;
              each with an offset of -2 to +2
    column    form, tag, prefix (3 letters), suffix, suffix2, suffix1 (3, 2 and 1), shape
    length    without a place: the length of the span, in bins
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...errors import DataError

__all__ = [
    "COLUMNS",
    "LENGTHS",
    "PAD",
    "PLACES",
    "SITE_PLACES",
    "TEMPLATE_SHIFT",
    "Atom",
    "Template",
    "read_templates",
    "standard_templates",
]

#: What is seen of a word.
COLUMNS: Final = ("form", "tag", "prefix", "suffix", "suffix2", "suffix1", "shape")
#: Where an atom may look from.
PLACES: Final = ("first", "last", "left", "right")
#: The places that the sites of each kind have.
SITE_PLACES: Final = {"word": ("first",), "span": ("first", "last"), "split": PLACES}
#: How far beside a place an atom may look.
PAD: Final = 2
#: The least lengths of the bins of length.
LENGTHS: Final = (1, 2, 3, 4, 5, 6, 8, 11, 16, 21)
#: Where the number of the template begins in a key; the values of its atoms are below.
TEMPLATE_SHIFT: Final = 56
MAX_TEMPLATES: Final = 127

_ATOM: Final = re.compile(r"(first|last|left|right)([+-][12])?\.([a-z]+[12]?)", re.ASCII)


class Atom(NamedTuple):
    """What is seen at one place; the atom ``length`` has place -1.

    Attributes
    ----------
    place, offset
        Number in `PLACES`, and words from there.
    column
        Number in `COLUMNS`.
    bits
        How many bits of a key its values take.
    """

    place: int
    offset: int
    column: int
    bits: int


#: Its atoms, the topmost bits of a key first.
Template = tuple[Atom, ...]


def read_templates(
    texts: Sequence[str], n_codes: Sequence[int], places: Sequence[str] = PLACES
) -> tuple[Template, ...]:
    """Prepare templates.

    Parameters
    ----------
    texts
        Such as ``"first.tag last.tag length"``.
    n_codes
        For each column, one more than the highest code.
    places
        The places that the sites have.

    Raises
    ------
    DataError
        If a template cannot be read, occurs twice or has more values than a key can hold.
    """
    if not 0 < len(texts) <= MAX_TEMPLATES:
        raise DataError(f"{len(texts)} templates where 1 to {MAX_TEMPLATES} are possible")
    found: list[Template] = []
    seen: set[frozenset[str]] = set()
    for text in texts:
        names = text.split()
        template = tuple(_read_atom(name, n_codes, places) for name in names)
        bits = sum(atom.bits for atom in template)
        why = ""
        if not names or len(set(names)) != len(names):
            why = "has no atoms" if not names else "names an atom twice"
        elif frozenset(names) in seen:
            why = "occurs twice"
        elif bits > TEMPLATE_SHIFT:
            why = (
                f"needs {bits} bits for its values where {TEMPLATE_SHIFT} are possible; leave it "
                "out, or use fewer distinct words"
            )
        if why:
            raise DataError(f"the template {text!r} {why}")
        seen.add(frozenset(names))
        found.append(template)
    return tuple(found)


def _read_atom(text: str, n_codes: Sequence[int], places: Sequence[str]) -> Atom:
    if text == "length":
        return Atom(-1, 0, -1, len(LENGTHS).bit_length())
    match = _ATOM.fullmatch(text)
    if match is None or match[3] not in COLUMNS or match[1] not in places:
        raise DataError(
            f"the atom {text!r} of a template cannot be read; expected length, or a place "
            f"({', '.join(places)}, with +1, -2 or the like) and a column ({', '.join(COLUMNS)}) "
            "with a dot between, as in first-1.tag"
        )
    column = COLUMNS.index(match[3])
    bits = int(n_codes[column] - 1).bit_length()
    return Atom(PLACES.index(match[1]), int(match[2] or 0), column, bits)


_SHAPE_OF_WORD: Final = ("prefix", "suffix", "suffix2", "suffix1", "shape")

_TAGGED: Final = {
    "word": (
        "first.tag",
        "first.form",
        "first.tag first.form",
        *(f"first.tag first.{column}" for column in _SHAPE_OF_WORD),
        "first.tag first-1.tag",
        "first.tag first+1.tag",
        "first.tag first-1.tag first+1.tag",
        "first.tag first-2.tag first-1.tag",
        "first.tag first+1.tag first+2.tag",
        "first.tag first-1.form",
        "first.tag first+1.form",
    ),
    "span": (
        "length",
        *(
            f"{end}.{column}{length}"
            for column in ("tag", "form")
            for end in ("first", "last", "first-1", "last+1")
            for length in ("", " length")
        ),
        "first.tag last.tag",
        "first-1.tag first.tag",
        "last.tag last+1.tag",
        "first-1.tag last+1.tag",
        "first.tag last+1.tag",
        "first-1.tag last.tag",
        "first.tag first+1.tag",
        "last-1.tag last.tag",
        "first.tag last.tag length",
        "first-1.tag last+1.tag length",
        "first-1.tag first.tag last.tag",
        "first.tag last.tag last+1.tag",
        "first-1.tag first.tag last.tag last+1.tag",
        "first.form last.tag",
        "first.tag last.form",
        "first.form last+1.tag",
        "first-1.form first.tag",
        "first-1.form last+1.tag",
        "first-1.form first.form",
        "last.form last+1.form",
    ),
    "split": (
        "left.tag",
        "right.tag",
        "left.form",
        "right.form",
        "left.tag right.tag",
        "left.form right.tag",
        "left.tag right.form",
        "first.tag left.tag right.tag",
        "left.tag right.tag last.tag",
    ),
}


def _untagged(text: str) -> list[str]:
    """Write the last letters and the shape of a word where a template has its tag."""
    return [text.replace(".tag", f".{column}") for column in ("suffix2", "shape")]


def standard_templates(tagged: bool) -> dict[str, tuple[str, ...]]:
    """Return the templates for words, spans and splits, with or without looking at tags."""
    if tagged:
        return dict(_TAGGED)
    found = {
        kind: [one for text in texts for one in _untagged(text)]
        for kind, texts in _TAGGED.items()
        if kind != "word"
    }
    around = ("first-1", "first", "first+1")
    found["word"] = [
        f"{place}.{column}" for place in around for column in COLUMNS if column != "tag"
    ]
    found["word"] += ["first-1.form first.form", "first.form first+1.form"]
    found["word"] += ["first-1.suffix first.suffix", "first.suffix first+1.suffix"]
    return {kind: tuple(dict.fromkeys(found[kind])) for kind in _TAGGED}
