"""What every solver offers to the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arrays import Floats
from ..problem.dual_point import DualPoint
from ..problem.footprint import Footprint
from ..problem.problem import Problem
from .goal import Goal


@dataclass(frozen=True)
class Evaluation:
    """Certified values: weights, P(weights), and the D(u) of a feasible dual point."""

    weights: Floats
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """The duality gap."""
        return self.primal - self.dual


@dataclass(frozen=True)
class Epoch:
    """What one epoch tells, at no extra cost.

    Attributes
    ----------
    passes : float
        Visits to examples in this epoch, divided by the number of examples.
    dual : float
        The running dual value for the l2 that the epoch used.
    gap_estimate : float
        A free estimate of the gap; it says when a full evaluation is worth its cost.
    l2 : float
        The l2 that the epoch used; larger than the target while annealing.
    """

    passes: float
    dual: float
    gap_estimate: float
    l2: float


class Solver(ABC):
    """One algorithm, for one goal.

    The options of a solver are the arguments of its constructor beside the goal.

    Attributes
    ----------
    name : str
        The name in the registry.
    needs : frozenset of str
        What the problem must offer; ``registry.offered`` lists the words.
    takes_l1 : bool
        Whether the solver can minimise an objective with l1 > 0.
    package : str or None
        A package that partwise does without, but this solver does not.
    occupies : Footprint
        What the solver takes at its peak; where that depends on the problem or the options,
        `footprint` says it.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    takes_l1: ClassVar[bool] = False
    package: ClassVar[str | None] = None
    occupies: ClassVar[Footprint] = Footprint(vectors=5, parts=3, examples=8)

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self.problem, self.evaluator, self.rng = goal.problem, goal.evaluator, goal.rng
        self.l2, self.l1 = goal.l2, goal.l1

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        """Say what the solver will take at its peak beside the problem.

        Parameters
        ----------
        problem, l2, l1
            What to solve.
        options : dict
            Further arguments of the solver.
        """
        return cls.occupies

    def close(self) -> None:  # noqa: B027 - most solvers hold nothing
        """Let go of what the solver holds beside memory."""

    @property
    def settled(self) -> bool:
        """Whether the running values are those of the target l2: False while annealing."""
        return True

    @abstractmethod
    def epoch(self) -> Epoch:
        """Go through the data once, in one compiled call."""

    @abstractmethod
    def evaluate(self) -> Evaluation:
        """Compute primal and dual from scratch, with the weights rebuilt from the duals."""

    @abstractmethod
    def current_weights(self) -> Floats:
        """Give the running weights, without an evaluation."""

    @abstractmethod
    def dual_point(self) -> DualPoint:
        """Give the point u, from which another fit can start."""
