"""The spans that tags express, as the CoNLL evaluation script reads them, and their tags."""

from __future__ import annotations

from collections.abc import Sequence

from partwise.errors import DataError
from partwise.formats.tag_schemes import UNTYPED, tag_letter

__all__ = ["lenient_spans", "span_tags"]


def lenient_spans(labels: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the type, the start and the stop of each span, in order.

    A span also starts where the type changes, regardless of the letters.
    """
    found = []
    before, before_type, start = "O", "", 0
    for place, label in enumerate([*labels, "O"]):
        if not label:
            raise DataError(f"label {place} (counting from 0) is empty; use `O` outside of spans")
        now = {"L": "E", "U": "S"}.get(label[0], label[0])
        type_ = label[1:].split("-", maxsplit=1)[-1] or UNTYPED
        changed = before_type != type_
        ends = before in "ES" or (before in "BI" and now in "BSO")
        if ends or (before not in "O." and changed):
            found.append((before_type, start, place))
        begins = now in "BS" or (before in "ESO" and now in "EI")
        if begins or (now not in "O." and changed):
            start = place
        before, before_type = now, type_
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
