"""Scores with intervals, confusions and calibration, from a comparison."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from ..metrics.bootstrap import bootstrap_ratios
from ..metrics.calibration import Calibration, calibration
from ..tasks.comparison import Comparison, Tallies
from .facts import Confusions, LabelScore, Measure, Ratio

__all__ = ["LEVEL", "RESAMPLES", "calibrated", "confusions", "label_scores", "measures"]

RESAMPLES: Final = 1000
LEVEL: Final = 0.95
#: How many labels the table of confusions has, and how many confusions are listed.
_MOST_LABELS: Final = 12
_MOST_LISTED: Final = 12

_TITLES: Final = {
    "accuracy": "{position}s with the right label",
    "sequence_accuracy": "{example}s with all labels right",
    "graph_accuracy": "{example}s with all labels right",
    "precision": "{unit} precision",
    "recall": "{unit} recall",
    "f1": "{unit} F1",
    "uas": "words with the right head (UAS)",
    "las": "words with the right head and relation (LAS)",
    "label_accuracy": "words with the right relation",
    "complete_heads": "sentences with all heads right",
    "complete": "sentences that are right as a whole",
}


def measures(found: Comparison, headline: str) -> list[Measure]:
    """Return all measures with their intervals, the headline first."""
    names = sorted(found.measures, key=lambda name: name != headline)
    above, below = (
        np.stack([found.measures[name][side] for name in names], axis=1) for side in (0, 1)
    )
    low, high = bootstrap_ratios(above, below, n_resamples=RESAMPLES, level=LEVEL)
    words = {"example": found.example, "position": found.position, "unit": found.unit}
    made = []
    for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True):
        title = _TITLES.get(name, name).format(**words)
        # The only odd plural.
        made.append(
            Measure(name, title.replace("vertexs", "vertices"), Ratio(found.value(name), a, b))
        )
    return made


def label_scores(found: Comparison) -> list[LabelScore]:
    """Return precision, recall and F1 of every label with their intervals, by frequency."""
    scores = found.tallies.scores().by_type
    labels = sorted(scores, key=lambda label: (-scores[label].support, label))
    if not labels:
        return []
    correct, predicted, support = _matrices(found.tallies, labels, len(found.lengths))
    from scipy.sparse import hstack

    above = hstack([correct, correct, 2 * correct])
    below = hstack([predicted, support, predicted + support])
    low, high = bootstrap_ratios(above, below, n_resamples=RESAMPLES, level=LEVEL)
    k = len(labels)
    made = []
    for at, label in enumerate(labels):
        score = scores[label]
        precision, recall, f1 = (
            Ratio(value, float(low[place]), float(high[place]))
            for value, place in zip(
                (score.precision, score.recall, score.f1), (at, k + at, 2 * k + at), strict=True
            )
        )
        made.append(LabelScore(label, precision, recall, f1, score.predicted, score.support))
    return made


def _matrices(tallies: Tallies, labels: list[str], n_examples: int) -> list[Any]:
    """Return three sparse arrays of examples and labels: correct, predicted, support."""
    from scipy.sparse import csr_array

    index = {label: number for number, label in enumerate(labels)}
    rows = np.array(tallies.examples, dtype=np.int64)
    columns = np.array([index[label] for label in tallies.labels], dtype=np.int64)
    counts = np.array(tallies.counts, dtype=np.float64).reshape(-1, 3)
    shape = (n_examples, len(labels))
    return [csr_array((counts[:, side], (rows, columns)), shape=shape) for side in range(3)]


def confusions(found: Comparison) -> Confusions | None:
    """Return the labels that are confused most, as a table and as a list."""
    pairs = found.confusions
    if not pairs:
        return None
    wrong = Counter({pair: n for pair, n in pairs.items() if pair[0] != pair[1]})
    # Labels that are never confused are left out first, then rare ones.
    frequency: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for (right, guess), n in pairs.items():
        frequency[right] += n
        frequency[guess] += 0
    for (right, guess), n in wrong.items():
        errors[right] += n
        errors[guess] += n
    chosen = sorted(frequency, key=lambda label: (-errors[label], -frequency[label], label))
    chosen = chosen[:_MOST_LABELS]
    chosen.sort(key=lambda label: (label == "", -frequency[label], label))
    table = [[pairs[right, guess] for guess in chosen] for right in chosen]
    listed = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:_MOST_LISTED]
    return Confusions(
        chosen, table, len(frequency) - len(chosen), [(a, b, n) for (a, b), n in listed]
    )


def calibrated(found: Comparison) -> Calibration | None:
    """Return the calibration of the probabilities, if there are any."""
    if found.odds is None or not len(found.odds.probability):
        return None
    return calibration(found.odds.probability, found.odds.correct)
