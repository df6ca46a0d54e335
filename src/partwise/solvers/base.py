"""What every solver offers to the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from ..problem.evaluation import DualPoint, Slope
from ..problem.footprint import Footprint
from ..problem.problem import Problem
from .goal import Goal
from .options import Preset
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
    ended : str
        Why the fit ends by a rule of the solver's own; empty if it goes on.
    """

    passes: float
    dual: float
    gap_estimate: float
    l2: float
    ended: str = ""


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
    presets : mapping of str to Preset
        The published forms that can be asked for by name.
    on_disk : bool
        Whether the solver can work on a problem that is on disk: it visits the examples block by
        block, and holds nothing else that is as long as the parts of all examples.
    threads : bool
        Whether `n_jobs` makes the epochs faster; evaluations use threads with every solver.
    occupies : Footprint
        The memory that the solver takes at its peak. A solver whose memory depends on the problem
        or the options overrides `footprint` instead.
    remade : tuple of str
        The attributes that a checkpoint leaves out, because the constructor makes them from the
        goal and the options and nothing changes them later: see `partwise.solvers.state`.
    grows : tuple of str
        The attributes whose arrays may have another length than those that the constructor makes.
    stretch : int
        A stretch of an epoch ends after this many parts: some hundredths of a second.
    enough : float
        If it is above 0, a fit ends when its duality gap is at most this, whatever its tol is.
    pause : callable
        Called between two stretches of an epoch; the training loop then may write a checkpoint, or
        raise an exception that ends the epoch early.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    takes_l1: ClassVar[bool] = False
    package: ClassVar[str | None] = None
    papers: ClassVar[tuple[Paper, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]] = {}
    on_disk: ClassVar[bool] = False
    threads: ClassVar[bool] = False
    occupies: ClassVar[Footprint] = Footprint(vectors=5, parts=3, examples=8)
    remade: ClassVar[tuple[str, ...]] = ("buffers", "l2", "l1")
    grows: ClassVar[tuple[str, ...]] = ("left",)
    stretch: ClassVar[int] = 1 << 18
    enough: float = 0.0
    pause: Callable[[], None]

    def __init__(self, goal: Goal) -> None:
        self.problem, self.evaluator, self.rng = goal.problem, goal.evaluator, goal.rng
        self.l2, self.l1 = goal.l2, goal.l1
        self.left: Ints = np.zeros(0, dtype=np.int64)  # what is left to visit in this epoch
        self.pause = lambda: None

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

    @property
    def under_way(self) -> bool:
        """Whether an epoch has begun and not ended."""
        return self.left.size > 0

    def stretches(self, draw: Callable[[], Ints], least: int = 0) -> Iterator[Ints]:
        """Yield the examples of an epoch, in stretches of some hundredths of a second.

        Between two stretches there is a `pause`. An epoch that was saved in a pause goes on with
        the examples that are left, in the same stretches.

        Parameters
        ----------
        draw : callable
            Returns the order of the visits of a new epoch. It is not called for an epoch that is
            under way.
        least : int
            A stretch has at least this many parts, unless it is the last.
        """
        if not self.under_way:
            self.left = draw()
        order, begin = self.left, 0
        for end in self._cuts(order, max(least, self.stretch)):
            self.problem.room.enter(order, begin, end)
            yield order[begin:end]
            begin, self.left = end, order[end:]
            if self.under_way:
                self.pause()

    def _cuts(self, order: Ints, least: int) -> Iterator[int]:
        """Return where the stretches of an order end; each is counted from the end before."""
        part_ptr, ends = self.problem.arrays.part_ptr, self.problem.room.ends(order)
        if self.problem.n_parts <= least:
            yield from ends.tolist()
            return
        done = np.cumsum(part_ptr[order + 1] - part_ptr[order])
        begin = 0
        for end in ends.tolist():
            while begin < end:
                aim = least + (done[begin - 1] if begin else 0)
                begin = min(int(np.searchsorted(done, aim)) + 1, end)
                yield begin

    def restored(self) -> None:
        """Check a state that comes from a file, and rebuild what follows from it."""
        if self.left.size and not 0 <= self.left.min() <= self.left.max() < self.n_items:
            raise DataError("the examples that are left in an epoch are not those of the problem")
        n, n_places = self.problem.n_examples, self.problem.storage.n_places
        for thing in vars(self).values():
            held = [(vector, n_places) for vector in getattr(thing, "vectors", ())]
            if isinstance(thing, Slope):
                held = [(thing.weights, n_places), (thing.v, n_places)]
                held += [(thing.losses, n), (thing.linear, n)]
            for vector, size in held:
                whole = isinstance(vector, np.ndarray) and vector.dtype == np.float64
                if not whole or vector.shape != (size,):
                    raise DataError(f"a vector does not have the {size} numbers of the problem")

    @property
    def n_items(self) -> int:
        """How many things there are to visit: examples, unless a solver visits something else."""
        return self.problem.n_examples

    @abstractmethod
    def epoch(self) -> Epoch:
        """Work for a while, as a rule once through the data."""

    @abstractmethod
    def evaluate(self) -> Evaluation:
        """Compute primal and dual from scratch, with the weights rebuilt from the duals."""

    def primal(self, weights: Floats) -> float:
        """Compute the objective P(w) at any weights."""
        return self.evaluator.primal(weights, self.l2, self.l1)

    def certify(self, weights: Floats) -> Evaluation:
        """Compute P(w) at any weights, and D at their own duals u_i = p(.|x_i; w), in one pass.

        For the hinge loss weights do not determine duals; D is then that of the gold labels, 0.
        """
        if self.problem.loss.tau == 0.0:
            return Evaluation(weights, self.primal(weights), 0.0)
        from .primal import certified  # which derives its solvers from this class

        return certified(self.problem, self.evaluator.slope(weights), self.l2, self.l1)

    @abstractmethod
    def current_weights(self) -> Floats:
        """Return the running weights, without an evaluation."""

    @abstractmethod
    def dual_point(self) -> DualPoint:
        """Return the dual point u, from which another fit can start."""


# A solver that is made of other solvers, of which one is at work at a time.


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
