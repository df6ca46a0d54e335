"""From rows of positions and gold segments to a model that segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.fit import check_weights, fit_model
from ...models.model import Label, Model
from ...models.vocabulary import Vocabulary
from ...problem.dual_point import DualPoint
from ...problem.rows import Rows
from ...structures.base import Constraints
from ...structures.segments.structure import SemiMarkov
from ...training.loop import Callback, Fit
from ...training.settings import Settings
from ..templates import TemplateSet
from .constraints import make_constraints
from .features import PositionFeatures
from .fit import class_factors, drop_rare
from .segment_features import SegmentFeatures
from .segment_functions import function_of, name_of, seen_rows
from .segment_tags import Segment, longest_segment

__all__ = ["TASK", "fit_segmenter", "number_segments", "segment_labels"]

TASK = "segment"


def segment_labels(gold: Sequence[Sequence[Segment]]) -> list[Any]:
    """Give the labels of all segments, sorted."""
    return sorted({label for segments in gold for _, _, label in segments})


def number_segments(segments: Sequence[Segment], labels: Sequence[Label]) -> Ints:
    """Give segments as the structure takes them, -1 for a label that is none of `labels`."""
    index = {label: number for number, label in enumerate(labels)}
    rows = [(start, end, index.get(label, -1)) for start, end, label in segments]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def fit_segmenter(
    rows: Rows,
    lengths: Ints,
    gold: Sequence[Sequence[Segment]],
    settings: Settings,
    *,
    max_length: int | None = None,
    outside: Label | None = None,
    scheme: str | None = None,
    segment_features: Any = None,
    tokens: Sequence[Sequence[Any]] | None = None,
    vocabulary: Vocabulary | None = None,
    templates: TemplateSet | None = None,
    n_inputs: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    callbacks: Sequence[Callback] = (),
    initial: Model | None = None,
    dual_point: DualPoint | None = None,
) -> tuple[Model, Fit]:
    """Train a model that cuts sequences into segments with a label each.

    Parameters
    ----------
    rows : Rows
        The features of every position, the sequences one after the other.
    lengths : ndarray of int
        The number of positions of each sequence.
    gold : sequence of sequences of (start, end, label)
        The segments of each sequence. They cover all positions in order.
    settings : Settings
        How to train. ``min_count`` counts positions, and for the features of segments the gold
        segments. Classes are weighed by position.
    max_length : int or None
        How long segments may be; None: as the longest gold segment.
    outside : str, int or None
        The label of what is outside of all segments; its segments have length 1.
    scheme : str or None
        The scheme of the tags that the segments came from, kept in the model; None: no tags.
    segment_features : None, str or callable
        The features of whole segments; see :mod:`partwise.tasks.sequences.segment_functions`.
    tokens : sequence of sequences or None
        What these are made of, for each sequence.
    vocabulary, templates, n_inputs, sample_weight
        As in :func:`partwise.tasks.sequences.fit.fit_labeller`.
    callbacks, initial, dual_point
        As in :func:`partwise.models.fit.fit_model`.

    Returns
    -------
    model, fit
        ``model.meta`` holds ``scheme`` and ``outside``.
    """
    if not len(lengths):
        raise DataError("there are no sequences to train on; give at least one with its segments")
    rows.check_finite("the features")
    weight = check_weights(sample_weight, len(lengths))
    labels = segment_labels(gold)
    most = longest_segment(gold, max_length, _place)
    numbered = [number_segments(segments, labels) for segments in gold]
    by_position = [np.repeat(y[:, 2], y[:, 1] - y[:, 0]) for y in numbered]
    weight = weight * class_factors(settings.class_weight, lengths, by_position, weight, labels)
    _check_choice(gold, weight, most)
    n_inputs = rows.n_features if n_inputs is None or vocabulary is None else n_inputs
    used = weight > 0.0
    rows, vocabulary = drop_rare(rows, vocabulary, settings.min_count, np.repeat(used, lengths))
    structure = SemiMarkov(
        len(labels),
        most,
        [1 if outside is not None and label == outside else most for label in labels],
        start=bool(settings.start),
        end=bool(settings.end),
    )
    encoder = SegmentFeatures(
        PositionFeatures(n_inputs, vocabulary, templates),
        name_of(segment_features),
        _names(segment_features, tokens, gold, settings.min_count, used),
        # One length tells nothing; a weight for it would only be another one of the label.
        lengths=most > 1,
    )
    # The rows of segments are by far the largest thing here: no name holds them.
    return fit_model(
        TASK,
        structure,
        encoder.features(structure, rows, lengths, tokens, segment_features),
        lengths,
        numbered,
        encoder,
        settings,
        labels=labels,
        constraints=_constraints(settings.constraints, labels),
        sample_weight=weight,
        callbacks=callbacks,
        initial=initial,
        dual_point=dual_point,
        meta={"scheme": scheme, "outside": outside},
        beside=rows,
    )


def _place(s: int, t: int) -> str:
    return f"sequence {s}, position {t} (counted from 0)"


def _check_choice(gold: Sequence[Sequence[Segment]], weight: Floats, most: int) -> None:
    """Make sure that there is something to choose from."""
    used = [segments for segments, c in zip(gold, weight.tolist(), strict=True) if c > 0.0]
    seen = segment_labels(used)
    if len(seen) < 2 and most == 1:
        what = f"one label only, {seen[0]!r}, " if seen else "no segments"
        raise DataError(
            f"the sequences with a positive weight have {what}and no segment is longer than 1; "
            "training needs two labels, or segments of several lengths"
        )


def _names(
    given: Any,
    tokens: Sequence[Sequence[Any]] | None,
    gold: Sequence[Sequence[Segment]],
    min_count: int,
    used: npt.NDArray[np.bool_],
) -> Vocabulary | None:
    """Name the features of the gold segments in use that occur on min_count of them."""
    function = function_of(name_of(given), given)
    if function is None:
        return None
    if tokens is None:
        raise DataError("segment_features need the tokens of the sequences; give them too")
    which = np.flatnonzero(used).tolist()
    rows, vocabulary = seen_rows(function, [tokens[i] for i in which], [gold[i] for i in which])
    return vocabulary if min_count == 1 else vocabulary.keep(rows.counts() >= min_count)


def _constraints(given: Any, labels: Sequence[Label]) -> Constraints | None:
    if isinstance(given, str):
        raise DataError(
            f"constraints={given!r} names a scheme of tags, which segments always keep to; give "
            "pairs of segment labels that must not follow each other, or a function of two labels"
        )
    return make_constraints(given, labels)
