"""What ``train`` and ``path`` share: the trainer, the options of its solver, weights and scores."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partwise.errors import DataError, OptionError
from partwise.tasks.parameters import given_parameters
from partwise.training.settings import Parameters

from .cluster import check_cluster
from .files import check_outputs
from .outcome import UsageError, logged_warnings
from .report import reported

if TYPE_CHECKING:
    from partwise.arrays import Floats
    from partwise.models.model import Model
    from partwise.solvers.base import Solver
    from partwise.tasks.base import Task
    from partwise.tasks.trainer import Trainer
    from partwise.training.result import Callback

__all__ = [
    "check_training",
    "checked_name",
    "in_parts",
    "report_on",
    "sample_weight",
    "scored",
    "solver_options",
    "spelled",
    "trainer_of",
    "write_model",
]

_log = logging.getLogger(__name__)


def in_parts(arguments: argparse.Namespace) -> bool:
    """Return whether the training file is not in the memory of this process as a whole."""
    return getattr(arguments, "out_of_core", None) is not None or (
        arguments.command == "train" and arguments.dask is not None
    )


def check_training(arguments: argparse.Namespace) -> None:
    """Raise an error now for arguments that would fail only after the training."""
    given = {
        "the training file": arguments.file,
        "--dev": arguments.dev,
        "--sample-weight": arguments.sample_weight,
    }
    several = [name for name, path in given.items() if path == "-"]
    if len(several) > 1:
        raise UsageError(f"{several[0]} and {several[1]} cannot both be stdin")
    check_cluster(arguments)
    check_outputs(arguments)


def write_model(model: Model, path: str) -> None:
    """Write a model that was trained, and log its path."""
    from partwise.models.file import save_model

    save_model(model, path)
    _log.info("wrote %s", path)


def report_on(
    arguments: argparse.Namespace,
    task: Task[Any],
    given: dict[str, Any],
    model: Model,
    source: Any,
    dev: Any,
    *course: Any,
) -> dict[str, Any]:
    """Write a report on a model that was just trained.

    Parameters
    ----------
    source, dev
        The training file and the held-out file; None if it cannot be read again, or there is none.
    *course
        How it was trained, as the arguments of `Course`.
    """
    from partwise.report.facts import Course

    trained, scored = (
        None if held is None else (path, held, given["format"])
        for path, held in ((arguments.file, source), (arguments.dev, dev))
    )
    return reported(arguments, task, model, scored=scored, trained=trained, course=Course(*course))


def sample_weight(arguments: argparse.Namespace, source: Any) -> Floats | None:
    """Return the weights of the examples: those in the file times those of ``--sample-weight``."""
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


def checked_name(name: str) -> str:
    """Return the name of a solver; raise a UsageError if there is none of this name."""
    from partwise.solvers.registry import check_solver

    try:
        check_solver(name)
    except DataError as error:
        raise UsageError(str(error)) from error
    return name


def solver_options(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the options of the solver that the arguments name; None if there are none.

    Those of ``auto`` are read as options of the solvers that it may begin with for this loss and
    this l1; which one it is depends on the data, and the training checks them once more.
    """
    checked_name(arguments.solver)
    if not arguments.solver_option:
        return None
    from partwise.solvers.automatic import first_choices
    from partwise.solvers.registry import SOLVERS

    names: tuple[str, ...] = (arguments.solver,)
    if arguments.solver == "auto":
        names = first_choices(arguments.loss, arguments.l1)
    solvers = [SOLVERS[name] for name in names]
    found: dict[str, Any] = {}
    for text in arguments.solver_option:
        name, value = _read(text, solvers, arguments)
        if name in found:
            raise UsageError(f"--solver-option {name} is given twice; give it once")
        found[name] = value
    return found


def _read(text: str, solvers: list[type[Solver]], arguments: argparse.Namespace) -> tuple[str, Any]:
    from partwise.solvers.options import default_options, read_option

    given, equals, value = text.partition("=")
    name = given.strip().replace("-", "_")
    if not equals or not name:
        raise UsageError(
            f"--solver-option {text!r} is no NAME=VALUE; {_listed(solvers, arguments)}"
        )
    able = [
        solver
        for solver in solvers
        if name in default_options(solver) or (name == "preset" and solver.presets)
    ]
    # Without one that has the option, the first one says so.
    for solver in able or solvers[:1]:
        try:
            return name, read_option(solver, name, value.strip())
        except OptionError as error:
            reason = error.what
    raise UsageError(f"--solver-option {text}: {reason}; {_listed(solvers, arguments)}")


def _listed(solvers: list[type[Solver]], arguments: argparse.Namespace) -> str:
    """Return which options there are, and their defaults."""
    from partwise.solvers.options import default_options

    parts = []
    for solver in solvers:
        options = default_options(solver).items()
        listed = ", ".join(f"{name}={spelled(value)}" for name, value in options)
        parts.append(f"the options of {solver.name} are {listed}" if listed else "it has none")
    told = "; ".join(parts)
    if arguments.solver != "auto":
        return told
    begins = " or ".join(solver.name for solver in solvers)
    what = f"the {arguments.loss} loss" + (" and l1 > 0" if arguments.l1 else "")
    return f"with {what}, auto begins with {begins}: {told}; --solver NAME chooses another solver"


def spelled(value: Any) -> str:
    """Return a value as the command line takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(spelled, value))
    return (
        value
        if isinstance(value, str)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
