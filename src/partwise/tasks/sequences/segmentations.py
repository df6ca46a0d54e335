"""Segmentations as users hold them: tags, or lists of (start, end, label)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Ints
from ...errors import DataError
from ...structures.segments.structure import SegmentConstraints
from ...values import is_integer, one_of
from .examples import read_labels
from .segment_tags import TAG_SCHEMES, Segment, guess_scheme, segments_of

__all__ = ["read_fixed_segments", "read_segmentations", "read_tokens"]


def read_segmentations(
    y: Any, lengths: Ints, stacked: bool, outside: Any, scheme: str
) -> tuple[list[list[Segment]], str | None]:
    """Read the segments of all sequences; they cover all tokens.

    Parameters
    ----------
    y
        For each sequence its tags, or its segments; with a stacked matrix also all tags one after
        the other.
    lengths
        The lengths of the sequences.
    stacked
        Whether y may be flat.
    outside
        The label of tokens in no segment; None: there may be none.
    scheme
        One of `TAG_SCHEMES`, or "auto".

    Returns
    -------
    segments, scheme
        The scheme of the tags; None if there were segments.
    """
    if scheme != "auto":
        one_of("scheme", scheme, ("auto", *TAG_SCHEMES))
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise DataError(f"y is of type {type(y).__name__}; give a list of tags a sequence")
    items = [item if isinstance(item, str) or not isinstance(item, Iterable) else list(item)
             for item in y]  # fmt: skip
    if _are_tags(items):
        return _from_tags(items, lengths, stacked, outside, scheme)
    if len(items) != len(lengths):
        raise DataError(f"y has {len(items)} sequences where X has {len(lengths)}")
    numbers = zip(items, lengths.tolist(), strict=True)
    found = [_covered(item, s, length, outside) for s, (item, length) in enumerate(numbers)]
    _check_types(found)
    return found, None


def _are_tags(items: Sequence[Any]) -> bool:
    """Tell by the first thing that is there."""
    for item in items:
        if not isinstance(item, list):
            return True
        if item:
            return isinstance(item[0], str) or not isinstance(item[0], Iterable)
    return False


def _from_tags(
    items: list[Any], lengths: Ints, stacked: bool, outside: Any, scheme: str
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
        segments_of(
            flat[a:b],
            used,
            outside,
            lambda t, s=s: f"sequence {s}, position {t} (counted from 0)",  # type: ignore[misc]
        )
        for s, (a, b) in enumerate(pairwise(ends))
    ], used


def _covered(item: Any, s: int, length: int, outside: Any) -> list[Segment]:
    """Read the segments of sequence s, and fill what is between them."""
    found = []
    for one in item:
        start, end, label = segment = _triple(one, f"y[{s}]")
        if not 0 <= start < end <= length:
            raise DataError(
                f"sequence {s} (counted from 0): the segment {segment!r} is not "
                f"(start, end, label) with 0 <= start < end <= {length}"
            )
        found.append((int(start), int(end), label.item() if hasattr(label, "item") else label))
    found.sort(key=lambda segment: segment[:2])
    covered: list[Segment] = []
    for start, end, label in [*found, (length, length, None)]:
        at = covered[-1][1] if covered else 0
        if start < at:
            raise DataError(
                f"sequence {s} (counted from 0): the segment {(start, end, label)!r} begins before "
                f"{covered[-1]!r} ends; segments must not overlap"
            )
        if start > at and outside is None:
            raise DataError(
                f"sequence {s} (counted from 0): no segment holds token {at}; cover all tokens, or "
                "say with `outside` which label those in no segment have"
            )
        # Those of the label outside are as long as one token.
        stop = end if label is not None and label == outside else start
        covered.extend((t, t + 1, outside) for t in range(at, stop))
        if stop == start < end:
            covered.append((start, end, label))
    return covered


def _triple(one: Any, where: str) -> tuple[Any, Any, Any]:
    items = one.tolist() if isinstance(one, np.ndarray) else one
    if isinstance(items, str) or not isinstance(items, Sequence) or len(items) != 3:
        raise DataError(
            f"{where} holds {one!r}; expected segments (start, end, label), end exclusive"
        )
    start, end, label = items
    if not (is_integer(start) and is_integer(end)):
        raise DataError(f"{where} holds {one!r}; start and end must be whole numbers")
    return start, end, label


def _check_types(found: Sequence[Sequence[Segment]]) -> None:
    first: Any = None
    for s, segments in enumerate(found):
        for start, end, label in segments:
            if not isinstance(label, (str, int, float, bool)) or label != label:
                raise DataError(
                    f"sequence {s} (counted from 0): the label of the segment from {start} to "
                    f"{end} is {label!r}; use strings or whole numbers"
                )
            first = label if first is None else first
            if type(label) is not type(first):
                raise DataError(
                    f"sequence {s} (counted from 0): the label {label!r} is of type "
                    f"{type(label).__name__} where {first!r} is of type {type(first).__name__}; "
                    "use one type for all labels, that of tokens in no segment (outside) included"
                )


def read_fixed_segments(
    fixed: Any, lengths: Ints, numbers: Mapping[Any, int]
) -> list[SegmentConstraints | None] | None:
    """Read segments that are known before prediction; for each sequence None, or a list."""
    if fixed is None:
        return None
    items = list(fixed)
    if len(items) != len(lengths):
        raise DataError(f"fixed has {len(items)} entries where X has {len(lengths)} sequences")
    found: list[SegmentConstraints | None] = []
    for s, item in enumerate(items):
        mine = []
        for one in item or ():
            start, end, label = _triple(one, f"fixed[{s}]")
            if label not in numbers:
                raise DataError(f"fixed[{s}]: the label {label!r} was not seen in training")
            mine.append((int(start), int(end), numbers[label]))
        found.append(SegmentConstraints(segments=mine) if mine else None)
    return found


def read_tokens(X: Any, lengths: Ints | None) -> tuple[Any, list[Any]]:
    """Hold on to the tokens of all sequences, for the features of segments.

    Returns X, which can be read once more, and for each sequence what holds its tokens.
    """
    if lengths is not None:
        whole = X.tocsr() if hasattr(X, "tocsr") else X
        rows = getattr(whole, "iloc", whole)
        return whole, [rows[a:b] for a, b in pairwise([0, *np.cumsum(lengths).tolist()])]
    plain = isinstance(X, Iterable) and not isinstance(X, (str, bytes, Mapping))
    matrix = hasattr(X, "tocsr") or hasattr(X, "iloc") or getattr(X, "ndim", 1) == 2
    if not plain or matrix:
        return X, []
    held = [list(item) if _is_stream(item) else item for item in X]
    return held, held


def _is_stream(item: Any) -> bool:
    return isinstance(item, Iterable) and not hasattr(item, "__len__")
