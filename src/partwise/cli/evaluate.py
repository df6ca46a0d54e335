"""``partwise evaluate``: how well a model labels a file."""

from __future__ import annotations

import argparse
import time

from ..tasks.options import settle
from ..tasks.registry import all_tasks, task_of
from .compilation import noted_compilation
from .report import Outcome
from .resemblance import explained

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Evaluate a model on a file with labels."""
    from partwise.models.file import load_model

    with noted_compilation():
        model = load_model(arguments.model)
        task = task_of(model.task)
        settle(arguments, task, all_tasks())
        with explained(arguments.file, task):
            source = task.read_for(model, arguments.file, labelled=True)
        began = time.perf_counter()
        metrics, text = task.score(model, source, arguments)
    n_examples, n_positions = task.sizes(source)
    record = {
        "model": arguments.model,
        "input": "<stdin>" if arguments.file == "-" else arguments.file,
        "task": task.name,
        "n_examples": n_examples,
        "n_positions": n_positions,
        "n_weights": len(model.weights),
        "seconds": time.perf_counter() - began,
        "metrics": metrics,
    }
    return Outcome(record, text)
