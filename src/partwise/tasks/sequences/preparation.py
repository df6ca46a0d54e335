"""Preparation of labelled positions, for classifiers and taggers; equal examples are merged.

In the objective, two examples with the same features and label are the same as one example with the
sum of their weights, and the order of examples does not matter. A solver that visits them one by
one would still end at another point within its tolerance. So in memory equal examples
of classifiers are merged and brought into an order that only depends on the examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.grown_names import GrownNames
from ...models.prepared import Prepared
from ...models.training_examples import note_left_out
from ...problem.batches import Batch
from ...problem.numbering import Numbering
from ...problem.rows import Rows
from ..preparation import Joined, Preparation
from .extraction import ColumnTemplates
from .features import PositionFeatures, site_rows
from .grown_labels import GrownLabels
from .partial_labels import UNKNOWN, number_sets

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Constraints
    from .tokens import Tokens
    from .trainers import PositionTrainer

__all__ = ["Form", "PositionPreparation", "TablePreparation", "distinct_examples"]

#: The number of entries of rows that are hashed together.
_STRETCH: Final = 1 << 16
#: Odd numbers whose products spread their factors over all 64 bits (splitmix64).
_SPREAD: Final = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
_MIXED: Final = "some examples have X_transitions and others not; give all of them"


class Form(NamedTuple):
    """What kinds of features tokens have: see `Tokens`."""

    named: bool
    templates: ColumnTemplates | None
    transitions: bool
    plain_transition: bool


class PositionPreparation(Preparation):
    """Prepares positions for a classifier or a tagger.

    Parameters
    ----------
    how : PositionTrainer
        The parameters.
    initial : Model or None
        A model to start from.
    whole : bool
        Whether all examples come at once.
    """

    def __init__(self, how: PositionTrainer, initial: Model | None, whole: bool) -> None:
        self.how, self.whole = how, whole
        known = None if initial is None else initial.features
        self.first = known if isinstance(known, PositionFeatures) else None
        self.labels = GrownLabels(how, whole)
        # Only then the weights of examples depend on all labels.
        self.looks = int(self.labels.weights.balanced and not whole)
        self.names = GrownNames(
            min_count=how.min_count,
            hashing=how.hashing,
            constant=how._intercept,
            whole=whole,
            # Files of numbers do not say how many features there are.
            fixed=how.task != "classify",
        )
        self.steps: GrownNames | None = None
        self.form: Form | None = None
        self.meta: dict[str, Any] = {}
        self.n_inputs = 0

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        self.labels.count(source, source.untouched(), weight)

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        source = source.like(self.first)
        tokens = source.tokens()
        tokens.rows.check_finite("the features")
        if tokens.transitions is not None:
            tokens.transitions.check_finite("the features of transitions")
        gold, allowed = self.labels.number(source, tokens)
        tokens, gold, allowed, weight = self.merged(tokens, gold, allowed, weight)
        weight = self.labels.weigh(source, tokens.lengths, gold, weight)
        used, lengths = weight > 0.0, tokens.lengths
        tokens = self.seen(tokens, used)
        named, own = tokens.vocabulary is not None, tokens.transitions is not None
        if self.form is not None and self.form.transitions != own:
            raise DataError(_MIXED)
        self.form = form = Form(named, tokens.templates, own, tokens.plain_transition)
        self.n_inputs = max(self.n_inputs, tokens.n_inputs)
        self.steps = self.steps or self._new_steps(form)
        rows = self.names.add(tokens.rows, tokens.vocabulary, np.repeat(used, lengths))
        steps = None
        if tokens.transitions is not None:
            pairs = np.repeat(used, np.maximum(lengths - 1, 0))
            steps = self.steps.add(tokens.transitions, tokens.transition_vocabulary, pairs)
        self.meta.update(source.meta)
        if not used.any():
            return
        if not used.all():
            gold = [y for y, c in zip(gold, used.tolist(), strict=True) if c]
            if allowed is not None:
                allowed = [mine for mine, c in zip(allowed, used.tolist(), strict=True) if c]
        structure = self.how._structure(max(1, len(self.labels.numbers)), form)
        made = site_rows(structure, rows, steps, form.plain_transition)
        yield Batch(lengths[used], made, gold, weight[used], allowed=allowed)

    def merged(
        self,
        tokens: Tokens,
        gold: Sequence[Ints],
        allowed: list[Constraints | None] | None,
        weight: Floats,
    ) -> tuple[Tokens, Sequence[Ints], list[Constraints | None] | None, Floats]:
        """Return the examples in the form in which they enter the objective."""
        return tokens, gold, allowed, weight

    def seen(self, tokens: Tokens, used: Any) -> Tokens:
        """Return the features that solvers see, where `used` are the examples that count."""
        return tokens

    def _new_steps(self, form: Form) -> GrownNames:
        return GrownNames(
            # The rare features of pairs are dropped only where templates make them.
            min_count=1 if form.templates is None else self.how.min_count,
            hashing=self.how.hashing,
            constant=float(form.plain_transition),
            whole=self.whole,
            what="X_transitions",
        )

    def finish(self) -> Prepared:
        labels, final, rules = self.labels.finish()
        names, kept = self.names.finish()
        form, steps = self.form, self.steps
        assert form is not None
        assert steps is not None
        step_names, kept_steps = steps.finish() if form.transitions else (None, None)
        structure = self.how._structure(max(1, len(labels)), form)
        # Without templates, the inputs are the features themselves.
        by_name = form.templates is None and form.named
        n_steps = len(step_names) if step_names is not None else steps.n_features
        features = PositionFeatures(
            self.names.n_features if by_name else self.n_inputs,
            names,
            form.templates,
            self.how._intercept,
            n_steps if form.transitions else None,
            step_names,
            plain_transition=form.plain_transition,
            n_hashed=self.how.hashing or 0,
        )
        counts = list(features.feature_counts(structure))
        keep: list[Any] = [None] * len(counts)
        counts[0], keep[0] = self.names.n_in_batches, kept
        if form.transitions:
            at = structure.kinds.index("transition")
            counts[at], keep[at] = steps.n_in_batches, kept_steps
        return Prepared(
            structure,
            features,
            labels,
            rules,
            self.how._rule(structure),
            Numbering(counts, keep, final),
            self.meta or None,
        )

    def without_examples(self) -> None:
        self.labels.without_examples()

    def join_looks(self, other: PositionPreparation) -> None:
        self.labels.join_counts(other.labels)

    def join(self, other: PositionPreparation) -> Joined:
        if other.form is None:
            return Joined()
        if self.form is not None and self.form.transitions != other.form.transitions:
            raise DataError(_MIXED)
        self.form, self.n_inputs = other.form, max(self.n_inputs, other.n_inputs)
        self.steps = self.steps or self._new_steps(other.form)
        self.meta = other.meta or self.meta
        labels = self.labels.join(other.labels)
        rows = {0: self.names.join(other.names)}
        if other.form.transitions:
            assert other.steps is not None
            structure = self.how._structure(max(1, len(self.labels.numbers)), other.form)
            rows[structure.kinds.index("transition")] = self.steps.join(other.steps)
        return Joined(rows, labels)


class TablePreparation(PositionPreparation):
    """Prepares rows of a table for a classifier; in memory, equal examples are merged.

    Parameters are those of `PositionPreparation`.
    """

    def merged(
        self,
        tokens: Tokens,
        gold: Sequence[Ints],
        allowed: list[Constraints | None] | None,
        weight: Floats,
    ) -> tuple[Tokens, Sequence[Ints], list[Constraints | None] | None, Floats]:
        if not self.whole:
            return tokens, gold, allowed, weight
        n_labels = len(self.labels.numbers)
        numbers = np.reshape(gold, -1).astype(np.int64, copy=False)
        sets: list[Constraints] = []
        if allowed is not None:
            numbers, sets = number_sets(numbers, allowed, n_labels)
            unlabelled = (numbers < 0) & (weight > 0.0)
            weight = np.where(numbers < 0, 0.0, weight)
            meta = note_left_out(int(unlabelled.sum()), weight > 0.0, None)
            self.meta.update(meta or {})
        chosen, weight = self.chosen(tokens.rows, numbers, weight)
        numbers = numbers[chosen]
        some = None
        if sets:
            some = [None if k < n_labels else sets[k - n_labels] for k in numbers.tolist()]
        right: Any = np.where(numbers < n_labels, numbers, UNKNOWN)[:, None]
        ones = np.ones(len(chosen), dtype=np.int64)
        return replace(tokens, rows=tokens.rows.take(chosen), lengths=ones), right, some, weight

    def chosen(self, rows: Rows, label: Ints, weight: Floats) -> tuple[Ints, Floats]:
        """Return which examples there are after merging, and their weights."""
        return distinct_examples(rows, label, weight)


def distinct_examples(rows: Rows, label: Ints, weight: Floats) -> tuple[Ints, Floats]:
    """Find the distinct examples, in an order that only depends on the examples.

    Parameters
    ----------
    rows : Rows
        The features, one row per example.
    label : ndarray of int
        The number of the label of each example.
    weight : ndarray
        The weight of each example; those of weight 0 are left out.

    Returns
    -------
    chosen, weight
        The position of one example of each group of equal ones, and the sum of their weights.
    """
    used = np.flatnonzero(weight > 0.0)
    marks = _marks(rows, label)
    order = used[np.argsort(marks[used], kind="stable")]
    new = np.ones(len(order), dtype=np.bool_)
    twins = 1 + np.flatnonzero(marks[order[1:]] == marks[order[:-1]])
    new[twins] = ~_same(rows, label, order[twins - 1], order[twins])
    first = np.flatnonzero(new)
    return order[first], np.add.reduceat(weight[order], first)


def _marks(rows: Rows, label: Ints) -> NDArray[np.uint64]:
    """Return a hash of each example, which is equal for equal features and labels."""
    marks = _mixed(label.astype(np.uint64))
    begin = 0
    while begin < len(rows):
        # As many whole rows as a stretch holds, and at least one.
        at = np.searchsorted(rows.indptr, rows.indptr[begin] + _STRETCH, side="right") - 1
        end = min(max(int(at), begin + 1), len(rows))
        part = rows.take(slice(begin, end))
        entry = _mixed(part.indices.astype(np.uint64))
        if part.values is not None:
            entry = _mixed(entry ^ part.values.view(np.uint64))
        else:
            entry = _mixed(entry ^ np.float64(1.0).view(np.uint64))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entry)])  # modulo 2^64
        marks[begin:end] = _mixed(
            marks[begin:end] ^ (sums[part.indptr[1:]] - sums[part.indptr[:-1]])
        )
        begin = end
    return marks


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x + _SPREAD[0]) * _SPREAD[1]
    x = (x ^ (x >> np.uint64(31))) * _SPREAD[2]
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(29))
    return mixed


def _same(rows: Rows, label: Ints, some: Ints, others: Ints) -> NDArray[np.bool_]:
    """Return whether two examples are equal, for many pairs: equal hashes do not prove it."""
    size = np.diff(rows.indptr)
    same: NDArray[np.bool_] = (label[some] == label[others]) & (size[some] == size[others])
    a, b = rows.take(some[same]), rows.take(others[same])
    equal = a.indices == b.indices
    if a.values is not None and b.values is not None:
        equal &= a.values == b.values
    wrong = np.concatenate([[0], np.cumsum(~equal)])
    same[same] = wrong[a.indptr[1:]] == wrong[a.indptr[:-1]]
    return same
