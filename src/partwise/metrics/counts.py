"""One way to count labels, spans and brackets, and the precision, recall and F1 that follow."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, ParamSpec

from ..errors import DataError
from ..values import one_of

__all__ = [
    "AVERAGES", "Averaged", "Counts", "Score", "SpanScores", "called_like", "check_average",
    "check_same_length", "pairs", "plain", "ratio", "weights_of",
]  # fmt: skip

AVERAGES: Final = ("micro", "macro", "weighted")
"""How the scores of labels or types are put together.

"micro" counts all of them as one, "macro" is the mean over them, and "weighted" is the mean,
weighted by how often each of them is right.
"""


_Given = ParamSpec("_Given")


def called_like(
    counting: Callable[_Given, Any],
) -> Callable[[Callable[..., float]], Callable[_Given, float]]:
    """Return a decorator that gives a function the signature of another one.

    Precision, recall and F1 of the same things take the same arguments, which one function declares
    that computes all three.
    """

    def declared(score: Callable[..., float]) -> Callable[_Given, float]:
        signature = inspect.signature(counting)
        vars(score)["__signature__"] = signature.replace(return_annotation="float")
        return score

    return declared


def check_average(average: Any) -> None:
    """Raise a DataError unless the average is one of `AVERAGES`."""
    if average is None:
        raise DataError(
            f"average is None; use one of {', '.join(AVERAGES)}. For one score per type of span "
            "use span_scores(y_true, y_pred).by_type, and for one score per label of tokens "
            "flat_f1_score of partwise.compat.sklearn_crfsuite.metrics, with average=None"
        )
    one_of("average", average, AVERAGES)


def ratio(part: float, whole: float) -> float:
    """Return part / whole, and 0 if the whole is 0."""
    return float(part / whole) if whole else 0.0


@dataclass(frozen=True)
class Score:
    """Precision, recall and F1 of some spans; a ratio with the denominator 0 is 0.

    Attributes
    ----------
    correct, predicted, support
        The numbers of correctly predicted, of predicted, and of gold spans.

    Examples
    --------
    >>> from partwise.metrics import Score
    >>> score = Score(correct=1, predicted=2, support=4)
    >>> score.precision, score.recall
    (0.5, 0.25)
    """

    correct: int
    predicted: int
    support: int

    @property
    def precision(self) -> float:
        """The fraction of predicted spans that are correct."""
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """The fraction of gold spans that are found."""
        return ratio(self.correct, self.support)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return ratio(2 * self.correct, self.predicted + self.support)


@dataclass(frozen=True)
class SpanScores:
    """Scores over all spans and for every type of span.

    Attributes
    ----------
    overall
        The score over all types together (the micro average).
    by_type
        The score of every type, sorted by name.

    Examples
    --------
    >>> from partwise.metrics import span_scores
    >>> scores = span_scores([["B-NP", "O"]], [["B-NP", "B-VP"]])
    >>> print(scores.table())
             precision   recall       F1  support
    NP          100.00   100.00   100.00        1
    VP            0.00     0.00     0.00        0
    overall      50.00   100.00    66.67        1
    """

    overall: Score
    by_type: dict[str, Score] = field(default_factory=dict)

    def table(self) -> str:
        """Return the scores as a table of text, in per cent."""
        items = [*self.by_type.items(), ("overall", self.overall)]
        wide = max(len(name) for name, _ in items)
        lines = [f"{'':{wide}}  precision   recall       F1  support"]
        lines.extend(
            f"{name:{wide}}  {100 * s.precision:9.2f}{100 * s.recall:9.2f}{100 * s.f1:9.2f}"
            f"{s.support:9d}"
            for name, s in items
        )
        return "\n".join(lines)


class Averaged(NamedTuple):
    """Precision, recall and F1 of several labels or types, put together."""

    precision: float
    recall: float
    f1: float


class Counts:
    """For each label or type: how many are correct, how many were predicted, how many are right."""

    def __init__(self) -> None:
        # Whole numbers, unless examples have weights.
        self._rows: dict[Any, list[Any]] = {}

    def add(
        self,
        correct: Iterable[Hashable],
        predicted: Iterable[Hashable],
        right: Iterable[Hashable],
        *,
        weight: float = 1,
    ) -> None:
        """Add the labels of one example, each as often as it occurs."""
        for column, some in enumerate((correct, predicted, right)):
            for kind, n in Counter(some).items():
                self._rows.setdefault(kind, [0, 0, 0])[column] += weight * n

    def chosen(self, kinds: Collection[Hashable] | None) -> Counts:
        """Return the counts of some labels or types, also of those that do not occur."""
        if kinds is None:
            return self
        made = Counts()
        made._rows = {kind: self._rows.get(kind, [0, 0, 0]) for kind in kinds}
        return made

    def averaged(self, average: str) -> Averaged:
        """Return precision, recall and F1, put together as `AVERAGES` says."""
        check_average(average)
        one_by_one = [Score(*row) for row in self._rows.values()]
        scores = [self.overall()] if average == "micro" else one_by_one
        weights = [one.support if average == "weighted" else 1.0 for one in scores]
        totals = (
            sum(getattr(one, what) * w for one, w in zip(scores, weights, strict=True))
            for what in Averaged._fields
        )
        return Averaged(*(ratio(total, sum(weights)) for total in totals))

    def overall(self) -> Score:
        """Return the score of all labels or types as one."""
        return Score(
            *([sum(column) for column in zip(*self._rows.values(), strict=True)] or [0] * 3)
        )

    def by_type(self) -> SpanScores:
        """Return the score of all as one, and of each label or type by its name."""
        return SpanScores(
            self.overall(), {kind: Score(*self._rows[kind]) for kind in sorted(self._rows)}
        )


def pairs(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> list[tuple[Sequence[Any], Sequence[Any], float]]:
    """Return the right and the predicted labels of each sequence, of equal length, and a weight."""
    gold, found = [plain(y) for y in y_true], [plain(y) for y in y_pred]
    weights = weights_of(gold, found, sample_weight)
    for i, (a, b) in enumerate(zip(gold, found, strict=True)):
        check_same_length(i, a, b)
    return list(zip(gold, found, weights, strict=True))


def check_same_length(i: int, gold: Any, found: Any) -> None:
    """Raise a DataError unless sequence i has as many predicted labels as right ones."""
    for name, labels in (("y_true", gold), ("y_pred", found)):
        if isinstance(labels, str) or not hasattr(labels, "__len__"):
            raise DataError(
                f"{name}: sequence {i} (counted from 0) is the single label {labels!r}; give a "
                "list of labels for each sequence"
            )
    if len(gold) != len(found):
        raise DataError(
            f"sequence {i} (counted from 0) has {len(gold)} labels in y_true and {len(found)} in "
            "y_pred; give labels of the same tokens"
        )


def weights_of(gold: Sequence[Any], found: Sequence[Any], sample_weight: Any) -> list[float]:
    """Return the weight of each example, after checking that all are there."""
    if len(gold) != len(found):
        raise DataError(
            f"y_true has {len(gold)} examples and y_pred has {len(found)}; give labels of the same "
            "examples"
        )
    if sample_weight is None:
        return [1.0] * len(gold)
    # The command knows its options, and the wheel is built, without numpy.
    import numpy as np

    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (len(gold),):
        raise DataError(
            f"sample_weight has the shape {weights.shape} for {len(gold)} examples; give one "
            "number per example"
        )
    given: list[float] = weights.tolist()
    return given


def plain(labels: Any) -> Any:
    """Return labels in one form, so that equal tuples, lists and arrays of labels are equal."""
    import numpy as np

    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    if not isinstance(labels, (list, tuple)):
        return labels
    return [tuple(one) if isinstance(one, list) else one for one in labels]
