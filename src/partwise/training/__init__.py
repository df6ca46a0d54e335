"""The training loop around the solvers, its stopping rule, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .checkpoint import *
    from .course import *
    from .early_stopping import *
    from .loop import *
    from .result import *
    from .settings import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".checkpoint": "Checkpoint",
            ".course": "TraceRow",
            ".early_stopping": "EarlyStopping",
            ".result": "Callback Fit Progress",
            ".loop": "train",
            ".settings": "Settings",
        },
    )
