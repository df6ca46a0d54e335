"""``partwise train``: from a file with labels to a certified model."""

from __future__ import annotations

import argparse
import logging
import os
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partwise.certificate import Certificate, ConvergenceWarning
from partwise.errors import DataError
from partwise.formats.columns import Columns
from partwise.formats.svmlight import SvmlightData

from .evaluate import score
from .examples import examples_for, labels_of, read_labelled
from .report import (
    DONE,
    STOPPED_EARLY,
    Outcome,
    UsageError,
    certificate_record,
    check_target,
    in_words,
)

if TYPE_CHECKING:
    from partwise.fitting import Settings
    from partwise.model import Model
    from partwise.rows import Rows
    from partwise.templates import TemplateSet
    from partwise.training import Fit
    from partwise.vocabulary import Vocabulary

__all__ = ["run"]

_log = logging.getLogger(__name__)


def run(arguments: argparse.Namespace) -> Outcome:
    """Train a model, write it, and say what is certain about it."""
    began = time.perf_counter()
    _check(arguments)
    initial = _resumed(arguments)
    source = read_labelled(arguments.task, arguments.file)
    dev = None
    if arguments.dev is not None:
        width = len(source.fields) + 1 if isinstance(source, Columns) else None
        dev = read_labelled(arguments.task, arguments.dev, width)
    model, fit = _fit(arguments, source, initial)

    from partwise.modelfile import save_model

    save_model(model, arguments.model)
    _log.info("wrote %s", arguments.model)
    certificate = model.certificate
    if arguments.plot:
        from partwise.plots import convergence_picture

        title = f"{os.path.basename(arguments.model)}: {arguments.loss} loss, l2 = {arguments.l2:g}"
        convergence_picture(fit.trace, arguments.plot, title, certificate.tol)
    metrics: dict[str, Any] | None = None
    text = [
        "certified: " + in_words(certificate),
        f"model: {arguments.model} ({len(model.weights):,} weights)",
    ]
    if dev is not None:
        metrics, table = score(model, examples_for(model, dev), None, arguments.jobs)
        text.append(f"on {dev.path}:\n{table}")
    if not certificate.converged:
        _log.warning(_advice(certificate, arguments.model))
    record = {
        **certificate_record(certificate),
        "model": arguments.model,
        "task": arguments.task,
        "loss": arguments.loss,
        "l2": arguments.l2,
        "n_examples": len(source.lengths) if isinstance(source, Columns) else len(source.rows),
        "n_labels": len(model.labels),
        "n_weights": len(model.weights),
        "total_seconds": time.perf_counter() - began,
        "metrics": metrics,
    }
    return Outcome(record, "\n".join(text), DONE if certificate.converged else STOPPED_EARLY)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what could only fail after the training."""
    tagging = arguments.task == "tag"
    strangers = {
        "--spelling or --no-spelling": not tagging and arguments.spelling is not None,
        "--constraints": not tagging and arguments.constraints is not None,
        "--start-end": not tagging and arguments.start_end,
        "--bias": tagging and arguments.bias != 0.0,
    }
    for option, given in strangers.items():
        if given:
            other = "classify" if tagging else "tag"
            raise UsageError(f"{option} belongs to --task {other}, not to --task {arguments.task}")
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
        require_matplotlib()


def _resumed(arguments: argparse.Namespace) -> Model | None:
    if arguments.resume is None:
        return None
    from partwise.modelfile import load_model

    initial = load_model(arguments.resume)
    if initial.task != arguments.task:
        raise DataError(
            f"{arguments.resume}: a model of --task {initial.task} cannot be resumed with --task "
            f"{arguments.task}; give the task it was trained for"
        )
    return initial


def _fit(
    arguments: argparse.Namespace, source: Columns | SvmlightData, initial: Model | None
) -> tuple[Model, Fit]:
    from partwise.fitting import fit_model
    from partwise.progress import ProgressLine
    from partwise.solvers.registry import SOLVER_NAMES

    if arguments.solver not in SOLVER_NAMES:
        raise UsageError(
            f"unknown solver {arguments.solver!r}; use one of {', '.join(SOLVER_NAMES)}"
        )
    rows, templates, vocabulary = _features(arguments, source, initial)
    labels, gold = _numbered(source)
    if isinstance(source, Columns):
        lengths, n_inputs = source.lengths, len(source.fields)
    else:
        lengths, n_inputs = np.ones(len(source.rows), np.int64), source.rows.n_features
    line = None if arguments.quiet else ProgressLine(l2=arguments.l2)
    try:
        # The certificate says it all, and _advice says it in the words of the command line.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model, fit = fit_model(
                arguments.task,
                rows,
                lengths,
                gold,
                labels,
                _settings(arguments),
                vocabulary=vocabulary,
                templates=templates,
                callbacks=() if line is None else (line,),
                initial=initial,
                n_inputs=n_inputs,
            )
    except BaseException as error:
        if line is not None:
            line.abandon()
        if isinstance(error, DataError):
            raise DataError(f"{source.path}: {error}") from error
        raise
    if line is not None:
        line.finish(fit.certificate)
    return model, fit


def _settings(arguments: argparse.Namespace) -> Settings:
    from partwise.fitting import Settings

    return Settings(
        loss=arguments.loss,
        l2=arguments.l2,
        solver=arguments.solver,
        tol=arguments.tol,
        max_passes=arguments.max_passes,
        n_jobs=arguments.jobs,
        seed=arguments.seed,
        weights=arguments.weights,
        min_count=arguments.min_count,
        class_weight=arguments.class_weight,
        constraints=arguments.constraints,
        start=arguments.start_end,
        end=arguments.start_end,
        intercept=arguments.bias,
    )


def _features(
    arguments: argparse.Namespace, source: Columns | SvmlightData, initial: Model | None
) -> tuple[Rows, TemplateSet | None, Vocabulary | None]:
    if isinstance(source, SvmlightData):
        return source.rows, None, None
    from partwise.templates import extract_fit, template_for

    n_inputs = len(source.fields)
    if initial is not None and initial.n_inputs != n_inputs:
        raise DataError(
            f"{source.path}: {n_inputs} input columns where {arguments.resume} was trained with "
            f"{initial.n_inputs}; give the columns it was trained with, or train without --resume"
        )
    if initial is not None and initial.templates is not None and arguments.spelling is None:
        templates = initial.templates
    else:
        spelling = n_inputs == 1 if arguments.spelling is None else arguments.spelling
        templates = template_for(n_inputs, spelling)
    rows, vocabulary = extract_fit(source, templates)
    return rows, templates, vocabulary


def _numbered(source: Columns | SvmlightData) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Give the distinct labels in order, and every example's labels as numbers."""
    gold = labels_of(source)
    assert gold is not None
    assert source.labels is not None
    labels = sorted(set(source.labels), key=_order)
    if len(labels) < 2:
        raise DataError(
            f"{source.path}: {labels[0]!r} is the only label; at least 2 are needed to learn from"
        )
    index = {label: number for number, label in enumerate(labels)}
    return labels, [np.array([index[label] for label in one], np.int64) for one in gold]


def _order(label: str) -> tuple[bool, float, str]:
    """Sort numbers by value, before everything else."""
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label


def _advice(certificate: Certificate, path: str) -> str:
    return (
        f"stopped before the requested gap: relative gap {certificate.relative_gap:.3g} > tol "
        f"{certificate.tol:.3g} ({certificate.verdict}); go on with --resume {path}, raise "
        "--max-passes, scale the features to similar sizes, or use a larger --l2 or --tol"
    )
