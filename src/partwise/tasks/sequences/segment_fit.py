"""Preparation of positions and gold segments for training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats
from ...errors import DataError
from ...models.hashed_names import HashedNames
from ...models.model import Label
from ...models.vocabulary import Vocabulary
from ...structures.base import Constraints
from ..prepared import Prepared
from .constraints import make_constraints
from .features import PositionFeatures
from .fit import class_factors, drop_rare
from .partial_segments import PartialSegmentation
from .segment_features import SegmentFeatures, SegmentTokens, number_segments
from .segment_functions import function_of, name_of, seen_rows
from .segment_tags import Segment

if TYPE_CHECKING:
    from ...structures.segments.structure import SemiMarkov
    from .segment_trainer import SegmentTrainer
    from .tokens import Tokens

__all__ = [
    "check_choice",
    "prepare_segments",
    "segment_constraints",
    "segment_features",
    "segment_structure",
]


def prepare_segments(
    how: SegmentTrainer,
    tokens: SegmentTokens,
    gold: Sequence[Sequence[Segment]],
    partial: Sequence[PartialSegmentation | None],
    *,
    most: int,
    weight: Floats,
    scheme: str | None,
) -> Prepared:
    """Prepare sequences and their segments for training.

    Parameters
    ----------
    how : SegmentTrainer
        The parameters. ``min_count`` counts positions, and gold segments for the features of
        segments. Class weights are weights of positions.
    tokens : SegmentTokens
        The sequences.
    gold : sequence of sequences of (start, end, label)
        The segments of each sequence, which cover all positions in order; those that are certain
        if a sequence is known in part.
    partial : sequence
        What is known of such sequences; None for the others.
    most : int
        The maximum number of positions of a segment.
    weight : ndarray
        The weights of the sequences.
    scheme : str or None
        The scheme of the tags that the segments were read from; None if there were no tags.
    """
    positions, lengths, words = tokens.positions, tokens.lengths, tokens.tokens
    if how.hashing is not None:
        positions = positions.hashed(how.hashing)
    labels = _labels(gold, partial)
    numbers = {label: number for number, label in enumerate(labels)}
    numbered = [number_segments(segments, numbers) for segments in gold]
    by_position = [
        np.repeat(y[:, 2], y[:, 1] - y[:, 0]) if one is None else one.numbers(numbers)
        for y, one in zip(numbered, partial, strict=True)
    ]
    allowed = None
    if any(one is not None for one in partial):
        allowed = [None if one is None else one.constraints(numbers) for one in partial]
    weight = weight * class_factors(how.class_weight, lengths, by_position, weight, labels)
    in_use = [segments for segments, c in zip(gold, weight.tolist(), strict=True) if c > 0.0]
    check_choice(_labels(in_use), most)
    used = weight > 0.0
    rows, vocabulary = drop_rare(
        positions.rows, positions.vocabulary, how.min_count, np.repeat(used, lengths)
    )
    structure = segment_structure(how, labels, most)
    features = segment_features(how, positions, vocabulary, _names(how, words, gold, used), most)
    return Prepared(
        structure,
        # The rows of segments take by far the most memory here, so no name holds them.
        lambda: features.laid_out(structure, rows, lengths, words),
        lengths,
        numbered,
        features,
        labels,
        constraints=segment_constraints(how.constraints, labels),
        allowed=allowed,
        weight=weight,
        meta={"scheme": scheme, "outside": how.outside},
        beside=rows,
        key=() if allowed is None else allowed,
    )


def _labels(
    gold: Sequence[Sequence[Segment]], partial: Sequence[PartialSegmentation | None] = ()
) -> list[Any]:
    """Return the labels of all segments, and those that are named in part, sorted."""
    named = set().union(*(one.names() for one in partial if one is not None))
    return sorted({label for segments in gold for _, _, label in segments} | named)


def segment_structure(how: SegmentTrainer, labels: Sequence[Label], most: int) -> SemiMarkov:
    """Return the structure of segments of up to `most` tokens."""
    from ...structures.segments.structure import SemiMarkov

    outside = how.outside
    return SemiMarkov(
        len(labels),
        most,
        [1 if outside is not None and label == outside else most for label in labels],
        start=bool(how.start),
        end=bool(how.end),
    )


def segment_features(
    how: SegmentTrainer,
    positions: Tokens,
    vocabulary: Vocabulary | None,
    names: Vocabulary | None,
    most: int,
) -> SegmentFeatures:
    """Return how a model reads sequences.

    Parameters
    ----------
    how : SegmentTrainer
        The parameters.
    positions : Tokens
        Some tokens.
    vocabulary, names
        The names of the features of positions and of segments.
    most : int
        The maximum number of positions of a segment.
    """
    return SegmentFeatures(
        PositionFeatures(
            positions.n_inputs, vocabulary, positions.templates, n_hashed=how.hashing or 0
        ),
        name_of(how.segment_features),
        names,
        # If all segments have length 1, a weight of the length would only repeat one of the label.
        lengths=most > 1,
        function=how.segment_features if callable(how.segment_features) else None,
    )


def check_choice(seen: Sequence[Any], most: int) -> None:
    """Raise a DataError unless there are several labels or lengths to choose from."""
    if len(seen) < 2 and most == 1:
        what = f"one label only, {seen[0]!r}, " if seen else "no segments"
        raise DataError(
            f"the sequences with a positive weight have {what}and no segment is longer than 1; "
            "training needs two labels, or segments of several lengths"
        )


def _names(
    how: SegmentTrainer,
    words: Sequence[Any] | None,
    gold: Sequence[Sequence[Segment]],
    used: npt.NDArray[np.bool_],
) -> Vocabulary | None:
    """Return the names of the features that occur on at least min_count used gold segments."""
    function = function_of(name_of(how.segment_features), how.segment_features)
    if function is None or words is None:
        return None
    if how.hashing is not None:
        return HashedNames(how.hashing)
    which = np.flatnonzero(used).tolist()
    rows, vocabulary = seen_rows(function, [words[i] for i in which], [gold[i] for i in which])
    return vocabulary if how.min_count == 1 else vocabulary.keep(rows.counts() >= how.min_count)


def segment_constraints(given: Any, labels: Sequence[Label]) -> Constraints | None:
    """Return the constraints in label numbers; the name of a scheme raises a DataError."""
    if isinstance(given, str):
        raise DataError(
            f"constraints={given!r} names a scheme of tags, which segments always keep to; give "
            "pairs of segment labels that must not follow each other, or a function of two labels"
        )
    return make_constraints(given, labels)
