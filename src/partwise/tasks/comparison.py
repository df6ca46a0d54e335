"""The predictions of a model beside the right labels of a file: what every score is made from."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError, Place
from ..metrics.counts import Score, SpanScores
from .source import silenced

if TYPE_CHECKING:
    from ..models.model import Model
    from .source import Source

__all__ = ["NONE", "Comparison", "LabelComparison", "Odds", "Quote", "Tallies"]

_log = logging.getLogger(__name__)

#: What stands in a confusion for a span or phrase that the other side does not have.
NONE: Final = ""
#: A label and its place.
_Placed = tuple[str, Hashable]
#: How many examples are in memory with all their probabilities.
_BATCH: Final = 256
#: The table of single labels is left out if there are more of them.
_MOST_LABELS: Final = 30


@dataclass(frozen=True)
class Quote:
    """One example as it can be drawn.

    Attributes
    ----------
    shape : str
        What a label is: "label" (one for the example), "tags" (one per word), "spans" (see
        `partwise.metrics.Span`), "arcs" (heads, and relations or None) or "tree" (a
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

    def add(self, example: int, gold: Iterable[str], found: Iterable[str]) -> None:
        """Count the labels of one example that are side by side."""
        rows: dict[str, list[int]] = {}
        for right, guess in zip(gold, found, strict=True):
            rows.setdefault(right, [0, 0, 0])[2] += 1
            rows.setdefault(guess, [0, 0, 0])[1] += 1
            rows[right][0] += right == guess
        for label, counts in rows.items():
            self.put(example, label, *counts)

    def sets(self, example: int, gold: Iterable[_Placed], found: Iterable[_Placed]) -> None:
        """Count the labels of one example that stand at places; see `confused`."""
        wanted, got = Counter(gold), Counter(found)
        rows: dict[str, list[int]] = {}
        for column, some in enumerate((wanted & got, got, wanted)):
            for (label, _), n in some.items():
                rows.setdefault(label, [0, 0, 0])[column] += n
        for label, counts in rows.items():
            self.put(example, label, *counts)

    def put(self, example: int, label: str, correct: int, predicted: int, support: int) -> None:
        """Add the counts of one label of one example."""
        self.examples.append(example)
        self.labels.append(label)
        self.counts.append((correct, predicted, support))

    def scores(self) -> SpanScores:
        """Return the scores of all examples together."""
        sums: dict[str, list[int]] = {}
        for label, counts in zip(self.labels, self.counts, strict=True):
            row = sums.setdefault(label, [0, 0, 0])
            for column, number in enumerate(counts):
                row[column] += number
        totals = [sum(column) for column in zip(*sums.values(), strict=True)] or [0, 0, 0]
        return SpanScores(Score(*totals), {name: Score(*sums[name]) for name in sorted(sums)})


class Comparison(ABC):
    """The predictions of a model beside the right labels of a file.

    Only what is asked for is computed: `scores` is what ``partwise evaluate`` prints, and the other
    members are what a report shows.

    Attributes
    ----------
    example, position, unit : str
        What an example is called ("sentence"), what it is made of ("token"), and what the scores by
        label count ("span").
    path : str
        The file, for messages.
    odds : Odds or None
        How sure the model was; None if that was not asked for, or its loss gives no probabilities.
    unscored : int
        How many labels were left out because the file does not have them.
    lacking : str
        What lacks these labels; "" stands for positions.
    by_tag : bool
        Whether the scores by label are scores by part of speech, for want of labels.
    which : sequence of int or None
        The numbers in the file, from 0, of the examples that are compared; None if all are.
    """

    example: str = "sentence"
    position: str = "word"
    unit: str = "word"
    path: str = "the data"
    odds: Odds | None = None
    unscored: int = 0
    lacking: str = ""
    by_tag: bool = False
    which: Sequence[int] | None = None

    @property
    @abstractmethod
    def lengths(self) -> Ints:
        """The number of positions of each example."""

    @cached_property
    @abstractmethod
    def measures(self) -> Mapping[str, tuple[Floats, Floats]]:
        """For each measure what is to be added up over the examples, and what it is divided by."""

    @cached_property
    @abstractmethod
    def tallies(self) -> Tallies:
        """The counts by label."""

    @property
    @abstractmethod
    def confusions(self) -> Counter[tuple[str, str]]:
        """How often a right label was predicted as another one or as itself.

        `NONE` is on one side if only the other has something there. It is empty if there are no
        labels to be confused.
        """

    @property
    @abstractmethod
    def prints(self) -> Sequence[tuple[int, int]]:
        """Two numbers per example that are the same for equal inputs, and for equal labels."""

    @abstractmethod
    def quote(self, i: int) -> Quote:
        """Return example i as it can be drawn."""

    @abstractmethod
    def metrics(self) -> dict[str, Any]:
        """Return all scores by their names."""

    @abstractmethod
    def text(self) -> str:
        """Return the scores as text for people."""

    def known(self) -> list[str]:
        """Return the labels that the model can predict, as the scores by label name them."""
        return []

    def note(self) -> None:
        """Log what is odd about the labels of the file."""
        return

    def require(self) -> None:
        """Raise a DataError if there is nothing to be compared."""
        return

    def scores(self) -> tuple[dict[str, Any], str]:
        """Return all scores by their names, and the same as text; log what is odd about labels."""
        self.note()
        metrics, text = self.metrics(), self.text()
        if self.unscored:
            metrics = {**metrics, "unscored": self.unscored}
            what = plural(self.lacking or self.position)
            text = f"{text}\nnot scored: {self.unscored:,} {what} without a known label"
        return metrics, text

    @cached_property
    def by_label(self) -> SpanScores:
        """The scores by label, of all examples together."""
        return self.tallies.scores()

    def number(self, i: int) -> int:
        """Return the number in the file, from 0, of example i."""
        return i if self.which is None else self.which[i]

    def value(self, measure: str) -> float:
        """Return a measure of all examples together."""
        above, below = (float(column.sum()) for column in self.measures[measure])
        return above / below if below else 0.0


class LabelComparison(Comparison):
    """Labels of positions beside the right ones.

    Parameters
    ----------
    gold : sequence of lists of str or None
        The right labels of each example; None for one that is not known.
    found : sequence of lists of str
        The predicted labels.
    path : str
        The file, for messages.
    labels : sequence of str
        The labels that the model can predict.
    """

    #: What an example is called in the name of the measure of those that are right as a whole; ""
    #: if there is no such measure.
    whole: ClassVar[str] = ""

    def __init__(
        self,
        gold: Sequence[Sequence[str | None]],
        found: Sequence[Sequence[str]],
        path: str = "the data",
        labels: Sequence[str] = (),
    ) -> None:
        self.gold, self.found, self.path, self.labels = gold, found, path, labels
        #: The positions of each example whose right label is known.
        self.at = [[t for t, label in enumerate(of) if label is not None] for of in gold]
        n_known = sum(map(len, self.at))
        if not n_known:
            raise DataError(f"no {self.position} has a label to compare with", place=Place(path))
        self.unscored = sum(map(len, gold)) - n_known
        self.right = [
            [g[t] == f[t] for t in of] for g, f, of in zip(gold, found, self.at, strict=True)
        ]

    @property
    def lengths(self) -> Ints:
        return np.array([*map(len, self.gold)], dtype=np.int64)

    @cached_property
    def measures(self) -> Mapping[str, tuple[Floats, Floats]]:
        rows: dict[str, Iterable[tuple[float, float]]]
        rows = {"accuracy": [(sum(of), len(of)) for of in self.right]}
        if self.whole:
            rows[f"{self.whole}_accuracy"] = [
                (float(all(of)), 1.0) if of else (0.0, 0.0) for of in self.right
            ]
        return {name: columns_of(some) for name, some in rows.items()}

    def sides(self, i: int) -> tuple[list[str], list[str]]:
        """Return the known labels of example i, and the predicted ones of the same positions."""
        gold = [label for label in self.gold[i] if label is not None]
        return gold, [self.found[i][t] for t in self.at[i]]

    @cached_property
    def tallies(self) -> Tallies:
        tallies = Tallies()
        for i in range(len(self.gold)):
            tallies.add(i, *self.sides(i))
        return tallies

    @property
    def confusions(self) -> Counter[tuple[str, str]]:
        pairs = Counter[tuple[str, str]]()
        for i in range(len(self.gold)):
            pairs.update(zip(*self.sides(i), strict=True))
        return pairs

    @property
    def prints(self) -> Sequence[tuple[int, int]]:
        return [(hash(a), hash(tuple(b))) for a, b in zip(self.inputs(), self.gold, strict=True)]

    def inputs(self) -> Iterable[Hashable]:
        """Return something for each example that is the same for equal inputs."""
        return range(len(self.gold))

    def quote(self, i: int) -> Quote:
        wrong = zip(self.at[i], self.right[i], strict=True)
        places = frozenset((t,) for t, same in wrong if not same)
        words = self.words[i]
        return Quote("tags", words, self.gold[i], self.found[i], places)

    @cached_property
    def words(self) -> Sequence[list[str]]:
        """What is shown of each position of each example."""
        return [[f"{self.position} {t}" for t in range(len(of))] for of in self.gold]

    def odds_of(self, unit: str, rows: Iterable[Sequence[float]]) -> Odds:
        """Return odds from the probability of each predicted label."""
        flat: list[tuple[int, float, bool]] = []
        for i, chances in enumerate(rows):
            of = zip(self.at[i], self.right[i], strict=True)
            flat += [(i, chances[t], same) for t, same in of]
        return Odds.of(unit, flat)

    def known(self) -> list[str]:
        return list(self.labels)

    def note(self) -> None:
        if self.labels:
            note_unknown(self.path, (self.sides(i)[0] for i in range(len(self.gold))), self.labels)

    def metrics(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: self.value(name) for name in self.measures}
        return {**found, "by_label": by_type(self.by_label)}

    def text(self) -> str:
        return "\n".join([*self.lines(), *self._table()])

    def lines(self) -> list[str]:
        """Return the lines on the accuracy of labels and of examples."""
        n = f"{sum(map(len, self.at)):,} {plural(self.position)}"
        if not self.whole:
            return [f"accuracy  {self.value('accuracy'):.4%} of {n}"]
        wide = 9 + max(len(self.position), len(self.whole))
        whole = f"{sum(map(bool, self.at)):,} {plural(self.whole)}"
        names = (f"{self.position} accuracy", f"{self.whole} accuracy")
        first, second = self.value("accuracy"), self.value(f"{self.whole}_accuracy")
        return [
            f"{names[0]:{wide}}  {first:.4%} of {n}", f"{names[1]:{wide}}  {second:.4%} of {whole}",
        ]  # fmt: skip

    def _table(self) -> list[str]:
        """Return the table of single labels, or an empty list if it would be too long to read."""
        if len(self.by_label.by_type) > _MOST_LABELS:
            return []
        return [f"labels, in per cent:\n{self.by_label.table()}"]


def plural(what: str) -> str:
    """Return the plural of the name of a position or of an example."""
    return {"vertex": "vertices"}.get(what, f"{what}s")


def by_type(scores: SpanScores) -> dict[str, Any]:
    """Return the scores of every type under the names that every record uses."""
    return {name: numbers(score) for name, score in scores.by_type.items()}


def numbers(score: Score) -> dict[str, Any]:
    """Return a score under the names that every record uses."""
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "support": score.support,
    }


def note_unknown(path: str, gold: Iterable[Sequence[str]], names: Collection[str]) -> None:
    """Log a warning about labels that the model cannot predict."""
    known = set(names)
    unknown = Counter(label for labels in gold for label in labels if label not in known)
    if unknown:
        n = unknown.total()
        some = ", ".join(sorted(unknown)[:5]) + (", ..." if len(unknown) > 5 else "")
        _log.warning(
            "%s: %s that the model does not know (%s); %s",
            path,
            "1 position has a label" if n == 1 else f"{n} positions have labels",
            some,
            "it counts as an error" if n == 1 else "they count as errors",
        )  # fmt: skip


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


def confused(gold: Iterable[_Placed], found: Iterable[_Placed]) -> Counter[tuple[str, str]]:
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
