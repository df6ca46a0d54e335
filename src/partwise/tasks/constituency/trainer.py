"""What trains parsers of phrase structure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError, Place
from ...models.training_examples import check_weights
from ..prepared import Prepared
from ..trainer import Trainer
from .bracketing import Bracketing
from .examples import Trees
from .features import SpanFeatures
from .fit import gold_derivations, prepare_trees
from .normal_form import NormalForm
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

    def _prepare(self, source: Trees, sample_weight: Any, initial: Model | None) -> Prepared:
        weight = check_weights(sample_weight, len(source))
        form = NormalForm(self.side, self.horizontal, self.vertical)
        known = source.known(self.missing_label)
        which = [i for i, mine in enumerate(known) if mine is not None]
        if which and self.loss != "log":
            raise DataError(
                f"is known in part, and the {self.loss} loss has "
                "no cost for a set of trees; use the log loss",
                place=Place.nth("tree", which[0]),
                subject=True,
            )
        whole = [i for i, mine in enumerate(known) if mine is None]
        if which and not whole:
            raise DataError("the grammar is read off trees that are known; give at least one")
        gold = gold_derivations([source.trees[i] for i in whole], form, self.max_length)
        most = self.max_length or math.inf
        pairs = zip(known, weight.tolist(), strict=True)
        named = [(mine, c) for mine, c in pairs if mine is not None]
        return prepare_trees(
            gold,
            weight[whole][gold.kept],
            partial=[pair for pair in named if len(pair[0].sentence.words) <= most],
            tagged=self.tags == "gold",
            splits=bool(self.splits),
            templates=self.templates,
            min_count=self.min_count,
            n_hashed=self.hashing or 0,
        )

    def _streamed(self, initial: Model | None) -> Preparation:
        from .streamed import StreamedPhrases

        return StreamedPhrases(self)
