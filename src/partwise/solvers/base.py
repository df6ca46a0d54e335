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
from .papers import Paper


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
    """What is known after one epoch at no extra cost.

    Attributes
    ----------
    passes : float
        Visits to examples in this epoch, divided by the number of examples.
    dual : float
        The running dual value for the l2 that the epoch used.
    gap_estimate : float
        A free estimate of the gap, from which the loop decides when a full evaluation is worth its
        cost; inf if there is none.
    l2 : float
        The l2 that the epoch used; larger than the target while annealing.
    """

    passes: float
    dual: float
    gap_estimate: float
    l2: float


class Solver(ABC):
    """One algorithm, made for one goal.

    The options of a solver are the keyword arguments of its constructor. What users are told about
    a solver (`partwise.solvers.facts`) is read from its attributes, that constructor, and its
    docstring: the first sentence, and the section on parameters.

    Attributes
    ----------
    name : str
        The name in the registry.
    needs : frozenset of str
        What the problem must offer; ``registry.offered`` lists the words.
    takes_l1 : bool
        Whether the solver can minimise an objective with l1 > 0.
    package : str or None
        An optional package that this solver needs.
    papers : tuple of Paper
        Where the method was published.
    threads : bool
        Whether `n_jobs` makes the epochs faster; evaluations use threads with every solver.
    occupies : Footprint
        The memory that the solver takes at its peak. A solver whose memory depends on the problem
        or the options overrides `footprint` instead.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    takes_l1: ClassVar[bool] = False
    package: ClassVar[str | None] = None
    papers: ClassVar[tuple[Paper, ...]] = ()
    threads: ClassVar[bool] = False
    occupies: ClassVar[Footprint] = Footprint(vectors=5, parts=3, examples=8)

    def __init__(self, goal: Goal) -> None:
        self.problem, self.evaluator, self.rng = goal.problem, goal.evaluator, goal.rng
        self.l2, self.l1 = goal.l2, goal.l1

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        """Return the memory that the solver takes at its peak, beside that of the problem.

        Parameters
        ----------
        problem, l2, l1
            What to solve.
        options : dict
            Further arguments of the solver.
        """
        return cls.occupies

    def close(self) -> None:  # noqa: B027 - most solvers hold nothing
        """Release what the solver holds beside memory."""

    @property
    def settled(self) -> bool:
        """Whether the running values belong to the target l2; False while annealing."""
        return True

    @abstractmethod
    def epoch(self) -> Epoch:
        """Work for a while, as a rule once through the data in one compiled call."""

    @abstractmethod
    def evaluate(self) -> Evaluation:
        """Compute primal and dual from scratch, with the weights rebuilt from the duals."""

    def primal(self, weights: Floats) -> float:
        """Compute the objective P(w) at any weights."""
        return self.evaluator.primal(weights, self.l2, self.l1)

    @abstractmethod
    def current_weights(self) -> Floats:
        """Return the running weights, without an evaluation."""

    @abstractmethod
    def dual_point(self) -> DualPoint:
        """Return the dual point u, from which another fit can start."""
