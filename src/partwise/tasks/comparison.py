"""The predictions of a model beside the right labels of a file, example by example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Floats, Ints
from ..metrics.counts import Score, SpanScores
from .source import silenced

if TYPE_CHECKING:
    from ..models.model import Model
    from .source import Source

__all__ = ["NONE", "Comparison", "Odds", "Quote", "Tallies", "confused", "marginals_of"]

#: What stands in a confusion for a span or phrase that the other side does not have.
NONE: Final = ""
#: How many examples are in memory with all their probabilities.
_BATCH: Final = 256


@dataclass(frozen=True)
class Quote:
    """One example as it can be drawn.

    Attributes
    ----------
    shape : str
        What a label is: "label" (one for the example), "tags" (one per word), "spans" (triples of
        label, start and stop), "arcs" (heads, and relations or None) or "tree" (a
        `partwise.formats.Tree`).
    words : list of str
        The words or the names of the vertices; empty if an example is only a row of features.
    right, found
        The right and the predicted label, in the form that `shape` names.
    wrong : frozenset of tuples
        The places of the wrong parts of the prediction, as `partwise.explain` counts them.
    tags : list of str or None
        The parts of speech of the words.
    """

    shape: str
    words: list[str]
    right: Any
    found: Any
    wrong: frozenset[tuple[int, ...]]
    tags: list[str] | None = None


@dataclass(frozen=True, eq=False)
class Odds:
    """How sure a model was of its predictions, and whether they were right.

    Attributes
    ----------
    unit : str
        What has a probability: "token", "word", "phrase" and so on.
    example : ndarray of int
        The example of each prediction.
    probability : ndarray
        The probability of each prediction.
    correct : ndarray of bool
        Whether it is right.
    """

    unit: str
    example: Ints
    probability: Floats
    correct: Any

    @classmethod
    def of(cls, unit: str, rows: Sequence[tuple[int, float, bool]]) -> Odds:
        """Make odds from rows of example, probability and whether the prediction is right."""
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        # Sums of rounded numbers may exceed 1 a little.
        chances = np.clip(table[:, 1], 0.0, 1.0)
        return cls(unit, table[:, 0].astype(np.int64), chances, table[:, 2] > 0.0)


@dataclass
class Tallies:
    """For each example and label, how many are correct, were predicted, and are right.

    Attributes
    ----------
    examples, labels, counts
        One row per example and label that occurs in it.
    """

    examples: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    counts: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, example: int, scores: Mapping[str, Score]) -> None:
        """Add the scores of one example, by label."""
        for label, score in scores.items():
            self.examples.append(example)
            self.labels.append(label)
            self.counts.append((score.correct, score.predicted, score.support))

    def scores(self) -> SpanScores:
        """Return the scores of all examples together."""
        sums: dict[str, list[int]] = {}
        for label, counts in zip(self.labels, self.counts, strict=True):
            row = sums.setdefault(label, [0, 0, 0])
            for column, number in enumerate(counts):
                row[column] += number
        totals = [sum(column) for column in zip(*sums.values(), strict=True)] or [0, 0, 0]
        return SpanScores(Score(*totals), {name: Score(*sums[name]) for name in sorted(sums)})


@dataclass(frozen=True, eq=False)
class Comparison:
    """The predictions of a model beside the right labels of a file.

    Attributes
    ----------
    example, position, unit : str
        What an example is called ("sentence"), what it is made of ("token"), and what the scores by
        label count ("span").
    lengths : ndarray of int
        The number of positions of each example.
    measures : mapping of str to a pair of arrays
        For each measure, by the name that `Task.score` gives it, what is to be added up over the
        examples, and what it is to be divided by.
    tallies : Tallies
        The counts by label.
    confusions : Counter of pairs
        How often a right label was predicted as another one or as itself; `NONE` on one side if
        only the other has something there. Empty if there are no labels to be confused.
    odds : Odds or None
        How sure the model was; None if its loss gives no probabilities.
    prints : sequence of (int, int)
        For each example two numbers that are the same for equal inputs, and for equal labels.
    quote : callable
        Returns example i as it can be drawn.
    unscored : int
        How many labels were left out because the file does not have them.
    by_tag : bool
        Whether the scores by label are scores by part of speech, for want of labels.
    which : sequence of int or None
        The numbers in the file, from 0, of the examples that are compared; None if all are.
    """

    example: str
    position: str
    unit: str
    lengths: Ints
    measures: Mapping[str, tuple[Floats, Floats]]
    tallies: Tallies
    confusions: Counter[tuple[str, str]]
    odds: Odds | None
    prints: Sequence[tuple[int, int]]
    quote: Callable[[int], Quote]
    unscored: int = 0
    by_tag: bool = False
    which: Sequence[int] | None = None

    def number(self, i: int) -> int:
        """Return the number in the file, from 0, of example i."""
        return i if self.which is None else self.which[i]

    def value(self, measure: str) -> float:
        """Return a measure of all examples together."""
        above, below = (float(column.sum()) for column in self.measures[measure])
        return above / below if below else 0.0


def spans_measures(tallies: Tallies, n_examples: int) -> dict[str, tuple[Floats, Floats]]:
    """Return precision, recall and F1 of all labels together, as measures of a comparison."""
    counts = np.zeros((n_examples, 3))
    if tallies.counts:
        np.add.at(counts, np.array(tallies.examples), np.array(tallies.counts, dtype=np.float64))
    correct, predicted, support = counts.T
    return {
        "precision": (correct, predicted),
        "recall": (correct, support),
        "f1": (2 * correct, predicted + support),
    }


def columns_of(rows: Iterable[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Return pairs of numbers, one per example, as two arrays."""
    table = np.array(list(rows), dtype=np.float64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def prints_of(inputs: Iterable[Hashable], labels: Iterable[Hashable]) -> list[tuple[int, int]]:
    """Return the prints of examples from their inputs and their labels."""
    return [(hash(a), hash(b)) for a, b in zip(inputs, labels, strict=True)]


def confused(
    gold: Iterable[tuple[str, Hashable]], found: Iterable[tuple[str, Hashable]]
) -> Counter[tuple[str, str]]:
    """Pair the labels of spans or phrases that are at the same place.

    Parameters
    ----------
    gold, found
        Pairs of a label and a place. At one place there may be several.
    """
    wanted, got = Counter(gold), Counter(found)
    pairs = Counter[tuple[str, str]]()
    both = wanted & got
    for (label, _), n in both.items():
        pairs[label, label] += n
    left: dict[Hashable, tuple[list[str], list[str]]] = {}
    for side, some in enumerate((wanted - both, got - both)):
        for (label, place), n in some.items():
            left.setdefault(place, ([], []))[side].extend([label] * n)
    for mine, theirs in left.values():
        n = max(len(mine), len(theirs))
        mine, theirs = ([*names, *[NONE] * (n - len(names))] for names in (mine, theirs))
        pairs.update(zip(mine, theirs, strict=True))
    return pairs


def marginals_of(model: Model, source: Source, n_jobs: int | None) -> Iterator[tuple[int, Any]]:
    """Yield the number and the table of probabilities of each example, a batch at a time."""
    # What there is to say about the file was said when its labels were predicted.
    with silenced():
        for begin in range(0, len(source), _BATCH):
            which = range(begin, min(begin + _BATCH, len(source)))
            yield from zip(which, model.marginals(source.take(which), n_jobs=n_jobs), strict=True)
