"""Advice for a fit that ended before it reached its tol."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Final

from ..errors import level_outside
from .certificate import CLOSER_SIZES, Certificate, ConvergenceWarning

__all__ = ["Words", "warn_unless_converged"]


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
