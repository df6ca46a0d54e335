"""Predictions of classifiers, taggers and segmenters beside the right labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DataError
from ...metrics.labels import looks_like_spans, span_scores, spans
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

if TYPE_CHECKING:
    from ...models.model import Model
    from .sources import ColumnFile, Table

__all__ = ["compare_classes", "compare_segments", "compare_tags"]


def compare_classes(
    model: Model, source: Table, n_jobs: int | None, probabilities: bool
) -> Comparison:
    """Compare the labels of examples."""
    missing = missing_of(model)
    scored = [i for i, label in enumerate(source.y) if label != missing]
    if not scored:
        raise DataError(f"{source.path}: no example has a label to compare with")
    unscored = len(source) - len(scored)
    source = source.take(scored) if unscored else source
    gold = [str(label) for label in source.y]
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


def compare_tags(
    model: Model, source: ColumnFile, scheme: str | None, n_jobs: int | None, probabilities: bool
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
    known = {*(source.columns.labels or ()), *spelled(model.labels)} - {missing_of(model)}
    if scheme is None and looks_like_spans(known):
        scheme = "conlleval"
    return _compared(source, found, scheme, missing_of(model), rows)


def compare_segments(
    model: Model, source: ColumnFile, scheme: str, n_jobs: int | None, probabilities: bool
) -> Comparison:
    """Compare the segments that a model finds with those that tags spell."""
    found = model.predict(source, n_jobs=n_jobs)
    rows = None
    if probabilities:
        outside = model.meta.get("outside")
        rows = []
        for i, table in marginals_of(model, source, n_jobs):
            numbers = model.numbers_of(_types(found[i], outside))
            rows.append(table[np.arange(len(numbers)), numbers].tolist())
    return _compared(source, found, scheme, missing_of(model), rows, segments=True)


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
            raise DataError(f"{path}: with --scheme {scheme}: {error}") from None
        pairs = ([(kind, (a, b)) for kind, a, b in spans(one, scheme)] for one in (g, f))
        confusions.update(confused(*pairs))
    return tallies, confusions


def _compared(
    source: ColumnFile,
    found: list[list[str]],
    scheme: str | None,
    missing: str | None,
    rows: list[list[float]] | None,
    segments: bool = False,
) -> Comparison:
    gold, words = source.sentences(), source.words()
    known = [[t for t, label in enumerate(labels) if label != missing] for labels in gold]
    n_known = sum(map(len, known))
    if not n_known:
        raise DataError(f"{source.path}: no token has a label to compare with")
    kept_gold = [[g[t] for t in of] for g, of in zip(gold, known, strict=True)]
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
            [g if ok else [] for g, ok in zip(side, whole, strict=True)] for side in (gold, found)
        ]
        tallies, confusions = _of_spans(source.path, some[0], some[1], scheme)
        measures |= spans_measures(tallies, len(gold))
    odds = None
    if rows is not None:
        flat: list[tuple[int, float, bool]] = []
        for i, of in enumerate(known):
            # The probability of a token in a segmenter is that of the label of its segment.
            pair = [_types(side, None) if segments else side for side in (gold[i], found[i])]
            flat += [(i, rows[i][t], pair[0][t] == pair[1][t]) for t in of]
        odds = Odds.of("token", flat)

    def quote(i: int) -> Quote:
        return _quote(words[i], gold[i], found[i], scheme, segments, known[i])

    return Comparison(
        "sentence", "token", "token" if scheme is None else "span",
        source.columns.lengths, measures, tallies, confusions, odds,
        prints_of(map(tuple, words), map(tuple, gold)), quote, source.n_positions - n_known,
    )  # fmt: skip


def _types(tags: list[str], outside: Any) -> list[Any]:
    """Return the label of the segment that each token is in."""
    labels: list[Any] = [outside] * len(tags)
    for kind, start, stop in spans(tags):
        labels[start:stop] = [kind] * (stop - start)
    return labels


def _quote(
    words: list[str],
    gold: list[str],
    found: list[str],
    scheme: str | None,
    segments: bool,
    known: Sequence[int],
) -> Quote:
    if scheme is None or len(known) < len(gold):
        some = set(known)
        right = [label if t in some else None for t, label in enumerate(gold)]
        wrong = frozenset((t,) for t in known if gold[t] != found[t])
        return Quote("tags", words, right, found, wrong)
    wanted, got = spans(gold, scheme), spans(found, scheme)
    places: frozenset[tuple[int, ...]]
    if segments:
        places = frozenset((one.start, one.stop) for one in got if one not in wanted)
    else:
        places = frozenset((t,) for t in known if gold[t] != found[t])
    return Quote("spans", words, wanted, got, places)
