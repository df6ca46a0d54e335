"""The files of a verb: its model, checks of those that it will write, and files of other tasks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partwise.errors import DataError, FormatError, ModelFileError

from .outcome import UsageError

if TYPE_CHECKING:
    from partwise.models.model import Model
    from partwise.tasks.base import Task

__all__ = ["check_outputs", "check_target", "explained", "given_model"]

#: The arguments that name files to be read, whatever the verb.
_READ: Final = ("file", "source", "dev", "sample_weight", "template")
#: The verbs whose ``--model`` is written; all others read it.
_WRITES_MODEL: Final = ("train", "path")
#: The arguments that name files to be written, and what they are called in messages.
_WRITTEN: Final = {
    "model": "a model",
    "plot": "a picture",
    "checkpoint": "a checkpoint",
    "report": "it",
    "card": "it",
}
#: The number of lines of a file that is compared with what tasks read.
_LINES: Final = 50


def check_outputs(arguments: argparse.Namespace) -> None:
    """Raise an error now for a file that could not be written after the work.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments of a verb that writes reports. Those that write models have ``plot`` too.
    """
    if arguments.no_examples and arguments.report is None and arguments.card is None:
        raise UsageError("--no-examples is about a report; give --report FILE or --card FILE too")
    written: dict[str, str] = {}
    for name, what in _WRITTEN.items():
        path = getattr(arguments, name, None)
        if path is None or (name == "model" and arguments.command not in _WRITES_MODEL):
            continue
        option = "--output" if (name, arguments.command) == ("report", "report") else f"--{name}"
        if path == "-":
            raise UsageError(f"{option} - is not possible: {what} needs a file of its own")
        # A model or a checkpoint may take the place of the one that its training goes on from.
        own = name in ("model", "checkpoint")
        more = () if own else (getattr(arguments, "resume", None),)
        check_target(arguments, path, option, more=more)
        for other, taken in written.items():
            if os.path.realpath(path) == os.path.realpath(taken):
                raise UsageError(
                    f"{option} and {other} are both {path}; choose another name for one"
                )
        written[option] = path
    if getattr(arguments, "plot", None):
        from partwise.plots import require_matplotlib

        require_matplotlib()


def check_target(
    arguments: argparse.Namespace,
    path: str,
    option: str,
    *,
    devices: bool = False,
    more: tuple[str | None, ...] = (),
) -> None:
    """Raise an error for a file that cannot be written, before the work begins.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments of the verb. No file that they name as one to read may be overwritten.
    path : str
        The file that will be written.
    option : str
        The option that the user gave it with.
    devices : bool
        Whether a device or a pipe is allowed. A file that is written completely or not at all
        replaces what has its name, which must never be a device.
    more : tuple of str or None
        Further files that must not be overwritten.
    """
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{path}: is a folder; give {option} the name of a file")
    if target.exists() and not target.is_file() and not devices:
        raise DataError(f"{path}: is not a plain file; give {option} the name of a file")
    # A file behind a symbolic link is replaced in its own folder.
    folder = Path(os.path.realpath(path)).parent if target.is_symlink() else target.parent
    if not folder.is_dir():
        raise DataError(f"{path}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise DataError(f"{path}: the folder {folder} is not writable; choose another for {option}")
    names = _READ if arguments.command in _WRITES_MODEL else (*_READ, "model")
    for other in (*(getattr(arguments, name, None) for name in names), *more):
        known = other and other != "-" and target.is_file() and os.path.exists(other)
        if known and os.path.samefile(target, str(other)):
            raise UsageError(f"{option} {path} would overwrite an input; choose another name")


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
