"""A solver that is made of other solvers, of which one is at work at a time."""

from __future__ import annotations

from dataclasses import replace

from ..arrays import Floats
from ..errors import DataError
from ..problem.dual_point import DualPoint
from .base import Epoch, Evaluation, Solver
from .goal import Goal


class CompositeSolver(Solver):
    """Delegates everything to ``machine``, the solver that is at work.

    ``goal`` is what the next solver is asked for, still without a start.
    """

    machine: Solver

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        self.goal = replace(goal, start=None, initial_weights=None)

    def turn_to(self, name: str) -> None:
        """Put another solver to work, whose state comes from a checkpoint.

        Parameters
        ----------
        name : str
            The name of the solver.
        """
        raise DataError(f"{self.name} never works with the solver {name!r}")

    def epoch(self) -> Epoch:
        self.machine.pause = self.pause
        return self.machine.epoch()

    @property
    def settled(self) -> bool:
        return self.machine.settled

    def evaluate(self) -> Evaluation:
        return self.machine.evaluate()

    def primal(self, weights: Floats) -> float:
        return self.machine.primal(weights)

    def certify(self, weights: Floats) -> Evaluation:
        return self.machine.certify(weights)

    def current_weights(self) -> Floats:
        return self.machine.current_weights()

    def dual_point(self) -> DualPoint:
        return self.machine.dual_point()

    def close(self) -> None:
        self.machine.close()
