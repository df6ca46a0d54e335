"""Who works on the blocks: threads of this process, or others elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

from ...arrays import Floats
from .block import Block
from .messages import Change, Fresh, Pass, Round, Update
from .vectors import Vectors

__all__ = ["Crew", "Threads"]

_Result = TypeVar("_Result")


class Crew(ABC):
    """Works on blocks, each of which has one copy of the vectors at hand."""

    @abstractmethod
    def begin(self, coming: Pass) -> None:
        """Begin a pass."""

    @abstractmethod
    def round(self, message: Round) -> list[Change]:
        """Let every block visit a chunk; returns their changes, in the order of the blocks."""

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
