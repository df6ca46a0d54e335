"""Predictions of classifiers, taggers and segmenters beside the right labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DataError, Place
from ...metrics.labels import looks_like_spans, span_scores, spans
from ...problem.rows import is_matrix
from ..base import no_labels
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
from ..labels import label_scores, spelled
from ..missing import missing_of
from ..source import named
from .examples import is_missing, read_matrix
from .given import spelled_segments
from .partial_labels import is_certain
from .segment_features import scheme_of
from .sources import Sequences

if TYPE_CHECKING:
    from ...models.model import Model
    from .column_file import ColumnFile
    from .sources import Table

__all__ = ["compare_classes", "compare_segments", "compare_tags"]

#: The label of a token; None if it is not known for certain.
_Known = str | None


def compare_classes(
    model: Model, source: Table, n_jobs: int | None, probabilities: bool
) -> Comparison:
    """Compare the labels of examples."""
    if source.y is None:
        raise no_labels(named(source), len(source), "at the start of each line")
    known = _known(source.labels(source.untouched()), missing_of(model))
    scored = [i for i, label in enumerate(known) if label is not None]
    if not scored:
        raise DataError("no example has a label to compare with", place=Place(named(source)))
    unscored = len(source) - len(scored)
    source = source.take(scored) if unscored else source
    gold = [label for label in known if label is not None]
    found = spelled(model.predict(source, n_jobs=n_jobs))
    tallies, confusions = _of_labels([[g] for g in gold], [[f] for f in found])
    odds = None
    if probabilities:
        rows = [
            (i, float(table[0].max()), gold[i] == found[i])
            for i, table in marginals_of(model, source, n_jobs)
        ]
        odds = Odds.of("example", rows)
    right = [g == f for g, f in zip(gold, found, strict=True)]

    def quote(i: int) -> Quote:
        wrong = frozenset() if right[i] else frozenset({(0,)})
        return Quote("label", [], gold[i], found[i], wrong)

    return Comparison(
        "example", "example", "example", np.ones(len(gold), dtype=np.int64),
        {"accuracy": columns_of((float(one), 1.0) for one in right)},
        tallies, confusions, odds, prints_of(_row_prints(source), gold), quote, unscored,
        which=scored,
    )  # fmt: skip


def _row_prints(source: Table) -> list[int]:
    rows = source.tokens().rows
    ends = rows.indptr.tolist()
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    return [hash((rows.indices[a:b].tobytes(), values[a:b].tobytes())) for a, b in pairwise(ends)]


def _known(labels: Sequence[Any], missing: Any) -> list[_Known]:
    """Return labels as files spell them; None for those that are missing or a set of labels."""
    certain = [is_certain(one) and not is_missing(one, missing) for one in labels]
    return [spelled([one])[0] if sure else None for one, sure in zip(labels, certain, strict=True)]


def compare_tags(
    model: Model,
    source: ColumnFile | Sequences,
    scheme: str | None,
    n_jobs: int | None,
    probabilities: bool,
) -> Comparison:
    """Compare the labels of tokens, or the spans that they spell."""
    found = [spelled(labels) for labels in model.predict(source, n_jobs=n_jobs)]
    rows = None
    if probabilities:
        index = {name: number for number, name in enumerate(spelled(model.labels))}
        numbers = [[index[label] for label in labels] for labels in found]
        rows = [
            table[np.arange(len(numbers[i])), numbers[i]].tolist()
            for i, table in marginals_of(model, source, n_jobs)
        ]
    gold = [_known(labels, missing_of(model)) for labels in source.sentences()]
    every = {label for labels in gold for label in labels if label is not None}
    if scheme is None and looks_like_spans({*every, *spelled(model.labels)}):
        scheme = "conlleval"
    return _compared(source, gold, found, scheme, rows)


def compare_segments(
    model: Model,
    source: ColumnFile | Sequences,
    scheme: str,
    n_jobs: int | None,
    probabilities: bool,
) -> Comparison:
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
    rows = None
    if probabilities:
        rows = []
        for i, table in marginals_of(model, source, n_jobs):
            numbers = model.numbers_of(types[i])
            rows.append(table[np.arange(len(numbers)), numbers].tolist())
    return _compared(source, gold, found, scheme, rows, segments=True)


def _of_labels(
    gold: Sequence[list[str]], found: Sequence[list[str]]
) -> tuple[Tallies, Counter[tuple[str, str]]]:
    tallies, confusions = Tallies(), Counter[tuple[str, str]]()
    for i, pair in enumerate(zip(gold, found, strict=True)):
        tallies.add(i, label_scores([pair[0]], [pair[1]]).by_type)
        confusions.update(zip(*pair, strict=True))
    return tallies, confusions


def _of_spans(
    path: str, gold: Sequence[list[str]], found: Sequence[list[str]], scheme: str
) -> tuple[Tallies, Counter[tuple[str, str]]]:
    tallies, confusions = Tallies(), Counter[tuple[str, str]]()
    for i, (g, f) in enumerate(zip(gold, found, strict=True)):
        try:
            tallies.add(i, span_scores([g], [f], scheme).by_type)
        except DataError as error:
            raise DataError(f"with --scheme {scheme}: {error}", place=Place(path)) from None
        pairs = ([(kind, (a, b)) for kind, a, b in spans(one, scheme)] for one in (g, f))
        confusions.update(confused(*pairs))
    return tallies, confusions


def _compared(
    source: ColumnFile | Sequences,
    gold: list[list[_Known]],
    found: list[list[str]],
    scheme: str | None,
    rows: list[list[float]] | None,
    segments: bool = False,
) -> Comparison:
    words = source.words()
    known = [[t for t, label in enumerate(labels) if label is not None] for labels in gold]
    n_known = sum(map(len, known))
    if not n_known:
        raise DataError("no token has a label to compare with", place=Place(named(source)))
    kept_gold = [[label for label in labels if label is not None] for labels in gold]
    kept = [[f[t] for t in of] for f, of in zip(found, known, strict=True)]
    right = [
        [g == f for g, f in zip(*pair, strict=True)] for pair in zip(kept_gold, kept, strict=True)
    ]
    measures = {
        "accuracy": columns_of((sum(of), len(of)) for of in right),
        "sequence_accuracy": columns_of(
            (float(all(of)), 1.0) if of else (0.0, 0.0) for of in right
        ),
    }
    if scheme is None:
        tallies, confusions = _of_labels(kept_gold, kept)
    else:
        # Spans of sentences that are known in part cannot be compared.
        whole = [len(of) == len(labels) for of, labels in zip(known, gold, strict=True)]
        some = [
            [g if ok else [] for g, ok in zip(side, whole, strict=True)]
            for side in (kept_gold, found)
        ]
        tallies, confusions = _of_spans(named(source), some[0], some[1], scheme)
        measures |= spans_measures(tallies, len(gold))
    odds = None
    if rows is not None:
        flat: list[tuple[int, float, bool]] = []
        for i, of in enumerate(known):
            # The probability of a token in a segmenter is that of the label of its segment.
            pair: list[Sequence[Any]] = [gold[i], found[i]]
            if segments:
                pair = [_types(side, None) for side in pair]
            flat += [(i, rows[i][t], pair[0][t] == pair[1][t]) for t in of]
        odds = Odds.of("token", flat)

    def quote(i: int) -> Quote:
        return _quote(words[i], gold[i], found[i], scheme, segments, known[i])

    return Comparison(
        "sentence", "token", "token" if scheme is None else "span",
        np.array([*map(len, gold)], dtype=np.int64), measures, tallies, confusions, odds,
        prints_of(_input_prints(source, words), map(tuple, gold)), quote,
        sum(map(len, gold)) - n_known,
    )  # fmt: skip


def _input_prints(source: ColumnFile | Sequences, words: list[list[str]]) -> list[int]:
    """Return a number for each sentence that is the same for equal ones."""
    if isinstance(source, Sequences):
        return [_sequence_print(sequence) for sequence in source.checked().X]
    named_features = source.columns.attributes
    if named_features is None:
        return [hash(tuple(some)) for some in words]
    tokens = iter(range(len(named_features)))
    return [hash(tuple(tuple(named_features.of(next(tokens))) for _ in some)) for some in words]


def _sequence_print(sequence: Any) -> int:
    if not is_matrix(sequence):
        return hash(tuple(map(repr, sequence)))
    rows = read_matrix(sequence, "X")
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    return hash((rows.indptr.tobytes(), rows.indices.tobytes(), values.tobytes()))


def _labels(segments: Sequence[Any], length: int, outside: Any) -> list[Any]:
    """Return the label of the segment that each token is in, from segments (start, end, label)."""
    labels = [outside] * length
    for start, end, label in segments:
        labels[start:end] = [label] * (end - start)
    return labels


def _types(tags: Sequence[_Known], outside: Any) -> list[Any]:
    """Return the label of the segment that each token is in."""
    labels: list[Any] = [outside] * len(tags)
    # A token whose tag is not known is in no segment.
    for kind, start, stop in spans(["O" if tag is None else tag for tag in tags]):
        labels[start:stop] = [kind] * (stop - start)
    return labels


def _quote(
    words: list[str],
    gold: list[_Known],
    found: list[str],
    scheme: str | None,
    segments: bool,
    known: Sequence[int],
) -> Quote:
    whole = [label for label in gold if label is not None]
    if scheme is None or len(whole) < len(gold):
        wrong = frozenset((t,) for t in known if gold[t] != found[t])
        return Quote("tags", words, gold, found, wrong)
    wanted, got = spans(whole, scheme), spans(found, scheme)
    places: frozenset[tuple[int, ...]]
    if segments:
        places = frozenset((one.start, one.stop) for one in got if one not in wanted)
    else:
        places = frozenset((t,) for t in known if gold[t] != found[t])
    return Quote("spans", words, wanted, got, places)
