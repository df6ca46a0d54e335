"""Labels of positions, numbered as they come, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, LabelError, Place
from .constraints import check_labels, make_constraints
from .fit import balanced_weights, check_several, count_classes, mean_weights, named_weights
from .partial_labels import is_certain
from .tokens import cut

if TYPE_CHECKING:
    from .partial_labels import Labelled
    from .tokens import Tokens

__all__ = ["GrownLabels"]


class GrownLabels:
    """The labels of the batches so far.

    Parameters
    ----------
    constraints
        As a user gives them.
    class_weight
        As a user gives it.
    missing
        The label that stands for one that is missing.
    """

    def __init__(self, constraints: Any = None, class_weight: Any = None, missing: Any = None):
        self._constraints, self._class_weight = constraints, class_weight
        self._missing = missing
        self._numbers: dict[Any, int] = {}
        self._used: set[int] = set()
        self._source: Labelled | None = None
        # The first place of each label, and of each pair of neighbours; the start and the end of a
        # sequence are the label -1 there.
        self._places: dict[int, Place] = {}
        self._pairs: dict[tuple[int, int], Place] = {}
        self._counts = np.zeros(0)

    def count(self, source: Labelled, tokens: Tokens, weight: Floats) -> None:
        """Count the labels of some sequences, for weights that make all labels count alike."""
        gold = self._number(source, tokens)
        self._counts = np.append(self._counts, np.zeros(len(self._numbers) - len(self._counts)))
        count_classes(self._counts, gold, weight)

    def add(self, source: Labelled, tokens: Tokens, weight: Floats) -> tuple[list[Ints], Floats]:
        """Return the label numbers of some sequences, and their weights times those of labels."""
        gold = self._number(source, tokens)
        given = self._class_weight
        if given is not None:
            if isinstance(given, str):
                by_label = balanced_weights(self._counts)
            else:
                known = {label: c for label, c in given.items() if label in self._numbers}
                by_label = named_weights(known, list(self._numbers))
            weight = weight * mean_weights(by_label, tokens.lengths, gold)
        used = [y for y, c in zip(gold, weight.tolist(), strict=True) if c > 0.0]
        self._used.update(np.unique(np.concatenate([*used, np.zeros(0, np.int64)])).tolist())
        if self._constraints is not None:
            self._note_pairs(source, gold)
        return gold, weight

    def join_counts(self, other: GrownLabels) -> None:
        """Take in the counts of the sequences that come next."""
        numbers = self._join_numbers(other)
        counts = np.zeros(len(self._numbers))
        counts[: len(self._counts)] = self._counts
        counts[numbers[: len(other._counts)]] += other._counts
        self._counts = counts

    def join(self, other: GrownLabels) -> Ints:
        """Take in the labels of the batches that come next; returns the number of each here."""
        numbers = self._join_numbers(other)
        final = [*numbers.tolist(), -1]
        self._used.update(final[k] for k in other._used)
        for (a, b), place in other._pairs.items():
            self._pairs.setdefault((final[a], final[b]), place)
        return numbers

    def _join_numbers(self, other: GrownLabels) -> Ints:
        for label, k in other._numbers.items():
            first = next(iter(self._numbers), label)
            if type(label) is not type(first):
                raise DataError(
                    f"the label {label!r} is of type {type(label).__name__} where the first label, "
                    f"{first!r}, is of type {type(first).__name__}; use one type for all labels"
                )
            number = self._numbers.setdefault(label, len(self._numbers))
            if k in other._places:
                self._places.setdefault(number, other._places[k])
        self._source = self._source or other._source
        return np.array([self._numbers[label] for label in other._numbers], dtype=np.int64)

    def without_examples(self) -> None:
        """Let go of the examples that were seen last."""
        if self._source is not None:
            self._source = self._source.take(())

    def _number(self, source: Labelled, tokens: Tokens) -> list[Ints]:
        flat = source.labels(tokens, self._missing)
        for label in dict.fromkeys(flat):
            if label in self._numbers:
                continue
            if not is_certain(label):
                place = source.place(*_place(flat.index(label), tokens.lengths))
                raise DataError(
                    "the label is missing or uncertain, and such labels need all "
                    "examples in memory; leave out_of_core (--out-of-core) out, or these examples",
                    place=place,
                )
            first = next(iter(self._numbers), label)
            if type(label) is not type(first):
                place = source.place(*_place(flat.index(label), tokens.lengths))
                raise DataError(
                    f"the label {label!r} is of type {type(label).__name__} where the "
                    f"first label, {first!r}, is of type {type(first).__name__}; use one type for "
                    "all labels",
                    place=place,
                )
            self._numbers[label] = len(self._numbers)
            if self._constraints is not None:
                place = source.place(*_place(flat.index(label), tokens.lengths))
                self._places[self._numbers[label]] = place
        self._source = source
        found = np.fromiter(map(self._numbers.__getitem__, flat), np.int64, len(flat))
        return list(cut(found, tokens.lengths))

    def _note_pairs(self, source: Labelled, gold: Sequence[Ints]) -> None:
        """Note the pairs of neighbouring labels that are new, in the order of their places."""
        n = len(self._numbers)
        which = [s for s, y in enumerate(gold) if len(y)]
        padded = [np.concatenate([[n], gold[s], [n]]) for s in which]
        keys = [y[:-1] * (n + 1) + y[1:] for y in padded]
        starts = np.cumsum([0, *map(len, keys)])
        flat = np.concatenate([*keys, np.zeros(0, np.int64)])
        distinct, first = np.unique(flat, return_index=True)
        for at in np.argsort(first).tolist():
            a, b = divmod(int(distinct[at]), n + 1)
            pair = (-1 if a == n else a, -1 if b == n else b)
            if pair not in self._pairs:
                i = int(np.searchsorted(starts, first[at], side="right")) - 1
                t, s = int(first[at] - starts[i]), which[i]
                self._pairs[pair] = source.place(s, min(t, len(gold[s]) - 1))

    @property
    def n(self) -> int:
        """The number of labels so far, at least 1."""
        return max(1, len(self._numbers))

    def finish(self) -> tuple[list[Any], Ints, Any]:
        """Return the labels in their final order, the final number of each, and the constraints.

        Labels that break the constraints raise a DataError with their place.
        """
        assert self._source is not None
        if isinstance(self._class_weight, dict):
            named_weights(self._class_weight, list(self._numbers))
        labels = self._source.ordered(set(self._numbers))
        index = {label: number for number, label in enumerate(labels)}
        final = np.array([index[label] for label in self._numbers], dtype=np.int64)
        check_several([label for label, k in self._numbers.items() if k in self._used])
        try:
            rules = make_constraints(self._constraints, labels)
        except LabelError as error:
            place = self._places[self._numbers[error.label]]
            error.place = place
            raise
        if rules is not None:
            for (a, b), place in self._pairs.items():
                # A pair is checked as a sequence whose other neighbours are not known.
                before = [] if a < 0 else [-1, int(final[a])]
                after = [] if b < 0 else [int(final[b]), -1]
                check_labels(rules, [np.array(before + after)], labels, _always(place))
        return labels, final, rules


def _always(place: Place) -> Callable[[int, int], Place]:
    return lambda s, t: place


def _place(position: int, lengths: Ints) -> tuple[int, int]:
    s = int(np.searchsorted(np.cumsum(lengths), position, side="right"))
    return s, position - int(lengths[:s].sum())
