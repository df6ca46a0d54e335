"""``partwise convert`` for data: files of tokens from one format to another."""

from __future__ import annotations

import argparse
import time

from partwise.errors import DataError, MismatchError

from .options import given_format
from .outcome import Outcome, UsageError
from .targets import check_target

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> Outcome:
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
