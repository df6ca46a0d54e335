"""What a model says about segments, in the words of whoever trained it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.model import Model
from ...problem.rows import Rows
from ...structures.segments.structure import SemiMarkov
from .segment_features import SegmentFeatures
from .segment_tags import TAG_SCHEMES, Segment, tags_of

__all__ = ["SegmentLabeller"]


class SegmentLabeller:
    """Makes features for a model of segmentations, and reads what it gives.

    Parameters
    ----------
    model : Model
        A model of :func:`partwise.tasks.sequences.segment_fit.fit_segmenter`.
    function : callable or None
        The function that makes the features of segments, where the model was trained with one.

    Attributes
    ----------
    model, encoder, structure
        The model and what it is made of.
    scheme : str or None
        The scheme in which tags spell segments; None: the model was trained on segments.
    outside : str, int or None
        The label of what is outside of all segments.
    """

    def __init__(self, model: Model, function: Any = None) -> None:
        encoder, structure = model.encoder, model.structure
        if not isinstance(encoder, SegmentFeatures) or not isinstance(structure, SemiMarkov):
            raise DataError(
                f"a model of the task {model.task!r} and a {structure.name} does not segment; use "
                "the model as it is"
            )
        self.model = model
        self.encoder = encoder
        self.structure = structure
        self.function = function
        self.scheme = model.meta.get("scheme")
        self.outside = model.meta.get("outside")
        if self.scheme not in (None, *TAG_SCHEMES):
            raise DataError(f"the model spells segments in the unknown scheme {self.scheme!r}")

    def features(
        self, rows: Rows, lengths: Ints, tokens: Sequence[Sequence[Any]] | None
    ) -> list[Rows]:
        """Make features as `Model.predict` takes them; see `SegmentFeatures.features`."""
        return self.encoder.features(self.structure, rows, lengths, tokens, self.function)

    def named(self, found: Ints) -> list[Segment]:
        """Give the segments that the model gave in numbers, those outside included."""
        labels = self.model.labels
        return [(start, end, labels[label]) for start, end, label in found.tolist()]

    def inside(self, segments: Sequence[Segment]) -> list[Segment]:
        """Leave out the segments of the label `outside`."""
        return [segment for segment in segments if segment[2] != self.outside]

    def spelled(self, found: Ints) -> list[Any]:
        """Give tags if the model was trained on tags, and else segments, those outside left out."""
        named = self.named(found)
        if self.scheme is None:
            return self.inside(named)
        return tags_of(named, self.scheme, self.outside)

    def positions(self, mu: Floats, length: int) -> Floats:
        """Take the probabilities of labels at positions out of the marginals of all parts."""
        n = self.structure.n_labels
        return mu[: length * n].reshape(length, n)

    def segments(self, mu: Floats, length: int) -> Floats:
        """Take the probabilities of segments out of the marginals: start, length - 1, label."""
        n = self.structure.n_labels
        start, end = self.structure.segments(self.structure.topology(length)).T
        table = np.zeros((length, self.structure.max_length, n))
        own = mu[length * n : (length + len(start)) * n]
        table[start, end - start - 1] = own.reshape(len(start), n)
        return table
