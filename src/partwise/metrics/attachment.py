"""Attachment scores of dependency trees: how many words get the right head and relation."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ..errors import DataError
from .counts import pairs, ratio
from .sequence_scores import token_accuracy_score

__all__ = [
    "POLICIES", "AttachmentScores", "attachment_scores", "las_score", "scored_words", "uas_score",
]  # fmt: skip

POLICIES: tuple[str, ...] = ("all", "none", "conllx")
"""The names of the policies for punctuation; a set of parts of speech is also a policy."""


@dataclass(frozen=True)
class AttachmentScores:
    """Counts of correct heads and relations; a ratio with the denominator 0 is 0.

    Attributes
    ----------
    words
        The number of words that are scored.
    heads, labels, both
        The number of them with the right head, with the right relation, and with both.
    sentences
        The number of sentences.
    complete_heads, complete
        The number of sentences in which all scored words have the right head, and in which all have
        the right head and relation.
    labelled
        Whether relations were compared; if not, their counts are 0.

    Examples
    --------
    >>> from partwise.metrics import attachment_scores
    >>> scores = attachment_scores([[2, 0]], [[2, 1]])
    >>> scores.words, scores.uas
    (2, 0.5)
    """

    words: int
    heads: int
    labels: int
    both: int
    sentences: int
    complete_heads: int
    complete: int
    labelled: bool

    @property
    def uas(self) -> float:
        """The unlabelled attachment score: the fraction of words with the right head."""
        return ratio(self.heads, self.words)

    @property
    def las(self) -> float:
        """The labelled attachment score: the fraction of words with the right head and relation."""
        return ratio(self.both, self.words)

    @property
    def label_accuracy(self) -> float:
        """The fraction of words with the right relation, with any head."""
        return ratio(self.labels, self.words)

    @property
    def unlabelled_match(self) -> float:
        """The fraction of sentences in which all heads are right."""
        return ratio(self.complete_heads, self.sentences)

    @property
    def labelled_match(self) -> float:
        """The fraction of sentences in which all heads and relations are right."""
        return ratio(self.complete, self.sentences)


def scored_words(
    punctuation: str | Collection[str],
    forms: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
) -> list[bool] | None:
    """Return which words of a sentence a policy for punctuation scores.

    Parameters
    ----------
    punctuation
        ``"all"`` scores every word. ``"none"`` leaves out words without any letter or digit.
        ``"conllx"`` leaves out words whose characters are all Unicode punctuation, as the scorer
        of CoNLL-X does; ``$`` and ````` are symbols, and are scored. A set of parts of speech
        leaves out the words that have them.
    forms
        The words; ``"none"`` and ``"conllx"`` need them.
    tags
        Their parts of speech; a set needs them.

    Returns
    -------
    list of bool or None
        One value per word; None if all words are scored.

    Raises
    ------
    DataError
        If the policy is unknown, or lacks the forms or tags that it needs.

    Examples
    --------
    >>> from partwise.metrics import scored_words
    >>> scored_words("conllx", forms=["Yes", "!"])
    [True, False]
    """
    if punctuation == "all":
        return None
    if isinstance(punctuation, str):
        if punctuation not in POLICIES:
            raise DataError(
                f"no punctuation policy {punctuation!r}; choose from {', '.join(POLICIES)}, or "
                "give a set of parts of speech to leave out"
            )
        if forms is None:
            raise DataError(
                f"the punctuation policy {punctuation!r} looks at the words; pass the forms"
            )
        if punctuation == "none":
            return [any(unicodedata.category(c)[0] in "LN" for c in form) for form in forms]
        return [not all(unicodedata.category(c)[0] == "P" for c in form) for form in forms]
    if tags is None:
        raise DataError("a set of parts of speech is to be left out; pass the tags of the words")
    left_out = frozenset(punctuation)
    return [tag not in left_out for tag in tags]


def attachment_scores(
    gold: Sequence[Sequence[int]],
    pred: Sequence[Sequence[int]],
    *,
    gold_labels: Sequence[Sequence[str]] | None = None,
    pred_labels: Sequence[Sequence[str]] | None = None,
    forms: Sequence[Sequence[str]] | None = None,
    tags: Sequence[Sequence[str]] | None = None,
    punctuation: str | Collection[str] = "all",
) -> AttachmentScores:
    """Compare gold and predicted dependency trees.

    Parameters
    ----------
    gold, pred
        For every sentence, the head of every word; 0 is the root.
    gold_labels, pred_labels
        The relation of every word to its head; both or neither.
    forms, tags
        The words and their (gold) parts of speech, if the policy for punctuation needs them.
    punctuation
        Which words are scored: ``"all"``, ``"none"``, ``"conllx"`` or a set of parts of speech to
        leave out, as for `scored_words`. A sentence without scored words is complete.

    Returns
    -------
    AttachmentScores

    Raises
    ------
    DataError
        If the sentences or their words are not parallel, or a gold head is unknown.

    Examples
    --------
    >>> from partwise.metrics import attachment_scores
    >>> forms = [["dogs", "bark", "!"]]
    >>> attachment_scores([[2, 0, 2]], [[2, 0, 1]], forms=forms, punctuation="none").uas
    1.0
    """
    if (gold_labels is None) != (pred_labels is None):
        raise DataError("relations are given on one side only; pass gold_labels and pred_labels")
    _parallel(gold, pred=pred, gold_labels=gold_labels, pred_labels=pred_labels)
    _parallel(gold, forms=forms, tags=tags)
    counts = [0] * 6  # words; right heads, relations, both; complete heads, complete both
    for place, (g, p) in enumerate(zip(gold, pred, strict=True)):
        if any(head < 0 for head in g):
            raise DataError(
                f"sentence {place} (counting from 0) has a gold word without a head; only parsed "
                "sentences can be scored"
            )
        scored = scored_words(punctuation, _at(forms, place), _at(tags, place))
        head = _right(g, p, scored)
        label = [False] * len(head)
        if gold_labels is not None and pred_labels is not None:
            label = _right(gold_labels[place], pred_labels[place], scored)
        both = [a and b for a, b in zip(head, label, strict=True)]
        complete = gold_labels is not None and all(both)
        row = (len(head), sum(head), sum(label), sum(both), all(head), complete)
        counts = [a + b for a, b in zip(counts, row, strict=True)]
    words, heads, labels, right, complete_heads, complete_both = counts
    labelled = gold_labels is not None
    return AttachmentScores(
        words, heads, labels, right, len(gold), complete_heads, complete_both, labelled
    )


def _at(column: Sequence[Sequence[str]] | None, place: int) -> Sequence[str] | None:
    return None if column is None else column[place]


def _right(gold: Sequence[object], pred: Sequence[object], scored: list[bool] | None) -> list[bool]:
    right = [bool(a == b) for a, b in zip(gold, pred, strict=True)]
    return right if scored is None else [r for r, s in zip(right, scored, strict=True) if s]


def _parallel(gold: Sequence[Sequence[int]], **others: Sequence[Sequence[object]] | None) -> None:
    for name, other in others.items():
        if other is None:
            continue
        if len(other) != len(gold):
            raise DataError(
                f"gold has {len(gold)} sentences and {name} has {len(other)}; they must be parallel"
            )
        for place, (a, b) in enumerate(zip(gold, other, strict=True)):
            if len(a) != len(b):
                raise DataError(
                    f"sentence {place} (counting from 0): gold has {len(a)} words and {name} has "
                    f"{len(b)}; they must be parallel"
                )


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


def _is_head(word: Any) -> bool:
    return isinstance(word, Integral)


def _head(word: Any) -> int:
    return int(word if _is_head(word) else word[0])
