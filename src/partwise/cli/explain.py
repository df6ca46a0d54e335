"""``partwise explain``: which features spoke for the labels of a file, and which against them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from partwise.compiled.compilation import noted_compilation
from partwise.errors import DataError
from partwise.tasks.registry import task_of

from .files import explained, given_model
from .options import checked_format
from .outcome import Outcome, UsageError, logged_warnings

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Explain the predictions for a file."""
    if arguments.first is not None and arguments.only is not None:
        raise UsageError("--first and --only both choose examples; give one of them")
    with noted_compilation():
        model = given_model(arguments)
        task = task_of(model.task)
        task.check(model)
        chosen = checked_format(arguments, task, model)
        with explained(arguments.file, task):
            source: Any = task.read_for(model, arguments.file, labelled=False, format=chosen)
        which = _chosen(arguments, len(source))
        if which is not None:
            source = source.take(which)
        began = time.perf_counter()
        with logged_warnings(arguments.file):
            found = model.explain(source, runners_up=not arguments.no_runners_up)
    record = {
        "model": arguments.model,
        "input": "<stdin>" if arguments.file == "-" else arguments.file,
        "task": task.name,
        "n_examples": len(source),
        "seconds": time.perf_counter() - began,
    }
    if arguments.json:
        return Outcome({**record, "explanations": found.to_dict()})
    # People count from 1, as reports do.
    numbers = range(1, len(source) + 1) if which is None else [i + 1 for i in which]
    wrong = task.differing(model, source, [one.prediction for one in found])
    from partwise.explain.rendering import shown

    blocks = (
        "\n".join([f"example {number}", *map(shown, wrong.get(i, ())), one.to_text(arguments.top)])
        for i, (number, one) in enumerate(zip(numbers, found, strict=True))
    )
    return Outcome(record, "\n\n".join(blocks))


def _chosen(arguments: argparse.Namespace, n: int) -> Sequence[int] | None:
    """Return the examples to explain, counted from 0; None is all of them."""
    if arguments.only is None:
        return None if arguments.first is None else range(min(arguments.first, n))
    beyond = [number for number in arguments.only if number > n]
    if beyond:
        name = "<stdin>" if arguments.file == "-" else arguments.file
        has = "1 example" if n == 1 else f"{n:,} examples"
        raise DataError(
            f"{name}: there is no example {beyond[0]} for --only; the file has {has}, counted from "
            "1"
        )
    return [number - 1 for number in dict.fromkeys(arguments.only)]
