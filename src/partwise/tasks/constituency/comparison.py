"""Predicted phrase structure trees beside the right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...formats.tree import Bracket, Tree
from ...metrics.bracketing import PUNCTUATION, ROOTS, BracketScores, bracket_scores
from ..comparison import (
    Comparison,
    Odds,
    Quote,
    Tallies,
    by_type,
    columns_of,
    confused,
    marginals_of,
    spans_measures,
)
from ..labels import missing_of
from ..source import named
from .bracketing import Bracketing
from .features import SpanFeatures

if TYPE_CHECKING:
    from ...models.model import Model
    from .examples import Trees

__all__ = ["PhraseComparison"]


class PhraseComparison(Comparison):
    """The phrases of trees beside the right ones; parameters are those of `Task.compare`."""

    unit = "phrase"
    lacking = "tree"

    def __init__(
        self,
        model: Model,
        source: Trees,
        given: Mapping[str, Any],
        n_jobs: int | None,
        probabilities: bool,
    ) -> None:
        known = [i for i, mine in enumerate(source.known(missing_of(model))) if mine is None]
        if not known:
            why = "no tree has all its labels, so none can be scored"
            raise DataError(why, place=Place(named(source)))
        self.unscored, self.which = len(source) - len(known), known
        source = source.take(known) if self.unscored else source
        self.model, self.gold = model, source.trees
        self.found: list[Tree] = model.predict(source, n_jobs=n_jobs)
        rules: dict[str, Any] = {}
        if given["evalb"]:
            rules = {"delete": PUNCTUATION, "equal": {"PRT": "ADVP"}}
        self.single: list[BracketScores] = [
            bracket_scores([g], [f], **rules) for g, f in zip(self.gold, self.found, strict=True)
        ]
        if probabilities:
            self.odds = Odds.of("phrase", [*self._odds(source, n_jobs)])

    @property
    def lengths(self) -> Ints:
        return np.array([len(tree.words) for tree in self.gold], dtype=np.int64)

    @cached_property
    def tallies(self) -> Tallies:
        tallies = Tallies()
        for i, one in enumerate(self.single):
            for label, score in one.labelled.by_type.items():
                tallies.put(i, label, score.correct, score.predicted, score.support)
        return tallies

    @cached_property
    def measures(self) -> Mapping[str, tuple[Floats, Floats]]:
        complete = columns_of((one.complete_match, 1.0) for one in self.single)
        return {**spans_measures(self.tallies, len(self.single)), "complete": complete}

    @property
    def confusions(self) -> Counter[tuple[str, str]]:
        pairs = Counter[tuple[str, str]]()
        for trees in zip(self.gold, self.found, strict=True):
            pairs += confused(*([(b.label, b[1:]) for b in _phrases(tree)] for tree in trees))
        return pairs

    @property
    def prints(self) -> Sequence[tuple[int, int]]:
        return [(hash(tuple(tree.words)), hash(str(tree))) for tree in self.gold]

    def quote(self, i: int) -> Quote:
        wanted, got = Counter(_phrases(self.gold[i])), Counter(_phrases(self.found[i]))
        wrong = frozenset((start, end) for _, start, end in got - wanted)
        return Quote("tree", list(self.gold[i].words), self.gold[i], self.found[i], wrong)

    def known(self) -> list[str]:
        return list(Bracketing.of(self.model).labels)

    def metrics(self) -> dict[str, Any]:
        n = len(self.single)
        found = {
            **{name: self.value(name) for name in self.measures},
            "crossing": sum(one.crossing for one in self.single) / n,
            "no_crossing": sum(one.without_crossing for one in self.single) / n,
            "sentences": n,
            "by_label": by_type(self.by_label),
        }
        features = self.model.features
        if isinstance(features, SpanFeatures) and not features.tagged:
            found["tag_accuracy"] = self._tag_accuracy()
        return found

    def _tag_accuracy(self) -> float:
        trees = zip(self.gold, self.found, strict=True)
        right = [a == b for g, f in trees for a, b in zip(g.tags, f.tags, strict=True)]
        return sum(right) / len(right)

    def text(self) -> str:
        scores = self.metrics()
        of = f"of {scores['sentences']:,} sentences"
        lines = [
            ("bracket precision", f"{scores['precision']:.4%}"),
            ("bracket recall", f"{scores['recall']:.4%}"),
            ("bracket F1", f"{scores['f1']:.4%}"),
            ("complete match", f"{scores['complete']:.4%} {of}"),
            ("crossing brackets", f"{scores['crossing']:.4f} a sentence"),
            ("no crossing", f"{scores['no_crossing']:.4%} {of}"),
        ]
        if "tag_accuracy" in scores:
            lines.append(("tags right", f"{scores['tag_accuracy']:.4%}"))
        return "\n".join(f"{name:18}  {value}" for name, value in lines)

    def _odds(self, source: Trees, n_jobs: int | None) -> Iterator[tuple[int, float, bool]]:
        """Yield the probability of every predicted phrase, and whether the right tree has it."""
        index = {label: number for number, label in enumerate(self.known())}
        for i, table in marginals_of(self.model, source, n_jobs):
            left = Counter(_phrases(self.gold[i]))
            for bracket in _phrases(self.found[i]):
                label, start, end = bracket
                # A flat tree may have a label that no phrase has.
                p = float(table[start, end, index[label]]) if label in index else 0.0
                yield i, p, left[bracket] > 0
                left[bracket] -= 1


def _phrases(tree: Tree) -> list[Bracket]:
    return [bracket for bracket in tree.brackets() if bracket.label not in ROOTS]
