"""``partwise train``: train a certified model on a file with labels."""

from __future__ import annotations

import argparse
import logging
import math
import os
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from partwise.compiled.compilation import noted_compilation
from partwise.errors import DataError
from partwise.memory import byte_count
from partwise.tasks.registry import task_name, task_of
from partwise.tasks.source import silenced
from partwise.training.certificate import CLOSER_SIZES, Certificate, ConvergenceWarning, in_words

from .cluster import cluster_source, cluster_trainer
from .files import explained
from .options import given_options
from .outcome import (
    DONE,
    STOPPED_EARLY,
    Outcome,
    UsageError,
    certificate_record,
    named,
)
from .report import report_lines, wants_report
from .train_and_path import (
    check_training,
    in_parts,
    report_on,
    sample_weight,
    scored,
    trainer_of,
    write_model,
)

if TYPE_CHECKING:
    from partwise.models.model import Model
    from partwise.tasks.base import Task
    from partwise.tasks.trainer import Trainer
    from partwise.training.checkpoint import Checkpoint
    from partwise.training.course import TraceRow
    from partwise.training.early_stopping import Watch

__all__ = ["run"]

_log = logging.getLogger(__name__)


@noted_compilation()
def run(arguments: argparse.Namespace) -> Outcome:
    """Train a model, write it, and report its certificate."""
    began = time.perf_counter()
    task = task_of(arguments.task)
    given = given_options(arguments, task, "train")
    _check(arguments)
    initial, checkpoint = _resumed(arguments)
    with explained(arguments.file, task):
        source = _source(arguments, task, given)
    dev = None
    if arguments.dev is not None:
        with explained(arguments.dev, task):
            # A file that is read in parts is not known yet, so that nothing can be compared.
            whole = None if in_parts(arguments) else source
            # Such a file is read again when there is a model, and notes are made then.
            with silenced() if in_parts(arguments) else nullcontext():
                dev = task.read(arguments.dev, given, whole)
    trainer, record = _fit(arguments, task, given, source, initial, checkpoint, dev)
    write_model(trainer.model_, arguments.model)
    if arguments.plot:
        from partwise.plots import convergence_picture

        title = f"{os.path.basename(arguments.model)}: {arguments.loss} loss, l2 = {arguments.l2:g}"
        convergence_picture(trainer.trace_, arguments.plot, title, trainer.certificate_.tol)
    return _outcome(arguments, task, given, trainer, record, source, dev, began)


def _outcome(
    arguments: argparse.Namespace,
    task: Task[Any],
    given: dict[str, Any],
    trainer: Trainer,
    record: dict[str, Any],
    source: Any,
    dev: Any,
    began: float,
) -> Outcome:
    """Score the model on the held-out file, write the report, and return the result.

    Parameters
    ----------
    arguments, task, given
        The arguments, their task, and the values of its options.
    trainer, record
        What `_fit` returned.
    source, dev
        The training file, and the held-out file or None.
    began : float
        When the command began.
    """
    model = trainer.model_
    certificate, start = model.certificate, trainer.started_from_
    text = [
        "certified: " + in_words(certificate),
        f"model: {arguments.model} ({len(model.weights):,} weights)",
    ]
    saved = record.get("checkpoint")
    if saved is not None:
        text.append(f"checkpoint: {saved['path']} ({saved['bytes'] / 2**20:.1f} MiB on disk)")
    if start is not None:
        text.append(f"{arguments.resume}: {start.in_words(certificate)}")
    metrics: dict[str, Any] | None = None
    if dev is not None:
        dev = _held_out(arguments, task, given, model, dev)
        metrics, table = scored(task, model, dev, task.defaults("evaluate"), arguments.jobs)
        text.append(f"on {'<stdin>' if arguments.dev == '-' else arguments.dev}:\n{table}")
    report = None
    if wants_report(arguments):
        again = source if arguments.out_of_core is None else None
        report = report_on(arguments, task, given, model, again, dev, trainer.trace_)
        text += report_lines(report)
    if not certificate.converged:
        reached = arguments.model if saved is None else saved["path"]
        _log.warning(_advice(certificate, reached, record["kept_passes"]))
    record = {
        **certificate_record(certificate),
        "model": arguments.model,
        "task": task.name,
        "loss": arguments.loss,
        "l2": arguments.l2,
        "l1": arguments.l1,
        **record,
        "start": None if start is None else start.to_json(certificate),
        "n_labels": len(model.labels),
        "n_weights": len(model.weights),
        "total_seconds": time.perf_counter() - began,
        "metrics": metrics,
    }
    if report is not None:
        record["report"] = report
    if "left_out" in model.meta:
        record["left_out"] = model.meta["left_out"]
    return Outcome(record, "\n".join(text), DONE if certificate.converged else STOPPED_EARLY)


def _source(arguments: argparse.Namespace, task: Task[Any], given: dict[str, Any]) -> Any:
    """Return the training file, or what reads it a part at a time."""
    if arguments.dask is not None:
        return cluster_source(arguments, given)
    if arguments.out_of_core is None:
        return task.read(arguments.file, given)
    from partwise.tasks.stream import FileStream

    if given.get("missing") is not None:
        raise UsageError(
            "--missing needs all examples in memory; leave --out-of-core out, or the examples "
            "whose labels are missing"
        )
    limit = arguments.memory_limit
    memory = None if limit is None else byte_count(limit)
    return FileStream(task, arguments.file, given, memory=memory)


def _held_out(
    arguments: argparse.Namespace, task: Task[Any], given: dict[str, Any], model: Model, dev: Any
) -> Any:
    """Return the held-out file, read again for the model if it was read before there was one."""
    if not in_parts(arguments):
        return dev
    with explained(arguments.dev, task):
        return task.read_for(model, arguments.dev, True, given["format"])


def _check(arguments: argparse.Namespace) -> None:
    """Raise an error now for arguments that would fail only after the training."""
    if arguments.patience is not None and arguments.dev is None:
        raise UsageError("--patience needs --dev FILE, to be scored while training")
    if in_parts(arguments) and arguments.dev == "-":
        raise UsageError(
            "--dev - is not possible with --out-of-core or --dask: the file is read twice"
        )
    if arguments.out_of_core in ("", "-"):
        raise UsageError("--out-of-core needs the name of a folder")
    if arguments.checkpoint == "-" or arguments.resume == "-":
        raise UsageError("a checkpoint or a model to go on from needs a file of its own, not -")
    if arguments.as_start and arguments.resume is None:
        raise UsageError("--as-start needs --resume FILE, to start from")
    if arguments.every is not None and arguments.checkpoint is None and arguments.resume is None:
        raise UsageError("--every needs --checkpoint FILE, to be written")
    check_training(arguments)
    if wants_report(arguments) and arguments.out_of_core is not None and arguments.dev is None:
        raise UsageError(
            "a report with --out-of-core needs --dev FILE, to score the model on: the training "
            "file need not fit into memory"
        )
    if arguments.out_of_core is not None and arguments.resume is None:
        from partwise.files.work_folder import WorkFolder

        # What is wrong with the folder is said before the training file is read.
        folder = WorkFolder(arguments.out_of_core)
        folder.remove()
        folder.close()


def _resumed(arguments: argparse.Namespace) -> tuple[Model | None, Checkpoint | None]:
    """Return the model to start from, and the checkpoint to save and to go on from."""
    from partwise.training.checkpoint import Checkpoint, is_checkpoint, load_checkpoint

    every = 10.0 if arguments.every is None else arguments.every
    target, resume = arguments.checkpoint, arguments.resume
    if resume is not None and is_checkpoint(resume):
        _check_task(arguments, (load_checkpoint(resume).model or ({},))[0].get("task"))
        return None, Checkpoint(target or resume, every, resume, arguments.as_start)
    if arguments.as_start and resume is not None:
        raise UsageError(f"--as-start is for checkpoints, and {resume} is none; leave it out")
    saving = None if target is None else Checkpoint(target, every)
    if resume is None:
        return None, saving
    if arguments.every is not None and target is None:
        raise UsageError(f"--every needs --checkpoint FILE: {resume} is no checkpoint")
    from partwise.models.file import load_model

    initial = load_model(resume)
    _check_task(arguments, initial.task)
    return initial, saving


def _check_task(arguments: argparse.Namespace, task: str | None) -> None:
    """Raise a DataError if a model or a checkpoint is of another task."""
    if task is None:
        return
    trained_for = task_name(task)
    if trained_for != arguments.task:
        raise DataError(
            f"{arguments.resume}: a model of --task {trained_for} cannot be resumed with --task "
            f"{arguments.task}; give the task it was trained for"
        )


def _fit(
    arguments: argparse.Namespace,
    task: Task[Any],
    given: dict[str, Any],
    source: Any,
    initial: Model | None,
    checkpoint: Checkpoint | None,
    dev: Any,
) -> tuple[Trainer, dict[str, Any]]:
    """Train, and return the trainer and the entries of the record about examples and course."""
    from partwise.training.progress import ProgressLine

    weight = sample_weight(arguments, source)
    line = None
    if not arguments.quiet:
        line = ProgressLine(l2=arguments.l2, scored=dev is not None)
    watched = None if dev is None else _watched(arguments, task, given, dev)
    more: dict[str, Any] = {"checkpoint": checkpoint}
    if arguments.out_of_core is not None:
        more["out_of_core"] = arguments.out_of_core
    trainer = trainer_of(arguments, task, given, () if line is None else (line,), **more)
    if arguments.dask is not None:
        trainer = cluster_trainer(arguments, trainer)
    try:
        # _advice reports the same in terms of the command line.
        with warnings.catch_warnings(), explained(arguments.file, task), named(arguments.file):
            warnings.simplefilter("ignore", ConvergenceWarning)
            prepared, fit = trainer._train(source, weight, initial, watched)
    except BaseException:
        if line is not None:
            line.abandon()
        raise
    if line is not None:
        line.finish(trainer.certificate_)
    record = {
        **prepared.record,
        "kept_passes": fit.kept_passes,
        "trace": [_row_record(row) for row in fit.trace],
    }
    if checkpoint is not None:
        path = os.fspath(checkpoint.path)
        size = os.path.getsize(path) if os.path.exists(path) else 0
        record["checkpoint"] = {"path": path, "bytes": size}
    return trainer, record


def _watched(
    arguments: argparse.Namespace, task: Task[Any], given: dict[str, Any], dev: Any
) -> Callable[[int], Watch]:
    """Return what makes a `Watch` on the held-out file, given the number of training examples."""
    from partwise.training.early_stopping import Watch, passes_between

    how = task.defaults("evaluate")
    read: list[Any] = []

    def score(model: Model) -> float:
        # What there is to say about the file is said once, in the end.
        with silenced():
            if not read:
                read.append(_held_out(arguments, task, given, model, dev))
            metrics, _ = task.score(model, read[0], how, arguments.jobs)
        return float(metrics[next(name for name in task.headline if name in metrics)])

    def watch(n_training: int) -> Watch:
        return Watch(score, passes_between(len(dev), n_training), arguments.patience)

    return watch


def _row_record(row: TraceRow) -> dict[str, Any]:
    """Return a row of the trace; where it has no objective, the dual is an estimate for its l2."""
    return {
        "passes": row.passes,
        "seconds": row.seconds,
        "l2": row.l2,
        "objective": row.primal,
        "dual": row.dual,
        "relative_gap": row.relative_gap if row.certified else math.nan,
        "score": row.score,
    }


def _advice(certificate: Certificate, path: str, kept_passes: float | None) -> str:
    if not certificate.consistent:
        return f"{certificate.verdict}: {CLOSER_SIZES}"
    if kept_passes is not None:
        return (
            f"{certificate.verdict}; relative gap {certificate.relative_gap:.3g} > tol "
            f"{certificate.tol:.3g}, as --patience asks for"
        )
    if certificate.steps is not None:
        return (
            f"stopped before the steps settled: {certificate.verdict}; go on with --resume {path}, "
            "raise --max-passes, or use a larger --l2 or --tol"
        )
    return (
        f"stopped before the requested gap: relative gap {certificate.relative_gap:.3g} > tol "
        f"{certificate.tol:.3g} ({certificate.verdict}); go on with --resume {path}, raise "
        "--max-passes, scale the features to similar sizes, or use a larger --l2 or --tol"
    )
