"""``partwise inspect``: the largest weights of a model."""

from __future__ import annotations

import argparse
import csv
import io
import re

from partwise.errors import DataError

from .outcome import Outcome, UsageError

__all__ = ["run"]

_COLUMNS = ("feature", "label", "weight", "count", "kind")


def run(arguments: argparse.Namespace) -> Outcome:
    """List weights of a model."""
    from partwise.models.file import load_model

    if arguments.csv and arguments.json:
        raise UsageError("--csv and --json write different things; leave one of them out")
    if arguments.feature is not None:
        _check(arguments.feature)
    model = load_model(arguments.model)
    try:
        table = model.explain_weights(
            None if arguments.all else arguments.top,
            label=arguments.label,
            feature=arguments.feature,
            transitions=arguments.transitions,
        )
    except DataError as error:
        raise DataError(f"{arguments.model}: {error}") from error
    record = {
        "model": arguments.model,
        "task": model.task,
        "n_weights": table.total,
        "weights": table.to_dict(),
    }
    if not arguments.csv:
        return Outcome(record, str(table))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([getattr(row, name) for name in _COLUMNS] for row in table)
    return Outcome(record, text.getvalue())


def _check(pattern: str) -> None:
    """Raise a UsageError for a regular expression that cannot be read."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"--feature {pattern!r} is no regular expression: {error}; write a backslash before "
            "characters that stand for themselves"
        ) from error
