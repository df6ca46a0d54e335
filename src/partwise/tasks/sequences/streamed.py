"""Preparation of labelled positions that are read a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats
from ...errors import DataError
from ...models.grown_names import GrownNames
from ...problem.batches import Batch
from ..preparation import Joined, Outline, Preparation
from .features import PositionFeatures
from .fit import check_positions
from .grown_labels import GrownLabels
from .tokens import bare_tokens

if TYPE_CHECKING:
    from ...structures.base import Structure
    from .column_file import ColumnFile
    from .sources import Sequences, Table
    from .tokens import Tokens
    from .trainers import PositionTrainer

__all__ = ["StreamedPositions"]


class StreamedPositions(Preparation):
    """Prepares positions for a classifier or a tagger.

    Parameters
    ----------
    how : PositionTrainer
        The parameters.
    first : PositionFeatures or None
        The features of a model to start from.
    """

    def __init__(self, how: PositionTrainer, first: PositionFeatures | None) -> None:
        self.how, self.first = how, first
        # Only then the weights of examples depend on all labels.
        self.looks = int(isinstance(how.class_weight, str))
        self.labels = GrownLabels(
            getattr(how, "constraints", None), how.class_weight, how.missing_label
        )
        self.names = GrownNames(
            min_count=how.min_count,
            hashing=how.hashing,
            constant=how._intercept,
            # Files of numbers do not say how many features there are.
            fixed=how.task != "classify",
        )
        self.steps: GrownNames | None = None
        self.tokens: Tokens | None = None
        self.meta: dict[str, Any] = {}
        self.n_inputs = 0

    def _tokens(self, source: Sequences | ColumnFile | Table) -> Tokens:
        return source.like(self.first).tokens()

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        self.labels.count(source, source.untouched(), weight)

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        tokens = self._tokens(source)
        check_positions(tokens)
        self._check_alike(tokens)
        gold, weight = self.labels.add(source, tokens, weight)
        used, lengths = weight > 0.0, tokens.lengths
        rows = self.names.add(tokens.rows, tokens.vocabulary, np.repeat(used, lengths))
        steps = None
        if tokens.transitions is not None:
            assert self.steps is not None
            pairs = np.repeat(used, np.maximum(lengths - 1, 0))
            steps = self.steps.add(tokens.transitions, tokens.transition_vocabulary, pairs)
        self.meta = source.meta
        structure = self.how._stream_structure(self.labels.n, tokens)
        shapes = lengths[used]
        if len(shapes):
            chosen = [y for y, c in zip(gold, used.tolist(), strict=True) if c]
            made = self._features(None, None).rows_of_sites(structure, rows, steps)
            yield Batch(shapes, made, chosen, weight[used])

    def without_examples(self) -> None:
        self.labels.without_examples()
        if self.tokens is not None:
            none = bare_tokens(np.zeros(0, np.int64)).rows
            steps = None if self.tokens.transitions is None else none
            self.tokens = replace(
                self.tokens, rows=none, lengths=np.zeros(0, np.int64), vocabulary=None,
                transitions=steps, transition_vocabulary=None,
            )  # fmt: skip

    def join_looks(self, other: Preparation) -> None:
        assert isinstance(other, StreamedPositions)
        self.labels.join_counts(other.labels)

    def join(self, other: Preparation) -> Joined:
        assert isinstance(other, StreamedPositions)
        if other.tokens is None:
            return Joined()
        self._check_alike(other.tokens)
        self.meta = other.meta or self.meta
        labels = self.labels.join(other.labels)
        rows = {0: self.names.join(other.names)}
        if other.tokens.transitions is not None:
            assert self.steps is not None
            assert other.steps is not None
            structure = self.how._stream_structure(self.labels.n, other.tokens)
            rows[structure.kinds.index("transition")] = self.steps.join(other.steps)
        return Joined(rows, labels)

    def _check_alike(self, tokens: Tokens) -> None:
        """Check that a batch has features of the same kinds as those before."""
        before = self.tokens
        if before is None:
            # The rare features of pairs are dropped only where templates make them.
            self.steps = GrownNames(
                min_count=1 if tokens.templates is None else self.how.min_count,
                hashing=self.how.hashing,
                constant=float(tokens.plain_transition),
                what="X_transitions",
            )
        elif (before.transitions is None) != (tokens.transitions is None):
            raise DataError("some examples have X_transitions and others not; give all of them")
        self.tokens = tokens
        self.n_inputs = max(self.n_inputs, tokens.n_inputs)

    def _features(self, names: Any, step_names: Any) -> PositionFeatures:
        tokens, steps = self.tokens, self.steps
        assert tokens is not None
        assert steps is not None
        own = tokens.transitions is not None
        # Without templates, the inputs are the features themselves.
        by_name = tokens.templates is None and tokens.vocabulary is not None
        return PositionFeatures(
            self.names.n_features if by_name else self.n_inputs,
            names,
            tokens.templates,
            self.how._intercept,
            None if not own else len(step_names) if step_names is not None else steps.n_features,
            step_names,
            plain_transition=tokens.plain_transition,
            n_hashed=self.how.hashing or 0,
        )

    def finish(self) -> Outline:
        labels, final, rules = self.labels.finish()
        names, kept = self.names.finish()
        tokens, steps = self.tokens, self.steps
        assert tokens is not None
        assert steps is not None
        step_names, kept_steps = steps.finish() if tokens.transitions is not None else (None, None)
        structure: Structure = self.how._stream_structure(len(labels), tokens)
        features = self._features(names, step_names)
        counts = list(features.feature_counts(structure))
        keep: list[Any] = [None] * len(counts)
        counts[0], keep[0] = self.names.n_in_batches, kept
        if tokens.transitions is not None:
            at = structure.kinds.index("transition")
            counts[at], keep[at] = steps.n_in_batches, kept_steps
        return Outline(
            structure,
            features,
            counts,
            labels,
            constraints=rules,
            weights=self.how._stream_rule(structure),
            meta=self.meta or None,
            keep=keep,
            relabel=final,
        )
