"""The problem to solve: features, losses, and the arrays that solvers run on.

Nothing is imported before it is used: features and their formats need no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .losses import *
    from .problem import *
    from .rows import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".losses": "make_loss",
            ".problem": "Problem build_problem",
            ".rows": "Rows",
        },
    )
