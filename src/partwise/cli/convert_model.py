"""``partwise convert`` for models: read a model of one format and write it in another."""

from __future__ import annotations

import argparse
import time
from typing import Any

from partwise.errors import DataError, MismatchError

from .outcome import Outcome, UsageError
from .targets import check_target

__all__ = ["run"]

_OWN = "partwise-model"


def run(arguments: argparse.Namespace) -> Outcome:
    """Convert a model, and say what it is and what is known of its optimum."""
    from partwise.models.foreign.registry import MODEL_FORMATS, read_model, write_model

    source, target = arguments.from_format, arguments.to_format or _OWN
    for option, name in (("--from", source), ("--to", target)):
        if name not in MODEL_FORMATS:
            raise UsageError(
                f"{option} {name} is no format of models; use one of {', '.join(MODEL_FORMATS)}"
            )
    if MODEL_FORMATS[target].write is None:
        fitting = [name for name, one in MODEL_FORMATS.usable().items() if one.write]
        raise UsageError(f"--to {target} can only be read; use one of {', '.join(fitting)}")
    if "-" in (arguments.source, arguments.target):
        raise UsageError("a model cannot be read from stdin or written to stdout; give a file")
    check_target(arguments, arguments.target, "OUT")
    began = time.perf_counter()
    try:
        model = read_model(arguments.source, source, inputs=arguments.inputs)
        write_model(model, arguments.target, target)
    except MismatchError as error:
        raise UsageError(str(error)) from error
    except DataError as error:
        error.within(file=arguments.source)
        raise
    origin = model.origin
    record: dict[str, Any] = {
        "input": arguments.source,
        "output": arguments.target,
        "from": source,
        "to": target,
        "task": model.task,
        "n_labels": len(model.labels),
        "n_features": sum(model.layout.n_features),
        "n_weights": len(model.weights),
        "origin": None if origin is None else origin.to_json(),
        "certified": model.certificate.known,
        "seconds": time.perf_counter() - began,
    }
    text = [
        f"wrote {arguments.target}: {model.task}, {len(model.labels):,} labels, "
        f"{sum(model.layout.n_features):,} features, {len(model.weights):,} weights"
    ]
    if origin is not None:
        text.append(f"{origin.verdict}; it was trained for {origin.objective}")
        if origin.comparable:
            text.append(
                "to certify it, train from it with the same data and settings: partwise train "
                f"--resume {arguments.target} ..."
            )
    return Outcome(record, "\n".join(text))
