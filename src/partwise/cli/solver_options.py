"""``--solver-option NAME=VALUE``: the options of a solver, read before the training begins."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from partwise.errors import DataError, OptionError

from .outcome import UsageError

if TYPE_CHECKING:
    from partwise.solvers.base import Solver

__all__ = ["checked_name", "solver_options", "spelled"]


def checked_name(name: str) -> str:
    """Return the name of a solver; raise a UsageError if there is none of this name."""
    from partwise.solvers.registry import check_solver

    try:
        check_solver(name)
    except DataError as error:
        raise UsageError(str(error)) from error
    return name


def solver_options(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the options of the solver that the arguments name; None if there are none.

    Those of ``auto`` are read as options of the solvers that it may begin with for this loss and
    this l1; which one it is depends on the data, and the training checks them once more.
    """
    checked_name(arguments.solver)
    if not arguments.solver_option:
        return None
    from partwise.solvers.automatic import first_choices
    from partwise.solvers.registry import SOLVERS

    names: tuple[str, ...] = (arguments.solver,)
    if arguments.solver == "auto":
        names = first_choices(arguments.loss, arguments.l1)
    solvers = [SOLVERS[name] for name in names]
    found: dict[str, Any] = {}
    for text in arguments.solver_option:
        name, value = _read(text, solvers, arguments)
        if name in found:
            raise UsageError(f"--solver-option {name} is given twice; give it once")
        found[name] = value
    return found


def _read(text: str, solvers: list[type[Solver]], arguments: argparse.Namespace) -> tuple[str, Any]:
    from partwise.solvers.options import default_options, read_option

    given, equals, value = text.partition("=")
    name = given.strip().replace("-", "_")
    if not equals or not name:
        raise UsageError(
            f"--solver-option {text!r} is no NAME=VALUE; {_listed(solvers, arguments)}"
        )
    able = [
        solver
        for solver in solvers
        if name in default_options(solver) or (name == "preset" and solver.presets)
    ]
    # Without one that has the option, the first one says so.
    for solver in able or solvers[:1]:
        try:
            return name, read_option(solver, name, value.strip())
        except OptionError as error:
            reason = str(error).partition("; it has ")[0]
    raise UsageError(f"--solver-option {text}: {reason}; {_listed(solvers, arguments)}")


def _listed(solvers: list[type[Solver]], arguments: argparse.Namespace) -> str:
    """Return which options there are, and their defaults."""
    from partwise.solvers.options import default_options

    parts = []
    for solver in solvers:
        options = default_options(solver).items()
        listed = ", ".join(f"{name}={spelled(value)}" for name, value in options)
        parts.append(f"the options of {solver.name} are {listed}" if listed else "it has none")
    told = "; ".join(parts)
    if arguments.solver != "auto":
        return told
    begins = " or ".join(solver.name for solver in solvers)
    what = f"the {arguments.loss} loss" + (" and l1 > 0" if arguments.l1 else "")
    return f"with {what}, auto begins with {begins}: {told}; --solver NAME chooses another solver"


def spelled(value: Any) -> str:
    """Return a value as the command line takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(spelled, value))
    return (
        value
        if isinstance(value, str)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
