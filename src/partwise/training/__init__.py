"""The training loop around the solvers, its stopping rule, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .early_stopping import EarlyStopping
    from .loop import Callback, Fit, Progress, TraceRow, train
    from .settings import Settings

__all__ = [
    "Callback", "Checkpoint", "EarlyStopping", "Fit", "Progress", "Settings", "TraceRow", "train",
]  # fmt: skip

_HOMES = {
    "Callback": ".loop",
    "Checkpoint": ".checkpoint",
    "EarlyStopping": ".early_stopping",
    "Fit": ".loop",
    "Progress": ".loop",
    "Settings": ".settings",
    "TraceRow": ".loop",
    "train": ".loop",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
