"""What trains parsers of phrase structure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...errors import DataError
from ...models.hashed_names import check_hashing
from ...models.training_examples import check_weights
from ...values import check_count, is_integer, one_of
from ..prepared import Prepared
from ..trainer import Trainer
from .bracketing import Bracketing
from .examples import Trees
from .features import SpanFeatures
from .fit import gold_derivations, prepare_trees
from .normal_form import NormalForm

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["ConstituencyTrainer"]

_TAGS: Final = ("gold", "predict")


@dataclass(eq=False, repr=False, kw_only=True)
class ConstituencyTrainer(Trainer):
    """Trains parsers of phrase structure.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a log-linear model of trees, "hinge" a max-margin one with a cost of 1 for each
        phrase that is not in the right tree, "softmax-margin" a log-linear one with such a cost.
    weights : {"all", "observed"}
        Whether a feature of the trees has a weight for every label, or only for those that it was
        seen with, which takes far less memory and is a little less accurate.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual variables if the trees are the
        same, else from its weights. Words may be new, the grammar must be the same.
    horizontal : int or None
        How many siblings the symbols of partial phrases name (see
        :class:`partwise.tasks.constituency.normal_form.NormalForm`); None: all of them.
    vertical : int
        How many labels of the path to the root symbols name, their own included.
    side : {"right", "left"}
        Where the partial phrases of long phrases go.
    max_length : int or None
        Trees with more words are left out of the training, grammar included. A warning of the log
        and ``n_long_`` say how many.
    tags : {"gold", "predict"}
        "gold": sentences come with tags, which fix the tags of the trees and are looked at by
        features. "predict": sentences are words, and tags are predicted with the trees.
    splits : bool
        Whether the points at which spans are split have features; slower, and more memory.
    min_count : int
        Features of fewer words, spans or splits of the trees are ignored.
    hashing : int or None
        None lists the features of the trees. A power of two: all features of all words, spans and
        splits get numbers below it by hashing, so that the memory is fixed, and those that share a
        number share a weight.
    templates : mapping of str to sequence of str, or None
        What features look at, for "word", "span" and "split", see
        ``partwise.tasks.constituency.templates``; None: the standard ones.
    """

    horizontal: int | None = 1
    vertical: int = 1
    side: str = "right"
    max_length: int | None = None
    tags: str = "gold"
    splits: bool = False
    min_count: int = 1
    hashing: int | None = None
    templates: Mapping[str, Sequence[str]] | None = None
    # All phrases count alike.
    cost_matrix: Any = field(default=None, init=False)

    task: ClassVar[str] = "brackets"

    def check(self) -> None:
        super().check()
        one_of("tags", self.tags, _TAGS)
        for name in ("horizontal", "vertical"):
            value = getattr(self, name)
            if not is_integer(value) and (value is not None or name == "vertical"):
                raise DataError(f"{name} is {value!r}; give a whole number")
        check_count("min_count", self.min_count)
        check_hashing(self.hashing, self.min_count)
        most = self.max_length
        if most is not None and (not is_integer(most) or most < 1):
            raise DataError(f"max_length is {most!r}; give a whole number from 1, or None")

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
                f"tree {which[0]} (counted from 0) is known in part, and the {self.loss} loss has "
                "no cost for a set of trees; use the log loss"
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
