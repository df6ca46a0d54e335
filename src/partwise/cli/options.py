"""Options of the command line that only some tasks or formats have."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from partwise.errors import DataError, MismatchError
from partwise.formats.options import Option
from partwise.formats.registry import Chosen, format_options
from partwise.formats.source import check_encoding
from partwise.parameters import Declared
from partwise.tasks.base import Task
from partwise.tasks.parameters import flagged, option_of
from partwise.tasks.registry import all_tasks

from .outcome import UsageError
from .readers import READERS, reader_of

if TYPE_CHECKING:
    from partwise.models.model import Model

__all__ = [
    "add_format",
    "add_options",
    "add_parameters",
    "arguments_of",
    "checked_format",
    "given_format",
    "given_options",
]


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the options of every task to a verb, one group per task.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the verb.
    verb : str
        Its name: "train", "predict" or "evaluate". Only where models are trained does ``--task``
        choose the task; elsewhere the model does.
    """
    shown: set[str] = set()
    for task in all_tasks():
        options = task.options_for(verb)
        if not options:
            continue
        shared = [" / ".join(one.spelled) for one in options if one.flag in shown]
        group = parser.add_argument_group(
            f"options {'of --task' if verb == 'train' else 'for models of'} {task.name}",
            "also: " + ", ".join(shared) if shared else None,
        )
        for option in options:
            if option.flag not in shown:
                shown.add(option.flag)
                # Options that are not given have no attribute, so that `given_options` can detect
                # options of other tasks.
                group.add_argument(option.flag, default=argparse.SUPPRESS, **arguments_of(option))


def add_parameters(
    parser: argparse.ArgumentParser,
    kind: type[Declared],
    *,
    leave: Collection[str] = (),
    each: str = "",
    **defaults: Any,
) -> None:
    """Add the options of the parameters of a class to a verb.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the verb.
    kind : type of Declared
        The class.
    leave : collection of str
        The options to leave out, by their names in Python.
    each : str
        What a number of passes is for, in the help.
    **defaults
        Defaults other than those of the class.
    """
    for dest, (parameter, *_) in flagged(kind).items():
        if dest not in leave:
            option = option_of(parameter, defaults.get(parameter.name, ...), each=each)
            parser.add_argument(option.flag, default=option.default, **arguments_of(option))


def add_format(parser: argparse.ArgumentParser, *, named: bool = True) -> None:
    """Add ``--format``, unless the verb names its formats otherwise, and the options of formats."""
    if named:
        parser.add_argument(
            "--format",
            metavar="NAME",
            help="the format of the files, such as conllu or jsonl (default: that of the task)",
        )
    owners: dict[str, tuple[Option, list[str]]] = {}
    for name, options in format_options().items():
        for option in options:
            owners.setdefault(option.flag, (option, []))[1].append(name)
    group = parser.add_argument_group("options of formats")
    for flag, (option, names) in owners.items():
        told = arguments_of(option)
        if option.name != "encoding":
            told["help"] = f"{', '.join(names)}: {told['help']}"
        group.add_argument(flag, default=argparse.SUPPRESS, **told)


def given_format(arguments: argparse.Namespace, name: str | None) -> Chosen:
    """Return the format that the arguments describe, with the options that were given.

    Raises a UsageError for values that cannot be used.
    """
    known = {option.name for options in format_options().values() for option in options}
    options = {key: getattr(arguments, key) for key in known if hasattr(arguments, key)}
    try:
        check_encoding(options.get("encoding"))
    except DataError as error:
        raise UsageError(str(error)) from error
    return Chosen(name, options)


def checked_format(
    arguments: argparse.Namespace, task: Task[Any], model: Model | None = None
) -> Chosen:
    """Return the format that the arguments describe, after checking that the task can read it.

    With a model, what is not given is as it was when the model was trained.
    """
    chosen = given_format(arguments, arguments.format)
    if model is not None:
        chosen = chosen.after(model.meta.get("format"))
    try:
        chosen.format(task.format)
    except (DataError, MismatchError) as error:
        raise UsageError(str(error)) from error
    return chosen


def arguments_of(option: Option) -> dict[str, Any]:
    """Return the arguments with which `add_argument` of argparse adds an option."""
    told: dict[str, Any] = {"help": option.help}
    if option.kind == "several":
        return {**told, "action": "append", "metavar": option.metavar}
    if option.kind == "switch":
        return {**told, "action": "store_true"}
    if option.kind == "choice":
        return {**told, "action": argparse.BooleanOptionalAction}
    reader = READERS.get(option.kind) if isinstance(option.kind, str) else reader_of(option.kind)
    if reader is not None:
        told["type"] = reader
    if option.choices:
        told["choices"] = (*option.choices, *option.aliases)
    if option.aliases:
        told["type"] = partial(_meant, option.aliases)
    if option.metavar is not None:
        told["metavar"] = option.metavar
    return told


def _meant(aliases: Mapping[str, str], text: str) -> str:
    """Return the value that a text stands for, which may be another name of it."""
    return aliases.get(text, text)


def given_options(arguments: argparse.Namespace, task: Task[Any], verb: str) -> dict[str, Any]:
    """Return the values of the options of a task.

    Raises a UsageError for options of other tasks, for options that do not go together, and for
    formats that the task cannot read.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments of the command.
    task : Task
        The current task.
    verb : str
        The verb that the options belong to.
    """
    own = task.defaults(verb)
    foreign: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for other in all_tasks():
        for option in other.options_for(verb):
            if option.name not in own and hasattr(arguments, option.name):
                flags, owners = foreign.setdefault(option.name, ({}, {}))
                flags.update(dict.fromkeys(option.spelled))
                owners[other.name] = None
    if foreign:
        flags, owners = next(iter(foreign.values()))
        raise UsageError(
            f"{' or '.join(flags)} belongs to --task {' or '.join(owners)}, not to "
            f"--task {task.name}"
        )
    given = {name: getattr(arguments, name, value) for name, value in own.items()}
    try:
        task.check_given(verb, given)
    except MismatchError as error:
        raise UsageError(str(error)) from error
    if "format" in own:
        given["format"] = checked_format(arguments, task)
    return given
