"""Completions of ``partwise`` for bash, zsh and fish, made by shtab from the parser of the command.

shtab is kept up by the people of tqdm and knows all three shells; what it writes needs no Python
when a user presses Tab. What the parser does not say is added here: which values are files and
folders, and the names of solvers and formats, which the parser takes as text because other packages
can add some.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final

import shtab

from partwise.cli.parser import build_parser
from partwise.formats.registry import FORMATS
from partwise.models.foreign.registry import MODEL_FORMATS
from partwise.registry import Registry
from partwise.solvers.registry import SOLVERS

__all__ = ["completion", "described_parser", "verbs_of"]

#: What the values of arguments are called in the help where they are files or folders.
_FILES: Final = frozenset(
    {"BEST", "DATA", "FILE", "HTML", "IN", "MD", "MODEL", "OUT", "PNG", "TRAIN"}
)
_FOLDERS: Final = frozenset({"DIR"})


def completion(shell: str) -> str:
    """Return the completion of ``partwise`` for a shell.

    Parameters
    ----------
    shell : str
        "bash", "zsh" or "fish".
    """
    text: str = shtab.complete(described_parser(), shell=shell)
    return text.rstrip("\n") + "\n"


def described_parser() -> argparse.ArgumentParser:
    """Return the parser of the command, with all that can be completed."""
    parser = build_parser()
    for name, verb in verbs_of(parser).items():
        for action in verb._actions:
            _describe(name, action)
    return parser


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the verbs by their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise ValueError(f"{parser.prog} has no verbs")


def _describe(verb: str, action: Any) -> None:
    """Note what the value of an argument may be."""
    if action.metavar in _FILES:
        action.complete = shtab.FILE
    elif action.metavar in _FOLDERS:
        action.complete = shtab.DIRECTORY
    elif "--solver" in action.option_strings or (verb == "solvers" and action.dest == "name"):
        action.choices = list(_own(SOLVERS))
    elif "--format" in action.option_strings:
        action.choices = list(_own(FORMATS))
    elif verb == "convert" and action.dest in ("from_format", "to_format"):
        action.choices = [*_own(FORMATS), *_own(MODEL_FORMATS)]


def _own(names: Registry[Any]) -> Iterator[str]:
    """Return the names of this package: those of others may not be there for the user."""
    return (name for name in names if names.built_in(name))
