"""``partwise report``, and ``--report``, ``--card`` and ``--no-examples`` of other verbs."""

from __future__ import annotations

import argparse
import logging
import os
import time
from typing import TYPE_CHECKING, Any

from partwise.compiled.compilation import noted_compilation
from partwise.tasks.source import silenced

from .files import check_outputs
from .outcome import Outcome, certificate_record, logged_warnings

if TYPE_CHECKING:
    from partwise.formats.registry import Chosen
    from partwise.models.model import Model
    from partwise.report.facts import Course
    from partwise.tasks.base import Task
    from partwise.tasks.comparison import Comparison

__all__ = [
    "add_report",
    "report_lines",
    "reported",
    "run",
    "wants_report",
]

_log = logging.getLogger(__name__)


def run(arguments: argparse.Namespace) -> Outcome:
    """Score a model on a file, and write what there is to say about it."""
    from .evaluate import read_labelled

    began = time.perf_counter()
    check_outputs(arguments)
    with noted_compilation():
        model, task, given, source, chosen = read_labelled(arguments)
        with logged_warnings(arguments.file):
            found = reported(
                arguments, task, model, scored=(arguments.file, source, chosen), given=given,
                told=False,
            )  # fmt: skip
    record = {
        "model": arguments.model,
        "input": found.pop("scored_on"),
        "task": task.name,
        "n_examples": len(source),
        "n_positions": source.n_positions,
        **found,
        "certificate": certificate_record(model.certificate),
        "seconds": time.perf_counter() - began,
    }
    best = found["measures"][found["headline"]]
    low, high = best["interval"]
    lines = report_lines(found)
    lines.append(f"{found['headline']} {best['value']:.4%}, 95% interval {low:.2%} to {high:.2%}")
    return Outcome(record, "\n".join(lines))


def add_report(parser: argparse.ArgumentParser, scored: str | None = None) -> None:
    """Add the options of reports to a verb.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the verb.
    scored : str or None
        The file that the model is scored on, in words; None for the verb ``report`` itself.
    """
    add = parser.add_argument
    if scored is None:
        add(
            "--output", dest="report", default="report.html", metavar="HTML",
            help="where to write the page (default: report.html)",
        )  # fmt: skip
    else:
        add(
            "--report", metavar="HTML",
            help=f"write a page about the model and its scores on {scored}; it needs no other file",
        )  # fmt: skip
    add("--card", metavar="MD", help="write the same as a model card, in Markdown")
    add(
        "--no-examples", action="store_true",
        help="quote nothing of the data in the report and the card, not even names of features",
    )  # fmt: skip


def wants_report(arguments: argparse.Namespace) -> bool:
    """Return whether a report or a card is to be written."""
    return arguments.report is not None or arguments.card is not None


def reported(
    arguments: argparse.Namespace,
    task: Task[Any],
    model: Model,
    *,
    scored: tuple[str, Any, Chosen | str | None] | None = None,
    trained: tuple[str, Any, Chosen | str | None] | None = None,
    given: dict[str, Any] | None = None,
    course: Course | None = None,
    told: bool = True,
    found: Comparison | None = None,
) -> dict[str, Any]:
    """Write the report and the card that the arguments ask for, and return what to say of them.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments.
    task, model : Task, Model
        The task and the model, which is in the file ``arguments.model``.
    scored, trained : tuple of path, source and format, or None
        The file to score on and the training file.
    given : dict or None
        The options of ``"evaluate"``.
    course : Course or None
        How the training went.
    told : bool
        Whether what there is to say about the files was said before.
    found : Comparison or None
        What `Task.compare` returned for the file to score on with probabilities, if that is known.

    Returns
    -------
    dict
        The files, the most important score and its interval.
    """
    from contextlib import nullcontext

    from partwise.report.gathering import GivenFile, gather
    from partwise.report.write import write_report

    with silenced() if told else nullcontext():
        facts = gather(
            task, model, arguments.model,
            scored=None if scored is None else GivenFile(*scored),
            trained=None if trained is None else GivenFile(*trained),
            given=given, course=course, examples=not arguments.no_examples,
            command=getattr(arguments, "command_line", ""), n_jobs=arguments.jobs,
            found=found,
        )  # fmt: skip
    write_report(facts, arguments.report, arguments.card)
    best = facts.measures[0]
    for path in (arguments.report, arguments.card):
        if path is not None:
            _log.info("wrote %s", path)
    return {
        "report": arguments.report,
        "card": arguments.card,
        "examples": not arguments.no_examples,
        "bytes": sum(os.path.getsize(p) for p in (arguments.report, arguments.card) if p),
        "scored_on": facts.data[-1].path,
        "on_training_data": facts.on_training_data,
        "measures": {
            one.name: {"value": one.score.value, "interval": [one.score.low, one.score.high]}
            for one in facts.measures
        },
        "headline": best.name,
        "calibration_error": None if facts.calibration is None else facts.calibration.error,
    }


def report_lines(report: dict[str, Any]) -> list[str]:
    """Return the lines that say where a report and a card were written."""
    return [f"{name}: {report[name]}" for name in ("report", "card") if report[name] is not None]
