"""A solver that leaves the work to other solvers, one at a time."""

from __future__ import annotations

from ..arrays import Floats
from ..problem.dual_point import DualPoint
from .base import Epoch, Evaluation, Solver


class CompositeSolver(Solver):
    """Hands every question on to ``machine``, the solver that is at work."""

    machine: Solver

    def epoch(self) -> Epoch:
        """Let the present solver go on."""
        return self.machine.epoch()

    @property
    def settled(self) -> bool:
        """Whether the present solver is."""
        return self.machine.settled

    def evaluate(self) -> Evaluation:
        """Give what the present solver certifies."""
        return self.machine.evaluate()

    def current_weights(self) -> Floats:
        """Give those of the present solver."""
        return self.machine.current_weights()

    def dual_point(self) -> DualPoint:
        """Give that of the present solver."""
        return self.machine.dual_point()

    def close(self) -> None:
        """Close the present solver."""
        self.machine.close()
