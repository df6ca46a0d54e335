"""``partwise explain``: which features spoke for the labels of a file, and which against them."""

from __future__ import annotations

import argparse
import time
from typing import Any

from partwise.compiled.compilation import noted_compilation
from partwise.tasks.registry import task_of

from .options import checked_format
from .outcome import Outcome, logged_warnings
from .resemblance import explained

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Explain the predictions for a file."""
    from partwise.models.file import load_model

    with noted_compilation():
        model = load_model(arguments.model)
        task = task_of(model.task)
        task.check(model)
        chosen = checked_format(arguments, task, model)
        with explained(arguments.file, task):
            source: Any = task.read_for(model, arguments.file, labelled=False, format=chosen)
        if arguments.first is not None:
            source = source.take(range(min(arguments.first, len(source))))
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
    blocks = (f"example {i}\n{one.to_text(arguments.top)}" for i, one in enumerate(found))
    return Outcome(record, "\n\n".join(blocks))
