"""The problem to solve: features, losses, and the arrays that solvers run on.

Nothing is imported before it is used: features and their formats need no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .losses import make_loss
    from .problem import Problem, build_problem
    from .rows import Rows

__all__ = ["Problem", "Rows", "build_problem", "make_loss"]

_HOMES = {
    "Problem": ".problem",
    "Rows": ".rows",
    "build_problem": ".problem",
    "make_loss": ".losses",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
