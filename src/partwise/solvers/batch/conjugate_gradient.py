"""The nonlinear conjugate gradient method of Polak and Ribiere, by scipy."""

from __future__ import annotations

from typing import Any, ClassVar, final

from ..papers import POLAK_1969
from .stepped import SteppedSolver


@final
class ConjugateGradient(SteppedSolver):
    """Nonlinear conjugate gradient, by scipy, for comparison."""

    name: ClassVar[str] = "cg"
    on_disk = True
    papers = (POLAK_1969,)
    threads = True
    method: ClassVar[str] = "CG"

    def settings(self) -> dict[str, Any]:
        # scipy must never stop by rules of its own.
        return {"gtol": 0.0}
