"""The trainers of classifiers and taggers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.training_examples import check_weights, note_left_out
from ...problem.rows import Rows
from ...problem.weight_rule import WeightRule
from ..prepared import Prepared
from ..stream import Stream
from ..trainer import Trainer
from .distinct import distinct_examples
from .features import PositionFeatures
from .fit import prepare_positions
from .parameters import ClassifierParameters, PositionParameters, TaggerParameters
from .partial_labels import (
    UNKNOWN,
    NumberedLabels,
    holds_partial,
    number_labels,
    number_sets,
    refuse_partial,
)
from .template_file import Templates

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Constraints, Structure
    from ...training.early_stopping import Watch
    from ...training.fit import Fit
    from ..preparation import Preparation
    from .column_file import ColumnFile
    from .partial_labels import Labelled
    from .sources import Sequences, Table
    from .tokens import Tokens

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

    def _numbered(self, source: Labelled, tokens: Tokens) -> NumberedLabels:
        """Number the labels; a loss that cannot take uncertain ones raises a DataError."""
        numbered = number_labels(source, tokens, self.missing_label)
        if numbered.allowed is not None and self.loss != "log":
            refuse_partial(source, numbered.gold, self.loss)
        return numbered

    def _positions(
        self,
        source: Any,
        tokens: Tokens,
        structure: Structure,
        numbered: NumberedLabels,
        weight: Floats,
        initial: Model | None,
    ) -> Prepared:
        """Prepare positions with numbered labels, see `prepare_positions`."""
        return prepare_positions(
            source,
            tokens,
            structure,
            numbered.labels,
            numbered.gold,
            weight=weight,
            allowed=numbered.allowed,
            class_weight=self.class_weight,
            min_count=self.min_count,
            intercept=self._intercept,
            constraints=getattr(self, "constraints", None),
            hashing=self.hashing,
        )

    def _stream_structure(self, n_labels: int, tokens: Tokens) -> Structure:
        """Return the structure of examples that are read in batches, for some labels."""
        raise NotImplementedError

    def _stream_rule(self, structure: Structure) -> WeightRule | None:
        """Return which weights there are, if examples are read in batches."""
        return None

    def _streamed(self, initial: Model | None) -> Preparation:
        from .streamed import StreamedPositions

        first = None if initial is None else initial.features
        return StreamedPositions(self, first if isinstance(first, PositionFeatures) else None)


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

    def _prepare(self, source: Table, sample_weight: Any, initial: Model | None) -> Prepared:
        from ...structures.multiclass import Multiclass

        weight = check_weights(sample_weight, len(source))
        tokens = source.tokens()
        labels, gold, allowed = self._numbered(source, tokens)
        numbers = np.reshape(gold, -1).astype(np.int64, copy=False)
        sets: list[Constraints] = []
        meta = None
        if allowed is not None:
            numbers, sets = number_sets(numbers, allowed, len(labels))
            unlabelled = (numbers < 0) & (weight > 0.0)
            weight = np.where(numbers < 0, 0.0, weight)
            meta = note_left_out(int(unlabelled.sum()), weight > 0.0, None)
        chosen, weight = self._chosen(tokens.rows, numbers, weight)
        ones = np.ones(len(chosen), dtype=np.int64)
        tokens = replace(tokens, rows=tokens.rows.take(chosen), lengths=ones)
        found = numbers[chosen, None]
        right: Any = np.where(found < len(labels), found, UNKNOWN)
        mine = None
        if sets:
            mine = [None if k < len(labels) else sets[k - len(labels)] for k in numbers[chosen]]
        structure = Multiclass(max(1, len(labels)))
        numbered = NumberedLabels(labels, right, mine)
        prepared = self._positions(source, tokens, structure, numbered, weight, initial)
        # Equal examples were merged.
        return replace(prepared, record={"n_examples": len(source)}, meta=meta)

    def _stream_structure(self, n_labels: int, tokens: Tokens) -> Structure:
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

    def _prepare(
        self, source: Sequences | ColumnFile, sample_weight: Any, initial: Model | None
    ) -> Prepared:
        first = None if initial is None else initial.features
        tokens = source.like(first if isinstance(first, PositionFeatures) else None).tokens()
        numbered = self._numbered(source, tokens)
        weight = check_weights(sample_weight, len(tokens))
        self._check_order(tokens)
        structure = self._structure(
            len(numbered.labels), tied=self.tied and tokens.transitions is None
        )
        found = self._positions(source, tokens, structure, numbered, weight, initial)
        kept = {**(found.meta or {}), **source.meta}
        return replace(found, weights=self._weight_rule(structure), meta=kept or None)

    def _stream_structure(self, n_labels: int, tokens: Tokens) -> Structure:
        self._check_order(tokens)
        return self._structure(n_labels, tied=self.tied and tokens.transitions is None)

    def _stream_rule(self, structure: Structure) -> WeightRule:
        return self._weight_rule(structure)

    def _check_order(self, tokens: Tokens) -> None:
        if self.order == 2 and not tokens.plain_transition:
            raise DataError(
                "a chain of order 2 has weights of pairs of labels; add a line with just B to the "
                "templates, or use order 1"
            )

    def _weight_rule(self, structure: Structure) -> WeightRule:
        """Return which weights there are; all but the first kind of site are transitions."""
        transitions = self.transition_weights or self.weights
        chosen = {structure.kinds[0]: self.weights}
        chosen.update(dict.fromkeys(structure.kinds[1:], transitions))
        least = self.min_frequency
        return WeightRule(chosen, None if least is None else float(least))

    def _structure(self, n_labels: int, tied: bool) -> Structure:
        n_labels = max(1, n_labels)
        # Each import loads compiled code.
        start, end = bool(self.start), bool(self.end)
        if self.order == 1:
            from ...structures.chain.structure import Chain

            return Chain(n_labels, tied=tied, start=start, end=end)
        if not tied:
            raise DataError(
                "a chain of order 2 has no features of transitions; leave them out, or use order 1"
            )
        from ...structures.second_order.structure import SecondOrderChain

        return SecondOrderChain(n_labels, start=start, end=end)
