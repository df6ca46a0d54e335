"""One block of examples: its duals, its order in a pass, and how a round is undone.

In a round a block visits a chunk of its examples and does not see what the others do. It takes its
own change of v to be sigma times as large as it is, which leaves room for the changes of the others
(Ma et al. 2015, CoCoA+, with adding). This is an ordinary visit with the weights c_i of the
examples multiplied by sigma: the linear part, the change of v and the norm then are sigma times
those of the scaled problem, and every decision of the solver is a decision about that problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...compiled.vectors import inner
from ...errors import DataError
from ...problem.matrix_evaluation import make_evaluator
from ...problem.problem import Problem
from ..eg.base import LINEAR, VISITS, safe_steps
from ..eg.online import OnlineEG
from ..goal import Goal
from .places import Places, gather
from .plan import Change, Fresh, Pass, Round
from .vectors import Vectors

__all__ = ["Block", "EGBlock", "copy_parts"]


class Block(ABC):
    """The state of one block, and its rounds.

    Parameters
    ----------
    problem : Problem
        The examples of the block, with the weights of the whole problem.
    number : int
        The number of the block, counted from 0.
    """

    remade: ClassVar[tuple[str, ...]] = ("number", "weight", "places", "kept")
    grows: ClassVar[tuple[str, ...]] = ("order",)

    def __init__(self, problem: Problem, number: int) -> None:
        self.problem, self.number = problem, number
        self.evaluator = make_evaluator(problem)
        self.weight = problem.arrays.weight
        self.order: Ints = np.zeros(0, dtype=np.int64)  # the examples of this pass
        self.exchanges = 1
        self.first = True  # whether this is the first pass
        self.places: Places | None = None  # all that the block touches, once it is known
        self.kept: Any = None  # the duals before the last round

    # What derived classes define

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Ints:
        """Return the examples that a pass visits, in order."""

    @abstractmethod
    def visit(
        self, scaled: Problem, examples: Ints, vectors: Vectors, sigma: float
    ) -> tuple[float, int]:
        """Move the duals of some examples; `vectors` are updated.

        Returns the change of the linear part, which is sigma times too large, and the calls of an
        oracle.
        """

    @abstractmethod
    def keep(self, examples: Ints) -> Any:
        """Return a copy of the duals of some examples, each of which is there once."""

    @abstractmethod
    def put_back(self, examples: Ints, kept: Any) -> None:
        """Put the duals back that `keep` returned."""

    @abstractmethod
    def duals(self) -> tuple[Floats, Floats]:
        """Return mu and the entropies, from scratch."""

    @abstractmethod
    def share(self) -> float:
        """Return the examples' part of the gap, as far as it was seen at their last visits."""

    @abstractmethod
    def theta(self) -> Floats:
        """Return theta, or mu where the solver of the block keeps that."""

    # What all blocks share

    def begin(self, coming: Pass) -> None:
        """Draw the order of a pass."""
        self.first, self.exchanges = coming.number == 0, coming.exchanges
        self.order = self.draw(np.random.default_rng((coming.seed, self.number)))

    def chunk(self, turn: int) -> Ints:
        """Return the examples of a round."""
        n, parts = len(self.order), self.exchanges
        return self.order[n * turn // parts : n * (turn + 1) // parts]

    def round(self, vectors: Vectors, message: Round) -> Change:
        """Visit a chunk. `vectors` are used, and as they were when this returns.

        Parameters
        ----------
        vectors : Vectors
            What all blocks start from.
        message : Round
            Which chunk, and how.
        """
        examples, sigma = self.chunk(message.turn), message.sigma
        once = np.unique(examples)
        self.kept = None if message.final else (once, self.keep(once))
        places = vectors.marks.touched(self.problem.arrays.design, examples)
        if not len(examples):
            return Change(places, np.zeros(0), 0.0, self.share(), 0)
        before = gather(places, vectors.near)
        arrays = self.problem.arrays._replace(weight=sigma * self.weight)
        scaled = replace(self.problem, arrays=arrays)
        linear, visits = self.visit(scaled, examples, vectors, sigma)
        values = vectors.taken_back(places, before, sigma)
        return Change(places, values, linear / sigma, self.share(), visits)

    def undo(self) -> None:
        """Put the duals back that were there before the last round."""
        if self.kept is None:
            raise RuntimeError("there is no round to undo")
        self.put_back(*self.kept)

    def fresh(self, vectors: Vectors) -> Fresh:
        """Return the v and the linear part of the duals, from scratch."""
        if self.places is None:
            every = np.arange(self.problem.n_examples)
            self.places = vectors.marks.touched(self.problem.arrays.design, every)
        mu, entropy = self.duals()
        values = gather(self.places, self.evaluator.dual_sum(mu))
        return Fresh(self.places, values, self.evaluator.dual_linear(mu, entropy))

    def losses(self, weights: Floats) -> float:
        """Return the sum of c_i loss_i(w)."""
        return float(inner(self.evaluator.losses(weights), self.weight))

    def restored(self) -> None:
        """Check a state that comes from a file."""
        n, order = self.problem.n_examples, self.order
        if self.exchanges < 1 or (order.size and not 0 <= order.min() <= order.max() < n):
            raise DataError("the order of a block does not fit its examples")


# Blocks that exponentiated gradient works on.


@njit
def copy_parts(part_ptr: Any, examples: Any, parts: Any, out: Any, back: bool) -> None:
    """Copy the parts of some examples, one after the other, to `out`, or back from there."""
    k = 0
    for i in examples:
        run = parts[part_ptr[i] : part_ptr[i + 1]]
        kept = out[k : k + run.size]
        if back:
            for r in range(run.size):
                run[r] = kept[r]
        else:
            for r in range(run.size):
                kept[r] = run[r]
        k += run.size


@final
class EGBlock(Block):
    """A block whose duals are theta, with the visits of online EG.

    Parameters
    ----------
    goal : Goal
        What to solve: the problem of the block, and where it starts.
    number : int
        The number of the block.
    n_blocks : int
        How many blocks there are: sigma is at most this.
    order : {"focused", "permutation"}
        Which examples a pass visits, as in :class:`~partwise.solvers.eg.online.OnlineEG`.
    """

    remade = ("n_blocks",)

    def __init__(self, goal: Goal, number: int, n_blocks: int, order: str = "focused") -> None:
        super().__init__(goal.problem, number)
        self.n_blocks = n_blocks
        self.local = OnlineEG(goal, order=order)
        # Its v is part of that of all blocks.
        self.local.duals = self.local.duals._replace(v=np.zeros(0))

    def begin(self, coming: Pass) -> None:
        self.local.epochs = coming.number
        # A smaller step is never needed, whatever sigma is.
        safe = safe_steps(self.problem, (coming.l2 + coming.k) / self.n_blocks)
        self.local.least = np.minimum(1e-3, safe)
        super().begin(coming)

    def draw(self, rng: np.random.Generator) -> Ints:
        self.local.rng = rng
        return self.local._draw()

    def visit(
        self, scaled: Problem, examples: Ints, vectors: Vectors, sigma: float
    ) -> tuple[float, int]:
        local = self.local
        local.problem = scaled
        duals = local.duals._replace(v=vectors.near, totals=np.zeros(3))
        w = vectors.w if vectors.l1 else None
        local._visit(examples, duals, vectors.l2, 2 if self.first else 5, w)
        duals.gap[examples] /= sigma
        return float(duals.totals[LINEAR]), int(duals.totals[VISITS])

    def keep(self, examples: Ints) -> Any:
        duals, part_ptr = self.local.duals, self.problem.arrays.part_ptr
        size = int((part_ptr[examples + 1] - part_ptr[examples]).sum())
        theta, mu = np.empty(size), np.empty(size)
        copy_parts(part_ptr, examples, duals.theta, theta, False)
        copy_parts(part_ptr, examples, duals.mu, mu, False)
        return theta, mu, duals.entropy[examples], duals.eta[examples], duals.gap[examples]

    def put_back(self, examples: Ints, kept: Any) -> None:
        duals, part_ptr = self.local.duals, self.problem.arrays.part_ptr
        theta, mu, duals.entropy[examples], duals.eta[examples], duals.gap[examples] = kept
        copy_parts(part_ptr, examples, duals.theta, theta, True)
        copy_parts(part_ptr, examples, duals.mu, mu, True)

    def duals(self) -> tuple[Floats, Floats]:
        duals = self.local.duals
        self.evaluator.marginals(duals.theta, duals.mu, duals.entropy)
        return duals.mu, duals.entropy

    def share(self) -> float:
        return float(self.local.duals.gap.sum())

    def theta(self) -> Floats:
        return self.local.duals.theta
