"""The training loop around the solvers, its stopping rule, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .course import TraceRow
    from .early_stopping import EarlyStopping
    from .fit import Callback, Fit, Progress
    from .loop import train
    from .settings import Settings

__all__ = [
    "Callback", "Checkpoint", "EarlyStopping", "Fit", "Progress", "Settings", "TraceRow", "train",
]  # fmt: skip

_HOMES = {
    "Callback": ".fit",
    "Checkpoint": ".checkpoint",
    "EarlyStopping": ".early_stopping",
    "Fit": ".fit",
    "Progress": ".fit",
    "Settings": ".settings",
    "TraceRow": ".course",
    "train": ".loop",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
