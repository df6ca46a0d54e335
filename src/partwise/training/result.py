"""A fit as others see it: what its callbacks are told, and what it returns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..arrays import Floats
from ..problem.evaluation import DualPoint
from .certificate import Certificate
from .course import TraceRow

__all__ = ["Callback", "Fit", "Progress", "Start"]

# The weights that a fit started from, and how far they were from the optimum.


@dataclass(frozen=True)
class Start:
    """The objective of the weights of another model that a fit started from.

    With the data and the settings that the other model was trained with, the certificate of the
    fit tells how far that model was from its optimum.

    Attributes
    ----------
    objective : float
        The objective P(w) of those weights, on the data of the fit.
    n_weights : int
        How many weights of the other model are not 0.
    n_used : int
        How many of them belong to features and labels that the data have.
    """

    objective: float
    n_weights: int
    n_used: int

    def above(self, certificate: Certificate) -> tuple[float, float]:
        """Return how far the objective is at least and at most above the optimum.

        Parameters
        ----------
        certificate : Certificate
            The certificate of the fit.
        """
        if not certificate.consistent:
            return 0.0, math.inf
        bounds = (self.objective - certificate.primal, self.objective - certificate.dual)
        return max(bounds[0], 0.0), max(bounds[1], 0.0)

    def to_json(self, certificate: Certificate) -> dict[str, Any]:
        """Return the values and the distance as plain data."""
        least, most = self.above(certificate)
        return {
            "objective": self.objective,
            "least_above_optimum": least,
            "most_above_optimum": most,
            "relative": _relative(most, self.objective),
            "n_weights": self.n_weights,
            "n_used": self.n_used,
        }

    def in_words(self, certificate: Certificate) -> str:
        """Return the objective, the optimum and their distance as a sentence."""
        least, most = self.above(certificate)
        text = (
            f"the first weights had the objective {self.objective:.6f}; the optimum lies between "
            f"{certificate.dual:.6f} and {certificate.primal:.6f}, so they were at least "
            f"{least:.3g} and at most {most:.3g} above it ({_relative(most, self.objective):.1e} "
            "of their objective)"
        )
        lost = self.n_weights - self.n_used
        if lost:
            text += f"; {lost:,} of their {self.n_weights:,} have no place in these data"
        return text


def _relative(distance: float, objective: float) -> float:
    return distance / objective if objective > 0.0 else math.inf if distance else 0.0


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
    >>> model = LinearClassifier(solver="online-eg", callbacks=callback)
    >>> _ = model.fit([[0.0], [1.0]], ["a", "b"])
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
