"""``partwise report``: write a page about a model and its scores on a file."""

from __future__ import annotations

import argparse
import time

from partwise.compiled.compilation import noted_compilation

from .evaluate import read_labelled
from .given import logged_warnings
from .outcome import Outcome, certificate_record
from .report_files import check_report, report_lines, reported

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Score a model on a file, and write what there is to say about it."""
    began = time.perf_counter()
    check_report(arguments, {})
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
