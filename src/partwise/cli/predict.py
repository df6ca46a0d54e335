"""``partwise predict``: label a file."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partwise.formats.columns import Columns, write_columns
from partwise.formats.source import writing

from .examples import Examples, examples_for, read_for, spelled
from .report import Outcome, check_target

if TYPE_CHECKING:
    from partwise.model import Model

__all__ = ["run"]


@dataclass(frozen=True)
class _Candidate:
    """One of the k best labellings of an example; the probability is nan if not asked for."""

    labels: list[str]
    score: float
    probability: float


def run(arguments: argparse.Namespace) -> Outcome:
    """Predict the labels of a file and write them."""
    from partwise.modelfile import load_model

    if arguments.output != "-":
        check_target(arguments.output, "--output", (arguments.model,), devices=True)
    model = load_model(arguments.model)
    examples = examples_for(model, read_for(model, arguments.file))
    began = time.perf_counter()
    # In a JSON record the predictions are on stdout already.
    inline = arguments.json and arguments.output == "-"
    record: dict[str, Any] = {
        "model": arguments.model,
        "input": examples.source.path,
        "output": None if inline else arguments.output,
        "task": model.task,
        "n_examples": len(examples),
        "n_positions": int(examples.lengths.sum()),
    }
    if arguments.k:
        candidates = _candidates(model, examples, arguments)
        if inline:
            record["candidates"] = [[vars(one) for one in some] for some in candidates]
        else:
            _write_candidates(arguments.output, examples, candidates, arguments.marginals)
    else:
        labels = _predicted(model, examples, arguments.jobs)
        marginals = None
        if arguments.marginals:
            marginals = _marginals(model, examples, arguments.jobs)
        if inline:
            record.update(_inline(model, labels, marginals))
        else:
            _write(arguments.output, model, examples, labels, marginals)
    record["seconds"] = time.perf_counter() - began
    return Outcome(record)


def _predicted(model: Model, examples: Examples, n_jobs: int) -> list[NDArray[np.int64]]:
    if not len(examples):
        return []
    return model.predict(examples.rows, examples.lengths, n_jobs=n_jobs)


def _marginals(model: Model, examples: Examples, n_jobs: int) -> list[NDArray[np.float64]]:
    if not len(examples):
        return []
    return model.marginals(examples.rows, examples.lengths, n_jobs=n_jobs)


def _inline(
    model: Model, labels: list[NDArray[np.int64]], marginals: list[NDArray[np.float64]] | None
) -> dict[str, Any]:
    """Put predictions into the record: labels by number, and what the numbers stand for."""
    names = spelled(model.labels)
    tagging = model.task == "tag"
    texts = [[names[label] for label in one.tolist()] for one in labels]
    found: dict[str, Any] = {
        "labels": names,
        "predictions": texts if tagging else [one[0] for one in texts],
    }
    if marginals is not None:
        found["marginals"] = [one.tolist() if tagging else one[0].tolist() for one in marginals]
    return found


def _write(
    path: str,
    model: Model,
    examples: Examples,
    labels: list[NDArray[np.int64]],
    marginals: list[NDArray[np.float64]] | None,
) -> None:
    names = spelled(model.labels)
    flat = [names[label] for one in labels for label in one.tolist()]
    if isinstance(examples.source, Columns):
        extra = [flat]
        if marginals is not None:
            chosen = [p[np.arange(len(y)), y] for p, y in zip(marginals, labels, strict=True)]
            extra.append([f"{p:.6f}" for one in chosen for p in one.tolist()])
        write_columns(path, examples.source, *extra)
        return
    with writing(path) as stream:
        if marginals is None:
            stream.writelines(label + "\n" for label in flat)
            return
        stream.write(" ".join(["labels", *names]) + "\n")
        for label, one in zip(flat, marginals, strict=True):
            stream.write(" ".join([label, *(f"{p:.6g}" for p in one[0].tolist())]) + "\n")


def _candidates(
    model: Model, examples: Examples, arguments: argparse.Namespace
) -> list[list[_Candidate]]:
    """Find the k best labellings of every example, fewer where there are fewer."""
    if not len(examples):
        return []
    names = spelled(model.labels)
    best = model.k_best(examples.rows, examples.lengths, arguments.k, n_jobs=arguments.jobs)
    probability = [[math.nan] * len(scores) for scores, _ in best]
    if arguments.marginals:
        ends = np.cumsum(examples.lengths)
        for rank in range(max(len(scores) for scores, _ in best)):
            # Those examples that have as many candidates, all in one call.
            some = [i for i, (scores, _) in enumerate(best) if rank < len(scores)]
            positions = np.concatenate(
                [np.arange(ends[i] - examples.lengths[i], ends[i]) for i in some]
            )
            logs = model.log_proba(
                examples.rows.take(positions),
                examples.lengths[some],
                [best[i][1][rank] for i in some],
                n_jobs=arguments.jobs,
            )
            for i, log in zip(some, logs.tolist(), strict=True):
                probability[i][rank] = math.exp(log)
    return [
        [
            _Candidate([names[label] for label in y.tolist()], float(score), p)
            for score, y, p in zip(scores.tolist(), ys, ps, strict=True)
        ]
        for (scores, ys), ps in zip(best, probability, strict=True)
    ]


def _write_candidates(
    path: str, examples: Examples, candidates: list[list[_Candidate]], with_probability: bool
) -> None:
    with writing(path) as stream:
        if not isinstance(examples.source, Columns):
            for some in candidates:
                numbers = [one.probability if with_probability else one.score for one in some]
                pairs = zip(some, numbers, strict=True)
                stream.write(" ".join(f"{one.labels[0]}:{n:.6g}" for one, n in pairs) + "\n")
            return
        if not candidates:
            return
        for tokens, some in zip(_token_lines(examples.source), candidates, strict=True):
            for rank, one in enumerate(some, 1):
                stream.write(f"# k={rank} score={one.score:.6f}")
                if with_probability:
                    stream.write(f" probability={one.probability:.6g}")
                stream.write("\n")
                separator = examples.source.separator
                lines = zip(tokens, one.labels, strict=True)
                stream.writelines(f"{token}{separator}{label}\n" for token, label in lines)
                stream.write("\n")


def _token_lines(columns: Columns) -> Iterator[list[str]]:
    """Give the lines of every sentence as they were read."""
    table = [*columns.fields, *([columns.labels] if columns.labels is not None else [])]
    lines = [columns.separator.join(row) for row in zip(*table, strict=True)]
    return iter(columns.split(lines))
