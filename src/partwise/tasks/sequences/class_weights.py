"""Weights of examples that follow from the labels of their positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...values import is_number
from .partial_labels import UNKNOWN

__all__ = ["ClassWeights"]


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
        self._counts = np.zeros(0)
        for label, value in given.items() if isinstance(given, Mapping) else ():
            if not is_number(value) or not math.isfinite(value) or value < 0:
                raise DataError(
                    f"class_weight of {label!r} is {value!r}; give a finite number that is not "
                    "negative"
                )

    @property
    def balanced(self) -> bool:
        """Whether the weights depend on how often each label occurs."""
        return isinstance(self._given, str)

    def count(self, gold: Sequence[Ints], weight: Floats, n_labels: int) -> None:
        """Count the labels of some examples, whose weights are these."""
        self._counts = np.append(self._counts, np.zeros(n_labels - len(self._counts)))
        flat = np.concatenate([*gold, np.zeros(0, np.int64)])
        owner = np.repeat(np.arange(len(gold)), list(map(len, gold)))
        sure = flat != UNKNOWN
        np.add.at(self._counts, flat[sure], weight[owner[sure]])

    def join(self, other: ClassWeights, numbers: Ints, n_labels: int) -> None:
        """Take in the counts of examples whose labels have other numbers here."""
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
        """Raise a DataError if a label that has a weight is none of these."""
        for label in () if self.balanced else self._given or ():
            if label not in labels:
                raise DataError(
                    f"class_weight names the class {label!r}, which does not occur in the labels"
                )
