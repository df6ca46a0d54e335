"""Certificates: upper bounds on how far the objective of a fit is above the optimum."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any, Final

from ..errors import level_outside

__all__ = [
    "CLOSER_SIZES",
    "ROUNDING",
    "Certificate",
    "ConvergenceWarning",
    "Steps",
    "Words",
    "consistent",
    "in_words",
    "relative_gap",
    "warn_unless_converged",
]

#: How far a dual value may exceed the primal, relative to it, because of rounding in long sums. A
#: larger difference means that the terms themselves are wrong.
ROUNDING: Final = 1e-12
#: Advice for when rounding errors are too large.
CLOSER_SIZES: Final = (
    "scale the features, and the weights of the examples, to similar sizes, or use a larger l2"
)


class ConvergenceWarning(UserWarning):
    """A fit stopped before it reached the requested relative gap.

    Examples
    --------
    >>> import warnings
    >>> from partwise import ConvergenceWarning, LinearClassifier
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     fitted = LinearClassifier(max_passes=1, tol=1e-9).fit([[0.0], [1.0]], ["a", "b"])
    >>> [one.category.__name__ for one in caught], fitted.certificate_.converged
    (['ConvergenceWarning'], False)
    """


@dataclass(frozen=True)
class Steps:
    """The steps of a fit whose labels are known in part only.

    The objective of such a fit is not convex. Each step solves a convex problem that bounds it from
    above, and a certificate concerns the last of these problems only. See
    :mod:`partwise.training.partial_labels`.

    Attributes
    ----------
    count : int
        The number of convex problems that were solved.
    objective : float
        The objective of the weights: the penalty, and the sum over the examples of the logarithm
        of a sum over all labels minus that of a sum over the allowed ones.
    decrease : float
        How much the last step lowered it, divided by it.
    settled : bool
        Whether the steps ended because the last one lowered it by at most tol.
    partial : int
        The number of examples whose labels are known in part.
    """

    count: int
    objective: float
    decrease: float
    settled: bool
    partial: int

    def __str__(self) -> str:
        """Return a sentence on what is known about the objective, and what is not."""
        return (
            f"{self.partial:,} examples have labels that are known in part, so the objective, "
            f"{self.objective:.6f}, is not convex and has no certificate: step {self.count}, the "
            f"last one, lowered it by {self.decrease:.1e} of itself, and the certificate concerns "
            "that step alone"
        )


@dataclass(frozen=True)
class Certificate:
    """Primal and dual values of a finished fit.

    The optimum lies between ``dual`` and ``primal``: no weights have an objective below
    ``primal - gap``. If rounding makes the two values inconsistent, nothing is certified, and
    ``gap`` is infinite. Both values are nan, and ``gap`` is infinite too, if another program
    trained the model.

    Attributes
    ----------
    primal : float
        The objective P(w) of the weights that were returned.
    dual : float
        The dual objective D(u), a lower bound on the optimum.
    tol : float
        The requested relative gap.
    passes : float
        The number of visits per example, including trial steps.
    seconds : float
        The time that the solver ran.
    verdict : str
        The reason why it stopped, as a sentence.
    steps : Steps or None
        The steps, if labels are known in part; then the other values are those of the convex
        problem of the last step, except for `passes` and `seconds`, which are those of all steps.
    """

    primal: float
    dual: float
    tol: float
    passes: float
    seconds: float
    verdict: str
    steps: Steps | None = None

    @staticmethod
    def unknown(verdict: str) -> Certificate:
        """Return the certificate of weights of which nothing is known; it certifies nothing.

        Parameters
        ----------
        verdict : str
            Where the weights come from, as a sentence.
        """
        return Certificate(math.nan, math.nan, tol=1e-4, passes=0.0, seconds=0.0, verdict=verdict)

    @property
    def known(self) -> bool:
        """Whether there are values at all: not if another program trained the model."""
        return not math.isnan(self.primal)

    @property
    def gap(self) -> float:
        """The duality gap, primal - dual; inf if rounding makes the two inconsistent."""
        if not self.consistent:
            return math.inf
        return max(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap divided by the primal; 0 if both are 0."""
        return relative_gap(self.primal, self.dual)

    @property
    def consistent(self) -> bool:
        """Whether both values can be right: the primal is at least 0 and at least the dual."""
        return consistent(self.primal, self.dual)

    @property
    def doubt(self) -> str:
        """The reason why nothing is certified; empty if the values are consistent."""
        if self.consistent:
            return ""
        if not self.known:
            return self.verdict
        return (
            f"rounding is so large that the objective ({self.primal:.6g}) and its lower bound "
            f"({self.dual:.6g}) cannot both be right"
        )

    @property
    def converged(self) -> bool:
        """Whether ``relative_gap <= tol``, and the steps, if there are any, have settled."""
        return self.relative_gap <= self.tol and (self.steps is None or self.steps.settled)

    def fields(self) -> dict[str, Any]:
        """Return the fields as plain data; without the steps if there are none."""
        held = asdict(self)
        if self.steps is None:
            del held["steps"]
        return held

    def to_json(self) -> dict[str, Any]:
        """Return the fields and the gap as plain data."""
        return {
            **self.fields(),
            "gap": self.gap,
            "relative_gap": self.relative_gap,
            "converged": self.converged,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Certificate:
        """Make a certificate from the result of :meth:`to_json`."""
        return Certificate(
            primal=float(data["primal"]),
            dual=float(data["dual"]),
            tol=float(data["tol"]),
            passes=float(data["passes"]),
            seconds=float(data["seconds"]),
            verdict=str(data["verdict"]),
            steps=Steps(**data["steps"]) if "steps" in data else None,
        )

    def __str__(self) -> str:
        """Return a summary in one line."""
        if not self.known:
            return self.verdict
        gap = f"relative gap {self.relative_gap:.2e}" if self.consistent else "false by rounding"
        text = (
            f"objective {self.primal:.6f}, dual {self.dual:.6f}, {gap} (tol {self.tol:.0e}) "
            f"after {self.passes:.1f} passes and {self.seconds:.1f} s"
        )
        return text if self.steps is None else f"{text}; {self.steps}"


def in_words(certificate: Certificate) -> str:
    """Return a sentence on what the certificate guarantees."""
    if not certificate.consistent:
        return f"nothing; {certificate.doubt}"
    if certificate.steps is not None:
        return (
            f"of the last step only, no weights have a value below {certificate.dual:.6f}, and "
            f"these have {certificate.primal:.6f}, at most {certificate.relative_gap:.1e} of it "
            f"above the best; {certificate.steps}"
        )
    return (
        f"no weights have an objective below {certificate.dual:.6f}; these have "
        f"{certificate.primal:.6f}, at most {certificate.gap:.2e} ({certificate.relative_gap:.1e} "
        "of it) above the best"
    )


def consistent(primal: float, dual: float) -> bool:
    """Return whether primal >= 0 and, up to the rounding of long sums, dual <= primal.

    No loss is negative, and no dual value exceeds a primal value. If the computed values do not
    satisfy this, their terms are differences that have lost their digits.
    """
    return primal >= 0.0 and dual - primal <= ROUNDING * primal


def relative_gap(primal: float, dual: float) -> float:
    """Return gap / primal; inf if only the primal is 0 or the values are inconsistent.

    A dual that exceeds the primal, by no more than the rounding of sums, counts as a gap of that
    size.
    """
    if not consistent(primal, dual):
        return math.inf
    gap = abs(primal - dual)
    if gap == 0.0:
        return 0.0
    return gap / primal if primal else math.inf


# Advice for a fit that ended before it reached its tol.


@dataclass(frozen=True)
class Words:
    """The names that the parameters of a fit have for the user who reads the advice.

    Attributes
    ----------
    tol, max_passes, l2 : str
        The names of these parameters.
    again : str
        How to go on with the same fit, as a part of a list; empty if there is no way.
    """

    tol: str = "tol"
    max_passes: str = "max_passes"
    l2: str = "l2"
    again: str = "go on with warm_start=True, "


_OWN: Final = Words()


def warn_unless_converged(certificate: Certificate, max_passes: float, words: Words = _OWN) -> None:
    """Issue a ConvergenceWarning, with advice, if a fit did not reach its tol."""
    if not certificate.converged:
        warnings.warn(
            _advice(certificate, max_passes, words), ConvergenceWarning, stacklevel=level_outside()
        )


def _advice(certificate: Certificate, max_passes: float, words: Words) -> str:
    verdict = certificate.verdict.replace("max_passes", words.max_passes)
    if not certificate.consistent:
        return f"{verdict}: {certificate.doubt}; {CLOSER_SIZES.replace('l2', words.l2)}"
    larger = f"or use a larger {words.l2} or {words.tol}"
    raised = f"Raise {words.max_passes} (now {max_passes:g}), {words.again}"
    if certificate.steps is not None:
        return (
            f"{verdict} after {certificate.passes:.1f} passes and {certificate.steps.count} steps; "
            f"{certificate.steps}. {raised}{larger}"
        )
    return (
        f"relative gap {certificate.relative_gap:.3g} > {words.tol} {certificate.tol:.3g} after "
        f"{certificate.passes:.1f} passes ({verdict}); the objective is at most "
        f"{certificate.gap:.6g} above the optimum. {raised}scale the features to similar sizes, "
        f"{larger}"
    )
