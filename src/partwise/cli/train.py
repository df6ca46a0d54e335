"""``partwise train``: train a certified model on a file with labels."""

from __future__ import annotations

import argparse
import logging
import os
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partwise.compiled.compilation import noted_compilation
from partwise.errors import DataError
from partwise.tasks.registry import task_of
from partwise.training.certificate import CLOSER_SIZES, Certificate, ConvergenceWarning

from .options import given_options
from .report import (
    DONE,
    STOPPED_EARLY,
    Outcome,
    UsageError,
    certificate_record,
    check_apart,
    check_target,
    in_words,
    logged_warnings,
    named,
)
from .resemblance import explained

if TYPE_CHECKING:
    from partwise.models.model import Model
    from partwise.tasks.base import Task
    from partwise.tasks.trainer import Trainer
    from partwise.training.loop import Callback

__all__ = ["run", "scored", "trainer_of"]

_log = logging.getLogger(__name__)


def run(arguments: argparse.Namespace) -> Outcome:
    """Train a model, write it, and report its certificate."""
    began = time.perf_counter()
    task = task_of(arguments.task)
    given = given_options(arguments, task, "train")
    _check(arguments)
    with noted_compilation():
        return _run(arguments, task, given, began)


def _run(
    arguments: argparse.Namespace, task: Task[Any], given: dict[str, Any], began: float
) -> Outcome:
    initial = _resumed(arguments)
    with explained(arguments.file, task):
        source = task.read(arguments.file, given)
    dev = None
    if arguments.dev is not None:
        with explained(arguments.dev, task):
            dev = task.read(arguments.dev, given, source)
    trainer, record = _fit(arguments, task, given, source, initial)
    model = trainer.model_

    from partwise.models.file import save_model

    save_model(model, arguments.model)
    _log.info("wrote %s", arguments.model)
    certificate = model.certificate
    if arguments.plot:
        from partwise.plots import convergence_picture

        title = f"{os.path.basename(arguments.model)}: {arguments.loss} loss, l2 = {arguments.l2:g}"
        convergence_picture(trainer.trace_, arguments.plot, title, certificate.tol)
    metrics: dict[str, Any] | None = None
    text = [
        "certified: " + in_words(certificate),
        f"model: {arguments.model} ({len(model.weights):,} weights)",
    ]
    if dev is not None:
        metrics, table = scored(task, model, dev, task.defaults("evaluate"), arguments.jobs)
        text.append(f"on {'<stdin>' if arguments.dev == '-' else arguments.dev}:\n{table}")
    if not certificate.converged:
        _log.warning(_advice(certificate, arguments.model))
    record = {
        **certificate_record(certificate),
        "model": arguments.model,
        "task": task.name,
        "loss": arguments.loss,
        "l2": arguments.l2,
        "l1": arguments.l1,
        **record,
        "n_labels": len(model.labels),
        "n_weights": len(model.weights),
        "total_seconds": time.perf_counter() - began,
        "metrics": metrics,
    }
    return Outcome(record, "\n".join(text), DONE if certificate.converged else STOPPED_EARLY)


def _check(arguments: argparse.Namespace) -> None:
    """Raise an error now for arguments that would fail only after the training."""
    if arguments.model == "-":
        raise UsageError("--model - is not possible: a model needs a file of its own")
    if arguments.file == "-" and arguments.dev == "-":
        raise UsageError("the training file and --dev cannot both be stdin")
    inputs = (arguments.file, arguments.dev)
    check_target(arguments.model, "--model", inputs)
    if arguments.plot == "-":
        raise UsageError("--plot - is not possible: a picture needs a file of its own")
    if arguments.plot:
        from partwise.plots import require_matplotlib

        check_target(arguments.plot, "--plot", (*inputs, arguments.resume))
        check_apart(arguments.plot, "--plot", arguments.model, "--model")
        require_matplotlib()


def _resumed(arguments: argparse.Namespace) -> Model | None:
    if arguments.resume is None:
        return None
    from partwise.models.file import load_model

    initial = load_model(arguments.resume)
    if initial.task != arguments.task:
        raise DataError(
            f"{arguments.resume}: a model of --task {initial.task} cannot be resumed with --task "
            f"{arguments.task}; give the task it was trained for"
        )
    return initial


def trainer_of(
    arguments: argparse.Namespace,
    task: Task[Any],
    given: dict[str, Any],
    callbacks: Sequence[Callback],
    **more: Any,
) -> Trainer:
    """Make the trainer that the arguments of ``train`` and ``path`` describe."""
    from partwise.solvers.registry import SOLVERS

    if arguments.solver not in SOLVERS:
        raise UsageError(f"unknown solver {arguments.solver!r}; use one of {', '.join(SOLVERS)}")
    parameters = {
        "loss": arguments.loss,
        "l1": arguments.l1,
        "solver": arguments.solver,
        "tol": arguments.tol,
        "max_passes": arguments.max_passes,
        "n_jobs": arguments.jobs,
        "random_state": arguments.seed,
        "weights": arguments.weights,
        "callbacks": list(callbacks),
        **more,
    }
    return task.make(parameters, given)


def _fit(
    arguments: argparse.Namespace,
    task: Task[Any],
    given: dict[str, Any],
    source: Any,
    initial: Model | None,
) -> tuple[Trainer, dict[str, Any]]:
    """Train, and return the trainer and the entries of the record about the examples."""
    from partwise.training.progress import ProgressLine

    line = None if arguments.quiet else ProgressLine(l2=arguments.l2)
    trainer = trainer_of(arguments, task, given, () if line is None else (line,), l2=arguments.l2)
    try:
        # _advice reports the same in terms of the command line.
        with warnings.catch_warnings(), explained(arguments.file, task), named(arguments.file):
            warnings.simplefilter("ignore", ConvergenceWarning)
            prepared, _ = trainer._train(source, source.weights, initial)
    except BaseException:
        if line is not None:
            line.abandon()
        raise
    if line is not None:
        line.finish(trainer.certificate_)
    return trainer, {"n_examples": len(prepared.gold), **prepared.record}


def scored(
    task: Task[Any], model: Model, source: Any, given: dict[str, Any], n_jobs: int
) -> tuple[dict[str, Any], str]:
    """Score a model on a file, and log warnings about the file."""
    with logged_warnings(source.path or "-"):
        return task.score(model, source, given, n_jobs)


def _advice(certificate: Certificate, path: str) -> str:
    if not certificate.consistent:
        return f"{certificate.verdict}: {CLOSER_SIZES}"
    return (
        f"stopped before the requested gap: relative gap {certificate.relative_gap:.3g} > tol "
        f"{certificate.tol:.3g} ({certificate.verdict}); go on with --resume {path}, raise "
        "--max-passes, scale the features to similar sizes, or use a larger --l2 or --tol"
    )
