"""Predicted dependency trees beside the right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...formats.conll import UNKNOWN
from ...metrics.attachment import POLICIES, scored_words
from ..comparison import Comparison, Odds, Quote, Tallies, columns_of, marginals_of, note_unknown
from ..labels import missing_of, note_absent, spelled
from ..source import named
from .treebank import Treebank, separated

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["TreeComparison"]


class TreeComparison(Comparison):
    """Heads beside the right ones, and relations if the model has them.

    Parameters are those of `Task.compare`.
    """

    def __init__(
        self,
        model: Model,
        source: Treebank,
        given: Mapping[str, Any],
        n_jobs: int | None,
        probabilities: bool,
    ) -> None:
        labelled = bool(model.labels)
        self.model, self.punctuation = model, given["punctuation"]
        self.source = source = source.with_missing(missing_of(model), labelled)
        self.path = named(source)
        self.heads, self.relations = separated(model.predict(source, n_jobs=n_jobs), labelled)
        certain = source.certain()
        self.unscored = source.n_positions - sum(map(len, certain))
        self.by_tag = not labelled
        #: The words of each sentence that count, from 0.
        self.scored = [*self._scored(certain)]
        if probabilities:
            self.odds = Odds.of("arc", [*self._odds(n_jobs)])

    @property
    def _left_out(self) -> str | frozenset[str]:
        named_policy = self.punctuation in POLICIES
        return self.punctuation if named_policy else frozenset(self.punctuation.split(","))

    def _scored(self, certain: list[list[int]]) -> Iterator[list[int]]:
        policy: str | Collection[str] = self._left_out
        for sentence, known in zip(self.source.sentences, certain, strict=True):
            # A part of speech may be a fine or a coarse one.
            pairs = zip(sentence.cpos, sentence.pos, strict=True)
            tags = [coarse if coarse in policy else fine for coarse, fine in pairs]
            kept = scored_words(policy, sentence.form, tags)
            yield [t for t in known if kept is None or kept[t]]

    def require(self) -> None:
        if not any(self.scored):
            raise DataError("no word has a head to compare with", place=Place(self.path))

    def _head(self, i: int, t: int) -> bool:
        return bool(self.source.heads[i][t] == self.heads[i][t])

    def _relation(self, i: int, t: int) -> bool:
        if self.relations is None or self.source.relations is None:
            return True
        return bool(self.source.relations[i][t] == self.relations[i][t])

    def _both(self, i: int, t: int) -> bool:
        return self._head(i, t) and self._relation(i, t)

    def _odds(self, n_jobs: int | None) -> Iterator[tuple[int, float, bool]]:
        """Yield the probability of the arc of every word that counts."""
        for i, table in marginals_of(self.model, self.source, n_jobs):
            for t in self.scored[i]:
                p = table[t, self.heads[i][t]]
                if self.relations is not None:
                    p = p[self.model.label_index[self.relations[i][t]]]
                yield i, float(p), self._both(i, t)

    @property
    def lengths(self) -> Ints:
        return np.array([len(one.form) for one in self.source.sentences], dtype=np.int64)

    @cached_property
    def measures(self) -> Mapping[str, tuple[Floats, Floats]]:
        every = [*enumerate(self.scored)]
        share = {"uas": self._head, "las": self._both, "label_accuracy": self._relation}
        whole = {"complete_heads": self._head, "complete": self._both}
        names = ["uas", "complete_heads"]
        if self.relations is not None:
            names += ["las", "label_accuracy", "complete"]
        return {
            name: columns_of((sum(share[name](i, t) for t in of), len(of)) for i, of in every)
            if name in share
            else columns_of((all(whole[name](i, t) for t in of), 1.0) for i, of in every)
            for name in names
        }

    def _sides(self, i: int) -> tuple[list[str], list[str]]:
        """Return the right and the predicted relations of the words of a sentence that count.

        For want of relations both are the parts of speech.
        """
        gold = self.source.sentences[i].pos
        if self.relations is None or self.source.relations is None:
            return [gold[t] for t in self.scored[i]], [gold[t] for t in self.scored[i]]
        gold = self.source.relations[i]
        return [gold[t] for t in self.scored[i]], [self.relations[i][t] for t in self.scored[i]]

    @cached_property
    def tallies(self) -> Tallies:
        tallies = Tallies()
        for i, of in enumerate(self.scored):
            gold, found = self._sides(i)
            pairs = zip(gold, of, strict=True)
            correct = Counter(label for label, t in pairs if self._both(i, t))
            predicted, support = Counter(found), Counter(gold)
            for label in {*predicted, *support}:
                tallies.put(i, label, correct[label], predicted[label], support[label])
        return tallies

    @property
    def confusions(self) -> Counter[tuple[str, str]]:
        pairs = Counter[tuple[str, str]]()
        if self.relations is not None:
            for i in range(len(self.scored)):
                pairs.update(zip(*self._sides(i), strict=True))
        return pairs

    @property
    def prints(self) -> Sequence[tuple[int, int]]:
        words = (tuple(sentence.form) for sentence in self.source.sentences)
        trees = (tuple(map(str, tree)) for tree in self.source.trees())
        return [(hash(a), hash(b)) for a, b in zip(words, trees, strict=True)]

    def quote(self, i: int) -> Quote:
        sentence = self.source.sentences[i]
        scored = set(self.scored[i])
        heads = [_plain(h) if t in scored else None for t, h in enumerate(self.source.heads[i])]
        relations = self.source.relations
        wrong = frozenset((t + 1, self.heads[i][t]) for t in scored if not self._both(i, t))
        return Quote(
            "arcs", sentence.form, (heads, None if relations is None else relations[i]),
            (self.heads[i], None if self.relations is None else self.relations[i]), wrong,
            None if set(sentence.pos) <= {"_"} else sentence.pos,
        )  # fmt: skip

    def known(self) -> list[str]:
        return spelled(self.model.labels)

    def note(self) -> None:
        source = self.source
        if self.relations is not None:
            # Relations count even where --punctuation leaves words out.
            pairs = zip(source.relations or (), source.certain(), strict=False)
            gold = ([of[t] for t in words] for of, words in pairs)
            note_unknown(source.path or "", gold, self.known())
        left_out = self._left_out
        if not isinstance(left_out, str):
            tags = {tag for one in source.sentences for tag in (*one.cpos, *one.pos)}
            note_absent("--punctuation", left_out, tags)

    def metrics(self) -> dict[str, Any]:
        found = {name: self.value(name) for name in self.measures}
        counts = {
            "words": sum(map(len, self.scored)),
            "sentences": len(self.scored),
            "punctuation": self.punctuation,
        }
        first = {name: found[name] for name in ("uas", "complete_heads")}
        return {**first, **counts, **found}

    def text(self) -> str:
        scores = self.metrics()
        words, sentences = f"of {scores['words']:,} words", f"of {scores['sentences']:,} sentences"
        lines = [
            ("head right (UAS)", "uas", words),
            ("head and relation right (LAS)", "las", words),
            ("relation right", "label_accuracy", words),
            ("all heads right", "complete_heads", sentences),
            ("all heads and relations right", "complete", sentences),
        ]
        texts = [f"{name:29}  {scores[key]:.4%} {of}" for name, key, of in lines if key in scores]
        return "\n".join([*texts, f"{'punctuation':29}  {self.punctuation}"])


def _plain(head: Any) -> int | None:
    return None if head is None or isinstance(head, frozenset) or head == UNKNOWN else head
