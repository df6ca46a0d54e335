"""``partwise path``: train for a range of l2 and choose the best model."""

from __future__ import annotations

import argparse
import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

from partwise.compiled.compilation import noted_compilation
from partwise.tasks.parameters import given_parameters
from partwise.tasks.registry import task_of
from partwise.training.certificate import ConvergenceWarning, in_words
from partwise.training.path_table import Grid, at_edge, edge_words

from .cluster import walking
from .files import explained
from .options import given_options
from .outcome import DONE, STOPPED_EARLY, Outcome, UsageError, certificate_record, named
from .report import report_lines, wants_report
from .train_and_path import (
    check_training,
    report_on,
    sample_weight,
    scored,
    trainer_of,
    write_model,
)

if TYPE_CHECKING:
    from partwise.models.model import Model
    from partwise.tasks.base import Task
    from partwise.tasks.descent import Descended
    from partwise.training.path_table import PathRow
    from partwise.training.progress import ProgressLine
    from partwise.training.result import Progress

__all__ = ["run"]

_log = logging.getLogger(__name__)

#: What to do if the best l2 lies at an end of the grid.
_REMEDIES: Final = {
    "largest": "use a larger --l2-max, or --extend N for N further values",
    "smallest": "use more --steps, or --extend N for up to N further values",
}


def run(arguments: argparse.Namespace) -> Outcome:
    """Train along the path, print its table, and write the best model."""
    began = time.perf_counter()
    task = task_of(arguments.task)
    given = given_options(arguments, task, "train")
    _check(arguments)
    with noted_compilation(), _told_once(), walking(arguments):
        return _Walk(arguments, task, given).outcome(began)


def _check(arguments: argparse.Namespace) -> None:
    """Raise an error now for arguments that would fail only after the training."""
    if (arguments.dev is None) == (arguments.folds is None):
        raise UsageError("give either --dev FILE or --folds K, to choose l2 by")
    if arguments.folds is None and arguments.rule != "best":
        raise UsageError(f"--rule {arguments.rule} needs --folds: one file has no standard error")
    if arguments.folds == 1:
        raise UsageError("--folds 1 leaves nothing to train on; give 2 or more")
    check_training(arguments)
    if wants_report(arguments) and arguments.model is None:
        raise UsageError("a report is about a model file; give --model BEST too")


class _Walk:
    """One run of the verb."""

    def __init__(
        self, arguments: argparse.Namespace, task: Task[Any], given: dict[str, Any]
    ) -> None:
        self.arguments = arguments
        self.task = task
        self.given = given
        self.grid = Grid(**given_parameters(Grid, vars(arguments)))
        self.table = _Table(arguments)
        self.trainer = trainer_of(arguments, task, given, self.table.callbacks)
        self.weight: Any = None  # of the examples
        self.dev: Any = None  # the file to choose l2 by
        self.score_name = ""
        self.scores: dict[float, tuple[dict[str, Any], str]] = {}  # by l2
        self.whole = True  # whether all values were certified
        self.interrupted = False

    def outcome(self, began: float) -> Outcome:
        """Train along the path, and return the result."""
        arguments, task = self.arguments, self.task
        with explained(arguments.file, task):
            source = task.read(arguments.file, self.given)
        self.weight = sample_weight(arguments, source)
        found, rows = self._held_out(source) if arguments.folds is None else self._folds(source)
        model = self.trainer.model_
        metrics, text = self.scores.get(model.l2, (None, None))
        if arguments.model is not None:
            write_model(model, arguments.model)
        if arguments.plot:
            from partwise.plots import path_picture

            path_picture(rows, arguments.plot, model.l2, self.score_name)
        report = None
        if wants_report(arguments):
            course = ((), rows, self.score_name)
            report = report_on(arguments, task, self.given, model, source, self.dev, *course)
        if self.interrupted:
            _log.warning("interrupted; what was done is kept")
        elif not self.whole:
            _log.warning(
                "the path ended at an l2 that is not certified to tol %g; raise --max-passes, use "
                "a larger --tol, or end it earlier with --steps",
                arguments.tol,
            )
        at = next(row for row in rows if row["l2"] == model.l2)
        edge = at_edge(rows, rows.index(at))
        if edge == "smallest" and not self.whole:
            edge = None  # the path has not reached that end
        if edge is not None:
            _log.warning("%s", edge_words(edge, rows, _REMEDIES[edge]))
        record = {
            **certificate_record(model.certificate),
            "model": arguments.model,
            "task": task.name,
            "loss": arguments.loss,
            "l2": model.l2,
            "l1": arguments.l1,
            **found.prepared.record,
            "n_labels": len(model.labels),
            "n_weights": len(model.weights),
            "path": rows,
            "edge": edge,
            "score": at["score"],
            "score_name": self.score_name,
            "total_passes": self.table.total,
            "total_seconds": time.perf_counter() - began,
            "metrics": metrics,
        }
        # By one standard error, the l2 that is chosen need not have the best score.
        how = "best" if arguments.rule == "best" else "chosen"
        lines = [
            f"{how}: l2 = {model.l2:g}, {self.score_name} {at['score']:.4%}"
            + ("" if edge is None else f"; the {how} l2 is the {edge} that was tried"),
            "certified: " + in_words(model.certificate),
        ]
        if arguments.model is not None:
            lines.append(f"model: {arguments.model} ({len(model.weights):,} weights)")
        if text is not None:
            lines.append(f"on {'<stdin>' if arguments.dev == '-' else arguments.dev}:\n{text}")
        if report is not None:
            record["report"] = report
            lines += report_lines(report)
        return Outcome(record, "\n".join(lines), DONE if self.whole else STOPPED_EARLY)

    def _held_out(self, source: Any) -> tuple[Descended, Sequence[PathRow]]:
        with explained(self.arguments.dev, self.task):
            self.dev = dev = self.task.read(self.arguments.dev, self.given, source)
        from partwise.tasks.descent import descend_grid

        score = self._scorer(self.trainer, dev, None)
        with self._quiet():
            found = descend_grid(self.trainer, self.grid, source, self.weight, score, self._row)
        rows = found.best.rows
        self.interrupted = found.interrupted
        # Ctrl-C during the last fit of the grid leaves nothing undone, unless it goes on.
        cut = found.interrupted and len(rows) != self.grid.steps
        self.whole = not cut and _certified(rows, self.grid.steps, self.arguments.tol)
        return found, rows

    def _folds(self, source: Any) -> tuple[Descended, Sequence[PathRow]]:
        from partwise.tasks.descent import deal_out, descend, grid_tables
        from partwise.training.path_table import choose, pooled

        arguments = self.arguments
        with named(arguments.file):
            parts = deal_out(self.trainer, source, arguments.folds)

        def begin(number: int) -> None:
            self.table.title(f"fold {number + 1} of {arguments.folds}")

        with self._quiet():
            tables = grid_tables(
                self.trainer, self.grid, arguments.rule, source, self.weight, parts, self._scorer,
                self._row, begin,
            )  # fmt: skip
        self.whole = all(_certified(rows, self.grid.steps, arguments.tol) for rows in tables)
        rows = pooled(tables)
        chosen = choose(rows, arguments.rule)
        self.table.summary(rows, self.score_name)
        self.table.title("the whole file")
        values = [row["l2"] for row in rows[: chosen + 1]]
        with self._quiet():
            warm_start = self.grid.warm_start
            found = descend(self.trainer, values, source, self.weight, None, self._row, warm_start)
        self.whole &= _certified(found.best.rows, len(values), arguments.tol)
        self.interrupted = found.interrupted
        self.scores.clear()  # the scores of the last fold do not belong to this model
        return found, rows

    def _scorer(self, trainer: Any, source: Any, weight: Any) -> Callable[[Model], float]:
        """Return a function that scores a model on a file and stores the result."""
        given = self.task.defaults("evaluate")

        def score(model: Model) -> float:
            metrics, text = scored(self.task, model, source, given, self.arguments.jobs)
            self.scores[model.l2] = metrics, text
            self.score_name = next(name for name in self.task.headline if name in metrics)
            return float(metrics[self.score_name])

        return score

    def _row(self, row: PathRow, model: Model) -> None:
        self.table.row(row, None if math.isnan(row["score"]) else self.score_name)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Suppress warnings that repeat the table or the exit code; name the file in errors."""
        arguments = self.arguments
        with warnings.catch_warnings(), explained(arguments.file, self.task):
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                with named(arguments.file):
                    yield
            finally:
                self.table.clear()


def _certified(rows: Sequence[PathRow], steps: int, tol: float) -> bool:
    """Return whether there are as many rows as asked for, or more, and all are certified.

    The path ends after a row that is not; with values beyond the largest there are two paths.
    """
    return len(rows) >= steps and all(row["relative_gap"] <= tol for row in rows)


class _Table:
    """Prints the table row by row, on stdout, or on stderr if stdout is JSON."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.stream: TextIO | None = sys.stderr if arguments.json else sys.stdout
        if arguments.json and arguments.quiet:
            self.stream = None
        self.total = 0.0
        self.headed = False
        self.line: ProgressLine | None = None
        # Without a terminal the table itself shows the progress.
        live = not arguments.quiet and sys.stderr.isatty()
        self.callbacks = (self._progress,) if live else ()

    def _progress(self, progress: Progress) -> None:
        from partwise.training.progress import ProgressLine

        if self.line is None:
            self.line = ProgressLine()
        self.line(progress)

    def clear(self) -> None:
        """Erase the live line."""
        if self.line is not None:
            self.line.clear()
            self.line = None

    def title(self, text: str) -> None:
        """Begin a new table."""
        self._write(text)
        self.headed = False

    def row(self, row: PathRow, score_name: str | None) -> None:
        """Write a row."""
        self.clear()
        self.total += row["passes"]
        self._row(row, score_name, self.total)

    def summary(self, rows: Sequence[Any], score_name: str) -> None:
        """Write the table of all folds."""
        self.title(
            "all folds: sums of passes and seconds, largest gap, mean score +- its standard error"
        )
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
    """Log every message only once: each model of a path would repeat it."""
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
