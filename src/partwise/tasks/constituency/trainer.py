"""What trains parsers of phrase structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError
from ..trainer import Trainer
from .bracketing import Bracketing
from .features import SpanFeatures
from .parameters import ConstituencyParameters

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["ConstituencyTrainer"]


class ConstituencyTrainer(ConstituencyParameters, Trainer):
    """Trains parsers of phrase structure."""

    task: ClassVar[str] = "brackets"

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        if model.task != cls.task:
            raise DataError(
                f"a model of the task {model.task!r} does not bracket sentences; use the model as "
                "it is"
            )
        bracketing, features = Bracketing.of(model), model.features
        assert isinstance(features, SpanFeatures)
        return {
            "horizontal": bracketing.form.horizontal,
            "vertical": bracketing.form.vertical,
            "side": bracketing.form.side,
            "tags": "gold" if features.tagged else "predict",
            "splits": bracketing.grammar.split,
            "hashing": features.features_of["word"].n_hashed or None,
            "templates": {kind: held.templates for kind, held in features.features_of.items()},
        }

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .preparation import PhrasePreparation

        return PhrasePreparation(self, whole)
