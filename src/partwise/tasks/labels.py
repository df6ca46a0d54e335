"""The labels in files: their order, spelling and scores."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from partwise.metrics.counts import Score, SpanScores

__all__ = [
    "by_type",
    "label_scores",
    "label_table",
    "note_absent",
    "note_unknown",
    "numbers",
    "order_of_labels",
    "spelled",
]

_log = logging.getLogger(__name__)

_MOST_LABELS = 30


def spelled(labels: Sequence[str | int | float | bool]) -> list[str]:
    """Return the labels of a model as they are written in files: 3.0 is `3`."""
    return [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in labels
    ]


def order_of_labels(label: str) -> tuple[bool, float, str]:
    """Return the sort key of a label in a file: numbers come first, by value."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


def note_unknown(path: str, gold: Sequence[Sequence[str]], names: Sequence[str]) -> None:
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


def note_absent(option: str, wanted: Collection[str], found: Collection[str]) -> None:
    """Log a warning about parts of speech that no word has, which may be spelled differently."""
    absent = sorted(set(wanted) - set(found))
    if absent and found:
        some = ", ".join(sorted(found)[:10]) + (", ..." if len(found) > 10 else "")
        _log.warning(
            "%s: no word has the part of speech %s, so nothing is left out for it; the file has %s",
            option, " or ".join(map(repr, absent)), some,
        )  # fmt: skip


def label_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> SpanScores:
    """Score single labels as if they were spans of one token."""
    pairs = Counter(
        pair for g, p in zip(gold, predicted, strict=True) for pair in zip(g, p, strict=True)
    )
    wanted: Counter[str] = Counter()
    got: Counter[str] = Counter()
    for (right, guess), number in pairs.items():
        wanted[right] += number
        got[guess] += number
    by_label = {
        label: Score(pairs[label, label], got[label], wanted[label])
        for label in sorted({*wanted, *got})
    }
    correct = sum(score.correct for score in by_label.values())
    return SpanScores(Score(correct, got.total(), wanted.total()), by_label)


def label_table(scores: SpanScores) -> list[str]:
    """Return the table of single labels, or an empty list if it would be too long to read."""
    if len(scores.by_type) > _MOST_LABELS:
        return []
    return [f"labels, in per cent:\n{scores.table()}"]


def numbers(score: Score) -> dict[str, Any]:
    """Return a score under the names that every record uses."""
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "support": score.support,
    }


def by_type(scores: SpanScores) -> dict[str, Any]:
    """Return the scores of every type under the names that every record uses."""
    return {name: numbers(score) for name, score in scores.by_type.items()}
