"""Plots with matplotlib: of fits, paths, confusions, calibration, transitions and learning curves.

The classes follow the display classes of scikit-learn: `from_estimator` or another constructor
computes, `plot` draws, also again and on other axes; the result has ``ax_`` and ``figure_``.
matplotlib, which ``pip install "partwise[plots]"`` installs, is loaded when the first plot is
drawn. Lines differ in style and marker, and cells hold numbers, so that all can be read in black
and white.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .axes import require_matplotlib
    from .scores import CalibrationDisplay, ConfusionDisplay, LearningCurveDisplay
    from .training import (
        ConvergenceDisplay,
        PathDisplay,
        convergence_picture,
        path_picture,
    )
    from .transitions import TransitionsDisplay

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "LearningCurveDisplay",
    "PathDisplay",
    "TransitionsDisplay",
    "convergence_picture",
    "path_picture",
    "require_matplotlib",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            ("CalibrationDisplay", "ConfusionDisplay", "LearningCurveDisplay"), ".scores"
        ),
        **dict.fromkeys(
            ("ConvergenceDisplay", "PathDisplay", "convergence_picture", "path_picture"),
            ".training",
        ),
        "TransitionsDisplay": ".transitions",
        "require_matplotlib": ".axes",
    },
)
