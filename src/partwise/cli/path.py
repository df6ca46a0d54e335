"""``partwise path``: models for a range of l2, and the best of them."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from partwise.errors import DataError
from partwise.training.certificate import ConvergenceWarning

from ..tasks.options import settle
from ..tasks.registry import all_tasks, task_of
from .compilation import noted_compilation
from .report import (
    DONE,
    STOPPED_EARLY,
    Outcome,
    UsageError,
    certificate_record,
    check_apart,
    check_target,
    in_words,
)
from .resemblance import explained
from .train import evaluation_of, named

if TYPE_CHECKING:
    from partwise.models.model import Model
    from partwise.training.loop import Progress
    from partwise.training.path_table import BestModel, PathRow
    from partwise.training.progress import ProgressLine

    from ..tasks.base import Task, Trained

__all__ = ["run"]

_log = logging.getLogger(__name__)


def run(arguments: argparse.Namespace) -> Outcome:
    """Train along the path, print its table, and write the best model."""
    began = time.perf_counter()
    task = task_of(arguments.task)
    settle(arguments, task, all_tasks(), "train")
    _check(arguments)
    with noted_compilation(), _told_once():
        return _Walk(arguments, task).outcome(began)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what could only fail after the training."""
    if (arguments.dev is None) == (arguments.folds is None):
        raise UsageError("give either --dev FILE or --folds K, to choose l2 by")
    if arguments.folds is None and arguments.rule != "best":
        raise UsageError(f"--rule {arguments.rule} needs --folds: one file has no standard error")
    if arguments.folds == 1:
        raise UsageError("--folds 1 leaves nothing to train on; give 2 or more")
    if arguments.file == "-" and arguments.dev == "-":
        raise UsageError("the training file and --dev cannot both be stdin")
    inputs = (arguments.file, arguments.dev)
    for option, target in (("--model", arguments.model), ("--plot", arguments.plot)):
        if target == "-":
            raise UsageError(f"{option} - is not possible: it needs a file of its own")
        if target is not None:
            check_target(target, option, inputs)
    check_apart(arguments.plot, "--plot", arguments.model, "--model")
    if arguments.plot:
        from partwise.plots import require_matplotlib

        require_matplotlib()


class _Walk:
    """One run of the verb."""

    def __init__(self, arguments: argparse.Namespace, task: Task[Any]) -> None:
        from partwise.solvers.registry import SOLVERS
        from partwise.training.path import l2_values

        if arguments.solver not in SOLVERS:
            raise UsageError(
                f"unknown solver {arguments.solver!r}; use one of {', '.join(SOLVERS)}"
            )
        self.arguments = arguments
        self.task = task
        self.values = l2_values(arguments.l2_max, arguments.factor, arguments.steps)
        self.table = _Table(arguments)
        self.whole = True  # whether all values were certified
        self.interrupted = False

    def outcome(self, began: float) -> Outcome:
        arguments, task = self.arguments, self.task
        with explained(arguments.file, task):
            source = task.read(arguments.file, arguments)
        if arguments.folds is None:
            trained, model, rows, score = self._held_out(source)
        else:
            trained, model, rows, score = self._folds(source)
        metrics, text = score.found.get(model.l2, (None, None))
        if arguments.model is not None:
            from partwise.models.file import save_model

            save_model(model, arguments.model)
            _log.info("wrote %s", arguments.model)
        if arguments.plot:
            from partwise.plots import path_picture

            path_picture(rows, arguments.plot, model.l2, score.name)
        if self.interrupted:
            _log.warning("interrupted; what was done is kept")
        elif not self.whole:
            _log.warning(
                "the path ended at an l2 that is not certified to tol %g; raise --max-passes, use "
                "a larger --tol, or end it earlier with --steps",
                arguments.tol,
            )
        at = next(row for row in rows if row["l2"] == model.l2)
        record = {
            **certificate_record(model.certificate),
            "model": arguments.model,
            "task": task.name,
            "loss": arguments.loss,
            "l2": model.l2,
            "l1": arguments.l1,
            "n_examples": trained.n_examples,
            "n_labels": len(model.labels),
            "n_weights": len(model.weights),
            **trained.record,
            "path": rows,
            "score": at["score"],
            "score_name": score.name,
            "total_passes": self.table.total,
            "total_seconds": time.perf_counter() - began,
            "metrics": metrics,
        }
        lines = [
            f"best: l2 = {model.l2:g}, {score.name} {at['score']:.4%}",
            "certified: " + in_words(model.certificate),
        ]
        if arguments.model is not None:
            lines.append(f"model: {arguments.model} ({len(model.weights):,} weights)")
        if text is not None:
            lines.append(f"on {'<stdin>' if arguments.dev == '-' else arguments.dev}:\n{text}")
        return Outcome(record, "\n".join(lines), DONE if self.whole else STOPPED_EARLY)

    def _held_out(self, source: Any) -> tuple[Trained, Model, Sequence[PathRow], _Score]:
        with explained(self.arguments.dev, self.task):
            dev = self.task.read(self.arguments.dev, self.arguments, source)
        score = _Score(self.arguments, self.task, dev)
        trained, best = self._descend(source, self.values, score)
        assert best.model is not None
        return trained, best.model, best.rows, score

    def _folds(self, source: Any) -> tuple[Trained, Model, Sequence[PathRow], _Score]:
        from partwise.training.path_table import choose, pooled

        tables = []
        for number, (train, test) in enumerate(self._cut(source), 1):
            self.table.title(f"fold {number} of {self.arguments.folds}")
            score = _Score(self.arguments, self.task, self.task.take(source, test))
            _, best = self._descend(self.task.take(source, train), self.values, score)
            if self.interrupted:
                # There is no model of the whole file yet, and so nothing to keep.
                raise KeyboardInterrupt
            tables.append(best.rows)
        rows = pooled(tables)
        chosen = choose(rows, self.arguments.rule)
        self.table.summary(rows, score.name)
        self.table.title("the whole file")
        trained, best = self._descend(source, self.values[: chosen + 1], None)
        assert best.model is not None
        score.found.clear()  # those of the last fold say nothing about this model
        return trained, best.model, rows, score

    def _cut(self, source: Any) -> Iterator[tuple[list[int], list[int]]]:
        """Deal the examples out to the folds: for each, those to train on and those to score."""
        import numpy as np

        n, folds = self.task.sizes(source)[0], self.arguments.folds
        if n < folds:
            raise DataError(f"{self.arguments.file}: {n} examples cannot make {folds} folds")
        fold = np.random.default_rng(self.arguments.seed).permutation(n) % folds
        for k in range(folds):
            yield np.flatnonzero(fold != k).tolist(), np.flatnonzero(fold == k).tolist()

    def _descend(
        self, source: Any, values: Sequence[float], score: _Score | None
    ) -> tuple[Trained, BestModel]:
        """Train for all values."""
        from partwise.training.path import Descent
        from partwise.training.path_table import BestModel

        arguments, task = self.arguments, self.task

        def each(row: PathRow, model: Model) -> None:
            self.table.row(row, None if score is None else score.name)

        best = BestModel(score, each)
        descent = Descent(values, best)
        given = argparse.Namespace(**{**vars(arguments), "l2": values[0], "descent": descent})
        # The table says it all, and so does the exit code.
        with warnings.catch_warnings(), explained(arguments.file, task), named(arguments.file):
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                trained = task.fit(given, source, None, self.table.callbacks)
            finally:
                self.table.clear()
        last = trained.model
        self.whole &= last.certificate.converged and last.l2 == values[-1]
        self.interrupted = descent.interrupted
        return trained, best


class _Score:
    """Scores models on a file, and remembers what it found."""

    def __init__(self, arguments: argparse.Namespace, task: Task[Any], source: Any) -> None:
        self.arguments = evaluation_of(arguments, task)
        self.task = task
        self.source = source
        self.name = ""
        self.found: dict[float, tuple[dict[str, Any], str]] = {}  # by l2

    def __call__(self, model: Model) -> float:
        metrics, text = self.task.score(model, self.source, self.arguments)
        self.found[model.l2] = metrics, text
        self.name = next(name for name in self.task.headline if name in metrics)
        return float(metrics[self.name])


class _Table:
    """The table, a row as soon as it is known: on stdout, or on stderr where stdout is JSON."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.stream: TextIO | None = sys.stderr if arguments.json else sys.stdout
        if arguments.json and arguments.quiet:
            self.stream = None
        self.total = 0.0
        self.headed = False
        self.line: ProgressLine | None = None
        # Elsewhere the table itself shows how it is going.
        live = not arguments.quiet and sys.stderr.isatty()
        self.callbacks = (self._progress,) if live else ()

    def _progress(self, progress: Progress) -> None:
        from partwise.training.progress import ProgressLine

        if self.line is None:
            self.line = ProgressLine()
        self.line(progress)

    def clear(self) -> None:
        """Take the live line away."""
        if self.line is not None:
            self.line.clear()
            self.line = None

    def title(self, text: str) -> None:
        """Begin a table of its own."""
        self._write(text)
        self.headed = False

    def row(self, row: PathRow, score_name: str | None) -> None:
        """Write a row."""
        self.clear()
        self.total += row["passes"]
        self._row(row, score_name, self.total)

    def summary(self, rows: Sequence[Any], score_name: str) -> None:
        """Write the table of all folds."""
        self.title("all folds: sums of passes and seconds, largest gap, mean score")
        total = 0.0
        for row in rows:
            total += row["passes"]
            self._row(row, score_name, total, f"  +- {row['standard_error']:.4%}")

    def _row(self, row: PathRow, score_name: str | None, total: float, more: str = "") -> None:
        if not self.headed:
            self.headed = True
            self._write(
                f"{'l2':>12}  {'passes':>8}  {'total':>8}  {'seconds':>8}  {'relative gap':>12}  "
                f"{score_name or '':>9}".rstrip()
            )
        score = f"{row['score']:9.4%}{more}" if score_name else ""
        self._write(
            f"{row['l2']:12.6g}  {row['passes']:8.2f}  {total:8.2f}  {row['seconds']:8.1f}  "
            f"{row['relative_gap']:12.2e}  {score}".rstrip()
        )

    def _write(self, text: str) -> None:
        if self.stream is not None:
            self.stream.write(text + "\n")
            self.stream.flush()


@contextmanager
def _told_once() -> Iterator[None]:
    """Let every message through once: each model of a path would say the same again."""
    told: set[str] = set()

    def new(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if text in told:
            return False
        told.add(text)
        return True

    handlers = logging.getLogger("partwise").handlers
    for handler in handlers:
        handler.addFilter(new)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(new)
