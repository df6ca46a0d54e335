"""Predictions of classifiers, taggers and segmenters beside the right labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats
from ...errors import DataError, Place
from ...formats.tag_schemes import UNTYPED
from ...metrics.labels import looks_like_spans, spans
from ...problem.rows import is_matrix
from ..base import no_labels
from ..comparison import (
    LabelComparison,
    Odds,
    Quote,
    Tallies,
    by_type,
    confused,
    marginals_of,
    numbers,
    spans_measures,
)
from ..labels import missing_of, spelled
from ..source import named
from .examples import is_missing, read_matrix
from .given_labels import spelled_segments
from .partial_labels import is_certain
from .segment_features import scheme_of
from .sources import Sequences, Table

if TYPE_CHECKING:
    from ...models.model import Model
    from .column_file import ColumnFile

__all__ = ["ClassComparison", "compare_segments", "compare_tags"]

#: The label of a token; None if it is not known.
_Known = str | None


class ClassComparison(LabelComparison):
    """One label per example; parameters are those of `Task.compare`."""

    example = position = unit = "example"

    def __init__(
        self, model: Model, source: Table, given: Any, n_jobs: int | None, probabilities: bool
    ) -> None:
        if source.y is None:
            raise no_labels(named(source), len(source), "at the start of each line")
        known = _known(source.labels(source.untouched()), missing_of(model))
        self.which = [i for i, label in enumerate(known) if label is not None]
        if not self.which:
            why = "no example has a label to compare with"
            raise DataError(why, place=Place(named(source)))
        unscored = len(source) - len(self.which)
        self.source = source = source.take(self.which) if unscored else source
        gold = [[known[i]] for i in self.which]
        found = [[label] for label in spelled(model.predict(source, n_jobs=n_jobs))]
        super().__init__(gold, found, named(source), spelled(model.labels))
        self.unscored = unscored
        if probabilities:
            tables = marginals_of(model, source, n_jobs)
            self.odds = self.odds_of("example", ([float(t[0].max())] for _, t in tables))

    def inputs(self) -> Iterable[Hashable]:
        rows = self.source.tokens().rows
        ends = rows.indptr.tolist()
        values = np.ones(len(rows.indices)) if rows.values is None else rows.values
        for a, b in pairwise(ends):
            yield rows.indices[a:b].tobytes(), values[a:b].tobytes()

    def quote(self, i: int) -> Quote:
        wrong: frozenset[tuple[int, ...]] = frozenset(() if self.right[i][0] else {()})
        return Quote("label", [], self.gold[i][0], self.found[i][0], wrong)


def _known(labels: Sequence[Any], missing: Any) -> list[_Known]:
    """Return labels as files spell them; None for those that are missing or a set of labels."""
    certain = [is_certain(one) and not is_missing(one, missing) for one in labels]
    return [spelled([one])[0] if sure else None for one, sure in zip(labels, certain, strict=True)]


def compare_tags(
    model: Model,
    source: ColumnFile | Sequences,
    given: Mapping[str, Any],
    n_jobs: int | None,
    probabilities: bool,
) -> LabelComparison:
    """Compare the labels of tokens, or the spans that they spell."""
    scheme = given["scheme"]
    names = spelled(model.labels)
    found = [spelled(labels) for labels in model.predict(source, n_jobs=n_jobs)]
    gold = [_known(labels, missing_of(model)) for labels in source.sentences()]
    every = {label for labels in gold for label in labels if label is not None}
    if scheme is None and looks_like_spans({*every, *names}):
        scheme = "conlleval"
    made = (_TagComparison if scheme is None else _SpanComparison)(
        gold, found, named(source), names
    )
    made.source, made.scheme = source, scheme or ""
    if probabilities:
        index = {name: number for number, name in enumerate(names)}
        made.odds = made.odds_of(
            "token",
            (
                table[np.arange(len(table)), [index[label] for label in found[i]]].tolist()
                for i, table in marginals_of(model, source, n_jobs)
            ),
        )
    return made


def compare_segments(
    model: Model,
    source: ColumnFile | Sequences,
    given: Mapping[str, Any],
    n_jobs: int | None,
    probabilities: bool,
) -> LabelComparison:
    """Compare the segments that a model finds with those of the data."""
    found = model.predict(source, n_jobs=n_jobs)
    gold = [_known(labels, missing_of(model)) for labels in source.sentences()]
    outside = model.meta.get("outside")
    if scheme_of(model) is None:
        lengths = [*map(len, gold)]
        types = [_labels(*pair, outside) for pair in zip(found, lengths, strict=True)]
        found = [spelled_segments(*pair, outside) for pair in zip(found, lengths, strict=True)]
    else:
        types = [_types(tags, outside) for tags in found]
    known = zip(spelled(model.labels), model.labels, strict=True)
    made = _SegmentComparison(
        gold, found, named(source), [n for n, label in known if label != outside]
    )
    made.source, made.scheme = source, given["scheme"] or "conlleval"
    if probabilities:
        rows = []
        for i, table in marginals_of(model, source, n_jobs):
            of = model.numbers_of(types[i])
            rows.append(table[np.arange(len(of)), of].tolist())
        made.odds = made.odds_of("token", rows)
    return made


class _TagComparison(LabelComparison):
    """One label per token."""

    whole = "sequence"
    position = unit = "token"
    source: ColumnFile | Sequences
    scheme: str

    @cached_property
    def words(self) -> Sequence[list[str]]:
        return self.source.words()

    def inputs(self) -> Iterable[Hashable]:
        source = self.source
        if isinstance(source, Sequences):
            return [_sequence_print(sequence) for sequence in source.checked().X]
        names = source.columns.attributes
        if names is None:
            return [tuple(some) for some in self.words]
        tokens = iter(range(len(names)))
        return [tuple(tuple(names.of(next(tokens))) for _ in some) for some in self.words]


class _SpanComparison(_TagComparison):
    """Labels of tokens that spell spans.

    The spans of sentences that are known in part cannot be compared.
    """

    unit = "span"

    def _whole(self, i: int) -> bool:
        return len(self.at[i]) == len(self.gold[i])

    def _pairs(self, i: int) -> tuple[list[Any], list[Any]]:
        """Return the right and the predicted spans of example i."""
        if not self._whole(i):
            return [], []
        try:
            return spans(self.sides(i)[0], self.scheme), spans(self.found[i], self.scheme)
        except DataError as error:
            why = f"with --scheme {self.scheme}: {error}"
            raise DataError(why, place=Place(self.path)) from None

    @cached_property
    def tallies(self) -> Tallies:
        tallies = Tallies()
        for i in range(len(self.gold)):
            tallies.sets(i, *([(one.label, one[:2]) for one in side] for side in self._pairs(i)))
        return tallies

    @property
    def confusions(self) -> Counter[tuple[str, str]]:
        pairs = Counter[tuple[str, str]]()
        for i in range(len(self.gold)):
            pairs += confused(*([(one.label, one[:2]) for one in side] for side in self._pairs(i)))
        return pairs

    @cached_property
    def measures(self) -> Mapping[str, tuple[Floats, Floats]]:
        return {**super().measures, **spans_measures(self.tallies, len(self.gold))}

    def known(self) -> list[str]:
        # Spans are scored by the types of their tags.
        names = (name[1:].strip("-") or UNTYPED for name in self.labels if name != "O")
        return list(dict.fromkeys(names))

    def metrics(self) -> dict[str, Any]:
        accuracies = {name: self.value(name) for name in self.measures}
        scores = self.by_label
        more = {"scheme": self.scheme, "by_type": by_type(scores)}
        return {**accuracies, **numbers(scores.overall), **more}

    def text(self) -> str:
        table = self.by_label.table()
        return "\n".join([*self.lines(), f"spans, by {self.scheme} rules, in per cent:\n{table}"])

    def quote(self, i: int) -> Quote:
        if not self._whole(i):
            return super().quote(i)
        return Quote("spans", self.words[i], *self._pairs(i), self._wrong(i))

    def _wrong(self, i: int) -> frozenset[tuple[int, ...]]:
        return super().quote(i).wrong


class _SegmentComparison(_SpanComparison):
    """Segments, spelled by tags."""

    def known(self) -> list[str]:
        return list(self.labels)

    def note(self) -> None:
        # Tags are no labels of the model.
        return

    def odds_of(self, unit: str, rows: Iterable[Sequence[float]]) -> Odds:
        """Return odds; the probability of a token is that of the label of its segment."""
        flat: list[tuple[int, float, bool]] = []
        for i, chances in enumerate(rows):
            right, found = (_types(side, None) for side in (self.gold[i], self.found[i]))
            flat += [(i, chances[t], right[t] == found[t]) for t in self.at[i]]
        return Odds.of(unit, flat)

    def _wrong(self, i: int) -> frozenset[tuple[int, ...]]:
        wanted, got = self._pairs(i)
        return frozenset(one[:2] for one in got if one not in wanted)


def _sequence_print(sequence: Any) -> Hashable:
    if not is_matrix(sequence):
        return tuple(map(repr, sequence))
    rows = read_matrix(sequence, "X")
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    return rows.indptr.tobytes(), rows.indices.tobytes(), values.tobytes()


def _labels(segments: Sequence[Any], length: int, outside: Any) -> list[Any]:
    """Return the label of the segment that each token is in, from segments (start, end, label)."""
    labels = [outside] * length
    for start, end, label in segments:
        labels[start:end] = [label] * (end - start)
    return labels


def _types(tags: Sequence[_Known], outside: Any) -> list[Any]:
    """Return the label of the segment that each token is in."""
    # A token whose tag is not known is in no segment.
    return _labels(spans(["O" if tag is None else tag for tag in tags]), len(tags), outside)
