"""Bracket scores of constituent trees (PARSEVAL)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import DataError
from ..formats.tree import Bracket, Tree
from .counts import Averaged, Counts, Score, SpanScores, called_like, ratio, weights_of

__all__ = [
    "PUNCTUATION", "ROOTS", "BracketScores", "bracket_f1_score", "bracket_precision_score",
    "bracket_recall_score", "bracket_scores",
]  # fmt: skip

ROOTS: frozenset[str] = frozenset({"", "TOP", "ROOT", "S1"})
"""Labels of an outermost node without a category, whose bracket does not count."""

PUNCTUATION: frozenset[str] = frozenset({",", ":", "``", "''", "."})
"""The tags that evalb deletes with its usual parameters."""


@dataclass(frozen=True)
class BracketScores:
    """Scores of the brackets of some trees.

    Attributes
    ----------
    labelled
        Precision, recall and F1 of labelled brackets, overall and by label.
    unlabelled
        The same for brackets without their labels.
    sentences
        The number of trees.
    complete
        The number of trees with exactly the gold brackets.
    crossing
        The number of predicted brackets that cross a gold one.
    without_crossing
        The number of trees without such a bracket.

    Examples
    --------
    >>> from partwise.formats import parse_tree
    >>> from partwise.metrics import bracket_scores
    >>> tree = parse_tree("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> scores = bracket_scores([tree], [tree])
    >>> scores.f1, scores.complete_match
    (1.0, 1.0)
    """

    labelled: SpanScores
    unlabelled: Score
    sentences: int
    complete: int
    crossing: int
    without_crossing: int

    @property
    def precision(self) -> float:
        """The labelled precision."""
        return self.labelled.overall.precision

    @property
    def recall(self) -> float:
        """The labelled recall."""
        return self.labelled.overall.recall

    @property
    def f1(self) -> float:
        """The labelled F1."""
        return self.labelled.overall.f1

    @property
    def complete_match(self) -> float:
        """The fraction of trees with exactly the gold brackets; 0 if there are no trees."""
        return ratio(self.complete, self.sentences)

    @property
    def average_crossing(self) -> float:
        """The number of crossing brackets per tree; 0 if there are no trees."""
        return ratio(self.crossing, self.sentences)

    @property
    def no_crossing(self) -> float:
        """The fraction of trees without crossing brackets; 0 if there are no trees."""
        return ratio(self.without_crossing, self.sentences)


def bracket_scores(
    gold: Sequence[Tree],
    pred: Sequence[Tree],
    *,
    delete: Collection[str] = (),
    ignore: Collection[str] = ROOTS,
    equal: Mapping[str, str] | None = None,
) -> BracketScores:
    """Compare the brackets of gold and predicted trees.

    Brackets of phrases count, brackets of tags do not. Equal brackets (an NP that only contains an
    NP) count as often as they occur.

    Parameters
    ----------
    gold, pred
        Trees over the same words.
    delete
        Words with these gold tags are deleted before brackets are compared, together with phrases
        that hold nothing else; evalb deletes `PUNCTUATION`.
    ignore
        Labels whose brackets do not count.
    equal
        Labels that are replaced by others; evalb replaces PRT by ADVP.

    Returns
    -------
    BracketScores

    Raises
    ------
    DataError
        If the numbers of trees differ, or two trees differ in their words.

    Examples
    --------
    >>> from partwise.formats import parse_tree
    >>> from partwise.metrics import bracket_scores
    >>> gold = parse_tree("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> flat = parse_tree("(S (DT a) (NN dog) (VB barks))")
    >>> scores = bracket_scores([gold], [flat])
    >>> scores.precision, scores.recall
    (1.0, 0.5)
    """
    if len(gold) != len(pred):
        raise DataError(f"gold has {len(gold)} trees and pred has {len(pred)}; pair them up")
    both = [
        _compared(place, g, p, delete, ignore, equal or {})
        for place, (g, p) in enumerate(zip(gold, pred, strict=True))
    ]
    spans = [(_spans(w), _spans(g)) for w, g in both]
    labelled, unlabelled = Counts(), Counts()
    for w, g in both:
        _count(labelled, w, g)
    for pair in spans:
        _count(unlabelled, *pair)
    crossing = [_n_crossing(s, g) for s, g in spans]
    return BracketScores(
        labelled.by_type(),
        unlabelled.overall(),
        len(gold),
        sum(w == g for w, g in both),
        sum(crossing),
        crossing.count(0),
    )


def _bracket_scores(
    y_true: Any,
    y_pred: Any,
    *,
    delete: Collection[str] = (),
    ignore: Collection[str] = ROOTS,
    sample_weight: Any = None,
) -> Averaged:
    gold, found = list(y_true), list(y_pred)
    weights = weights_of(gold, found, sample_weight)
    counts = Counts()
    for place, (a, b, weight) in enumerate(zip(gold, found, weights, strict=True)):
        _count(counts, *_compared(place, a, b, delete, ignore, {}), weight)
    return counts.averaged("micro")


@called_like(_bracket_scores)
def bracket_precision_score(*given: Any, **options: Any) -> float:
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
    return _bracket_scores(*given, **options).precision


@called_like(_bracket_scores)
def bracket_recall_score(*given: Any, **options: Any) -> float:
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
    return _bracket_scores(*given, **options).recall


@called_like(_bracket_scores)
def bracket_f1_score(*given: Any, **options: Any) -> float:
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
    return _bracket_scores(*given, **options).f1


def _count(counts: Counts, wanted: Counter[Any], got: Counter[Any], weight: float = 1) -> None:
    """Count brackets by their labels, which come first in them."""
    counts.add(
        *([one[0] for one in c.elements()] for c in (wanted & got, got, wanted)), weight=weight
    )


def _compared(
    place: int,
    gold: Tree,
    pred: Tree,
    delete: Collection[str],
    ignore: Collection[str],
    equal: Mapping[str, str],
) -> tuple[Counter[Bracket], Counter[Bracket]]:
    """Return the brackets that count of a gold and of a predicted tree."""
    if gold.words != pred.words:
        raise DataError(_other_words(place, gold.words, pred.words))
    kept = [tag not in delete for tag in gold.tags]
    return _brackets(gold, kept, ignore, equal), _brackets(pred, kept, ignore, equal)


def _brackets(
    tree: Tree, kept: list[bool], ignore: Collection[str], equal: Mapping[str, str]
) -> Counter[Bracket]:
    before = [0]  # how many words are kept before each place
    for keep in kept:
        before.append(before[-1] + keep)
    found: Counter[Bracket] = Counter()
    for label, start, end in tree.brackets():
        if label not in ignore and before[start] < before[end]:
            found[Bracket(equal.get(label, label), before[start], before[end])] += 1
    return found


def _spans(brackets: Counter[Bracket]) -> Counter[tuple[int, int]]:
    spans: Counter[tuple[int, int]] = Counter()
    for bracket, n in brackets.items():
        spans[bracket.start, bracket.end] += n
    return spans


def _n_crossing(spans: Counter[tuple[int, int]], got: Counter[tuple[int, int]]) -> int:
    def crosses(start: int, end: int) -> bool:
        return any(a < start < b < end or start < a < end < b for a, b in spans)

    return sum(n for span, n in got.items() if crosses(*span))


def _other_words(place: int, gold: list[str], pred: list[str]) -> str:
    at = next(
        (i for i, (a, b) in enumerate(zip(gold, pred, strict=False)) if a != b),
        min(len(gold), len(pred)),
    )
    shown = [words[at] if at < len(words) else "no word" for words in (gold, pred)]
    return (
        f"tree {place} (counting from 0): word {at} is {shown[0]!r} in gold and {shown[1]!r} in "
        "pred; compare trees over the same words"
    )
