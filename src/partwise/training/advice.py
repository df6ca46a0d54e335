"""Advice for a fit that ended before it reached its tol."""

from __future__ import annotations

import warnings

from ..errors import level_outside
from .certificate import CLOSER_SIZES, Certificate, ConvergenceWarning

__all__ = ["warn_unless_converged"]


def warn_unless_converged(certificate: Certificate, max_passes: float) -> None:
    """Issue a ConvergenceWarning, with advice, if a fit did not reach its tol."""
    if not certificate.converged:
        warnings.warn(
            _advice(certificate, max_passes), ConvergenceWarning, stacklevel=level_outside()
        )


def _advice(certificate: Certificate, max_passes: float) -> str:
    if not certificate.consistent:
        return f"{certificate.verdict}: {certificate.doubt}; {CLOSER_SIZES}"
    if certificate.steps is not None:
        return (
            f"{certificate.verdict} after {certificate.passes:.1f} passes and "
            f"{certificate.steps.count} steps; {certificate.steps}. Raise max_passes (now "
            f"{max_passes:g}), go on with warm_start=True, or use a larger l2 or tol"
        )
    return (
        f"relative gap {certificate.relative_gap:.3g} > tol {certificate.tol:.3g} after "
        f"{certificate.passes:.1f} passes ({certificate.verdict}); the objective is at most "
        f"{certificate.gap:.6g} above the optimum. Raise max_passes (now {max_passes:g}), go on "
        "with warm_start=True, scale the features to similar sizes, or use a larger l2 or tol"
    )
