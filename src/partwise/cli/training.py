"""What ``train`` and ``path`` share: the trainer, the weights of the examples, and the scoring."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partwise.tasks.parameters import given_parameters
from partwise.training.settings import Parameters

from .given import logged_warnings
from .outcome import UsageError
from .solver_options import solver_options

if TYPE_CHECKING:
    from partwise.arrays import Floats
    from partwise.models.model import Model
    from partwise.tasks.base import Task
    from partwise.tasks.trainer import Trainer
    from partwise.training.fit import Callback

__all__ = ["check_stdin", "in_parts", "sample_weight", "scored", "trainer_of"]


def in_parts(arguments: argparse.Namespace) -> bool:
    """Return whether the training file is not in the memory of this process as a whole."""
    return getattr(arguments, "out_of_core", None) is not None or (
        arguments.command == "train" and arguments.dask is not None
    )


def check_stdin(arguments: argparse.Namespace) -> None:
    """Raise a UsageError if several files are to be read from stdin."""
    given = {
        "the training file": arguments.file,
        "--dev": arguments.dev,
        "--sample-weight": arguments.sample_weight,
    }
    several = [name for name, path in given.items() if path == "-"]
    if len(several) > 1:
        raise UsageError(f"{several[0]} and {several[1]} cannot both be stdin")


def sample_weight(arguments: argparse.Namespace, source: Any) -> Floats | None:
    """Return the weights of the examples, those in the file times those in a file of their own."""
    streamed = in_parts(arguments)
    held: Floats | None = None if streamed else source.weights
    if arguments.sample_weight is None:
        return held
    from partwise.formats.example_weights import read_example_weights

    if streamed:
        # The weights in the file are added when its parts are read.
        return read_example_weights(arguments.sample_weight, None)
    of = "<stdin>" if arguments.file == "-" else arguments.file
    given = read_example_weights(arguments.sample_weight, len(source), of)
    return given if held is None else given * held


def trainer_of(
    arguments: argparse.Namespace,
    task: Task[Any],
    given: dict[str, Any],
    callbacks: Sequence[Callback],
    **more: Any,
) -> Trainer:
    """Make the trainer that the arguments of ``train`` and ``path`` describe."""
    parameters = {
        **given_parameters(Parameters, vars(arguments)),
        "solver_options": solver_options(arguments),
        "callbacks": list(callbacks),
        **more,
    }
    return task.make(parameters, given)


def scored(
    task: Task[Any], model: Model, source: Any, given: dict[str, Any], n_jobs: int
) -> tuple[dict[str, Any], str]:
    """Score a model on a file, and log warnings about the file."""
    with logged_warnings(source.path or "-"):
        return task.score(model, source, given, n_jobs)
