"""What every solver offers to the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arrays import Floats
from ..problem.dual_point import DualPoint
from ..problem.evaluation import Evaluator
from ..problem.footprint import Footprint
from ..problem.problem import Problem
from .options import check_values


@dataclass(frozen=True)
class Evaluation:
    """Certified values: weights, P(weights), and the D(u) of a feasible dual point."""

    weights: Floats
    primal: float
    dual: float


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
    """One algorithm, for one problem and one l2.

    ``needs`` names what the problem must offer; ``registry.offered`` lists the words. ``package``
    is one that partwise does without, but this solver does not. ``occupies`` is what the solver
    takes at its peak; where that depends on the problem or the options, `footprint` says it.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    package: ClassVar[str | None] = None
    occupies: ClassVar[Footprint] = Footprint(vectors=5, parts=3, examples=8)

    def __new__(cls, *_: Any, **options: Any) -> Solver:
        """Check the options against the annotations of the constructor."""
        check_values(cls, options)
        return super().__new__(cls)

    def __init__(self, problem: Problem, l2: float, evaluator: Evaluator) -> None:
        self.problem = problem
        self.l2 = l2
        self.evaluator = evaluator

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
    @abstractmethod
    def settled(self) -> bool:
        """Whether the running values are those of the target l2 (annealing is over)."""

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
