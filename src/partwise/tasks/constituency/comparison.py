"""Predicted phrase structure trees beside the right ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DataError, Place
from ...formats.tree import Bracket, Tree
from ...metrics.bracketing import PUNCTUATION, ROOTS, bracket_scores
from ..comparison import (
    Comparison,
    Odds,
    Quote,
    Tallies,
    columns_of,
    confused,
    marginals_of,
    prints_of,
    spans_measures,
)
from ..missing import missing_of
from ..source import named

if TYPE_CHECKING:
    from ...models.model import Model
    from .examples import Trees

__all__ = ["compare_phrases"]


def compare_phrases(
    model: Model, source: Trees, evalb: bool, n_jobs: int | None, probabilities: bool
) -> Comparison:
    """Compare the phrases of trees."""
    known = [i for i, mine in enumerate(source.known(missing_of(model))) if mine is None]
    if not known:
        raise DataError(
            "no tree has all its labels, so none can be scored", place=Place(named(source))
        )
    unscored = len(source) - len(known)
    source = source.take(known) if unscored else source
    found = model.predict(source, n_jobs=n_jobs)
    rules: dict[str, Any] = {"delete": PUNCTUATION, "equal": {"PRT": "ADVP"}} if evalb else {}
    tallies, confusions, complete = Tallies(), Counter[tuple[str, str]](), []
    for i, pair in enumerate(zip(source.trees, found, strict=True)):
        scores = bracket_scores([pair[0]], [pair[1]], **rules)
        tallies.add(i, scores.labelled.by_type)
        complete.append((scores.complete_match, 1.0))
        confusions.update(confused(*([(b.label, b[1:]) for b in _phrases(tree)] for tree in pair)))
    odds = None
    if probabilities:
        odds = Odds.of("phrase", _odds(model, source, found, n_jobs))
    measures = {**spans_measures(tallies, len(found)), "complete": columns_of(complete)}
    words = [tuple(tree.words) for tree in source.trees]

    def quote(i: int) -> Quote:
        wanted, got = Counter(_phrases(source.trees[i])), Counter(_phrases(found[i]))
        wrong = frozenset((start, end) for _, start, end in got - wanted)
        return Quote("tree", list(words[i]), source.trees[i], found[i], wrong)

    return Comparison(
        "sentence", "word", "phrase", np.array([*map(len, words)], dtype=np.int64), measures,
        tallies, confusions, odds, prints_of(words, map(str, source.trees)), quote, unscored,
        which=known,
    )  # fmt: skip


def _phrases(tree: Tree) -> list[Bracket]:
    return [bracket for bracket in tree.brackets() if bracket.label not in ROOTS]


def _odds(
    model: Model, source: Trees, found: list[Tree], n_jobs: int | None
) -> list[tuple[int, float, bool]]:
    """Return the probability of every predicted phrase, and whether the right tree has it."""
    from .bracketing import Bracketing

    index = {label: number for number, label in enumerate(Bracketing.of(model).labels)}
    rows = []
    for i, table in marginals_of(model, source, n_jobs):
        left = Counter(_phrases(source.trees[i]))
        for bracket in _phrases(found[i]):
            label, start, end = bracket
            # A flat tree may have a label that no phrase has.
            p = float(table[start, end, index[label]]) if label in index else 0.0
            rows.append((i, p, left[bracket] > 0))
            left[bracket] -= 1
    return rows
