"""The model and the file that a verb is given, and what is said of them when something is wrong."""

from __future__ import annotations

import argparse
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from partwise.errors import DataError, FormatError, MismatchError, ModelFileError
from partwise.models.tally import UnknownFeaturesWarning
from partwise.tasks.base import Task

from .outcome import UsageError

if TYPE_CHECKING:
    from partwise.models.model import Model

__all__ = ["explained", "given_model", "logged_warnings", "named"]

_log = logging.getLogger(__name__)

#: The number of lines that are compared.
_LINES: Final = 50


def given_model(arguments: argparse.Namespace) -> Model:
    """Return the model of a verb whose arguments are MODEL and FILE, in this order."""
    from partwise.files.container import container_kind
    from partwise.models.file import KIND, load_model

    try:
        return load_model(arguments.model)
    except ModelFileError as error:
        swapped = container_kind(arguments.model) is None and container_kind(arguments.file) == KIND
        if not swapped:
            raise
        raise ModelFileError(
            f"{error}; the model comes first: partwise {arguments.command} {arguments.file} "
            f"{arguments.model}"
        ) from error


@contextmanager
def named(path: str) -> Iterator[None]:
    """Put the file in front of a DataError that does not say which file it is about.

    Options that do not go together are no fault of the file.
    """
    name = "<stdin>" if path == "-" else path
    try:
        yield
    except MismatchError as error:
        raise UsageError(str(error)) from error
    except DataError as error:
        error.within(file=name)
        raise


@contextmanager
def logged_warnings(path: str) -> Iterator[None]:
    """Log a warning about a file of which the model knows nothing, once and with its name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownFeaturesWarning)
        yield
    name = "<stdin>" if path == "-" else path
    unknown = [one for one in caught if issubclass(one.category, UnknownFeaturesWarning)]
    # Labels and probabilities are two predictions of the same file: one message will do.
    for message in unknown[:1]:
        _log.warning("%s: %s", name, message.message)
    for message in caught:
        if message not in unknown:
            warnings.warn_explicit(
                message.message, message.category, message.filename, message.lineno
            )


@contextmanager
def explained(path: str, task: Task[Any]) -> Iterator[None]:
    """Add to a DataError about a file which other task the file looks like.

    Parameters
    ----------
    path : str
        The file that is read or trained on; ``-`` is stdin, which cannot be read twice.
    task : Task
        The current task.
    """
    try:
        yield
    except FormatError:
        # It names another format already.
        raise
    except DataError as error:
        # An error in another file, or in none, is about something else.
        others = _lookalikes(path, task) if error.place.file == path else []
        if not others:
            raise
        other = f"it looks like a file for --task {' or '.join(others)}"
        error.remedy = f"{error.remedy}; {other}" if error.remedy else other
        raise


def _lookalikes(path: str, task: Task[Any]) -> list[str]:
    """Return the tasks that the file looks like more than like the current one."""
    from partwise.formats.source import read_text
    from partwise.tasks.registry import all_tasks

    if not os.path.isfile(path):
        # A pipe can be read only once, and reading it again would wait forever.
        return []
    try:
        text = read_text(path).text
    except DataError:
        return []
    lines = [line for line in text.split("\n") if line.strip()][:_LINES]
    if not lines:
        return []
    likeness = {other.name: other.resemblance(lines) for other in all_tasks()}
    most = max(likeness.values())
    if likeness.get(task.name, 0) == most:
        return []
    return [name for name, degree in likeness.items() if degree == most]
