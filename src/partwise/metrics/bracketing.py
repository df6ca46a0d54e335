"""Bracket scores of constituent trees (PARSEVAL)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from partwise.errors import DataError
from partwise.formats.tree import Bracket, Tree
from partwise.metrics.labels import Score, SpanScores

__all__ = ["PUNCTUATION", "ROOTS", "BracketScores", "bracket_scores"]

T = TypeVar("T")

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
        return self.complete / self.sentences if self.sentences else 0.0

    @property
    def average_crossing(self) -> float:
        """The number of crossing brackets per tree; 0 if there are no trees."""
        return self.crossing / self.sentences if self.sentences else 0.0

    @property
    def no_crossing(self) -> float:
        """The fraction of trees without crossing brackets; 0 if there are no trees."""
        return self.without_crossing / self.sentences if self.sentences else 0.0


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
    wanted, got = [], []
    for place, (g, p) in enumerate(zip(gold, pred, strict=True)):
        if g.words != p.words:
            raise DataError(_other_words(place, g.words, p.words))
        kept = [tag not in delete for tag in g.tags]
        wanted.append(_brackets(g, kept, ignore, equal or {}))
        got.append(_brackets(p, kept, ignore, equal or {}))
    spans, got_spans = [_spans(w) for w in wanted], [_spans(g) for g in got]
    crossing = [_n_crossing(s, g) for s, g in zip(spans, got_spans, strict=True)]
    return BracketScores(
        _by_label(wanted, got),
        _score(spans, got_spans),
        len(gold),
        sum(w == g for w, g in zip(wanted, got, strict=True)),
        sum(crossing),
        crossing.count(0),
    )


def _by_label(wanted: list[Counter[Bracket]], got: list[Counter[Bracket]]) -> SpanScores:
    counts: dict[str, list[int]] = {}
    for w, g in zip(wanted, got, strict=True):
        for column, some in enumerate((w & g, g, w)):
            for bracket, n in some.items():
                counts.setdefault(bracket.label, [0, 0, 0])[column] += n
    by_label = {label: Score(*counts[label]) for label in sorted(counts)}
    return SpanScores(_score(wanted, got), by_label)


def _score(wanted: Sequence[Counter[T]], got: Sequence[Counter[T]]) -> Score:
    correct = sum((w & g).total() for w, g in zip(wanted, got, strict=True))
    return Score(correct, sum(g.total() for g in got), sum(w.total() for w in wanted))


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
