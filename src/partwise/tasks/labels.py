"""Labels of positions as files have them: their order, numbers, spelling and scores."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from partwise.metrics.labels import Score, SpanScores

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
    """Write a model's labels as files have them: 3.0 is `3`."""
    return [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in labels
    ]


def order_of_labels(label: str) -> tuple[bool, float, str]:
    """Sort labels of files: numbers by value, before everything else."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


def note_unknown(path: str, gold: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    """Warn of labels that no prediction can be equal to."""
    known = set(names)
    unknown = Counter(label for labels in gold for label in labels if label not in known)
    if unknown:
        some = ", ".join(sorted(unknown)[:5]) + (", ..." if len(unknown) > 5 else "")
        _log.warning(
            "%s: %d positions have labels that the model does not know (%s); they count as errors",
            path, unknown.total(), some,
        )  # fmt: skip


def note_absent(option: str, wanted: Collection[str], found: Collection[str]) -> None:
    """Warn of parts of speech that no word of a file has: they may be spelled otherwise there."""
    absent = sorted(set(wanted) - set(found))
    if absent and found:
        some = ", ".join(sorted(found)[:10]) + (", ..." if len(found) > 10 else "")
        _log.warning(
            "%s: no word has the part of speech %s, so nothing is left out for it; the file has %s",
            option, " or ".join(map(repr, absent)), some,
        )  # fmt: skip


def label_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> SpanScores:
    """Count single labels as if they were spans of one token."""
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
    """Give the table of single labels, or nothing if it would be too long to read."""
    if len(scores.by_type) > _MOST_LABELS:
        return []
    return [f"labels, in per cent:\n{scores.table()}"]


def numbers(score: Score) -> dict[str, Any]:
    """Give a score under the names that every record uses."""
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "support": score.support,
    }


def by_type(scores: SpanScores) -> dict[str, Any]:
    """Give the scores of every type under the names that every record uses."""
    return {name: numbers(score) for name, score in scores.by_type.items()}
