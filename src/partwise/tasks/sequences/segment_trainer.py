"""The trainer of segment taggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...models.model import Model
from .parameters import SegmentParameters
from .segment_features import SegmentFeatures, features_of, scheme_of
from .trainers import PositionTrainer

if TYPE_CHECKING:
    from ...structures.segments.structure import SemiMarkov
    from ..preparation import Preparation

__all__ = ["SegmentTrainer"]


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

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .segment_preparation import SegmentPreparation

        known = None if initial is None else initial.features
        first = known.positions if isinstance(known, SegmentFeatures) else None
        return SegmentPreparation(self, first, whole)

    def _structure_of(self, labels: Sequence[Any], most: int) -> SemiMarkov:
        """Return the structure of segments of up to `most` tokens."""
        from ...structures.segments.structure import SemiMarkov

        outside = self.outside
        return SemiMarkov(
            len(labels),
            most,
            [1 if outside is not None and label == outside else most for label in labels],
            start=bool(self.start),
            end=bool(self.end),
        )
