"""The nonlinear conjugate gradient method of Polak and Ribiere, by scipy: a reference."""

from __future__ import annotations

from typing import Any, ClassVar, final

from .stepped import SteppedSolver


@final
class ConjugateGradient(SteppedSolver):
    """Nonlinear conjugate gradient."""

    name: ClassVar[str] = "cg"
    method: ClassVar[str] = "CG"

    def settings(self) -> dict[str, Any]:
        """Never stop by scipy's own rules."""
        return {"gtol": 0.0}
