"""Which options a solver takes, read off its signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Final

from ..errors import DataError
from .base import Solver

#: What every solver may get, and users give otherwise.
_GIVEN: Final = {
    *("problem", "l2", "evaluator", "rng", "l1", "tol", "options"),
    *("point", "marginals", "initial_weights"),
}


def takes(solver: type[Solver], name: str) -> bool:
    """Whether the solver has an argument of that name."""
    return name in inspect.signature(solver).parameters


def check_options(solver: type[Solver], options: Iterable[str]) -> None:
    """Raise a DataError that lists the options of a solver if some are unknown."""
    known = inspect.signature(solver).parameters
    unknown = set(options) - known.keys()
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
        raise DataError(
            f"{solver.name} has no option {', '.join(sorted(unknown))}; it has "
            f"{', '.join(k for k in known if k not in _GIVEN)}"
        )
