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
    """Compute the fraction of right labels.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence.

    Returns
    -------
    float
        The fraction, from 0 to 1.

    Examples
    --------
    >>> from partwise.compat.sklearn_crfsuite import metrics
    >>> y_true, y_pred = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    >>> round(metrics.flat_accuracy_score(y_true, y_pred), 3)
    0.667
    """
    from sklearn import metrics

    return float(metrics.accuracy_score(y_true, y_pred))


@_flattens_y
def flat_precision_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Compute the precision of the labels; see `flat_f1_score`.

    Examples
    --------
    >>> from partwise.compat.sklearn_crfsuite import metrics
    >>> y_true, y_pred = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    >>> float(round(metrics.flat_precision_score(y_true, y_pred, pos_label="A"), 3))
    0.667
    """
    from sklearn import metrics

    return metrics.precision_score(y_true, y_pred, **more)


@_flattens_y
def flat_recall_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Compute the recall of the labels; see `flat_f1_score`.

    Examples
    --------
    >>> from partwise.compat.sklearn_crfsuite import metrics
    >>> y_true, y_pred = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    >>> float(metrics.flat_recall_score(y_true, y_pred, pos_label="A"))
    1.0
    """
    from sklearn import metrics

    return metrics.recall_score(y_true, y_pred, **more)


@_flattens_y
def flat_f1_score(y_true: Any, y_pred: Any, **more: Any) -> Any:
    """Compute the F1 score of the labels.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence.
    **more
        Further arguments of the function of scikit-learn.

    Returns
    -------
    float or ndarray
        The F1 score, or one per label with ``average=None``.

    Examples
    --------
    >>> from partwise.compat.sklearn_crfsuite import metrics
    >>> y_true, y_pred = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    >>> float(round(metrics.flat_f1_score(y_true, y_pred, pos_label="A"), 3))
    0.8
    """
    from sklearn import metrics

    return metrics.f1_score(y_true, y_pred, **more)


@_flattens_y
def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **more: Any) -> Any:
    """Compute the F-beta score of the labels.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence.
    beta : float
        How much recall counts, compared with precision.
    **more
        Further arguments of the function of scikit-learn.

    Returns
    -------
    float or ndarray
        The F-beta score, or one per label with ``average=None``.

    Examples
    --------
    >>> from partwise.compat.sklearn_crfsuite import metrics
    >>> y_true, y_pred = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    >>> float(round(metrics.flat_fbeta_score(y_true, y_pred, beta=2, pos_label="A"), 3))
    0.909
    """
    from sklearn import metrics

    return metrics.fbeta_score(y_true, y_pred, beta=beta, **more)


@_flattens_y
def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **more: Any) -> Any:
    """Make a table of the scores of every label.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence.
    labels : sequence or None
        The labels of the table, in order; None is all of them.
    **more
        Further arguments of the function of scikit-learn.

    Returns
    -------
    str or dict
        The table; a dict with ``output_dict=True``.

    Examples
    --------
    >>> from partwise.compat.sklearn_crfsuite import metrics
    >>> y_true, y_pred = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    >>> table = metrics.flat_classification_report(y_true, y_pred, zero_division=0)
    >>> table.split()[:3]
    ['precision', 'recall', 'f1-score']
    """
    from sklearn import metrics

    return metrics.classification_report(y_true, y_pred, labels=labels, **more)


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """Compute the fraction of sequences whose labels are all right; 0 if there are none.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence.

    Returns
    -------
    float
        The fraction, from 0 to 1.

    Examples
    --------
    >>> from partwise.compat.sklearn_crfsuite import metrics
    >>> y_true, y_pred = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    >>> metrics.sequence_accuracy_score(y_true, y_pred)
    0.5
    """
    pairs = list(zip(y_true, y_pred, strict=True))
    if not pairs:
        return 0.0
    return sum(list(right) == list(found) for right, found in pairs) / len(pairs)
