"""What a fit guarantees: how far its weights are at most from the optimum."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


class ConvergenceWarning(UserWarning):
    """A fit stopped before the relative gap that was asked for."""


@dataclass(frozen=True)
class Certificate:
    """Primal and dual values of a finished fit.

    The optimum lies between ``dual`` and ``primal``: no weights have an objective below
    ``primal - gap``.

    Attributes
    ----------
    primal : float
        The objective P(w) of the weights that were returned.
    dual : float
        The dual objective D(u), a lower bound on the optimum.
    tol : float
        The relative gap that was asked for.
    passes : float
        How many times each example was visited, trial steps counted.
    seconds : float
        How long the solver ran.
    verdict : str
        Why it stopped, as a sentence.
    """

    primal: float
    dual: float
    tol: float
    passes: float
    seconds: float
    verdict: str

    @property
    def gap(self) -> float:
        """The duality gap, primal - dual; 0 where rounding puts the dual above the primal."""
        return max(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap divided by |primal|; zero where both vanish."""
        return relative_gap(self.primal, self.dual)

    @property
    def converged(self) -> bool:
        """Whether ``relative_gap <= tol``."""
        return self.relative_gap <= self.tol

    def to_json(self) -> dict[str, Any]:
        """Give the fields, and the gap, as plain data."""
        return {
            **asdict(self),
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "converged": self.converged,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Certificate:
        """Read what :meth:`to_json` wrote."""
        return Certificate(
            primal=float(data["primal"]),
            dual=float(data["dual"]),
            tol=float(data["tol"]),
            passes=float(data["passes"]),
            seconds=float(data["seconds"]),
            verdict=str(data["verdict"]),
        )

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"objective {self.primal:.6f}, dual {self.dual:.6f}, relative gap "
            f"{self.relative_gap:.2e} (tol {self.tol:.0e}) after {self.passes:.1f} passes and "
            f"{self.seconds:.1f} s"
        )


def relative_gap(primal: float, dual: float) -> float:
    """Gap / |primal|, zero where the gap is not positive, inf where the primal is zero."""
    gap = primal - dual
    if gap <= 0.0:
        return 0.0
    return gap / abs(primal) if primal else math.inf
