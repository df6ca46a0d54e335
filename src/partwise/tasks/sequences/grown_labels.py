"""Labels of positions, numbered as they come, and the weights of examples that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import NOWHERE, DataError, LabelError, Place
from ...values import is_number
from .constraints import check_labels, make_constraints
from .partial_labels import UNKNOWN, is_certain, number_labels, refuse_partial
from .tokens import cut

if TYPE_CHECKING:
    from ...structures.base import Constraints
    from .partial_labels import Labelled
    from .tokens import Tokens
    from .trainers import PositionTrainer

__all__ = ["ClassWeights", "GrownLabels"]


class GrownLabels:
    """The labels of the batches so far.

    Parameters
    ----------
    how : PositionTrainer
        The parameters.
    whole : bool
        Whether there is one batch only: labels then have their final numbers at once, and may be
        missing.
    """

    def __init__(self, how: PositionTrainer, whole: bool) -> None:
        self._constraints = getattr(how, "constraints", None)
        self._missing, self._loss, self._whole = how.missing_label, how.loss, whole
        self.weights = ClassWeights(how.class_weight)
        self.numbers: dict[Any, int] = {}
        self._used: set[int] = set()
        self._source: Labelled | None = None
        # The first place of each label, and of each pair of neighbours; the start and the end of a
        # sequence are the label -1 there.
        self._places: dict[int, Place] = {}
        self._pairs: dict[tuple[int, int], Place] = {}

    def count(self, source: Labelled, tokens: Tokens, weight: Floats) -> None:
        """Count the labels of some sequences, for weights that make all labels count alike."""
        gold, _ = self.number(source, tokens)
        self.weights.count(gold, weight, len(self.numbers))

    def number(
        self, source: Labelled, tokens: Tokens
    ) -> tuple[Sequence[Ints], list[Constraints | None] | None]:
        """Return the label numbers of some sequences, and what those known in part may be.

        A loss that cannot take uncertain labels raises a DataError.
        """
        self._source = source
        flat, lengths = source.labels(tokens, self._missing), tokens.lengths
        gold: Sequence[Ints]
        if self._whole:
            labels, gold, allowed = number_labels(source, flat, lengths)
            if allowed is not None and self._loss != "log":
                refuse_partial(source, gold, self._loss)
            self.numbers = {label: number for number, label in enumerate(labels)}
        else:
            for label in dict.fromkeys(flat):
                if label not in self.numbers:
                    place = source.place(*_place(flat.index(label), lengths))
                    if not is_certain(label):
                        raise DataError(
                            "the label is missing or uncertain, and such labels need all examples "
                            "in memory; leave out_of_core (--out-of-core) out, or these examples",
                            place=place,
                        )
                    self._add(label, place)
            numbers = np.fromiter(map(self.numbers.__getitem__, flat), np.int64, len(flat))
            gold, allowed = cut(numbers, lengths), None
        if isinstance(self._constraints, str):
            # The name of a scheme may not fit a label, and the message says where that was seen.
            for label in dict.fromkeys(flat):
                number = self.numbers.get(label)
                if number is not None and number not in self._places:
                    self._places[number] = source.place(*_place(flat.index(label), lengths))
        return gold, allowed

    def _add(self, label: Any, place: Place = NOWHERE) -> int:
        first = next(iter(self.numbers), label)
        if type(label) is not type(first):
            raise DataError(
                f"the label {label!r} is of type {type(label).__name__} where the first label, "
                f"{first!r}, is of type {type(first).__name__}; use one type for all labels",
                place=place,
            )
        return self.numbers.setdefault(label, len(self.numbers))

    def weigh(
        self, source: Labelled, lengths: Ints, gold: Sequence[Ints], weight: Floats
    ) -> Floats:
        """Return the weights of some sequences times those of their labels, and note their labels.

        Parameters
        ----------
        source, lengths, gold, weight
            The sequences, their lengths, their labels and the weights that were given.
        """
        if self._whole and self.weights.balanced:
            self.weights.count(gold, weight, len(self.numbers))
        weight = weight * self.weights.factors(gold, lengths, self.numbers)
        if isinstance(gold, np.ndarray):
            seen = gold[weight > 0.0].ravel()
        else:
            used = [y for y, c in zip(gold, weight.tolist(), strict=True) if c > 0.0]
            seen = np.concatenate([*used, np.zeros(0, np.int64)])
        self._used.update(np.unique(seen[seen != UNKNOWN]).tolist())
        if self._constraints is not None:
            self._note_pairs(source, gold)
        return weight

    def _note_pairs(self, source: Labelled, gold: Sequence[Ints]) -> None:
        """Note the pairs of neighbouring labels that are new, in the order of their places."""
        n = len(self.numbers)
        which = [s for s, y in enumerate(gold) if len(y)]
        # A label that is not known is a number beyond the start and the end.
        padded = [np.concatenate([[n], np.where(gold[s] < 0, n + 1, gold[s]), [n]]) for s in which]
        keys = [y[:-1] * (n + 2) + y[1:] for y in padded]
        starts = np.cumsum([0, *map(len, keys)])
        flat = np.concatenate([*keys, np.zeros(0, np.int64)])
        distinct, first = np.unique(flat, return_index=True)
        for at in np.argsort(first).tolist():
            a, b = divmod(int(distinct[at]), n + 2)
            if n + 1 in (a, b):
                continue
            pair = (-1 if a == n else a, -1 if b == n else b)
            if pair not in self._pairs:
                i = int(np.searchsorted(starts, first[at], side="right")) - 1
                t, s = int(first[at] - starts[i]), which[i]
                self._pairs[pair] = source.place(s, min(t, len(gold[s]) - 1))

    def join_counts(self, other: GrownLabels) -> None:
        """Add the counts of the sequences that come next."""
        numbers = self._join_numbers(other)
        self.weights.join(other.weights, numbers, len(self.numbers))

    def join(self, other: GrownLabels) -> Ints:
        """Add the labels of the batches that come next, and return the number of each here."""
        numbers = self._join_numbers(other)
        final = [*numbers.tolist(), -1]
        self._used.update(final[k] for k in other._used)
        for (a, b), place in other._pairs.items():
            self._pairs.setdefault((final[a], final[b]), place)
        return numbers

    def _join_numbers(self, other: GrownLabels) -> Ints:
        for label, k in other.numbers.items():
            number = self._add(label)
            if k in other._places:
                self._places.setdefault(number, other._places[k])
        self._source = self._source or other._source
        return np.array([self.numbers[label] for label in other.numbers], dtype=np.int64)

    def without_examples(self) -> None:
        """Drop the examples that were seen last."""
        if self._source is not None:
            self._source = self._source.take(())

    def finish(self) -> tuple[list[Any], Ints | None, Any]:
        """Return the labels in their final order, the final number of each, and the constraints.

        Labels that break the constraints raise a DataError with their place.
        """
        assert self._source is not None
        self.weights.check(self.numbers)
        labels = list(self.numbers) if self._whole else self._source.ordered(set(self.numbers))
        index = {label: number for number, label in enumerate(labels)}
        final = np.array([index[label] for label in self.numbers], dtype=np.int64)
        seen = [label for label, k in self.numbers.items() if k in self._used]
        if len(seen) < 2:
            what = f"one class only, {seen[0]!r}" if len(seen) else "no labels"
            raise DataError(
                f"the examples have {what} (those whose sample_weight is 0 do not count); "
                "training needs labels of at least two classes, so add examples of another one"
            )
        try:
            rules = make_constraints(self._constraints, labels)
        except LabelError as error:
            several = Place(argument="a set of labels")
            error.place = self._places.get(self.numbers[error.label], several)
            raise
        if rules is not None:
            for (a, b), place in self._pairs.items():
                # A pair is checked as a sequence whose other neighbours are not known.
                before = [] if a < 0 else [UNKNOWN, int(final[a])]
                after = [] if b < 0 else [int(final[b]), UNKNOWN]
                check_labels(rules, [np.array(before + after)], labels, _always(place))
        return labels, None if self._whole else final, rules


def _always(place: Place) -> Callable[[int, int], Place]:
    return lambda s, t: place


def _place(position: int, lengths: Ints) -> tuple[int, int]:
    s = int(np.searchsorted(np.cumsum(lengths), position, side="right"))
    return s, position - int(lengths[:s].sum())


class ClassWeights:
    """One factor per example: the mean weight of the labels of its positions.

    Positions without a certain label are not counted; if there is no other, the factor is 1.

    Parameters
    ----------
    given : None, "balanced" or dict
        As estimators take it. "balanced" weights have to `count` all labels first.
    """

    def __init__(self, given: Any) -> None:
        self._given = given
        #: Whether the weights depend on how often each label occurs.
        self.balanced = isinstance(given, str)
        self._counts = np.zeros(0)
        for label, value in given.items() if isinstance(given, Mapping) else ():
            if not is_number(value) or not math.isfinite(value) or value < 0:
                raise DataError(
                    f"class_weight of {label!r} is {value!r}; give a finite number that is not "
                    "negative"
                )

    def count(self, gold: Sequence[Ints], weight: Floats, n_labels: int) -> None:
        """Count the labels of some examples, whose weights are these."""
        self._counts = np.append(self._counts, np.zeros(n_labels - len(self._counts)))
        flat = np.concatenate([*gold, np.zeros(0, np.int64)])
        owner = np.repeat(np.arange(len(gold)), list(map(len, gold)))
        sure = flat != UNKNOWN
        np.add.at(self._counts, flat[sure], weight[owner[sure]])

    def join(self, other: ClassWeights, numbers: Ints, n_labels: int) -> None:
        """Add the counts of examples whose labels have other numbers here."""
        counts = np.zeros(n_labels)
        counts[: len(self._counts)] = self._counts
        counts[numbers[: len(other._counts)]] += other._counts
        self._counts = counts

    def factors(self, gold: Sequence[Ints], lengths: Ints, numbers: Mapping[Any, int]) -> Floats:
        """Return the factors of some examples.

        Parameters
        ----------
        gold : sequence of ndarray
            Their labels.
        lengths : ndarray of int
            How many positions they have.
        numbers : mapping
            The numbers of the labels so far.
        """
        n = len(lengths)
        if self._given is None:
            return np.ones(n)
        by_label = self._by_label(numbers)
        flat = np.concatenate([*gold, np.zeros(0, np.int64)])
        owner = np.repeat(np.arange(n), lengths)
        sure = flat != UNKNOWN
        if not sure.all():
            flat, owner = flat[sure], owner[sure]
            lengths = np.bincount(owner, minlength=n)
        totals = np.bincount(owner, by_label[flat], minlength=n)
        return np.where(lengths > 0, totals / np.maximum(lengths, 1), 1.0)

    def _by_label(self, numbers: Mapping[Any, int]) -> Floats:
        found = np.ones(len(numbers))
        if self.balanced:
            counts = self._counts
            occurring = counts > 0.0
            found[occurring] = counts.sum() / (np.count_nonzero(occurring) * counts[occurring])
            return found
        for label, number in numbers.items():
            if label in self._given:
                found[number] = self._given[label]
        return found

    def check(self, labels: Mapping[Any, int]) -> None:
        """Raise a DataError if there is a weight for a label that does not occur."""
        for label in () if self.balanced else self._given or ():
            if label not in labels:
                raise DataError(
                    f"class_weight names the class {label!r}, which does not occur in the labels"
                )
