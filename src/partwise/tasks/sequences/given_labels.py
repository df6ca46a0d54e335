"""Labelled examples that users give to a model in Python, as sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...formats.columns import Columns
from ...formats.svmlight import SvmlightData
from ...problem.rows import is_matrix
from ..labels import missing_of
from .column_file import ColumnFile
from .examples import read_labels
from .features import PositionFeatures
from .partial_segments import cut_items, is_partial
from .segment_features import features_of, scheme_of
from .segment_tags import Segment, tags_of
from .segmentations import read_segmentations
from .sources import Sequences, Table

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["given_segments", "given_table", "given_tags", "spelled_segments"]


def given_table(model: Model, X: Any, y: Any) -> Table:
    """Return a matrix and its labels, or an svmlight file that was read."""
    if isinstance(X, SvmlightData):
        return Table(X.rows, _own_labels(X, y), X.path)
    if not is_matrix(X):
        X = np.asarray(X, dtype=np.float64)
    table = Table(X.tocsr() if hasattr(X, "tocsr") else np.asarray(X), path=None)
    if y is None or isinstance(y, (str, bytes)) or not isinstance(y, Iterable):
        raise _no_labels("one label per row")
    labels = list(y)
    if len(labels) != len(table):
        raise DataError(f"{len(labels)} labels for {len(table)} rows; give one label per row")
    flat = read_labels([labels], np.array([len(table)]), False, True, missing_of(model))
    held = np.empty(len(flat), dtype=object)
    held[:] = flat
    return replace(table, y=held)


def given_tags(
    model: Model, X: Any, y: Any, lengths: Any = None, X_transitions: Any = None
) -> ColumnFile | Sequences:
    """Return sequences of tokens and their labels, or a file that was read.

    Parameters are those of `SequenceTagger.score`.
    """
    assert isinstance(model.features, PositionFeatures)
    source, labels, own = _tokens(model.features, X, y, lengths, X_transitions)
    flat = read_labels(labels, own, lengths is not None, True, missing_of(model))
    return _with_labels(source, flat, own)


def given_segments(model: Model, X: Any, y: Any, lengths: Any = None) -> ColumnFile | Sequences:
    """Return sequences of tokens and the tags that spell their segments.

    Sequences whose segments are known in part have no tags. Parameters are those of
    `SegmentTagger.score`.
    """
    features = features_of(model)
    source, labels, own = _tokens(features.positions, X, y, lengths, None)
    if isinstance(X, Columns):
        return source
    items = cut_items(labels, own)
    if len(items) != len(own):
        raise DataError(f"y has {len(items)} sequences where X has {len(own)}")
    outside, missing = model.meta.get("outside"), missing_of(model)
    scheme = scheme_of(model)
    kept = [i for i, item in enumerate(items) if not is_partial(item, missing)]
    found, _ = read_segmentations(
        [items[i] for i in kept], own[kept], False, outside,
        scheme or model.settings.get("scheme", "auto"),
    )  # fmt: skip
    tags: list[list[Any]] = [[None] * length for length in own.tolist()]
    for i, segments in zip(kept, found, strict=True):
        if scheme is None:
            tags[i] = [*spelled_segments(segments, len(tags[i]), outside)]
        else:
            tags[i] = [*tags_of(segments, scheme, outside)]
    return _with_labels(source, [tag for some in tags for tag in some], own)


def spelled_segments(segments: Sequence[Segment], length: int, outside: Any) -> list[str]:
    """Return the tags of segments by the scheme IOB2; O is what is in no segment."""
    tags = ["O"] * length
    for start, end, label in segments:
        if label != outside:
            tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


def _tokens(
    features: PositionFeatures, X: Any, y: Any, lengths: Any, transitions: Any
) -> tuple[ColumnFile | Sequences, Any, Ints]:
    """Return tokens as a model reads them, their labels as they were given, and their lengths."""
    labels = _own_labels(X, y) if isinstance(X, Columns) else y
    if labels is None:
        raise _no_labels("one list of labels per sequence")
    if lengths is None and not isinstance(X, Columns):
        # Iterators can be read only once.
        X = [item if hasattr(item, "__len__") else list(item) for item in X]
    source = features.source(X, lengths, transitions)
    if isinstance(source, Table):
        raise DataError(
            f"X is of type {type(X).__name__}, which holds no sequences; give a list of sequences "
            "of tokens"
        )
    own = source.untouched().lengths
    if isinstance(X, Columns):
        labels = X.split(X.labels or ())
    return source, labels, own


def _own_labels(X: Columns | SvmlightData, y: Any) -> list[str]:
    """Return the labels of a file that was read, which needs no others."""
    if y is not None:
        raise DataError("a file that was read has labels of its own; leave y out")
    if X.labels is None:
        raise DataError(
            "no labels; read it with labelled=True, from a file with the right labels",
            place=Place(X.path),
        )
    return X.labels


def _with_labels(
    source: ColumnFile | Sequences, flat: list[Any], lengths: Ints
) -> ColumnFile | Sequences:
    if isinstance(source, ColumnFile):
        return replace(source, columns=replace(source.columns, labels=flat))
    ends = np.cumsum(lengths).tolist()
    pairs = zip(ends, lengths.tolist(), strict=True)
    return replace(replace(source, y=None).checked(), y=[flat[end - n : end] for end, n in pairs])


def _no_labels(expected: str) -> DataError:
    return DataError(f"no labels to compare with; give y, {expected}")
