"""Scores as functions of the right and the predicted labels, as scikit-learn has them.

The labels are those that estimators take as y and return from `predict`: one list of labels per
sequence, or an array of such lists. Weights count sequences, not tokens. A ratio with the
denominator 0 is 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import DataError
from ..formats.tag_schemes import SCHEME_ALIASES
from ..formats.tree import Tree
from .bracketing import ROOTS, bracket_scores
from .counts import Counts, ratio
from .labels import spans
from .pairs import check_same_length, pairs, plain, weights_of

__all__ = [
    "bracket_f1_score",
    "bracket_precision_score",
    "bracket_recall_score",
    "las_score",
    "sentence_accuracy_score",
    "span_f1_score",
    "span_precision_score",
    "span_recall_score",
    "token_accuracy_score",
    "token_f1_score",
    "token_precision_score",
    "token_recall_score",
    "uas_score",
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


def token_precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    labels: Collection[Any] | None = None,
    sample_weight: Any = None,
) -> float:
    """Compute the precision of the labels of tokens; see `token_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import token_precision_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(token_precision_score(gold, found), 3)
    0.889
    """
    counts = _token_counts(y_true, y_pred, labels, sample_weight)
    return counts.averaged(average, "precision")


def token_recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    labels: Collection[Any] | None = None,
    sample_weight: Any = None,
) -> float:
    """Compute the recall of the labels of tokens; see `token_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import token_recall_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(token_recall_score(gold, found), 3)
    0.833
    """
    return _token_counts(y_true, y_pred, labels, sample_weight).averaged(average, "recall")


def token_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    labels: Collection[Any] | None = None,
    sample_weight: Any = None,
) -> float:
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
    return _token_counts(y_true, y_pred, labels, sample_weight).averaged(average, "f1")


def span_precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "conlleval",
    average: str = "micro",
    types: Collection[str] | None = None,
    outside: str = "O",
    sample_weight: Any = None,
) -> float:
    """Compute the precision of labelled spans; see `span_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import span_precision_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(span_precision_score(gold, found), 3)
    1.0
    """
    counts = _span_counts(y_true, y_pred, scheme, types, outside, sample_weight)
    return counts.averaged(average, "precision")


def span_recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "conlleval",
    average: str = "micro",
    types: Collection[str] | None = None,
    outside: str = "O",
    sample_weight: Any = None,
) -> float:
    """Compute the recall of labelled spans; see `span_f1_score`.

    Examples
    --------
    >>> from partwise.metrics import span_recall_score
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> round(span_recall_score(gold, found), 3)
    0.5
    """
    counts = _span_counts(y_true, y_pred, scheme, types, outside, sample_weight)
    return counts.averaged(average, "recall")


def span_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    scheme: str = "conlleval",
    average: str = "micro",
    types: Collection[str] | None = None,
    outside: str = "O",
    sample_weight: Any = None,
) -> float:
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
    counts = _span_counts(y_true, y_pred, scheme, types, outside, sample_weight)
    return counts.averaged(average, "f1")


def uas_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Compute the unlabelled attachment score: the fraction of words whose head is right.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        For each sentence the head of every word, or pairs of a head and a relation. Punctuation
        counts; :func:`partwise.metrics.attachment_scores` knows other rules.
    sample_weight : array-like of shape (n_sentences,) or None
        The weights of the sentences.

    Examples
    --------
    >>> from partwise.metrics import uas_score
    >>> uas_score([[2, 0]], [[2, 1]])
    0.5
    """
    heads = [
        ([_head(a) for a in gold], [_head(b) for b in found], weight)
        for gold, found, weight in pairs(y_true, y_pred, sample_weight)
    ]
    gold, found, weights = zip(*heads, strict=True) if heads else ((), (), ())
    return token_accuracy_score(gold, found, sample_weight=weights)


def las_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Compute the labelled attachment score: the fraction of words with right head and relation.

    Parameters
    ----------
    y_true, y_pred : sequence of sequences
        For each sentence one pair of a head and a relation per word. Punctuation counts.
    sample_weight : array-like of shape (n_sentences,) or None
        The weights of the sentences.

    Examples
    --------
    >>> from partwise.metrics import las_score
    >>> gold = [[(2, "det"), (0, "root")]]
    >>> las_score(gold, [[(2, "amod"), (0, "root")]])
    0.5
    """
    y_true, y_pred = list(y_true), list(y_pred)
    for name, trees in (("y_true", y_true), ("y_pred", y_pred)):
        for i, tree in enumerate(trees):
            if any(_is_head(word) for word in tree):
                raise DataError(
                    f"{name}: tree {i} (counted from 0) has heads without relations; give pairs "
                    "(head, relation), which a parser with labelled=True predicts, or use uas"
                )
    gold, found = ([[tuple(word) for word in tree] for tree in y] for y in (y_true, y_pred))
    return token_accuracy_score(gold, found, sample_weight=sample_weight)


def bracket_precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    delete: Collection[str] = (),
    ignore: Collection[str] = ROOTS,
    sample_weight: Any = None,
) -> float:
    """Compute the precision of labelled brackets; see `bracket_f1_score`.

    Examples
    --------
    >>> from partwise.formats.brackets import parse_tree
    >>> from partwise.metrics import bracket_precision_score
    >>> gold = parse_tree("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> flat = parse_tree("(S (DT a) (NN dog) (VB barks))")
    >>> round(bracket_precision_score([gold], [flat]), 3)
    1.0
    """
    counts = _bracket_counts(y_true, y_pred, delete, ignore, sample_weight)
    return counts.averaged("micro", "precision")


def bracket_recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    delete: Collection[str] = (),
    ignore: Collection[str] = ROOTS,
    sample_weight: Any = None,
) -> float:
    """Compute the recall of labelled brackets; see `bracket_f1_score`.

    Examples
    --------
    >>> from partwise.formats.brackets import parse_tree
    >>> from partwise.metrics import bracket_recall_score
    >>> gold = parse_tree("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> flat = parse_tree("(S (DT a) (NN dog) (VB barks))")
    >>> round(bracket_recall_score([gold], [flat]), 3)
    0.5
    """
    counts = _bracket_counts(y_true, y_pred, delete, ignore, sample_weight)
    return counts.averaged("micro", "recall")


def bracket_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    delete: Collection[str] = (),
    ignore: Collection[str] = ROOTS,
    sample_weight: Any = None,
) -> float:
    """Compute the F1 of labelled brackets (PARSEVAL).

    Parameters
    ----------
    y_true, y_pred : sequence of Tree
        The right and the predicted trees.
    delete, ignore : collection of str
        Tags of words to delete, and labels whose brackets do not count; see
        :func:`partwise.metrics.bracket_scores`.
    sample_weight : array-like of shape (n_trees,) or None
        The weights of the trees.

    Examples
    --------
    >>> from partwise.formats.brackets import parse_tree
    >>> from partwise.metrics import bracket_f1_score
    >>> gold = parse_tree("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> flat = parse_tree("(S (DT a) (NN dog) (VB barks))")
    >>> round(bracket_f1_score([gold], [flat]), 3)
    0.667
    """
    counts = _bracket_counts(y_true, y_pred, delete, ignore, sample_weight)
    return counts.averaged("micro", "f1")


def _token_counts(
    y_true: Any, y_pred: Any, labels: Collection[Any] | None, sample_weight: Any
) -> Counts:
    counts = Counts()
    for gold, found, weight in pairs(y_true, y_pred, sample_weight):
        right = [a for a, b in zip(gold, found, strict=True) if a == b]
        counts.add(right, found, gold, weight)
    return counts.chosen(labels)


def _span_counts(
    y_true: Any,
    y_pred: Any,
    scheme: str,
    types: Collection[str] | None,
    outside: str,
    sample_weight: Any,
) -> Counts:
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
        counts.add(right, guessed, sought, weight)
    return counts.chosen(types)


def _spans(labels: Sequence[Any], scheme: str, outside: str) -> set[tuple[Any, int, int]]:
    """Return the type, the start and the end of every span that tags or segments stand for."""
    if _holds_segments(labels):
        return {(label, start, end) for start, end, label in labels if label != outside}
    return {(span.type, span.start, span.stop) for span in spans(list(labels), scheme)}


def _holds_segments(labels: Any) -> bool:
    several = isinstance(labels, (list, tuple)) and len(labels) > 0
    return several and isinstance(labels[0], (tuple, list))


def _bracket_counts(
    y_true: Iterable[Tree],
    y_pred: Iterable[Tree],
    delete: Collection[str],
    ignore: Collection[str],
    sample_weight: Any,
) -> Counts:
    gold, found = list(y_true), list(y_pred)
    counts = Counts()
    weights = weights_of(gold, found, sample_weight)
    for a, b, weight in zip(gold, found, weights, strict=True):
        score = bracket_scores([a], [b], delete=delete, ignore=ignore).labelled.overall
        counts.add_numbers("", (score.correct, score.predicted, score.support), weight)
    return counts


def _is_head(word: Any) -> bool:
    return isinstance(word, (int, np.integer))


def _head(word: Any) -> int:
    return int(word if _is_head(word) else word[0])
