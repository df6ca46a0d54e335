"""Reading of segmentations: tags, or lists of (start, end, label)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...formats.tag_schemes import SEGMENT_SCHEMES
from ...problem.rows import is_matrix
from ...values import is_integer, one_of
from .column_file import ColumnFile
from .examples import read_labels
from .segment_functions import words_of
from .segment_tags import Segment, guess_scheme, numbered_place, segments_of
from .sources import Sequences, Table

if TYPE_CHECKING:
    from ...structures.segments.structure import SegmentConstraints

__all__ = ["held", "read_fixed_segments", "read_segmentations", "segment_tokens"]

_Source = TypeVar("_Source", ColumnFile | Sequences, ColumnFile | Sequences | Table)


def read_segmentations(
    y: Any,
    lengths: Ints,
    stacked: bool,
    outside: Any,
    scheme: str,
    place: Callable[[int, int], Place] = numbered_place,
) -> tuple[list[list[Segment]], str | None]:
    """Read the segments of all sequences; they cover all tokens.

    Parameters
    ----------
    y
        The tags or the segments of each sequence; with a stacked matrix also one flat list of tags.
    lengths
        The lengths of the sequences.
    stacked
        Whether y may be flat.
    outside
        The label of tokens in no segment; None if segments must cover all tokens.
    scheme
        One of `SEGMENT_SCHEMES`, or "auto".
    place
        Returns the name of the place of a token, for messages about tags.

    Returns
    -------
    segments, scheme
        The segments of each sequence, and the scheme of the tags; None if y holds segments.
    """
    if scheme != "auto":
        one_of("scheme", scheme, ("auto", *SEGMENT_SCHEMES))
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise DataError(f"y is of type {type(y).__name__}; give one list of tags per sequence")
    items = [item if isinstance(item, str) or not isinstance(item, Iterable) else list(item)
             for item in y]  # fmt: skip
    if _are_tags(items):
        return _from_tags(items, lengths, stacked, outside, scheme, place)
    if len(items) != len(lengths):
        raise DataError(f"y has {len(items)} sequences where X has {len(lengths)}")
    numbers = zip(items, lengths.tolist(), strict=True)
    found = [_covered(item, s, length, outside) for s, (item, length) in enumerate(numbers)]
    _check_types(found)
    return found, None


def _are_tags(items: Sequence[Any]) -> bool:
    """Return whether these are tags and not segments, by the first item that is not empty."""
    for item in items:
        if not isinstance(item, list):
            return True
        if item:
            return isinstance(item[0], str) or not isinstance(item[0], Iterable)
    return False


def _from_tags(
    items: list[Any],
    lengths: Ints,
    stacked: bool,
    outside: Any,
    scheme: str,
    place: Callable[[int, int], Place],
) -> tuple[list[list[Segment]], str]:
    flat = read_labels(items, lengths, stacked)
    if flat and not isinstance(flat[0], str):
        raise DataError(
            f"y holds tags such as {flat[0]!r}, which spell no segments; give tags such as "
            "'B-NP', 'I-NP' and 'O', or segments (start, end, label)"
        )
    if outside is not None and not isinstance(outside, str):
        raise DataError(f"outside is {outside!r} where y holds tags; give the tag, or None")
    used = guess_scheme(set(flat) - {outside}) if scheme == "auto" else scheme
    ends = [0, *np.cumsum(lengths).tolist()]
    return [
        segments_of(flat[a:b], used, outside, partial(place, s))
        for s, (a, b) in enumerate(pairwise(ends))
    ], used


def _covered(item: Any, s: int, length: int, outside: Any) -> list[Segment]:
    """Read the segments of sequence s, and fill the gaps between them."""
    found = []
    for one in item:
        start, end, label = segment = _triple(one, Place.item("y", s))
        if not 0 <= start < end <= length:
            raise DataError(
                f"the segment {segment!r} is not "
                f"(start, end, label) with 0 <= start < end <= {length}",
                place=Place.nth("sequence", s),
            )
        found.append((int(start), int(end), label.item() if hasattr(label, "item") else label))
    found.sort(key=lambda segment: segment[:2])
    covered: list[Segment] = []
    for start, end, label in [*found, (length, length, None)]:
        at = covered[-1][1] if covered else 0
        if start < at:
            raise DataError(
                f"the segment {(start, end, label)!r} begins before "
                f"{covered[-1]!r} ends; segments must not overlap",
                place=Place.nth("sequence", s),
            )
        if start > at and outside is None:
            raise DataError(
                f"no segment holds token {at}; cover all tokens, or "
                "say with `outside` which label those in no segment have",
                place=Place.nth("sequence", s),
            )
        # Segments of the label outside have length 1.
        stop = end if label is not None and label == outside else start
        covered.extend((t, t + 1, outside) for t in range(at, stop))
        if stop == start < end:
            covered.append((start, end, label))
    return covered


def _triple(one: Any, where: Place) -> tuple[Any, Any, Any]:
    items = one.tolist() if isinstance(one, np.ndarray) else one
    if isinstance(items, str) or not isinstance(items, Sequence) or len(items) != 3:
        raise DataError(
            f"holds {one!r}; expected segments (start, end, label), end exclusive",
            place=where,
            subject=True,
        )
    start, end, label = items
    if not (is_integer(start) and is_integer(end)):
        raise DataError(
            f"holds {one!r}; start and end must be whole numbers", place=where, subject=True
        )
    return start, end, label


def _check_types(found: Sequence[Sequence[Segment]]) -> None:
    first: Any = None
    for s, segments in enumerate(found):
        for start, end, label in segments:
            if not isinstance(label, (str, int, float, bool)) or label != label:
                raise DataError(
                    f"the label of the segment from {start} to "
                    f"{end} is {label!r}; use strings or whole numbers",
                    place=Place.nth("sequence", s),
                )
            first = label if first is None else first
            if type(label) is not type(first):
                raise DataError(
                    f"the label {label!r} is of type "
                    f"{type(label).__name__} where {first!r} is of type {type(first).__name__}; "
                    "use one type for all labels, that of tokens in no segment (outside) included",
                    place=Place.nth("sequence", s),
                )


def read_fixed_segments(
    fixed: Any, lengths: Ints, numbers: Mapping[Any, int]
) -> list[SegmentConstraints | None] | None:
    """Read segments that are known before prediction: None or a list for each sequence."""
    if fixed is None:
        return None
    from ...structures.segments.structure import SegmentConstraints

    items = list(fixed)
    if len(items) != len(lengths):
        raise DataError(f"fixed has {len(items)} entries where X has {len(lengths)} sequences")
    found: list[SegmentConstraints | None] = []
    for s, item in enumerate(items):
        mine = []
        for one in item or ():
            start, end, label = _triple(one, Place.item("fixed", s))
            if label not in numbers:
                raise DataError(
                    f"the label {label!r} was not seen in training", place=Place.item("fixed", s)
                )
            mine.append((int(start), int(end), numbers[label]))
        found.append(SegmentConstraints(segments=mine) if mine else None)
    return found


def held(source: _Source) -> _Source:
    """Return a source whose tokens can be read more than once, for the features of segments."""
    if not isinstance(source, Sequences) or source.lengths is not None:
        return source
    X = source.X
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable) or is_matrix(X):
        return source
    return replace(source, X=[list(item) if _is_stream(item) else item for item in X])


def _is_stream(item: Any) -> bool:
    return isinstance(item, Iterable) and not hasattr(item, "__len__")


def segment_tokens(source: ColumnFile | Sequences | Table, built_in: bool) -> list[Any]:
    """Return for each sequence what the features of its segments are made from.

    Parameters
    ----------
    source
        The result of `held`.
    built_in : bool
        Whether the features are built in and take the columns of a sequence (one column of words
        for data from Python). Otherwise they come from a function of the user, which takes the
        tokens as they are.
    """
    if isinstance(source, ColumnFile):
        columns = source.columns
        if source.by_name:
            raise DataError(
                "the file gives features by name and no words, so features of "
                "whole segments cannot be made; use --segment-features none",
                place=Place(columns.path),
            )
        fields = [columns.split(field) for field in columns.fields] if len(columns) else []
        return [list(sentence) for sentence in zip(*fields, strict=True)]
    if isinstance(source, Table):
        raise DataError("the model has features of segments; give the tokens too")
    sequences = list(replace(source, y=None).checked().X)
    if not built_in:
        return sequences
    return [words_of(tokens, s) for s, tokens in enumerate(sequences)]
