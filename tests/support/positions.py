"""Models that label positions, made of rows and label numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partwise.arrays import Floats, Ints
from partwise.models.fit import train_model
from partwise.models.model import Model
from partwise.models.vocabulary import Vocabulary
from partwise.problem.rows import Rows
from partwise.structures.base import Constraints, Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass
from partwise.structures.second_order.structure import SecondOrderChain
from partwise.tasks.preparation import lay_out
from partwise.tasks.sequences.features import PositionFeatures
from partwise.tasks.sequences.preparation import PositionPreparation
from partwise.tasks.sequences.sources import Sequences
from partwise.tasks.sequences.templates import TemplateSet
from partwise.tasks.sequences.tokens import Tokens
from partwise.training.result import Fit
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
    made: Tokens | None = None

    def __len__(self) -> int:
        return 0 if self.made is None else len(self.made)

    def tokens(self, known: PositionFeatures | None = None) -> Tokens:
        assert self.made is not None
        return self.made

    def labels(self, tokens: Tokens, missing: Any = None) -> list[Any]:
        return [self.names[number] for y in self.gold for number in y.tolist()]

    def ordered(self, labels: set[Any]) -> list[Any]:
        return list(self.names)


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
    meta: dict[str, Any] | None = None,
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
    made = structure or _structure(task, len(labels), settings, transition_rows is None)
    how: Any = _How(made, settings)
    preparation = PositionPreparation(how, None, whole=True)
    source = _Numbered(None, names=labels, gold=gold, made=tokens)
    prepared = replace(lay_out(preparation, source, sample_weight, settings), meta=meta)
    return train_model(task, prepared, settings, **more)


class _How:
    """The parameters of a fit of positions, and its structure."""

    task, missing_label, hashing = "tag", None, None

    def __init__(self, structure: Structure, settings: PositionSettings) -> None:
        self._made, self._intercept = structure, settings.intercept
        self.min_count, self.class_weight = settings.min_count, settings.class_weight
        self.constraints, self.loss = settings.constraints, settings.loss

    def _structure(self, n_labels: int, form: Any) -> Structure:
        return self._made

    def _rule(self, structure: Structure) -> None:
        return None


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
