"""Counts of labels or spans, and the precision, recall and F1 that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, Final

from ..errors import DataError
from ..values import one_of

__all__ = ["AVERAGES", "Counts", "check_average", "ratio"]

AVERAGES: Final = ("micro", "macro", "weighted")
"""How the scores of labels or types are put together.

"micro" counts all of them as one, "macro" is the mean over them, and "weighted" is the mean,
weighted by how often each of them is right.
"""


def check_average(average: Any) -> None:
    """Raise a DataError unless the average is one of `AVERAGES`."""
    if average is None:
        raise DataError(
            f"average is None; use one of {', '.join(AVERAGES)}. For one score per type of span "
            "use span_scores(y_true, y_pred).by_type, and for one score per label of tokens "
            "flat_f1_score of partwise.compat.sklearn_crfsuite.metrics, with average=None"
        )
    one_of("average", average, AVERAGES)


class Counts:
    """For each label or type: how many are correct, how many were predicted, how many are right."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, list[float]] = {}

    def add(
        self,
        correct: Iterable[Hashable],
        predicted: Iterable[Hashable],
        right: Iterable[Hashable],
        weight: float,
    ) -> None:
        """Add the labels of one example, each as often as it occurs."""
        for column, some in enumerate((correct, predicted, right)):
            for kind, n in Counter(some).items():
                self._rows.setdefault(kind, [0.0, 0.0, 0.0])[column] += weight * n

    def add_numbers(self, kind: Hashable, numbers: Sequence[float], weight: float) -> None:
        """Add the three numbers of one label or type."""
        row = self._rows.setdefault(kind, [0.0, 0.0, 0.0])
        for column, n in enumerate(numbers):
            row[column] += weight * n

    def chosen(self, kinds: Collection[Hashable] | None) -> Counts:
        """Return the counts of some labels or types, also of those that do not occur."""
        if kinds is None:
            return self
        made = Counts()
        made._rows = {kind: self._rows.get(kind, [0.0, 0.0, 0.0]) for kind in kinds}
        return made

    def averaged(self, average: str, what: str) -> float:
        """Return "precision", "recall" or "f1", put together as `AVERAGES` says."""
        check_average(average)
        rows = list(self._rows.values())
        if average == "micro":
            return _score([sum(column) for column in zip(*rows, strict=True)] or [0.0] * 3, what)
        weights = [row[2] if average == "weighted" else 1.0 for row in rows]
        total = sum(_score(row, what) * w for row, w in zip(rows, weights, strict=True))
        return ratio(total, sum(weights))


def _score(row: Sequence[float], what: str) -> float:
    correct, predicted, right = row
    if what == "f1":
        return ratio(2 * correct, predicted + right)
    return ratio(correct, predicted if what == "precision" else right)


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 0 if the whole is 0."""
    return float(part / whole) if whole else 0.0
