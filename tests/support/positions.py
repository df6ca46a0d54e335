"""Models that label positions, made of rows and label numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.arrays import Floats, Ints
from partwise.models.fit import fit_model
from partwise.models.model import Model
from partwise.models.training_examples import check_weights
from partwise.models.vocabulary import Vocabulary
from partwise.problem.rows import Rows
from partwise.structures.base import Constraints, Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass
from partwise.structures.second_order.structure import SecondOrderChain
from partwise.tasks.sequences.features import PositionFeatures
from partwise.tasks.sequences.fit import prepare_positions
from partwise.tasks.sequences.sources import Sequences
from partwise.tasks.sequences.templates import TemplateSet
from partwise.tasks.sequences.tokens import Tokens
from partwise.training.fit import Fit
from partwise.training.settings import Settings


class PositionSettings(Settings):
    """What a fit of positions is told."""

    min_count: int = 1
    class_weight: Any = None
    constraints: Any = None
    order: int = 1
    start: bool = False
    end: bool = False
    intercept: float = 0.0


@dataclass(frozen=True, eq=False)
class _Numbered(Sequences):
    """Sequences of which only label numbers are known."""

    names: Sequence[Any] = ()
    gold: Sequence[Ints] = ()

    def labels(self, tokens: Tokens) -> list[Any]:
        return [self.names[number] for y in self.gold for number in y.tolist()]


def fit_labeller(
    task: str,
    rows: Rows,
    lengths: Ints | None,
    gold: Sequence[Ints],
    labels: Sequence[Any],
    settings: PositionSettings,
    *,
    structure: Structure | None = None,
    vocabulary: Vocabulary | None = None,
    templates: TemplateSet | None = None,
    transition_rows: Rows | None = None,
    transition_vocabulary: Vocabulary | None = None,
    sample_weight: Any = None,
    n_inputs: int | None = None,
    **more: Any,
) -> tuple[Model, Fit]:
    """Train a classifier or a tagger on rows and label numbers."""
    counts = np.ones(len(rows), np.int64) if lengths is None else np.asarray(lengths, np.int64)
    tokens = Tokens(
        rows,
        counts,
        rows.n_features if n_inputs is None or vocabulary is None else n_inputs,
        vocabulary,
        templates,
        transition_rows,
        transition_vocabulary,
    )
    prepared = prepare_positions(
        _Numbered(None, names=labels, gold=gold),
        tokens,
        structure or _structure(task, len(labels), settings, transition_rows is None),
        labels,
        gold,
        weight=check_weights(sample_weight, len(counts)),
        class_weight=settings.class_weight,
        min_count=settings.min_count,
        intercept=settings.intercept,
        constraints=settings.constraints,
    )
    return fit_model(
        task,
        prepared.structure,
        prepared.rows(),
        prepared.shapes,
        prepared.gold,
        prepared.features,
        settings,
        labels=prepared.labels,
        constraints=prepared.constraints,
        sample_weight=prepared.weight,
        beside=prepared.beside,
        **more,
    )


def _structure(task: str, n_labels: int, settings: PositionSettings, tied: bool) -> Structure:
    if task == "classify":
        return Multiclass(n_labels)
    ends = {"start": settings.start, "end": settings.end}
    if settings.order == 2:
        return SecondOrderChain(n_labels, **ends)
    return Chain(n_labels, tied=tied, **ends)


class PositionLabeller:
    """Asks a model for label numbers of rows."""

    def __init__(self, model: Model) -> None:
        assert isinstance(model.features, PositionFeatures)
        self.model = model
        self.features = model.features

    def predict(self, rows: Rows, lengths: Ints | None = None, **more: Any) -> list[Ints]:
        return self.model.predict(*self._inputs(rows, lengths, more), **more)

    def k_best(
        self, rows: Rows, lengths: Ints | None, k: int, **more: Any
    ) -> list[tuple[Floats, list[Ints]]]:
        return self.model.k_best(*self._inputs(rows, lengths, more), k, **more)

    def marginals(self, rows: Rows, lengths: Ints | None = None, **more: Any) -> list[Floats]:
        made, counts = self._inputs(rows, lengths, more)
        found = self.model.marginals(made, counts, **more)
        pairs = zip(found, counts.tolist(), strict=True)
        return [self.features.table(self.model, mu, length) for mu, length in pairs]

    def log_proba(
        self, rows: Rows, lengths: Ints | None, labels: Sequence[Ints], **more: Any
    ) -> Floats:
        made, counts = self._inputs(rows, lengths, more)
        known = [None if (np.asarray(y) < 0).any() else np.asarray(y) for y in labels]
        return self.model.log_proba(made, counts, known, **more)

    def _inputs(
        self, rows: Rows, lengths: Ints | None, more: dict[str, Any]
    ) -> tuple[list[Rows], Ints]:
        counts = np.ones(len(rows), np.int64) if lengths is None else np.asarray(lengths, np.int64)
        allowed = more.pop("allowed", None)
        if allowed is not None:
            more["own_constraints"] = [Constraints(allowed=of) if of else None for of in allowed]
        steps = more.pop("transition_rows", None)
        return self.features.laid_out(self.model.structure, rows, steps), counts
