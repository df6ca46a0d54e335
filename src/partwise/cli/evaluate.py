"""``partwise evaluate``: how well a model labels a file."""

from __future__ import annotations

import argparse
import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from partwise.errors import DataError
from partwise.metrics import (
    Score,
    SpanScores,
    accuracy,
    looks_like_spans,
    sequence_accuracy,
    span_scores,
)

from .examples import Examples, examples_for, read_for, spelled
from .report import Outcome

if TYPE_CHECKING:
    from partwise.model import Model

__all__ = ["run", "score"]

_log = logging.getLogger(__name__)

_MOST_LABELS = 30


def run(arguments: argparse.Namespace) -> Outcome:
    """Evaluate a model on a file with labels."""
    from partwise.modelfile import load_model

    model = load_model(arguments.model)
    source = read_for(model, arguments.file)
    examples = examples_for(model, source)
    if examples.gold is None:
        missing = "no labels" if len(examples) else "no examples"
        raise DataError(
            f"{source.path}: {missing}; evaluate needs a file with the right labels in it "
            f"({'in the last column' if model.task == 'tag' else 'at the start of each line'})"
        )
    began = time.perf_counter()
    metrics, text = score(model, examples, arguments.scheme, arguments.jobs)
    record = {
        "model": arguments.model,
        "input": source.path,
        "task": model.task,
        "n_examples": len(examples),
        "n_positions": int(examples.lengths.sum()),
        "n_weights": len(model.weights),
        "seconds": time.perf_counter() - began,
        "metrics": metrics,
    }
    return Outcome(record, text)


def score(
    model: Model, examples: Examples, scheme: str | None, n_jobs: int
) -> tuple[dict[str, Any], str]:
    """Predict and compare.

    Parameters
    ----------
    model : Model
        What predicts.
    examples : Examples
        With gold labels. Those that the model does not know count as errors.
    scheme : str or None
        How spans are read; None reads them as conlleval does, where labels look like spans.
    n_jobs : int
        Threads.

    Returns
    -------
    metrics, text
        The numbers, and the same for people.
    """
    gold = examples.gold
    assert gold is not None
    names = spelled(model.labels)
    predicted = [
        [names[label] for label in labels.tolist()]
        for labels in model.predict(examples.rows, examples.lengths, n_jobs=n_jobs)
    ]
    _note_unknown(examples.source.path, gold, names)
    metrics: dict[str, Any] = {"accuracy": accuracy(gold, predicted)}
    if model.task == "classify":
        lines = [f"accuracy  {metrics['accuracy']:.4%} of {len(gold):,} examples"]
    else:
        metrics["sequence_accuracy"] = sequence_accuracy(gold, predicted)
        n_tokens = sum(map(len, gold))
        lines = [
            f"token accuracy     {metrics['accuracy']:.4%} of {n_tokens:,} tokens",
            f"sequence accuracy  {metrics['sequence_accuracy']:.4%} of {len(gold):,} sequences",
        ]
    seen = {label for labels in gold for label in labels}
    if model.task == "tag" and (scheme or looks_like_spans(seen.union(names))):
        scheme = scheme or "conlleval"
        spans = _spans(examples.source.path, gold, predicted, scheme)
        metrics.update(_numbers(spans.overall), scheme=scheme, by_type=_by(spans))
        lines.append(f"spans, by {scheme} rules, in per cent:\n{spans.table()}")
    else:
        labels = _label_scores(gold, predicted)
        metrics["by_label"] = _by(labels)
        if len(labels.by_type) <= _MOST_LABELS:
            lines.append(f"labels, in per cent:\n{labels.table()}")
    return metrics, "\n".join(lines)


def _note_unknown(path: str, gold: list[list[str]], names: list[str]) -> None:
    known = set(names)
    unknown = Counter(label for labels in gold for label in labels if label not in known)
    if unknown:
        some = ", ".join(sorted(unknown)[:5]) + (", ..." if len(unknown) > 5 else "")
        _log.warning(
            "%s: %d positions have labels that the model does not know (%s); they count as errors",
            path, unknown.total(), some,
        )  # fmt: skip


def _spans(path: str, gold: list[list[str]], predicted: list[list[str]], scheme: str) -> SpanScores:
    try:
        return span_scores(gold, predicted, scheme)
    except DataError as error:
        raise DataError(f"{path}: with --scheme {scheme}: {error}") from None


def _label_scores(gold: list[list[str]], predicted: list[list[str]]) -> SpanScores:
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


def _numbers(score: Score) -> dict[str, Any]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "support": score.support,
    }


def _by(scores: SpanScores) -> dict[str, Any]:
    return {name: _numbers(score) for name, score in scores.by_type.items()}
