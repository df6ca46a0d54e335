"""``partwise evaluate``: score a model on a file with labels."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from partwise.compiled.compilation import noted_compilation
from partwise.tasks.registry import task_of

from .files import check_outputs, explained, given_model
from .options import checked_format, given_options
from .outcome import Outcome, logged_warnings
from .report import report_lines, reported, wants_report

if TYPE_CHECKING:
    from partwise.formats.registry import Chosen
    from partwise.models.model import Model
    from partwise.tasks.base import Task

__all__ = ["read_labelled", "run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Evaluate a model on a file with labels."""
    check_outputs(arguments)
    with noted_compilation():
        model, task, given, source, chosen = read_labelled(arguments)
        began = time.perf_counter()
        odds = wants_report(arguments) and model.probabilistic
        with logged_warnings(source.path or "-"):
            found = task.compare(model, source, given, arguments.jobs, probabilities=odds)
            metrics, text = found.scores()
        seconds = time.perf_counter() - began
        report = None
        if wants_report(arguments):
            file = (arguments.file, source, chosen)
            report = reported(arguments, task, model, scored=file, given=given, found=found)
    record = {
        "model": arguments.model,
        "input": "<stdin>" if arguments.file == "-" else arguments.file,
        "task": task.name,
        "n_examples": len(source),
        "n_positions": source.n_positions,
        "n_weights": len(model.weights),
        "seconds": seconds,
        "metrics": metrics,
    }
    if report is not None:
        record["report"] = report
        text = "\n".join([text, *report_lines(report)])
    return Outcome(record, text)


def read_labelled(
    arguments: argparse.Namespace,
) -> tuple[Model, Task[Any], dict[str, Any], Any, Chosen]:
    """Return the model, its task, the options, the file with the labels, and its format."""
    model = given_model(arguments)
    task = task_of(model.task)
    task.check(model)
    given = given_options(arguments, task, "evaluate")
    chosen = checked_format(arguments, task, model)
    with explained(arguments.file, task):
        source = task.read_for(model, arguments.file, labelled=True, format=chosen)
    return model, task, given, source, chosen
