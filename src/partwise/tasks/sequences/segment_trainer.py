"""The trainer of segment taggers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError, Place
from ...models.model import Model
from ...models.training_examples import check_weights
from ..prepared import Prepared
from .column_file import ColumnFile
from .parameters import SegmentParameters
from .partial_segments import PartialSegmentation, cut_items, find_partial, is_partial
from .segment_features import SegmentFeatures, SegmentTokens, features_of, scheme_of
from .segment_fit import prepare_segments
from .segment_functions import BUILT_IN, name_of
from .segment_tags import Segment, longest_segment
from .segmentations import held, read_segmentations, segment_tokens
from .sources import Sequences
from .tokens import Tokens
from .trainers import PositionTrainer

if TYPE_CHECKING:
    from ..preparation import Preparation

__all__ = ["SegmentTrainer", "check_templates"]


class SegmentTrainer(SegmentParameters, PositionTrainer):
    """Trains segment taggers."""

    task: ClassVar[str] = "segment"

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        features, structure = features_of(model), model.structure
        named: Any = features.segment_features
        return {
            "max_length": structure.constants()["max_length"],
            "outside": model.meta.get("outside"),
            "scheme": scheme_of(model) or "auto",
            "segment_features": features.function or (None if named == "none" else named),
            "start": structure.constants()["start"],
            "end": structure.constants()["end"],
            "constraints": model.constraints,
            "hashing": features.positions.n_hashed or None,
        }

    def _streamed(self, initial: Model | None) -> Preparation:
        from .streamed_segments import StreamedSegments

        known = None if initial is None else initial.features
        first = known.positions if isinstance(known, SegmentFeatures) else None
        return StreamedSegments(self, first)

    def _prepare(
        self, source: Sequences | ColumnFile, sample_weight: Any, initial: Model | None
    ) -> Prepared:
        known = None if initial is None else initial.features
        source = source.like(known.positions if isinstance(known, SegmentFeatures) else None)
        named, words = name_of(self.segment_features), None
        if named != "none":
            source = held(source)
        positions = source.tokens()
        check_templates(positions)
        if named != "none":
            words = segment_tokens(source, named in BUILT_IN)
        y = source.sentences() if isinstance(source, ColumnFile) else source.y
        gold, partial, scheme = self._segmentations(y, positions, source.place)
        if not len(positions):
            raise DataError(
                "there are no sequences to train on; give at least one with its segments"
            )
        positions.rows.check_finite("the features")
        most = None if self.max_length is None else int(self.max_length)
        longest = longest_segment(gold, most, source.place)
        if most is None:
            longest = max([longest, *(one.longest() for one in partial if one is not None)])
        found = prepare_segments(
            self,
            SegmentTokens(positions, words),
            gold,
            partial,
            most=longest,
            weight=check_weights(sample_weight, len(positions)),
            scheme=scheme,
        )
        return replace(found, meta={**(found.meta or {}), **source.meta})

    def _segmentations(
        self, y: Any, tokens: Tokens, place: Callable[[int, int], Place]
    ) -> tuple[list[list[Segment]], list[PartialSegmentation | None], str | None]:
        """Read the segments of all sequences, what is known of others, and the scheme of tags.

        The segments of sequences that are known in part are those that are certain.
        """
        lengths, missing = tokens.lengths, self.missing_label
        items = cut_items(y, lengths) if isinstance(y, (list, tuple)) else y
        several = items if isinstance(items, list) and len(items) == len(lengths) else []
        which = [s for s, item in enumerate(several) if is_partial(item, missing)]
        if not which:
            gold, scheme = read_segmentations(
                items, lengths, tokens.stacked, self.outside, self.scheme, place
            )
            return gold, [None] * len(gold), scheme
        if self.loss != "log":
            raise DataError(
                f"some labels are missing or uncertain, and "
                f"the {self.loss} loss has no cost for a set of labels; use the log loss",
                place=Place.nth("sequence", which[0]),
            )
        found, used = find_partial(several, lengths, self.outside, self.scheme, missing, place)
        known = [s for s, one in enumerate(found) if one is None]
        whole, scheme = read_segmentations(
            [several[s] for s in known],
            lengths[known],
            False,
            self.outside,
            used,
            lambda s, t: place(known[s], t),
        )
        of_whole = iter(whole)
        gold = [next(of_whole) if one is None else one.segments() for one in found]
        tags = any(isinstance(one, str) for item in several for one in item or ())
        return gold, found, used if tags else scheme


def check_templates(positions: Tokens) -> None:
    """Raise a DataError if pairs of neighbouring tokens have features."""
    if positions.transitions is not None or not positions.plain_transition:
        raise DataError(
            "segments have one weight per pair of neighbouring labels; the only template of "
            "pairs must be a line with just B"
        )
