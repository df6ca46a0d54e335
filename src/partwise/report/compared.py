"""What a comparison of predictions with the right labels says: of the data, and of the scores."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import PartwiseError
from ..formats.validation import validate
from ..metrics.bootstrap import bootstrap_ratios
from ..metrics.calibration import Calibration, calibration
from ..tasks.comparison import Comparison, Tallies
from ..wording import counted, plural
from .facts import Confusions, DataFacts, Measure, Ratio, ScoredLabel

if TYPE_CHECKING:
    from ..formats.registry import Chosen
    from ..models.model import Model
    from ..tasks.base import Task
    from .gathering import GivenFile

__all__ = [
    "LEVEL", "RESAMPLES", "calibrated", "confusions", "data_facts", "label_scores", "measures",
]  # fmt: skip

RESAMPLES: Final = 1000
LEVEL: Final = 0.95
#: How many labels the table of confusions has, and how many confusions are listed.
_MOST_LABELS: Final = 12
_MOST_LISTED: Final = 12

_TITLES: Final = {
    "accuracy": "{positions} with the right label",
    "sequence_accuracy": "{examples} with all labels right",
    "graph_accuracy": "{examples} with all labels right",
    "precision": "{unit} precision",
    "recall": "{unit} recall",
    "f1": "{unit} F1",
    "uas": "words with the right head (UAS)",
    "las": "words with the right head and relation (LAS)",
    "label_accuracy": "words with the right relation",
    "complete_heads": "sentences with all heads right",
    "complete": "{examples} that are right as a whole",
}
#: A label that occurs less often has scores that mean little.
_RARE: Final = 5
_MOST_FAULTS: Final = 5
_MOST_NAMES: Final = 8


def data_facts(
    role: str,
    given: GivenFile,
    task: Task[Any],
    model: Model,
    found: Comparison,
) -> DataFacts:
    """Describe a file, or other examples.

    Parameters
    ----------
    role
        What it was used for.
    given : GivenFile
        The file; stdin cannot be read again.
    task, model
        The task and the model.
    found : Comparison
        The labels of the file beside those that the model predicts.
    """
    path = given.path
    support = {name: score.support for name, score in found.tallies.scores().by_type.items()}
    labels = {
        name: support[name]
        for name in sorted(support, key=lambda n: (-support[n], n))
        if support[name]
    }
    lengths = None
    if found.position != found.example:
        few = (found.lengths.min(), np.median(found.lengths), found.lengths.max())
        lengths = (int(few[0]), float(few[1]), int(few[2]))
    oddities: list[str] = []
    quoted: list[str] = []
    if given.file and os.path.isfile(path):
        oddities, quoted = _faults(path, task, model, given.format)
    where = "file" if given.file else "data"
    oddities += _odd_labels(labels, found, where)
    oddities += _repeated(found, where)
    if found.unscored:
        oddities.append(
            f"{counted(found.unscored, found.position)} without a known label, which are not "
            "scored."
        )
    return DataFacts(
        role, "<stdin>" if path == "-" else path, found.example, found.position, len(found.lengths),
        int(found.lengths.sum()), lengths, labels, oddities, quoted, given.file,
    )  # fmt: skip


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")


def _faults(
    path: str, task: Task[Any], model: Model, format: Chosen | str | None
) -> tuple[list[str], list[str]]:
    """Return what `partwise validate` finds: the number of faults, and the first ones."""
    from ..formats.registry import Chosen

    chosen = Chosen.of(format).after(model.meta.get("format"))
    try:
        verdict = validate(path, chosen, default=task.format)
    except PartwiseError:
        # The task has read the file, so the validator takes it for one of another format.
        return [], []
    if not verdict.faults:
        return [], []
    scheme = f" (its tags read as {verdict.scheme})" if verdict.scheme else ""
    n = len(verdict.faults)
    told = f"partwise validate finds {counted(n, 'fault')}{scheme}."
    return [told], [" ".join(str(fault).splitlines()) for fault in verdict.faults[:_MOST_FAULTS]]


def _odd_labels(labels: dict[str, int], found: Comparison, where: str) -> list[str]:
    made = []
    if not found.by_tag:
        known = found.known()
        unknown = [name for name in labels if name not in set(known)]
        if unknown:
            n = sum(labels[name] for name in unknown)
            judged = "it counts as an error" if n == 1 else "they count as errors"
            made.append(
                f"{counted(n, found.unit)} with a label that the model does not know "
                f"({_some(unknown)}); {judged}."
            )
        absent = [name for name in known if name not in labels and found.unit != "phrase"]
        if absent:
            made.append(
                f"{counted(len(absent), 'label')} of the model not in the {where}: {_some(absent)}."
            )
    rare = [name for name, n in labels.items() if n < _RARE]
    if rare:
        what = "part of speech" if found.by_tag else "label"
        made.append(
            f"{counted(len(rare), what)} with fewer "
            f"than {_RARE} occurrences, whose scores mean little: {_some(rare)}."
        )
    return made


def _repeated(found: Comparison, where: str) -> list[str]:
    """Return how many examples occur more than once, and how many of them with other labels."""
    labels: dict[int, Counter[int]] = defaultdict(Counter)
    for given, label in found.prints:
        labels[given][label] += 1
    again = sum(some.total() - 1 for some in labels.values())
    torn = sum(some.total() for some in labels.values() if len(some) > 1)
    made = []
    if again:
        made.append(f"{counted(again, found.example)} equal to an earlier one of the same {where}.")
    if torn:
        made.append(f"{counted(torn, found.example)} equal to another one with other labels.")
    return made


def measures(found: Comparison, headline: str) -> list[Measure]:
    """Return all measures with their intervals, the headline first."""
    names = sorted(found.measures, key=lambda name: name != headline)
    above, below = (
        np.stack([found.measures[name][side] for name in names], axis=1) for side in (0, 1)
    )
    low, high = bootstrap_ratios(above, below, n_resamples=RESAMPLES, level=LEVEL)
    words = {
        "examples": plural(found.example), "positions": plural(found.position), "unit": found.unit,
    }  # fmt: skip
    made = []
    for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True):
        title = _TITLES.get(name, name).format(**words)
        made.append(Measure(name, title, Ratio(found.value(name), a, b)))
    return made


def label_scores(found: Comparison) -> list[ScoredLabel]:
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
        made.append(ScoredLabel(label, precision, recall, f1, score.predicted, score.support))
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
