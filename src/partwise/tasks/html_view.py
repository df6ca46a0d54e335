"""The view of a fitted estimator in a notebook: that of scikit-learn, and the certificate."""

from __future__ import annotations

from html import escape
from typing import Final

from ..training.certificate import Certificate

__all__ = ["certificate_html"]

_STYLE: Final = "margin: 0.5em 0; border-collapse: collapse; font-size: small;"
_CELL: Final = "text-align: left; padding: 0.1em 0.8em 0.1em 0;"


def certificate_html(certificate: Certificate) -> str:
    """Return a certificate as an HTML table.

    Parameters
    ----------
    certificate : Certificate
        The certificate of a fit. One that was read from a model file may hold any text, so all of
        it is escaped.
    """
    state = "certified" if certificate.converged else "not certified to tol"
    rows = {
        "certificate": state,
        "objective": f"{certificate.primal:.6g}",
        "lower bound": f"{certificate.dual:.6g}",
        "relative gap": f"{certificate.relative_gap:.2e} (tol {certificate.tol:.0e})",
        "passes": f"{certificate.passes:.1f} in {certificate.seconds:.1f} s",
        "verdict": certificate.verdict,
    }
    cells = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f'<table class="partwise-certificate" style="{_STYLE}">{cells}</table>'
