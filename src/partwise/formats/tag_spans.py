"""The spans that tags express, as the CoNLL evaluation script reads them, and their tags."""

from __future__ import annotations

from collections.abc import Sequence

from partwise.errors import DataError
from partwise.formats.tag_schemes import UNTYPED, tag_letter

__all__ = ["lenient_pair", "lenient_spans", "lenient_tag", "span_tags"]


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


def lenient_spans(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the type, the start and the stop of each span, in order."""
    found = []
    before, start = "O", 0
    for place, label in enumerate([*labels, "O"]):
        if not label:
            raise DataError(f"label {place} (counting from 0) is empty; use `O` outside of spans")
        begins, _, ends = lenient_pair(before, label)
        if ends:
            found.append((lenient_tag(before)[1], start, place))
        if begins:
            start = place
        before = label
    return found


def span_tags(spans: Sequence[tuple[str, int, int]], length: int, scheme: str) -> list[str]:
    """Return the tags of a sequence with some spans, which are in order and do not overlap.

    Parameters
    ----------
    spans
        The type, the start and the stop of each span.
    length
        The number of tokens.
    scheme
        The name of a scheme of tags.
    """
    tags = ["O"] * length
    for number, (type_, start, stop) in enumerate(spans):
        before = spans[number - 1] if number else None
        after = spans[number + 1] if number + 1 < len(spans) else None
        left = "t" if before is not None and before[2] == start and before[0] == type_ else "n"
        right = "t" if after is not None and after[1] == stop and after[0] == type_ else "n"
        for t in range(start, stop):
            sides = ("y" if t > start else left, "y" if t < stop - 1 else right)
            letter = tag_letter(scheme, *sides)
            tags[t] = letter if type_ == UNTYPED else f"{letter}-{type_}"
    return tags
