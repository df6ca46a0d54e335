"""Scores of sequences, as functions of the right and the predicted labels.

The labels are those that estimators take as y and return from `predict`: one list of labels per
sequence, or an array of such lists. Weights count sequences, not tokens. A ratio with the
denominator 0 is 0.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..formats.tag_schemes import SCHEME_ALIASES
from .counts import (
    Averaged,
    Counts,
    called_like,
    check_same_length,
    pairs,
    plain,
    ratio,
    weights_of,
)  # fmt: skip
from .labels import spans

__all__ = [
    "sentence_accuracy_score",
    "span_f1_score",
    "span_precision_score",
    "span_recall_score",
    "token_accuracy_score",
    "token_f1_score",
    "token_precision_score",
    "token_recall_score",
]


def token_accuracy_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Compute the fraction of tokens (or vertices) whose label is right.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence.
    sample_weight : array-like of shape (n_sequences,) or None
        The weights of the sequences.

    Examples
    --------
    >>> from partwise.metrics import token_accuracy_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(token_accuracy_score(gold, found), 3)
    0.8
    """
    right = total = 0.0
    for gold, found, weight in pairs(y_true, y_pred, sample_weight):
        right += weight * sum(a == b for a, b in zip(gold, found, strict=True))
        total += weight * len(gold)
    return ratio(right, total)


def sentence_accuracy_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Compute the fraction of examples whose label is right as a whole.

    Parameters
    ----------
    y_true, y_pred : sequence
        The right and the predicted label of each example: a list of labels or segments, a tree, or
        any other.
    sample_weight : array-like of shape (n_examples,) or None
        The weights of the examples.

    Examples
    --------
    >>> from partwise.metrics import sentence_accuracy_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(sentence_accuracy_score(gold, found), 3)
    0.5
    """
    gold, found = list(y_true), list(y_pred)
    weights = weights_of(gold, found, sample_weight)
    same = [plain(a) == plain(b) for a, b in zip(gold, found, strict=True)]
    return ratio(sum(w for w, one in zip(weights, same, strict=True) if one), sum(weights))


def _token_scores(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    labels: Collection[Any] | None = None,
    sample_weight: Any = None,
) -> Averaged:
    counts = Counts()
    for gold, found, weight in pairs(y_true, y_pred, sample_weight):
        right = [a for a, b in zip(gold, found, strict=True) if a == b]
        counts.add(right, found, gold, weight=weight)
    return counts.chosen(labels).averaged(average)


@called_like(_token_scores)
def token_precision_score(*given: Any, **options: Any) -> float:
    """Compute the precision of the labels of tokens; see `token_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import token_precision_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(token_precision_score(gold, found), 3)
    0.889
    """
    return _token_scores(*given, **options).precision


@called_like(_token_scores)
def token_recall_score(*given: Any, **options: Any) -> float:
    """Compute the recall of the labels of tokens; see `token_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import token_recall_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(token_recall_score(gold, found), 3)
    0.833
    """
    return _token_scores(*given, **options).recall


@called_like(_token_scores)
def token_f1_score(*given: Any, **options: Any) -> float:
    """Compute the F1 of the labels of tokens.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence.
    average : {"micro", "macro", "weighted"}
        How the scores of the labels are put together, see
        ``partwise.metrics.counts.AVERAGES``.
    labels : collection or None
        The labels that count: all but "O", say. If None, all that occur.
    sample_weight : array-like of shape (n_sequences,) or None
        The weights of the sequences.

    Examples
    --------
    >>> from partwise.metrics import token_f1_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(token_f1_score(gold, found), 3)
    0.822
    """
    return _token_scores(*given, **options).f1


def _span_scores(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "conlleval",
    average: str = "micro",
    types: Collection[str] | None = None,
    outside: str = "O",
    sample_weight: Any = None,
) -> Averaged:
    scheme = SCHEME_ALIASES.get(scheme, scheme)
    counts = Counts()
    gold, found = list(y_true), list(y_pred)
    weights = weights_of(gold, found, sample_weight)
    # A sequence without segments is an empty list, which does not show what it holds.
    tags = not any(map(_holds_segments, (*gold, *found)))
    for i, (a, b, weight) in enumerate(zip(gold, found, weights, strict=True)):
        if tags:
            check_same_length(i, a, b)
        wanted, got = (_spans(labels, scheme, outside) for labels in (a, b))
        right, guessed, sought = ([span[0] for span in s] for s in (wanted & got, got, wanted))
        counts.add(right, guessed, sought, weight=weight)
    return counts.chosen(types).averaged(average)


@called_like(_span_scores)
def span_precision_score(*given: Any, **options: Any) -> float:
    """Compute the precision of labelled spans; see `span_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import span_precision_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(span_precision_score(gold, found), 3)
    1.0
    """
    return _span_scores(*given, **options).precision


@called_like(_span_scores)
def span_recall_score(*given: Any, **options: Any) -> float:
    """Compute the recall of labelled spans; see `span_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import span_recall_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(span_recall_score(gold, found), 3)
    0.5
    """
    return _span_scores(*given, **options).recall


@called_like(_span_scores)
def span_f1_score(*given: Any, **options: Any) -> float:
    """Compute the F1 of labelled spans: start, end and type must be right.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        The right and the predicted labels of each sequence: tags such as ``"B-NP"``, or segments
        ``(start, end, label)`` as :class:`partwise.SegmentTagger` has them.
    scheme : str
        How tags are read: "conlleval" as the script of the CoNLL shared tasks does, or strictly by
        "IOB1", "IOB2" ("BIO"), "IOE1", "IOE2", "IOBES" ("BIOES") or "BILOU" ("BIOUL"); see
        :func:`partwise.metrics.spans`.
    average : {"micro", "macro", "weighted"}
        How the scores of the types are put together, see
        ``partwise.metrics.counts.AVERAGES``.
    types : collection of str or None
        The types that count; if None, all that occur.
    outside : str
        The label of segments that do not count.
    sample_weight : array-like of shape (n_sequences,) or None
        The weights of the sequences.

    Examples
    --------
    >>> from partwise.metrics import span_f1_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(span_f1_score(gold, found), 3)
    0.667
    """
    return _span_scores(*given, **options).f1


def _spans(labels: Sequence[Any], scheme: str, outside: str) -> set[tuple[Any, int, int]]:
    """Return the type, the start and the end of every span that tags or segments stand for."""
    if _holds_segments(labels):
        return {(label, start, end) for start, end, label in labels if label != outside}
    return {(span.label, span.start, span.end) for span in spans(list(labels), scheme)}


def _holds_segments(labels: Any) -> bool:
    several = isinstance(labels, (list, tuple)) and len(labels) > 0
    return several and isinstance(labels[0], (tuple, list))
