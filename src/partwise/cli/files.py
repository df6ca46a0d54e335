"""The files of a verb: checks of those that it will write, before it begins, and its model."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partwise.errors import DataError, ModelFileError

from .outcome import UsageError

if TYPE_CHECKING:
    from partwise.models.model import Model

__all__ = ["check_apart", "check_target", "given_model"]

#: The arguments that name files to be read, whatever the verb.
_READ: Final = ("file", "source", "dev", "sample_weight", "template")
#: The verbs whose ``--model`` is written; all others read it.
_WRITES_MODEL: Final = ("train", "path")


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
    for other in (*_inputs(arguments), *more):
        known = other and other != "-" and target.is_file() and os.path.exists(other)
        if known and os.path.samefile(target, str(other)):
            raise UsageError(f"{option} {path} would overwrite an input; choose another name")


def _inputs(arguments: argparse.Namespace) -> list[str | None]:
    """Return the files that a verb reads."""
    names = _READ if arguments.command in _WRITES_MODEL else (*_READ, "model")
    return [getattr(arguments, name, None) for name in names]


def check_apart(path: str | None, option: str, other: str | None, other_option: str) -> None:
    """Raise a UsageError if two files to be written have the same name."""
    if path and other and os.path.realpath(path) == os.path.realpath(other):
        raise UsageError(
            f"{option} and {other_option} are both {path}; choose another name for one"
        )


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
