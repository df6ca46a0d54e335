"""Scores of label sequences, by the names of sklearn-crfsuite.

The functions ``flat_*`` score single labels by those of scikit-learn; further arguments are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .utils import flatten

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]


def _flattens_y(score: Callable[..., Any]) -> Callable[..., Any]:
    """Make a score of labels from one of flat lists of labels."""

    @wraps(score)
    def of_sequences(y_true: Any, y_pred: Any, *args: Any, **more: Any) -> Any:
        return score(flatten(y_true), flatten(y_pred), *args, **more)

    return of_sequences


@_flattens_y
def flat_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Compute the fraction of right labels."""
    from sklearn import metrics

    return float(metrics.accuracy_score(y_true, y_pred))


@_flattens_y
def flat_precision_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Compute the precision of the labels."""
    from sklearn import metrics

    return metrics.precision_score(y_true, y_pred, **more)


@_flattens_y
def flat_recall_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Compute the recall of the labels."""
    from sklearn import metrics

    return metrics.recall_score(y_true, y_pred, **more)


@_flattens_y
def flat_f1_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Compute the F1 score of the labels."""
    from sklearn import metrics

    return metrics.f1_score(y_true, y_pred, **more)


@_flattens_y
def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **more: Any) -> Any:
    """Compute the F-beta score of the labels."""
    from sklearn import metrics

    return metrics.fbeta_score(y_true, y_pred, beta=beta, **more)


@_flattens_y
def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **more: Any) -> Any:
    """Make a table of the scores of every label."""
    from sklearn import metrics

    return metrics.classification_report(y_true, y_pred, labels=labels, **more)


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Compute the fraction of sequences whose labels are all right; 0 if there are none."""
    pairs = list(zip(y_true, y_pred, strict=True))
    if not pairs:
        return 0.0
    return sum(list(right) == list(found) for right, found in pairs) / len(pairs)
