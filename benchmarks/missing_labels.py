"""Train with missing labels: ``python -m benchmarks.missing_labels --out DIR``.

Removes some of the labels of CoNLL-2000 at random, and trains a tagger in several ways: with all
labels that are left; with whole sentences only; with the runs of labelled tokens between missing
labels, whose features are those of the whole sentence; and with O in the place of a missing label.
Reports the F1 of chunks by the rules of conlleval on the test file, the objective, the steps, the
passes and the seconds. Writes missing_labels.md and missing_labels.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .features import chunking_attributes
from .limits import table
from .machine import describe_machine
from .report import tell, write_text

Tokens = list[list[str]]
Labels = list[Any]
#: Sentences of tokens with their labels.
Data = list[tuple[Tokens, Labels]]

WAYS = ("all labels", "partial", "whole sentences", "labelled runs", "missing = O")


@dataclass(frozen=True)
class Row:
    """One way of training, for one share of removed labels."""

    share: float
    way: str
    sentences: int
    labels: int
    f1: float
    objective: float
    gap: float
    steps: int
    passes: float
    seconds: float
    converged: bool


def read(file: str, most: int | None) -> Data:
    """Read sentences with the attributes of their tokens."""
    columns = data.read_columns(data.data_file(file))[:most]
    return [(chunking_attributes(rows), [row[-1] for row in rows]) for rows in columns]


def removed(sentences: Data, share: float, seed: int) -> Data:
    """Replace a share of the labels by None, at random."""
    rng = np.random.default_rng(seed)
    return [
        (tokens, [None if gone else label for gone, label in zip(rng.random(len(y)) < share, y,
                                                                 strict=True)])
        for tokens, y in sentences
    ]  # fmt: skip


def runs(tokens: Tokens, labels: Labels) -> Iterator[tuple[Tokens, Labels]]:
    """Cut a sentence at its missing labels."""
    begin = 0
    for t in range(len(labels) + 1):
        if t == len(labels) or labels[t] is None:
            if t > begin:
                yield tokens[begin:t], labels[begin:t]
            begin = t + 1


def training_data(way: str, whole: Data, left: Data) -> Data:
    """Return what one way of training is given."""
    if way == "all labels":
        return whole
    if way == "whole sentences":
        return [(tokens, y) for tokens, y in left if None not in y]
    if way == "labelled runs":
        return [run for tokens, y in left for run in runs(tokens, y)]
    if way == "missing = O":
        return [(tokens, ["O" if label is None else label for label in y]) for tokens, y in left]
    return left


def measure(way: str, share: float, given: Data, test: Data, options: argparse.Namespace) -> Row:
    """Train once, and score on the test file."""
    from partwise import SequenceTagger
    from partwise.metrics.labels import span_scores
    from partwise.training.certificate import ConvergenceWarning

    tagger = SequenceTagger(
        l2=options.l2, tol=options.tol, max_passes=options.passes, solver=options.solver
    )
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tagger.fit([tokens for tokens, _ in given], [labels for _, labels in given])
    tell(f"{way}, {share:.0%} removed: fitted in {time.perf_counter() - began:.1f} s")
    predicted = tagger.predict([tokens for tokens, _ in test])
    found = tagger.certificate_
    return Row(
        share=share,
        way=way,
        sentences=len(given),
        labels=sum(label is not None for _, y in given for label in y),
        f1=span_scores([y for _, y in test], predicted).overall.f1,
        objective=found.primal if found.steps is None else found.steps.objective,
        gap=found.relative_gap,
        steps=1 if found.steps is None else found.steps.count,
        passes=found.passes,
        seconds=found.seconds,
        converged=found.converged,
    )


def report(rows: list[Row]) -> str:
    """Return a table of all rows."""
    header = ["removed", "trained on", "sentences", "labels", "F1", "objective", "last gap",
              "steps", "passes", "seconds"]  # fmt: skip
    return table(
        header,
        [
            [
                f"{row.share:.0%}", row.way, f"{row.sentences:,}", f"{row.labels:,}",
                f"{100 * row.f1:.2f}", f"{row.objective:.2f}", f"{row.gap:.1e}", f"{row.steps}",
                f"{row.passes:.0f}", f"{row.seconds:.0f}",
            ]
            for row in rows
        ],
    )  # fmt: skip


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.missing_labels", description=__doc__
    )
    add = parser.add_argument
    add("--out", type=Path, default=Path("bench-results"), help="folder to write to")
    add("--share", nargs="+", type=float, default=[0.05, 0.5], help="which shares to remove")
    add("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="which ways of training")
    add("--sentences", type=int, help="how many sentences to train on (default: all)")
    add("--l2", type=float, default=1.0, help="the regulariser")
    add("--tol", type=float, default=1e-3, help="relative gap to certify")
    add("--passes", type=float, default=1000.0, help="the most passes of one fit")
    add("--solver", default="auto", help="which solver")
    add("--seed", type=int, default=0, help="decides which labels are removed")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print, and write the files again after every fit."""
    options = parse(arguments)
    whole = read("conll2000/train.txt.gz", options.sentences)
    test = read("conll2000/test.txt.gz", None)
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    if "all labels" in options.ways:
        rows.append(measure("all labels", 0.0, whole, test, options))
    for share in options.share:
        left = removed(whole, share, options.seed)
        for way in options.ways:
            given = training_data(way, whole, left)
            # With half of the labels removed, hardly a sentence of some length is whole.
            if way == "all labels" or (way == "whole sentences" and len(given) < 0.05 * len(whole)):
                continue
            rows.append(measure(way, share, given, test, options))
            machine = describe_machine({"partwise", "numba", "numpy", "scipy"})
            content = {"machine": machine, "l2": options.l2, "tol": options.tol,
                       "seed": options.seed, "rows": [asdict(row) for row in rows]}  # fmt: skip
            write_text(options.out / "missing_labels.json", json.dumps(content, indent=1) + "\n")
            write_text(options.out / "missing_labels.md", report(rows))
    sys.stdout.write(report(rows))


if __name__ == "__main__":
    main()
