"""Segmentations that are known in part, from tags or from segments.

What is known of a sequence is the label of some tokens, and for some pairs of neighbours whether a
new segment begins between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...formats.tag_schemes import TAG_SCHEMES, UNTYPED
from ...values import is_integer
from .examples import is_missing
from .partial_labels import UNKNOWN
from .segment_tags import Segment, guess_scheme

if TYPE_CHECKING:
    from ...structures.segments.structure import SegmentConstraints

__all__ = ["PartialSegmentation", "cut_items", "find_partial", "is_partial"]


@dataclass(frozen=True, eq=False)
class PartialSegmentation:
    """What is known of the segments of a sequence.

    Attributes
    ----------
    labels : list
        For each token the label of its segment, a frozenset of possible ones, or None.
    begins : list
        For each token whether a segment begins at it; None if this is not known.
    """

    labels: list[Any]
    begins: list[bool | None]

    def segments(self) -> list[Segment]:
        """Return the segments that are known: those whose ends and label are."""
        found: list[Segment] = []
        ends = [*self.begins, True]
        for start, begins in enumerate(self.begins):
            end = start + 1
            while ends[end] is False:
                end += 1
            label = self.labels[start]
            if begins and ends[end] and label is not None and not isinstance(label, frozenset):
                found.append((start, end, label))
        return found

    def longest(self) -> int:
        """Return the number of tokens of the longest piece that is known to be in one segment."""
        longest = run = 1
        for begins in self.begins[1:]:
            run = run + 1 if begins is False else 1
            longest = max(longest, run)
        return longest

    def names(self) -> set[Any]:
        """Return the labels that are named."""
        known = (label for label in self.labels if label is not None)
        return {one for label in known
                for one in (label if isinstance(label, frozenset) else (label,))}  # fmt: skip

    def numbers(self, numbers: Mapping[Any, int]) -> Ints:
        """Return the label number of every token, `UNKNOWN` where it is not certain."""
        return np.array([numbers.get(label, UNKNOWN) for label in self.labels], dtype=np.int64)

    def constraints(self, numbers: Mapping[Any, int]) -> SegmentConstraints:
        """Return the segmentations that agree with this, as the structure takes them."""
        from ...structures.segments.structure import SegmentConstraints

        allowed = []
        for t, label in enumerate(self.labels):
            if label is not None:
                several = label if isinstance(label, frozenset) else (label,)
                allowed.append((t, sorted(numbers[one] for one in several)))
        inner = list(enumerate(self.begins))[1:]
        return SegmentConstraints(
            allowed=allowed,
            begins=[t for t, begins in inner if begins],
            joins=[t for t, begins in inner if begins is False],
        )


def cut_items(y: Any, lengths: Ints) -> list[Any]:
    """Return one list per sequence; a flat list of the tags of all tokens is cut."""
    # Some items may be read only once.
    items = [list(item) if isinstance(item, Iterator) else item for item in y]
    flat = items and all(item is None or isinstance(item, str) for item in items)
    if not flat or len(items) != int(lengths.sum()):
        return items
    ends = np.cumsum(lengths).tolist()
    return [items[end - n : end] for end, n in zip(ends, lengths.tolist(), strict=True)]


def is_partial(item: Any, missing: Any) -> bool:
    """Return whether an item of y is known in part: None, or with a tag or label that is."""
    if item is None:
        return True
    if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
        return False
    return any(_is_open(one, missing) for one in item)


def _is_open(one: Any, missing: Any) -> bool:
    if isinstance(one, (tuple, list)) and len(one) == 3:
        one = one[2]
    if one is None or isinstance(one, (set, frozenset)):
        return True
    return missing is not None and np.ndim(one) == 0 and is_missing(one, missing)


def find_partial(
    items: Sequence[Any],
    lengths: Ints,
    outside: Any,
    scheme: str,
    missing: Any,
    place: Callable[[int, int], Place],
) -> tuple[list[PartialSegmentation | None], str]:
    """Read the sequences whose segments are known in part.

    Parameters
    ----------
    items
        For each sequence its tags, its segments, or None.
    lengths
        The lengths of the sequences.
    outside
        The label of tokens in no segment; None if there is no such label.
    scheme
        A scheme of tags, or "auto".
    missing
        The tag or label that stands for a missing one.
    place
        Returns the name of the place of a token.

    Returns
    -------
    found, scheme
        An entry per sequence, None for those that are known; and the scheme of the tags, chosen by
        all of them.
    """
    if scheme == "auto":
        tags = {one for item in items if isinstance(item, (list, tuple)) for one in item
                if isinstance(one, str) and one not in (outside, missing)}  # fmt: skip
        scheme = guess_scheme(tags)
    found: list[PartialSegmentation | None] = []
    for s, (item, length) in enumerate(zip(items, lengths.tolist(), strict=True)):
        if not is_partial(item, missing):
            found.append(None)
        elif item is None:
            found.append(PartialSegmentation([None] * length, [True, *[None] * (length - 1)]))
        elif any(isinstance(one, (tuple, list)) for one in item):
            found.append(_of_segments(list(item), s, length, outside, missing))
        else:
            _check_tags(item, s, length, place)
            if scheme == "IOB1":
                raise DataError(
                    "the tags of IOB1 depend on the tags before them, which must "
                    "not be missing; write them as IOB2",
                    place=place(s, 0),
                )
            tags_of = [None if _is_open(tag, missing) else tag for tag in item]
            found.append(_of_tags(tags_of, s, outside, scheme, place))
    return found, scheme


def _check_tags(
    item: Sequence[Any], s: int, length: int, place: Callable[[int, int], Place]
) -> None:
    if len(item) != length:
        raise DataError(
            f"has {length} tokens in X and {len(item)} tags in y; give one tag for each token",
            place=Place.nth("sequence", s),
            subject=True,
        )
    for t, tag in enumerate(item):
        if isinstance(tag, (set, frozenset)):
            raise DataError(
                "a set of tags says nothing definite of segments; give None, or "
                "segments (start, end, labels) with a set of labels",
                place=place(s, t),
            )


def _of_tags(
    tags: Sequence[str | None],
    s: int,
    outside: Any,
    scheme: str,
    place: Callable[[int, int], Place],
) -> PartialSegmentation:
    """Read what the tags that are there say."""
    sides = TAG_SCHEMES[scheme].sides
    labels = [None if tag is None else _type_of(tag, s, t, outside, scheme, place)
              for t, tag in enumerate(tags)]  # fmt: skip
    begins: list[bool | None] = [True]
    for t in range(1, len(tags)):
        a, b = tags[t - 1], tags[t]
        left = "n" if b == outside else "?" if b is None else sides[b[0]][0]
        right = "n" if a == outside else "?" if a is None else sides[a[0]][1]
        if a is not None and b is not None:
            inside = labels[t - 1] == labels[t] and outside not in (a, b)
            joined = inside and left in "y?" and right in "y?"
            if not joined and "y" in (left, right):
                raise DataError(
                    f"the tag {b!r} after {a!r} does not fit the scheme {scheme}; "
                    "correct the tags, or name the scheme that they follow",
                    place=place(s, t),
                )
            begins.append(not joined)
        else:
            side = left if a is None else right
            begins.append(None if side == "?" else side != "y")
    return PartialSegmentation(labels, begins)


def _type_of(
    tag: str, s: int, t: int, outside: Any, scheme: str, place: Callable[[int, int], Place]
) -> str:
    """Return the label of the segment that a tag belongs to."""
    if tag == outside:
        return tag
    known = TAG_SCHEMES[scheme].sides.keys() - {"O"}
    if not isinstance(tag, str) or tag[:1] not in known or tag[1:2] not in ("", "-"):
        raise DataError(
            f"the tag {tag!r} is none of the scheme {scheme}; expected "
            + ("" if outside is None else f"{outside!r}, or ")
            + f"one of {', '.join(sorted(known))}, alone or followed by '-' and a type",
            place=place(s, t),
        )
    return tag[2:] or UNTYPED


def _of_segments(
    item: Sequence[Any], s: int, length: int, outside: Any, missing: Any
) -> PartialSegmentation:
    """Read segments (start, end, label), of which some have no label, or several.

    Nothing is known of the tokens of a segment without a label.
    """
    labels: list[Any] = [outside] * length
    begins: list[bool | None] = [True] * length
    covered = [False] * length
    for one in item:
        start, end, label = one if len(one) == 3 else (-1, -1, None)
        sound = is_integer(start) and is_integer(end) and 0 <= start < end <= length
        if not sound or any(covered[start:end]):
            raise DataError(
                f"the segment {one!r} is not (start, end, label) "
                f"with 0 <= start < end <= {length}, beside the other segments",
                place=Place.nth("sequence", s),
            )
        covered[start:end] = [True] * (end - start)
        if label is None or (missing is not None and is_missing(label, missing)):
            labels[start:end] = [None] * (end - start)
            begins[start + 1 : end] = [None] * (end - start - 1)
            continue
        held = frozenset(label) if isinstance(label, (set, frozenset)) else label
        if held == frozenset():
            raise DataError(
                f"the segment {one!r} may have no label; give at least one, or None",
                place=Place.nth("sequence", s),
            )
        labels[start:end] = [held] * (end - start)
        if held != outside:
            begins[start + 1 : end] = [False] * (end - start - 1)
    if outside is None and not all(covered):
        raise DataError(
            f"no segment holds token {covered.index(False)}; cover "
            "all tokens, with the label None where nothing is known",
            place=Place.nth("sequence", s),
        )
    # Two stretches of which nothing is known may meet inside of a segment.
    for t in range(1, length):
        if labels[t] is None and labels[t - 1] is None:
            begins[t] = None
    return PartialSegmentation(labels, begins)
