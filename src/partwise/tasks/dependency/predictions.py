"""Predicted trees as CoNLL files and as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...formats.conll import Sentence, write_conll
from ..predictions import Predictions, heading, ranking_record
from .treebank import filled

if TYPE_CHECKING:
    from ...arrays import Floats
    from ...models.model import Candidate, Model

__all__ = ["ParsedSentences", "RankedTrees"]

#: What is written into MISC before the probabilities of a head, and of a head and its relation.
_ARC, _LABEL = "ArcProb=", "LabelProb="


@dataclass(frozen=True, eq=False)
class ParsedSentences(Predictions):
    """The best tree of every sentence, and perhaps the probabilities of arcs.

    Attributes
    ----------
    model : Model
        The model.
    sentences : list of Sentence
        The file.
    trees : list
        What `Model.predict` returned.
    marginals : list of ndarray or None
        What `Model.marginals` returned.
    """

    model: Model
    sentences: list[Sentence]
    trees: list[Any]
    marginals: list[Floats] | None

    def write(self, path: str) -> None:
        parsed = filled(self.sentences, self.trees, bool(self.model.labels))
        if self.marginals is not None:
            own = _own_columns(self.sentences)
            some = zip(parsed, self.trees, self.marginals, strict=True)
            parsed = [_with_odds(s, self._odds(tree, mu), own) for s, tree, mu in some]
        write_conll(path, parsed)

    def _odds(self, tree: Sequence[Any], mu: Floats) -> list[tuple[float, ...]]:
        """Return for every word the probability of its head and, with relations, of its arc."""
        if not self.model.labels:
            return [(float(mu[word, head]),) for word, head in enumerate(tree)]
        index = self.model.label_index
        return [
            (float(mu[word, head].sum()), float(mu[word, head, index[relation]]))
            for word, (head, relation) in enumerate(tree)
        ]

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": list(self.model.labels), "predictions": self.trees}
        if self.marginals is not None:
            arcs = (mu.sum(axis=2) if self.model.labels else mu for mu in self.marginals)
            found["marginals"] = [mu.tolist() for mu in arcs]
        return found


def _own_columns(sentences: Sequence[Sentence]) -> bool:
    """Whether column 10 is not MISC: it is PDEPREL where column 9, PHEAD, is a number."""
    words = (s.rows[place].split("\t") for s in sentences for place in s.places)
    return any(len(fields) == 3 or fields[8].isdigit() for fields in words)


def _with_odds(sentence: Sentence, odds: Sequence[tuple[float, ...]], own: bool) -> Sentence:
    """Return a sentence with probabilities in MISC, or in columns of their own at the end."""
    rows = list(sentence.rows)
    for place, numbers in zip(sentence.places, odds, strict=True):
        text = rows[place].removesuffix("\n")
        end = rows[place][len(text) :]
        if own:
            rows[place] = "\t".join([text, *(f"{p:.6f}" for p in numbers)]) + end
            continue
        *fields, misc = text.split("\t")
        # Those of an earlier run are replaced.
        kept = [item for item in misc.split("|") if not item.startswith((_ARC, _LABEL))]
        new = [f"{name}{p:.6f}" for name, p in zip((_ARC, _LABEL), numbers, strict=False)]
        rows[place] = "\t".join([*fields, "|".join([*(k for k in kept if k != "_"), *new])]) + end
    return replace(sentence, rows=tuple(rows))


@dataclass(frozen=True, eq=False)
class RankedTrees(Predictions):
    """The k best trees of every sentence, each written as a sentence of its own.

    Attributes
    ----------
    model : Model
        The model.
    sentences : list of Sentence
        The file.
    candidates : list of list of Candidate
        The trees of each sentence, best first.
    probabilities : bool
        Whether to write their probabilities.
    """

    model: Model
    sentences: list[Sentence]
    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        write_conll(path, self._all())

    def _all(self) -> Iterator[Sentence]:
        labelled = bool(self.model.labels)
        for sentence, some in zip(self.sentences, self.candidates, strict=True):
            trees = [one.label for one in some]
            found = zip(some, filled([sentence] * len(some), trees, labelled), strict=True)
            for rank, (one, parsed) in enumerate(found, 1):
                rows = list(parsed.rows)
                # Blank lines at the head of a file would part the comment from its sentence.
                while not rows[0].strip():
                    del rows[0]
                rows.insert(0, heading(rank, one, self.probabilities) + "\n")
                yield replace(parsed, rows=tuple(rows))

    def record(self) -> dict[str, Any]:
        return ranking_record(self.candidates, "tree")
