"""Count the passes of fits that start from a model: ``python -m benchmarks.starts --out DIR``.

A classifier (digits of scikit-learn), a tagger (the first 500 sentences of CoNLL-2000) and a parser
(the first 150 trees of the Spanish treebank), with the log and the hinge loss, are trained from
nothing, and from the weights of another fit: one that was stopped after a third or 90% of its
passes, one that had converged, one of half the data, and those of other values of l2. The constants
of such starts were chosen on these data. The rows whose names begin with "other" are on data that
were not used for that: a9a, Dutch names of CoNLL-2002 and trees of the Penn treebank.

A second table has a tagger on all of CoNLL-2000 that is stopped after 8 passes and goes on from its
weights and from its checkpoint, and a classifier of MNIST with the hinge that starts from its own
result. Prints Markdown tables and writes starts.json.

In the folder ``PARTWISE_DATA`` it reads ``conll2000/train.txt.gz``,
``conllx_es_cast3lb/train.conll.gz``, ``mnist``, ``libsvm/a9a.gz``, ``conll2002/ned.train.gz`` and
``ptb_sample/wsj_00.mrg.gz``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .announced import brackets
from .blocks import build
from .data import data_file, mnist
from .limits import table

if TYPE_CHECKING:
    from partwise.problem.problem import Problem
    from partwise.training.result import Fit

CHUNKS, TREES = "conll2000/train.txt.gz", "conllx_es_cast3lb/train.conll.gz"
NAMES, ADULTS = "conll2002/ned.train.gz", "libsvm/a9a.gz"
STARTS = ("fresh", "a third", "90%", "converged", "half the data", "l2 x 3", "l2 / 3")


class Row(NamedTuple):
    """One line of the first table."""

    task: str
    loss: str
    l2: float
    tol: float


ROWS = (
    Row("classifier", "log", 1.0, 1e-4),
    Row("tagger", "log", 1.0, 1e-4),
    Row("tagger", "log", 0.1, 1e-4),
    Row("parser", "log", 1.0, 1e-4),
    Row("classifier", "hinge", 1.0, 1e-2),
    Row("classifier", "hinge", 1.0, 1e-3),
    Row("tagger", "hinge", 10.0, 1e-2),
    Row("parser", "hinge", 10.0, 3e-2),
    Row("other classifier", "log", 1.0, 1e-4),
    Row("other classifier", "log", 0.1, 1e-4),
    Row("other tagger", "log", 1.0, 1e-4),
    Row("other tagger", "log", 0.1, 1e-4),
    Row("other trees", "log", 1.0, 1e-4),
    Row("other classifier", "hinge", 1.0, 1e-2),
    Row("other tagger", "hinge", 10.0, 1e-2),
)


def beginning(relative: str, n: int | None, folder: Path, between: str = "\n\n") -> Path:
    """Return a file with the first examples of a gzipped file, and what stands between them."""
    path = data_file(relative)
    if n is None:
        return path
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        examples = stream.read().split(between)[:n]
    small = folder / f"{path.parent.name}.txt"
    small.write_text(between.join(examples) + between, encoding="utf-8")
    return small


def svmlight_file(x: Any, y: Any, path: Path) -> Path:
    """Write a data set in the format of svmlight."""
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(x, y, str(path), zero_based=False)
    return path


def small_problem(task: str, loss: str, folder: Path) -> Problem:
    """Return one of the problems of the first table."""
    if task == "tagger":
        return build(beginning(CHUNKS, 500, folder), loss, "tag")
    if task == "parser":
        return build(beginning(TREES, 150, folder), loss, "parse")
    if task == "other tagger":
        return build(beginning(NAMES, 1000, folder), loss, "tag")
    if task == "other classifier":
        return build(beginning(ADULTS, 5000, folder, "\n"), loss, "classify")
    if task == "other trees":
        path = folder / "trees.txt"
        path.write_text(brackets(100), encoding="utf-8")
        return build(path, loss, "brackets")
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return build(svmlight_file(x / 16.0, y, folder / "digits.txt"), loss, "classify")


def starts(problem: Problem, row: Row, seed: int) -> Iterator[tuple[str, Fit]]:
    """Train from nothing, and from each of the other starts."""
    from partwise.problem.subset import subset
    from partwise.training.loop import train

    how: dict[str, Any] = {"seed": seed, "quiet": True}
    l2, tol = row.l2, row.tol
    fresh = train(problem, l2, tol=tol, **how)
    yield "fresh", fresh
    passes = fresh.certificate.passes
    half = subset(problem, np.arange(0, problem.n_examples, 2))
    others: tuple[Callable[[], Fit], ...] = (
        lambda: train(problem, l2, tol=1e-12, max_passes=passes / 3.0, **how),
        lambda: train(problem, l2, tol=1e-12, max_passes=0.9 * passes, **how),
        lambda: fresh,
        lambda: train(half, l2, tol=tol, **how),
        lambda: train(problem, 3.0 * l2, tol=tol, **how),
        lambda: train(problem, l2 / 3.0, tol=tol, **how),
    )
    for name, other in zip(STARTS[1:], others, strict=True):
        weights = other().weights
        yield name, train(problem, l2, tol=tol, initial_weights=weights, **how)


def measured(rows: list[Row], seed: int) -> Iterator[dict[str, Any]]:
    """Return the passes of each row."""
    for row in rows:
        with tempfile.TemporaryDirectory() as folder:
            problem = small_problem(row.task, row.loss, Path(folder))
        passes = {name: fit.certificate.passes for name, fit in starts(problem, row, seed)}
        sys.stderr.write(f"{row}: {passes}\n")
        yield {**row._asdict(), "passes": passes}


def resumed_tagger(seed: int) -> list[list[str]]:
    """Stop a tagger after 8 passes and go on, from its weights and from its checkpoint."""
    from partwise.training.checkpoint import Checkpoint
    from partwise.training.loop import train

    problem = build(beginning(CHUNKS, None, Path()), "log", "tag")
    how: dict[str, Any] = {"tol": 1e-4, "seed": seed, "quiet": True}
    straight = train(problem, 1.0, **how).certificate.passes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit"
        stopped = train(problem, 1.0, **how, max_passes=8.0, checkpoint=Checkpoint(path, every=1e3))
        checkpoint = Checkpoint(path, every=1e3, resume=True)
        whole = train(problem, 1.0, **how, checkpoint=checkpoint).certificate.passes
    before = stopped.certificate.passes
    more = train(problem, 1.0, **how, initial_weights=stopped.weights).certificate.passes
    again = train(
        problem, 1.0, **how, initial_weights=train(problem, 1.0, **how).weights
    ).certificate.passes
    return [
        ["tagger, log", "straight", f"{straight:.1f}"],
        ["", "stopped", f"{before:.1f}"],
        ["", "from its checkpoint", f"{whole - before:.1f} more"],
        ["", "from its weights", f"{more:.1f} more"],
        ["", "converged, from its weights", f"{again:.1f} more"],
    ]


def resumed_classifier(seed: int) -> list[list[str]]:
    """Train a classifier of MNIST with the hinge again, from its own weights."""
    from partwise.training.loop import train

    with tempfile.TemporaryDirectory() as folder:
        path = svmlight_file(*mnist("train"), Path(folder) / "mnist.txt")
        problem = build(path, "hinge", "classify")
    how: dict[str, Any] = {"tol": 1e-2, "seed": seed, "quiet": True}
    first = train(problem, 1.0, **how)
    again = train(problem, 1.0, **how, initial_weights=first.weights)
    return [
        ["classifier, hinge", "straight", f"{first.certificate.passes:.1f}"],
        ["", "converged, from its weights", f"{again.certificate.passes:.1f} more"],
    ]


def report(results: list[dict[str, Any]]) -> str:
    """Return the first table."""
    lines = [
        [
            f"{r['task']}, {r['loss']}, l2 {r['l2']:g}, tol {r['tol']:g}",
            *(f"{r['passes'][name]:.1f}" for name in STARTS),
        ]
        for r in results
    ]
    return table(["passes", *STARTS], lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starts", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="where to write")
    parser.add_argument("--seed", type=int, default=0, help="the seed")
    parser.add_argument("--rows", type=int, nargs="*", help="only these rows, counted from 0")
    parser.add_argument("--small", action="store_true", help="leave the second table out")
    given = parser.parse_args(arguments)
    rows = list(ROWS) if given.rows is None else [ROWS[k] for k in given.rows]
    results = list(measured(rows, given.seed))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "starts.json").write_text(json.dumps(results, indent=1) + "\n")
    sys.stdout.write(report(results))
    if not given.small:
        lines = resumed_tagger(given.seed) + resumed_classifier(given.seed)
        sys.stdout.write("\n" + table(["fit", "start", "passes"], lines))


if __name__ == "__main__":
    main()
