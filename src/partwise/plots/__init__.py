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
    from .axes import *
    from .scores import *
    from .training import *
    from .transitions import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".axes": "require_matplotlib",
            ".scores": "CalibrationDisplay ConfusionDisplay LearningCurveDisplay",
            ".training": "ConvergenceDisplay PathDisplay convergence_picture path_picture",
            ".transitions": "TransitionsDisplay",
        },
    )
