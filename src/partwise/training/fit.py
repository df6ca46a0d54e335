"""A fit as others see it: what its callbacks are told, and what it returns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..arrays import Floats
from ..problem.dual_point import DualPoint
from .certificate import Certificate
from .course import TraceRow
from .start import Start

__all__ = ["Callback", "Fit", "Progress"]


@dataclass(frozen=True)
class Progress:
    """The argument of a callback: the new row, and a function that returns the weights.

    Examples
    --------
    >>> from partwise import LinearClassifier
    >>> seen = []
    >>> def callback(progress):
    ...     seen.append(progress.row.epoch)
    ...     return len(seen) == 1000
    >>> _ = LinearClassifier(callbacks=callback).fit([[0.0], [1.0]], ["a", "b"])
    >>> seen[:2]
    [1, 2]
    """

    row: TraceRow
    tol: float
    max_passes: float
    weights: Callable[[], Floats]


#: Called after every epoch; a true result stops the fit, with a certificate.
Callback = Callable[[Progress], Any]


@dataclass(frozen=True)
class Fit:
    """A finished fit.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.problem.losses import Loss
    >>> from partwise.problem.problem import build_problem
    >>> from partwise.problem.rows import Rows
    >>> from partwise.structures.multiclass import Multiclass
    >>> from partwise.training import train
    >>> rows = Rows.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> gold = [np.array([0]), np.array([1])]
    >>> problem = build_problem(Multiclass(2), [1, 1], [rows], gold, Loss("log", 1.0, False))
    >>> fit = train(problem, l2=1.0)
    >>> fit.trace[-1].certified, fit.interrupted
    (True, False)
    """

    weights: Floats
    certificate: Certificate
    trace: tuple[TraceRow, ...]
    dual_point: DualPoint
    interrupted: bool = False  # whether Ctrl-C was pressed, even if the fit converged
    initial_objective: float = math.nan  # the objective of the initial weights, if there were any
    start: Start | None = None  # the other model that the initial weights are from
    kept_passes: float | None = None  # when the weights were found, if a score chose them
