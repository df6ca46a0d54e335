"""L-BFGS: the limited-memory quasi-Newton method, by scipy, over the threaded objective."""

from __future__ import annotations

from typing import Any, ClassVar, final

from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..goal import Goal
from ..options import Count
from ..papers import LIU_1989
from .stepped import SteppedSolver


@final
class LBFGS(SteppedSolver):
    """Limited-memory quasi-Newton, by scipy.

    Parameters
    ----------
    goal : Goal
        What to solve.
    memory : int
        How many pairs of steps and gradients are kept.
    """

    name: ClassVar[str] = "lbfgs"
    on_disk = True
    papers = (LIU_1989,)
    threads = True
    method: ClassVar[str] = "L-BFGS-B"

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # The pairs, and as much again that scipy works in.
        return Footprint(vectors=23 + 2 * options.get("memory", 10), parts=1, examples=6)

    def __init__(self, goal: Goal, *, memory: Count = 10) -> None:
        self.memory = memory
        super().__init__(goal)

    def settings(self) -> dict[str, Any]:
        # scipy must never stop by rules of its own.
        return {"maxcor": self.memory, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0, "maxls": 50}
