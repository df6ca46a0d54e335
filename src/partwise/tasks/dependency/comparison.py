"""Predicted dependency trees beside the right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DataError, Place
from ...formats.conll import UNKNOWN
from ...metrics.attachment import POLICIES, scored_words
from ...metrics.counts import Score
from ..comparison import Comparison, Odds, Quote, Tallies, columns_of, marginals_of, prints_of
from ..missing import missing_of
from ..source import named
from .treebank import Treebank, separated

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["compare_trees"]


def compare_trees(
    model: Model, source: Treebank, punctuation: str, n_jobs: int | None, probabilities: bool
) -> Comparison:
    """Compare heads, and relations if the model has them."""
    labelled = bool(model.labels)
    source = source.with_missing(missing_of(model), labelled)
    trees = model.predict(source, n_jobs=n_jobs)
    made = _Trees(source, *separated(trees, labelled), _scored(source, punctuation))
    if not any(made.scored):
        raise DataError("no word has a head to compare with", place=Place(named(source)))
    odds = None
    if probabilities:
        rows = []
        for i, table in marginals_of(model, source, n_jobs):
            rows += made.odds(i, table, model)
        odds = Odds.of("arc", rows)
    return made.comparison(odds)


def _scored(source: Treebank, punctuation: str) -> list[list[int]]:
    """Return for each sentence the words that count, counted from 0."""
    policy: str | Collection[str] = punctuation
    if punctuation not in POLICIES:
        policy = frozenset(punctuation.split(","))
    found = []
    for sentence, certain in zip(source.sentences, source.certain(), strict=True):
        # A part of speech may be a fine or a coarse one.
        tags = [c if c in policy else f for c, f in zip(sentence.cpos, sentence.pos, strict=True)]
        kept = scored_words(policy, sentence.form, tags)
        found.append([t for t in certain if kept is None or kept[t]])
    return found


class _Trees:
    """The trees of a file, the predicted ones, and the words that count."""

    def __init__(
        self,
        source: Treebank,
        heads: list[list[int]],
        relations: list[list[str]] | None,
        scored: list[list[int]],
    ) -> None:
        self.source, self.heads, self.relations, self.scored = source, heads, relations, scored

    def _head(self, i: int, t: int) -> bool:
        return bool(self.source.heads[i][t] == self.heads[i][t])

    def _relation(self, i: int, t: int) -> bool:
        if self.relations is None or self.source.relations is None:
            return True
        return bool(self.source.relations[i][t] == self.relations[i][t])

    def right(self, i: int, t: int) -> bool:
        """Return whether the head and the relation of a word are right."""
        return self._head(i, t) and self._relation(i, t)

    def odds(self, i: int, table: Any, model: Model) -> list[tuple[int, float, bool]]:
        """Return the probability of the arc of every word that counts."""
        rows = []
        for t in self.scored[i]:
            p = table[t, self.heads[i][t]]
            if self.relations is not None:
                p = p[model.label_index[self.relations[i][t]]]
            rows.append((i, float(p), self.right(i, t)))
        return rows

    def comparison(self, odds: Odds | None) -> Comparison:
        """Count, and return the result."""
        every = [*enumerate(self.scored)]
        measures = {
            "uas": columns_of((sum(self._head(i, t) for t in of), len(of)) for i, of in every),
            "complete_heads": columns_of(
                (all(self._head(i, t) for t in of), 1.0) for i, of in every
            ),
        }
        if self.relations is not None:
            measures |= {
                "las": columns_of((sum(self.right(i, t) for t in of), len(of)) for i, of in every),
                "label_accuracy": columns_of(
                    (sum(self._relation(i, t) for t in of), len(of)) for i, of in every
                ),
                "complete": columns_of((all(self.right(i, t) for t in of), 1.0) for i, of in every),
            }
        tallies, confusions = self._tallies()
        source = self.source
        words = [tuple(sentence.form) for sentence in source.sentences]
        trees = [tuple(map(str, tree)) for tree in source.trees()]
        return Comparison(
            "sentence", "word", "word", np.array([*map(len, words)], dtype=np.int64), measures,
            tallies, confusions, odds, prints_of(words, trees), self._quote,
            source.n_positions - sum(map(len, source.certain())), self.relations is None,
        )  # fmt: skip

    def _tallies(self) -> tuple[Tallies, Counter[tuple[str, str]]]:
        tallies, confusions = Tallies(), Counter[tuple[str, str]]()
        for i, of in enumerate(self.scored):
            sentence = self.source.sentences[i]
            gold = sentence.pos if self.relations is None else (self.source.relations or [])[i]
            found = gold if self.relations is None else self.relations[i]
            correct = Counter(gold[t] for t in of if self.right(i, t))
            predicted, support = Counter(found[t] for t in of), Counter(gold[t] for t in of)
            tallies.add(
                i, {k: Score(correct[k], predicted[k], support[k]) for k in {*predicted, *support}}
            )
            if self.relations is not None:
                confusions.update((gold[t], found[t]) for t in of)
        return tallies, confusions

    def _quote(self, i: int) -> Quote:
        sentence = self.source.sentences[i]
        scored = set(self.scored[i])
        heads = [
            self._plain(h) if t in scored else None for t, h in enumerate(self.source.heads[i])
        ]
        relations = self.source.relations
        wrong = frozenset((t + 1, self.heads[i][t]) for t in scored if not self.right(i, t))
        return Quote(
            "arcs", sentence.form, (heads, None if relations is None else relations[i]),
            (self.heads[i], None if self.relations is None else self.relations[i]), wrong,
            None if set(sentence.pos) <= {"_"} else sentence.pos,
        )  # fmt: skip

    @staticmethod
    def _plain(head: Any) -> int | None:
        return None if head is None or isinstance(head, frozenset) or head == UNKNOWN else head
