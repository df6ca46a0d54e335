"""The weights that a fit started from, and how far they were from the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .certificate import Certificate

__all__ = ["Start"]


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
