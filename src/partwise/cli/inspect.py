"""``partwise inspect``: the largest weights of a model."""

from __future__ import annotations

import argparse
import csv
import io
import logging
import re
from typing import TYPE_CHECKING, Final

from partwise.errors import DataError

from .outcome import Outcome, UsageError

if TYPE_CHECKING:
    from partwise.models.model import Model

__all__ = ["run"]

_log = logging.getLogger(__name__)

#: Where no feature matches, so many of the largest weights are looked at, to name so many features.
_LOOKED_AT: Final = 200
_NAMED: Final = 5
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
        error.within(file=arguments.model)
        raise
    if arguments.feature is not None and not len(table):
        _hint(arguments, model)
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


def _hint(arguments: argparse.Namespace, model: Model) -> None:
    """Name some features, of different kinds as far as possible, where none matched."""
    table = model.explain_weights(
        _LOOKED_AT, label=arguments.label, transitions=arguments.transitions
    )
    # The name of a feature ends in its value: w[0]=the.
    kinds: dict[str, str] = {}
    for row in table:
        kinds.setdefault(row.feature.partition("=")[0], row.feature)
    if kinds:
        _log.warning(
            "%s: no weights of features that match --feature %r; there are features such as %s",
            arguments.model,
            arguments.feature,
            ", ".join([*kinds.values()][:_NAMED]),
        )


def _check(pattern: str) -> None:
    """Raise a UsageError for a regular expression that cannot be read."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"--feature {pattern!r} is no regular expression: {error}; write a backslash before "
            "characters that stand for themselves"
        ) from error
