"""Segments, and the tags that encode them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...errors import DataError, Place
from ...formats.tag_schemes import SEGMENT_SCHEMES, TAG_SCHEMES, UNTYPED, tag_letter

__all__ = ["Segment", "guess_scheme", "longest_segment", "numbered_place", "segments_of", "tags_of"]

#: A labelled range of tokens, (start, end, label); end is exclusive.
Segment = tuple[int, int, Any]


def numbered_place(s: int, t: int) -> Place:
    """Return the place of token t of sequence s, by their numbers."""
    return Place.nth("sequence", s, "position", t)


def guess_scheme(tags: Iterable[str]) -> str:
    """Guess the scheme of tags from their letters: IOB2, IOBES or BILOU.

    IOB1 has the same letters as IOB2, so the user must name it.
    """
    letters = {tag[:1] for tag in tags}
    if letters & {"E", "S"}:
        return "IOBES"
    return "BILOU" if letters & {"L", "U"} else "IOB2"


def segments_of(
    tags: Sequence[str], scheme: str, outside: str | None, where: Callable[[int], Place]
) -> list[Segment]:
    """Read segments from tags; they cover all tokens.

    Parameters
    ----------
    tags : sequence of str
        The tags of one sequence.
    scheme : str
        One of `SEGMENT_SCHEMES`.
    outside : str or None
        The tag of tokens outside of all segments, each of which becomes a segment of length 1; None
        if there is no such tag.
    where : callable
        Returns the place of a token from its position, for messages.

    Returns
    -------
    list of (start, end, label)

    Raises
    ------
    DataError
        If the tags are not those of the scheme.
    """
    known = TAG_SCHEMES[scheme].sides.keys() - {"O"}
    begins = TAG_SCHEMES[scheme].begins
    found: list[Segment] = []
    for t, tag in enumerate(tags):
        if tag == outside:
            found.append((t, t + 1, outside))
            continue
        if tag[:1] not in known or tag[1:2] not in ("", "-") or tag[1:] == "-":
            raise DataError(
                f"the tag {tag!r} is none of the scheme {scheme}; expected "
                + ("" if outside is None else f"{outside!r}, or ")
                + f"one of {', '.join(sorted(known))}, alone or followed by '-' and a type",
                place=where(t),
            )
        label = tag[2:] or UNTYPED
        if label == outside:
            raise DataError(
                f"the tag {tag!r} has the type {outside!r}, which stands for what is "
                "outside of all segments; rename the type, or give another outside",
                place=where(t),
            )
        if tag[0] in begins or not found or found[-1][2] != label:
            found.append((t, t + 1, label))
        else:
            found[-1] = (found[-1][0], t + 1, label)
    # Tags that break a rule of the scheme differ from the tags of the segments.
    spelled = tags_of(found, scheme, outside)
    for t, (tag, expected) in enumerate(zip(tags, spelled, strict=True)):
        if tag != expected:
            before = repr(tags[t - 1]) if t else "the start"
            after = repr(tags[t + 1]) if t + 1 < len(tags) else "the end"
            raise DataError(
                f"the tag {tag!r} between {before} and {after} does not fit the scheme "
                f"{scheme}; correct the tags, or name the scheme that they follow: "
                f"{', '.join(SEGMENT_SCHEMES)}",
                place=where(t),
            )
    return found


def tags_of(segments: Iterable[Segment], scheme: str, outside: Any) -> list[str]:
    """Return the tags of segments that cover all tokens; the inverse of `segments_of`."""
    middle, last = tag_letter(scheme, "y", "y"), tag_letter(scheme, "y", "n")
    tags: list[str] = []
    before = outside
    for start, end, label in segments:
        if label == outside:
            tags.extend([str(outside)] * (end - start))
        else:
            left = "t" if before == label else "n"
            letters = [tag_letter(scheme, left, "n" if end - start == 1 else "y")]
            if end - start > 1:
                letters += [middle] * (end - start - 2) + [last]
            type_ = "" if label == UNTYPED else f"-{label}"
            tags.extend(letter + type_ for letter in letters)
        before = label
    return tags


def longest_segment(
    gold: Sequence[Sequence[Segment]], most: int | None, where: Callable[[int, int], Place]
) -> int:
    """Return the length of the longest segment, or `most` if it is given.

    Raises a DataError if a segment is longer than `most`.

    Parameters
    ----------
    gold : sequence of sequences of (start, end, label)
        The segments of each sequence.
    most : int or None
        The maximum length of segments.
    where : callable
        Returns the place of a token from the number of its sequence and its position, for messages.
    """
    if most is not None:
        for s, segments in enumerate(gold):
            for start, end, label in segments:
                if end - start > most:
                    raise DataError(
                        f"a segment {label!r} of {end - start} tokens begins "
                        f"here, and max_length is {most}; raise it, or leave it out to allow as "
                        "many as the longest segment has",
                        place=where(s, start),
                    )
        return most
    return max((end - start for segments in gold for start, end, _ in segments), default=1)
