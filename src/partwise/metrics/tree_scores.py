"""Scores of dependency and phrase-structure trees, as functions of the right and predicted ones.

The labels are those that parsers take as y and return from `predict`. Weights count sentences. A
ratio with the denominator 0 is 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from ..errors import DataError, Place
from ..formats.tree import Tree
from .bracketing import ROOTS, bracket_scores
from .counts import Counts
from .pairs import pairs, weights_of
from .sequence_scores import token_accuracy_score

__all__ = [
    "bracket_f1_score",
    "bracket_precision_score",
    "bracket_recall_score",
    "las_score",
    "uas_score",
]


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
                    "has heads without relations; give pairs "
                    "(head, relation), which a parser with labelled=True predicts, or use uas",
                    place=Place.nth("tree", i, argument=name),
                    subject=True,
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
    >>> from partwise.formats import parse_tree
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
    >>> from partwise.formats import parse_tree
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
    >>> from partwise.formats import parse_tree
    >>> from partwise.metrics import bracket_f1_score
    >>> gold = parse_tree("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> flat = parse_tree("(S (DT a) (NN dog) (VB barks))")
    >>> round(bracket_f1_score([gold], [flat]), 3)
    0.667
    """
    counts = _bracket_counts(y_true, y_pred, delete, ignore, sample_weight)
    return counts.averaged("micro", "f1")


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
