"""What a fit guarantees: how far its weights are at most from the optimum."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

#: How far a dual may be above the primal, as a share of it: the rounding of long sums does that
#: much. More means that the terms themselves are wrong.
ROUNDING: Final = 1e-12
#: What helps where rounding is too large.
CLOSER_SIZES: Final = (
    "scale the features, and the weights of the examples, to similar sizes, or use a larger l2"
)


class ConvergenceWarning(UserWarning):
    """A fit stopped before the relative gap that was asked for."""


@dataclass(frozen=True)
class Certificate:
    """Primal and dual values of a finished fit.

    The optimum lies between ``dual`` and ``primal``: no weights have an objective below
    ``primal - gap``. Values that cannot both be right, because rounding has spoiled one of them,
    certify nothing: ``gap`` is then infinite.

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
        """The duality gap, primal - dual; inf where rounding has spoiled one of the two."""
        if not self.consistent:
            return math.inf
        return max(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap divided by the primal; zero where both vanish."""
        return relative_gap(self.primal, self.dual)

    @property
    def consistent(self) -> bool:
        """Whether the two values can both be right: the primal is at least 0 and the dual."""
        return consistent(self.primal, self.dual)

    @property
    def doubt(self) -> str:
        """Why nothing is certified; empty where the values are consistent."""
        if self.consistent:
            return ""
        return (
            f"rounding is so large that the objective ({self.primal:.6g}) and its lower bound "
            f"({self.dual:.6g}) cannot both be right"
        )

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
        gap = f"relative gap {self.relative_gap:.2e}" if self.consistent else "false by rounding"
        return (
            f"objective {self.primal:.6f}, dual {self.dual:.6f}, {gap} (tol {self.tol:.0e}) "
            f"after {self.passes:.1f} passes and {self.seconds:.1f} s"
        )


def consistent(primal: float, dual: float) -> bool:
    """Whether rounding alone, of long sums, separates the values from 0 <= primal, dual <= primal.

    No loss is negative, and no dual value exceeds a primal one. Where the values say otherwise, the
    differences that they are sums of have lost their digits.
    """
    return primal >= 0.0 and dual - primal <= ROUNDING * primal


def relative_gap(primal: float, dual: float) -> float:
    """Gap / primal; inf where the primal is zero and the dual is not, or one of them is false.

    A dual above the primal, by no more than the rounding of sums, is a gap of that size.
    """
    if not consistent(primal, dual):
        return math.inf
    gap = abs(primal - dual)
    if gap == 0.0:
        return 0.0
    return gap / primal if primal else math.inf
