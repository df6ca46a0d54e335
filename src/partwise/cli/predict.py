"""``partwise predict``: label a file."""

from __future__ import annotations

import argparse
import time
from typing import Any

from partwise.compiled.compilation import noted_compilation
from partwise.tasks.registry import task_of

from .files import check_target, given_model
from .filter import answers, can_answer
from .options import checked_format, given_options
from .outcome import Outcome, UsageError, logged_warnings
from .resemblance import explained

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Predict the labels of a file and write them."""
    if arguments.output != "-":
        check_target(arguments, arguments.output, "--output", devices=True)
    with noted_compilation():
        model = given_model(arguments)
        task = task_of(model.task)
        task.check(model)
        given = given_options(arguments, task, "predict")
        _check(arguments, given)
        chosen = checked_format(arguments, task, model)
        if can_answer(arguments, task, chosen):
            return Outcome({"n_examples": answers(arguments, task, model, chosen, given)})
        with explained(arguments.file, task):
            source = task.read_for(model, arguments.file, labelled=False, format=chosen)
        began = time.perf_counter()
        # The JSON record on stdout already holds the predictions.
        inline = arguments.json and arguments.output == "-"
        record: dict[str, Any] = {
            "model": arguments.model,
            "input": "<stdin>" if arguments.file == "-" else arguments.file,
            "output": None if inline else arguments.output,
            "task": task.name,
            "n_examples": len(source),
            "n_positions": source.n_positions,
        }
        with logged_warnings(arguments.file):
            predictions = task.predict(
                model,
                source,
                k=arguments.k,
                marginals=arguments.marginals,
                n_jobs=arguments.jobs,
                **given,
            )
        if inline:
            record.update(predictions.record())
        else:
            predictions.write(arguments.output)
    record["seconds"] = time.perf_counter() - began
    return Outcome(record)


def _check(arguments: argparse.Namespace, given: dict[str, Any]) -> None:
    """Raise a UsageError for options that write different things."""
    for name in ("spans", "pair_marginals"):
        for other in ("marginals", "k"):
            if given.get(name) and getattr(arguments, other):
                raise UsageError(
                    f"--{name.replace('_', '-')} and --{other} write different things; leave one "
                    "of them out"
                )
