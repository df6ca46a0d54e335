"""``partwise convert``: convert data files, and model files of other toolkits."""

from __future__ import annotations

import argparse
import time
from typing import Any

from partwise.errors import DataError, MismatchError

from .files import check_target
from .options import given_format
from .outcome import Outcome, UsageError

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
    """Convert a model file if one of the formats is named ``...-model``, and otherwise data."""
    names = (arguments.from_format, arguments.to_format or "")
    model = any(name.endswith("-model") for name in names)
    return _convert_model(arguments) if model else _convert_data(arguments)


def _convert_data(arguments: argparse.Namespace) -> Outcome:
    """Convert a file, and report what was left out."""
    from partwise.formats.conversion import convert
    from partwise.formats.registry import format_of

    began = time.perf_counter()
    chosen = given_format(arguments, arguments.from_format)
    out = _out(arguments.out or [])
    try:
        chosen.format("columns")
        format_of(arguments.to_format, "tokens in columns")
    except (DataError, MismatchError) as error:
        raise UsageError(str(error)) from error
    if arguments.target != "-":
        check_target(arguments, arguments.target, "OUT", devices=True)
    elif arguments.json:
        raise UsageError("with --json, stdout holds the record; name a file to write to")
    done = convert(
        arguments.source,
        arguments.target,
        chosen,
        arguments.to_format,
        out=out,
        labelled=not arguments.unlabelled,
        drop=arguments.drop,
    )
    record = {
        "input": "<stdin>" if arguments.source == "-" else arguments.source,
        "output": arguments.target,
        "from": arguments.from_format,
        "to": arguments.to_format,
        "n_examples": done.n_sentences,
        "n_positions": done.n_tokens,
        "dropped": done.dropped,
        "seconds": time.perf_counter() - began,
    }
    if arguments.target == "-":
        return Outcome(record)
    text = f"{arguments.target}: {done.n_sentences:,} sentences, {done.n_tokens:,} tokens"
    if done.dropped:
        left = ", ".join(f"{count:,} {what}" for what, count in done.dropped.items())
        text += f"\nleft out: {left}"
    return Outcome(record, text)


def _out(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in given:
        name, mark, value = item.partition("=")
        if not mark or not name:
            raise UsageError(f"--out {item}: write NAME=VALUE, such as label=misc:NE")
        found[name.replace("-", "_")] = value
    return found


_OWN = "partwise-model"


def _convert_model(arguments: argparse.Namespace) -> Outcome:
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
