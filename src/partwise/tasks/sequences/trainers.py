"""The trainers of classifiers and taggers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...problem.rows import Rows
from ...problem.weight_rule import WeightRule
from ..stream import Stream
from ..trainer import Trainer
from .distinct import distinct_examples
from .features import PositionFeatures
from .parameters import ClassifierParameters, PositionParameters, TaggerParameters
from .partial_labels import (
    holds_partial,
)
from .template_file import Templates

if TYPE_CHECKING:
    from ...models.model import Model
    from ...models.prepared import Prepared
    from ...structures.base import Structure
    from ...training.early_stopping import Watch
    from ...training.fit import Fit
    from ..preparation import Preparation
    from .preparation import Form

__all__ = ["ClassifierTrainer", "PositionTrainer", "TaggerTrainer"]

#: The number of preceding labels that a label depends on, for the structures of taggers. The
#: structures are given by name, so that unused ones are not compiled.
_ORDERS: Final = {"chain": 1, "second-order-chain": 2}


class PositionTrainer(PositionParameters, Trainer):
    """Base class of the trainers that label positions; not for direct use."""

    @property
    def _intercept(self) -> float:
        """The value of a constant feature of every position; 0 for none."""
        return 0.0

    def _structure(self, n_labels: int, form: Form) -> Structure:
        """Return the structure of positions with so many labels and these kinds of features."""
        raise NotImplementedError

    def _rule(self, structure: Structure) -> WeightRule | None:
        """Return which weights there are, if not as the parameter says."""
        return None

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .preparation import PositionPreparation

        return PositionPreparation(self, _known(initial), whole)


class ClassifierTrainer(ClassifierParameters, PositionTrainer):
    """Trains classifiers."""

    task: ClassVar[str] = "classify"

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        features = model.features
        numbered = isinstance(features, PositionFeatures) and features.vocabulary is None
        if model.task != cls.task or not numbered:
            raise DataError("the model does not classify rows of numbers; use it as it is")
        assert isinstance(features, PositionFeatures)
        if features.support is not None and not hasattr(cls, "kernel"):
            raise DataError("the model has a kernel; use KernelClassifier.from_model")
        return {
            "fit_intercept": features.intercept != 0.0,
            "intercept_scaling": features.intercept or 1.0,
            "hashing": features.n_hashed or None,
        }

    def _train(
        self,
        source: Any,
        sample_weight: Any = None,
        initial: Model | None = None,
        watched: Callable[[int], Watch] | None = None,
    ) -> tuple[Prepared, Fit]:
        result = super()._train(source, sample_weight, initial, watched)
        if isinstance(source, Stream):
            return result
        certain = self.missing_label is None and not holds_partial(source.y)
        if isinstance(source.y, np.ndarray) and certain:
            # The labels as y has them, because a model only has plain values.
            self.classes_ = np.unique(source.y)
        return result

    @property
    def _intercept(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .preparation import TablePreparation

        return TablePreparation(self, _known(initial), whole)

    def _structure(self, n_labels: int, form: Form) -> Structure:
        from ...structures.multiclass import Multiclass

        return Multiclass(n_labels)

    def _chosen(self, rows: Rows, label: Ints, weight: Floats) -> tuple[Ints, Floats]:
        """Return examples and weights in a form that does not depend on order or repetition."""
        return distinct_examples(rows, label, weight)


class TaggerTrainer(TaggerParameters, PositionTrainer):
    """Trains taggers."""

    task: ClassVar[str] = "tag"

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        structure: Any = model.structure
        known = getattr(model.features, "templates", None)
        if model.task != cls.task or structure.name not in _ORDERS:
            raise DataError(
                f"a model of the task {model.task!r} and a {structure.name} does not tag; use "
                "LinearClassifier.from_model if it classifies, or the model as it is"
            )
        return {
            "order": _ORDERS[structure.name],
            "tied": getattr(structure, "tied", True)
            or getattr(model.features, "input_transitions", False),
            "start": structure.start,
            "end": structure.end,
            "constraints": model.constraints,
            "hashing": getattr(model.features, "n_hashed", 0) or None,
            "templates": known if isinstance(known, Templates) else None,
        }

    def _rule(self, structure: Structure) -> WeightRule:
        # All but the first kind of site are transitions.
        transitions = self.transition_weights or self.weights
        chosen = {structure.kinds[0]: self.weights}
        chosen.update(dict.fromkeys(structure.kinds[1:], transitions))
        least = self.min_frequency
        return WeightRule(chosen, None if least is None else float(least))

    def _structure(self, n_labels: int, form: Form) -> Structure:
        # Each import loads compiled code.
        ends = {"start": bool(self.start), "end": bool(self.end)}
        if self.order == 1:
            from ...structures.chain.structure import Chain

            return Chain(n_labels, tied=self.tied and not form.transitions, **ends)
        if not form.plain_transition:
            raise DataError(
                "a chain of order 2 has weights of pairs of labels; add a line with just B to the "
                "templates, or use order 1"
            )
        if form.transitions:
            raise DataError(
                "a chain of order 2 has no features of transitions; leave them out, or use order 1"
            )
        from ...structures.second_order.structure import SecondOrderChain

        return SecondOrderChain(n_labels, **ends)


def _known(initial: Model | None) -> PositionFeatures | None:
    """Return the features of a model to start from, if they are those of positions."""
    features = None if initial is None else initial.features
    return features if isinstance(features, PositionFeatures) else None
