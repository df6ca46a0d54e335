"""Ascent of the dual in blocks of examples: CoCoA+ with adding, guarded.

Primal   min_w  l2/2 |w|^2 + l1 |w|_1 + sum_i c_i loss_i(w)
Dual     max_u  sum_i c_i [tau H(u_i) + cost_i.mu_i] - |shrunk(v(u), l1)|^2 / (2 l2)
Round    every block k visits a chunk, starting from the same v, and finds dv_k;  v += sum_k dv_k

Ma, Smith, Jaggi, Jordan, Richtarik and Takac (2015). A block takes its own change to be sigma times
as large as it is. With sigma = K, the number of blocks, the dual never falls, whatever the data
are: v + sum_k dv_k is the mean of the v + K dv_k, and the norm is convex. But changes of different
blocks are mostly nearly orthogonal, and a smaller sigma is enough:

    sigma = |sum_k dv_k|^2 / sum_k |dv_k|^2  of the round before,  from 1 to K

The change of the dual in a round is known exactly. If it fell, the blocks put back the duals that
they had before, and repeat the round with twice the sigma, up to K.

The weights at the end of a round swing, since blocks correct the same errors at once, and their
objective says little: the true gap was up to fifty times the estimate that the visits give. The
average over the rounds of a pass has an objective that is lower and smooth. With it, the estimate
was from half to twice the true gap, so it may decide when a full evaluation is made.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner, shrunk_square
from ...errors import DataError
from ...problem.evaluation import penalty
from ...problem.storage import Storage
from ..base import Epoch, Evaluation, Solver
from ..primal import search_dual_line
from ..proximal_term import ProximalTerm
from .block import Block
from .places import add_at
from .plan import BlockPlan, Change, Fresh, Pass, Round, Update
from .vectors import Vectors

__all__ = ["BlockAscent", "Crew", "Threads"]

# Who works on the blocks: threads of this process, or others elsewhere.


_Result = TypeVar("_Result")


class Crew(ABC):
    """Works on blocks, each of which has one copy of the vectors at hand."""

    @abstractmethod
    def begin(self, coming: Pass) -> None:
        """Begin a pass."""

    @abstractmethod
    def round(self, message: Round) -> list[Change]:
        """Let every block visit a chunk; return their changes, in the order of the blocks."""

    @abstractmethod
    def settle(self, update: Update | None) -> None:
        """End a round: add what all blocks changed to the vectors, or, if None, undo it."""

    @abstractmethod
    def fresh(self) -> list[Fresh]:
        """Return the duals of every block from scratch."""

    @abstractmethod
    def losses(self, weights: Floats | str) -> list[float]:
        """Return the sum of the losses of every block.

        Parameters
        ----------
        weights : ndarray or {"averaged", "mean"}
            Stored weights; or those that the vectors have averaged over the rounds of this pass,
            or over passes.
        """

    def close(self) -> None:  # noqa: B027 - a crew may have nothing to close
        """Release what the crew holds."""


class Threads(Crew):
    """Works on blocks in threads of this process.

    Parameters
    ----------
    blocks : sequence of Block
        The blocks.
    vectors : Vectors
        The vectors, which whoever gives orders keeps up to date.
    copies : sequence of Vectors
        Further copies of them, one per further thread. The crew keeps them up to date.
    """

    remade: ClassVar[tuple[str, ...]] = ("copies", "pool", "vectors")

    def __init__(
        self, blocks: Sequence[Block], vectors: Vectors, copies: Sequence[Vectors] = ()
    ) -> None:
        self.blocks, self.vectors = list(blocks), vectors
        self.copies = list(copies)
        self.pool = ThreadPoolExecutor(len(self.copies) + 1) if self.copies else None

    def _each(self, task: Callable[[Block, Vectors], _Result]) -> list[_Result]:
        """Do something with each block, in as many threads as there are copies."""
        if self.pool is None:
            return [task(block, self.vectors) for block in self.blocks]
        lanes = [self.vectors, *self.copies]

        def some(lane: int) -> list[_Result]:
            return [task(block, lanes[lane]) for block in self.blocks[lane :: len(lanes)]]

        found = list(self.pool.map(some, range(len(lanes))))
        return [found[k % len(lanes)][k // len(lanes)] for k in range(len(self.blocks))]

    def begin(self, coming: Pass) -> None:
        for copy in self.copies:
            copy.begin(coming)
        self._each(lambda block, _: block.begin(coming))

    def round(self, message: Round) -> list[Change]:
        return self._each(lambda block, vectors: block.round(vectors, message))

    def settle(self, update: Update | None) -> None:
        if update is None:
            for block in self.blocks:
                block.undo()
        elif self.pool is not None:
            list(self.pool.map(lambda copy: copy.apply(update), self.copies))

    def fresh(self) -> list[Fresh]:
        return self._each(lambda block, vectors: block.fresh(vectors))

    def losses(self, weights: Floats | str) -> list[float]:
        chosen = self.vectors.weights(weights) if isinstance(weights, str) else weights
        return self._each(lambda block, _: block.losses(chosen))

    def follow(self) -> None:
        """Make the copies equal to the vectors."""
        for copy in self.copies:
            copy.copy_of(self.vectors)

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown()


_logger = logging.getLogger(__name__)

#: What rounding may do to the change of the dual in a round, beside its terms and beside the dual.
_NOISE, _DUST = 1e-13, 1e-15


class BlockAscent(Solver):
    """Gives the orders: adds up what the blocks found, and guards the dual.

    Parameters
    ----------
    plan : BlockPlan
        How blocks are trained.
    storage : Storage
        Where the weights are.
    n_examples : int
        How many examples all blocks have together.
    l2, l1 : float
        The regulariser.
    rng : numpy.random.Generator
        Draws the seeds of the passes.
    """

    remade: ClassVar[tuple[str, ...]] = ("plan", "storage", "examples")

    crew: Crew

    def __init__(
        self,
        plan: BlockPlan,
        storage: Storage,
        n_examples: int,
        l2: float,
        l1: float,
        rng: np.random.Generator,
    ) -> None:
        self.plan, self.storage, self.examples = plan, storage, n_examples
        self.l2, self.l1, self.rng = l2, l1, rng
        self.left = np.zeros(0, dtype=np.int64)
        self.pause = lambda: None
        proximal = plan.nearness > 0.0
        self.vectors = Vectors(storage, l1, proximal, not plan.smooth)
        self.term = ProximalTerm(plan.nearness, np.zeros(0), l2, plan.proportion)
        self.moves = False  # whether the centre of the proximal term moves now
        self.epochs, self.turn, self.begun = 0, 0, False
        self.sigma, self.undone = float(plan.blocks), 0
        self.linear, self.norm = 0.0, 0.0  # of the dual, with the proximal term
        self.visits, self.share = 0, math.inf
        self.pass_l2 = l2  # of the last pass

    def start_from(self, linear: float, v: Floats, weights: Floats | None) -> None:
        """Set the v and the linear part of the duals that the blocks start from.

        Parameters
        ----------
        linear : float
            The sum of c_i (tau H_i + cost_i.mu_i).
        v : ndarray
            The sum over the blocks.
        weights : ndarray or None
            The first centre of the proximal term; None is w(u).
        """
        vectors = self.vectors
        vectors.v[:] = v
        self.linear = linear
        if vectors.proximal:
            vectors.begin(Pass(0, self.l2, 0.0, False, 0, 1))
            vectors.centre[:] = vectors.averaged() if weights is None else weights

    @property
    def under_way(self) -> bool:
        return self.begun

    @property
    def settled(self) -> bool:
        return self.epochs > 0 and self.pass_l2 == self.l2

    def epoch(self) -> Epoch:
        if not self.begun:
            self._begin()
        while self.turn < self.plan.exchanges:
            self._round()
            if self.turn < self.plan.exchanges:
                self.pause()
        return self._end()

    def _begin(self) -> None:
        annealing = self.plan.annealing
        l2 = self.l2 if annealing is None else annealing.at(self.l2, self.epochs)
        self.pass_l2 = l2
        seed = int(self.rng.integers(2**63))
        coming = Pass(self.epochs, l2, self.term.k, self.moves, seed, self.plan.exchanges)
        self.vectors.begin(coming)
        self.crew.begin(coming)
        self.norm = float(shrunk_square(self.vectors.near, self.l1))
        self.moves, self.begun = False, True
        self.turn = self.visits = self.undone = 0

    def _round(self) -> None:
        vectors, most = self.vectors, float(self.plan.blocks)
        while True:
            final = self.sigma >= most
            changes = self.crew.round(Round(self.turn, self.sigma, final))
            self.visits += sum(change.visits for change in changes)
            places, values = vectors.sum_of([(c.places, c.values) for c in changes])
            linear = sum(change.linear for change in changes)
            norm = vectors.norm_change(places, values)
            if final or not self._fell(linear, norm):
                break
            self.crew.settle(None)
            self.undone += 1
            self.sigma = min(2.0 * self.sigma, most)
        update = Update(places, values)
        vectors.apply(update)
        self.crew.settle(update)
        self.linear += linear
        self.norm += norm
        self.share = sum(change.share for change in changes)
        squares = sum(float(inner(change.values, change.values)) for change in changes)
        ratio = float(inner(values, values)) / squares if squares > 0.0 else 1.0
        self.sigma = min(max(ratio, 1.0), most)
        self.turn += 1

    def _fell(self, linear: float, norm: float) -> bool:
        """Return whether the dual falls by these changes of its two terms, rounding apart."""
        change = norm / (2.0 * self.vectors.l2)
        noise = _NOISE * (abs(linear) + abs(change))
        noise += _DUST * (abs(self.linear) + self.norm / (2.0 * self.vectors.l2))
        return linear - change < -noise

    def _end(self) -> Epoch:
        self.begun = False
        self.epochs += 1
        if self.undone:
            _logger.debug("pass %d: %d rounds were undone", self.epochs, self.undone)
        dual = self._value(self.vectors.v, self.linear, self.pass_l2)
        weights, v = self.vectors.averaged(), self.vectors.v
        others = self.linear - float(inner(weights, v)) - dual
        others += penalty(weights, self.pass_l2, self.l1)
        estimate = self.share + max(others, 0.0)
        if self.term.k:
            self._steer(others, estimate)
        return Epoch(self.visits / self.examples, dual, estimate, self.pass_l2)

    def _steer(self, others: float, estimate: float) -> None:
        """Choose the proximal term of the next pass."""
        moved = np.zeros(0)
        self.term.steer(self.share, others, moved)
        self.moves = self.term.centre is moved
        if not self.plan.smooth and self.term.holds_back(estimate):
            _logger.info("blocks: goes on without a proximal term, the gap hardly falls")
            self.term.k = 0.0

    def _value(self, v: Floats, linear: float, l2: float) -> float:
        """Return D; with a proximal term, of the best point between the gold labels and u."""
        if self.vectors.proximal:
            return search_dual_line(lambda s: s * linear, v, l2, self.l1)[0]
        return linear - float(shrunk_square(v, self.l1)) / (2.0 * l2)

    def evaluate(self) -> Evaluation:
        linear, v = self.fresh()
        self.linear = linear
        weights = self.current_weights()
        primal = self._primal("averaged", weights)
        mean = self.vectors.mean
        if mean is not None and mean.value is not None:
            other = self._primal("mean", mean.value)
            if other < primal:
                weights, primal = mean.value.copy(), other
        return Evaluation(weights, primal, self._value(v, linear, self.l2))

    def fresh(self) -> tuple[float, Floats]:
        """Return the linear part of the dual and v(u), from scratch, in the order of the blocks."""
        parts: list[Fresh] = self.crew.fresh()
        v = self.storage.zeros()
        for part in parts:
            add_at(part.places, part.values, v)
        return float(sum(part.linear for part in parts)), v

    def _primal(self, which: Floats | str, weights: Floats) -> float:
        return float(sum(self.crew.losses(which))) + penalty(weights, self.l2, self.l1)

    def primal(self, weights: Floats) -> float:
        return self._primal(weights, weights)

    def certify(self, weights: Floats) -> Evaluation:
        """Compute P(w) at any weights, and D at the duals that the blocks have."""
        dual = 0.0
        if self.plan.smooth:
            linear, v = self.fresh()
            dual = self._value(v, linear, self.l2)
        return Evaluation(weights, self.primal(weights), dual)

    def current_weights(self) -> Floats:
        return self.vectors.averaged()

    def restored(self) -> None:
        sound = 0 <= self.turn <= self.plan.exchanges and 1.0 <= self.sigma <= self.plan.blocks
        if not sound:
            raise DataError("the rounds of a fit in blocks do not fit the plan")

    def close(self) -> None:
        self.crew.close()
