"""Options of the command line that belong to some tasks and not to others."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..cli.report import UsageError

if TYPE_CHECKING:
    from .base import Task

__all__ = [
    "CLASS_WEIGHT",
    "MIN_COUNT",
    "Option",
    "add_options",
    "defaults",
    "finite",
    "fraction",
    "natural",
    "not_negative",
    "passes",
    "positive",
    "seed",
    "settle",
    "threads",
]


class Option:
    """An option of one task, or one that several tasks have in common.

    Tasks share an option by naming the same flags; what it is (type, choices, dest) must then be
    the same too, while every task has a default of its own.

    Parameters
    ----------
    *flags : str
        ``--max-length`` or the like.
    default
        Its value where it is not given.
    **settings
        What else ``argparse.ArgumentParser.add_argument`` takes.
    """

    def __init__(self, *flags: str, default: Any = None, **settings: Any) -> None:
        self.flags = flags
        self.default = default
        self.settings = settings

    @property
    def dest(self) -> str:
        """The attribute that holds its value."""
        named: str = self.settings.get("dest") or self.flags[0].lstrip("-").replace("-", "_")
        return named

    @property
    def spelled(self) -> list[str]:
        """All that a user may write."""
        if self.settings.get("action") is not argparse.BooleanOptionalAction:
            return list(self.flags)
        return [*self.flags, *(f"--no-{flag[2:]}" for flag in self.flags)]


def add_options(
    parser: argparse.ArgumentParser, verb: str, tasks: Sequence[Task[Any]], *, chosen: bool
) -> None:
    """Give a verb the options of every task, a group a task.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the verb.
    verb : str
        The verb.
    tasks : sequence of Task
        In the order in which help is to show them.
    chosen : bool
        Whether the user gives the task, rather than a model.
    """
    shown: set[tuple[str, ...]] = set()
    for task in tasks:
        options = task.options.get(verb, ())
        if not options:
            continue
        shared = [" / ".join(one.spelled) for one in options if one.flags in shown]
        group = parser.add_argument_group(
            f"options of --task {task.name}" if chosen else f"options for models of {task.name}",
            "also: " + ", ".join(shared) if shared else None,
        )
        for option in options:
            if option.flags not in shown:
                shown.add(option.flags)
                # What is not given leaves no trace: so a stranger is known from a default.
                group.add_argument(*option.flags, default=argparse.SUPPRESS, **option.settings)


def defaults(task: Task[Any], verb: str) -> dict[str, Any]:
    """Give the values that the options of a task have where they are not given."""
    return {option.dest: option.default for option in task.options.get(verb, ())}


def settle(
    arguments: argparse.Namespace,
    task: Task[Any],
    tasks: Iterable[Task[Any]],
    verb: str | None = None,
) -> None:
    """Give the options of a task their defaults, and refuse those of other tasks.

    Parameters
    ----------
    arguments : argparse.Namespace
        As parsed; what is missing is added to it.
    task : Task
        The task at hand.
    tasks : iterable of Task
        All tasks.
    verb : str or None
        The verb whose options they are; None: the one that was given.

    Raises
    ------
    UsageError
        If an option was given that belongs to other tasks alone.
    """
    verb = verb or arguments.command
    own = defaults(task, verb)
    owners: dict[str, list[str]] = {}
    spelled: dict[str, list[str]] = {}
    for other in tasks:
        for option in other.options.get(verb, ()):
            names = owners.setdefault(option.dest, [])
            names.extend([other.name] if other.name not in names else [])
            known = spelled.setdefault(option.dest, [])
            known.extend(text for text in option.spelled if text not in known)
    for dest, names in owners.items():
        if dest not in own and hasattr(arguments, dest):
            raise UsageError(
                f"{' or '.join(spelled[dest])} belongs to --task {' or '.join(names)}, not to "
                f"--task {task.name}"
            )
    for dest, value in own.items():
        if not hasattr(arguments, dest):
            setattr(arguments, dest, value)


def finite(text: str) -> float:
    """Read a finite number."""
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number")
    return number


def positive(text: str) -> float:
    """Read a finite number above 0."""
    number = finite(text)
    if number <= 0.0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def not_negative(text: str) -> float:
    """Read a finite number that is not below 0."""
    number = finite(text)
    if number < 0.0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def fraction(text: str) -> float:
    """Read a number above 0 and below 1."""
    number = positive(text)
    if number >= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not below 1")
    return number


def passes(text: str) -> float:
    """Read a number above 0, or inf."""
    return math.inf if text == "inf" else positive(text)


def natural(text: str) -> int:
    """Read an integer that is at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def power_of_two(text: str) -> int:
    """Read a power of two that is at least 2."""
    number = natural(text)
    if number < 2 or number & (number - 1):
        raise argparse.ArgumentTypeError(f"{text} is not a power of two, as 1048576 is")
    return number


def threads(text: str) -> int:
    """Read a number of threads; -1 is one a core."""
    if text != "-1":
        return natural(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def seed(text: str) -> int:
    """Read an integer that is not below 0."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


# argparse names the type in "invalid ... value".
for _type, _name in (
    (finite, "number"),
    (positive, "number"),
    (not_negative, "number"),
    (fraction, "number"),
    (passes, "number"),
    (natural, "integer"),
    (threads, "integer"),
    (seed, "integer"),
):
    _type.__name__ = _name


MIN_COUNT: Final = Option(
    "--min-count", type=natural, default=1, metavar="N",
    help="drop features that occur fewer than N times (default: 1)",
)  # fmt: skip
CLASS_WEIGHT: Final = Option("--class-weight", choices=("balanced",), help="weigh rare labels up")
