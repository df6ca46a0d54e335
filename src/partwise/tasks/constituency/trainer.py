"""The trainer of parsers of phrase structure, and its parameters, which are part of the help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...errors import DataError
from ...parameters import Count, CountFrom0, Flag, OneOf
from ..parameters import FeatureParameters
from ..trainer import Trainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["ConstituencyTrainer"]


# All phrases count alike.
class ConstituencyTrainer(FeatureParameters, Trainer, without=("cost_matrix",)):
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

    task: ClassVar[str] = "brackets"

    max_length: Annotated[
        Count | None, Flag("--max-length", "words of a sentence at most", "N")
    ] = None
    horizontal: Annotated[
        CountFrom0 | None,
        Flag(
            "--horizontal",
            "siblings that the symbols of partial phrases name (default: {default})",
            "N",
        ),
    ] = 1
    vertical: Annotated[
        Count,
        Flag(
            "--vertical",
            "labels of the path to the root that symbols name (default: {default}, their own)",
            "N",
        ),
    ] = 1
    side: Annotated[
        str,
        OneOf(("right", "left")),
        Flag("--side", "where the partial phrases of long phrases go (default: {default})"),
    ] = "right"
    splits: Annotated[
        bool, Flag("--splits", "features of the points at which spans are split; slower")
    ] = False
    tags: Annotated[
        str,
        OneOf(("gold", "predict")),
        Flag(
            "--predict-tags",
            "predict tags with the tree, rather than take those of the file",
            sets="predict",
        ),
    ] = "gold"
    templates: Any = None

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        if model.task != cls.task:
            raise DataError(
                f"a model of the task {model.task!r} does not bracket sentences; use the model as "
                "it is"
            )
        from .bracketing import Bracketing
        from .features import SpanFeatures

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
