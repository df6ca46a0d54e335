"""Blocks for the hinge loss: block-coordinate Frank-Wolfe, and the method of Crammer and Singer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.prefetch import prefetch
from ...problem.design import fetch_example
from ...problem.evaluation import not_finite
from ...problem.problem import Problem
from ..goal import Goal
from ..margin.crammer_singer import LONGEST, CrammerSinger, place
from ..margin.frank_wolfe import FrankWolfe
from ..margin.marginal_ascent import LINEAR, MarginalAscent
from .block import Block
from .eg_block import copy_parts
from .vectors import Vectors

__all__ = ["CrammerSingerBlock", "FrankWolfeBlock"]

#: An example that waits is visited again after at most this many passes.
_MOST_ROUNDS: Final = 4


class _MarginBlock(Block):
    """A block whose duals are marginals.

    Parameters
    ----------
    goal : Goal
        What to solve: the problem of the block, and where it starts.
    number : int
        The number of the block.
    """

    local: MarginalAscent

    def _leave(self, *names: str) -> None:
        """Drop the vectors that a solver makes which is alone."""
        nothing = np.zeros(0)
        for name in ("v", "near", "weights", *names):
            setattr(self.local, name, nothing)
        self.local.proximal_term.centre = nothing

    def draw(self, rng: np.random.Generator) -> Ints:
        self.local.rng = rng
        return self.local.draw()

    def visit(
        self, scaled: Problem, examples: Ints, vectors: Vectors, sigma: float
    ) -> tuple[float, int]:
        local = self.local
        local.problem, local.totals = scaled, np.zeros(2)
        visits = self.move(examples, vectors)
        local.gap[np.unique(examples)] /= sigma
        return float(local.totals[LINEAR]), visits

    @abstractmethod
    def move(self, examples: Ints, vectors: Vectors) -> int:
        """Move the marginals of some examples; returns the calls of an oracle."""

    def keep(self, examples: Ints) -> Any:
        part_ptr = self.problem.arrays.part_ptr
        mu = np.empty(int((part_ptr[examples + 1] - part_ptr[examples]).sum()))
        copy_parts(part_ptr, examples, self.local.mu, mu, False)
        return mu, self.local.gap[examples]

    def put_back(self, examples: Ints, kept: Any) -> None:
        mu, self.local.gap[examples] = kept
        copy_parts(self.problem.arrays.part_ptr, examples, self.local.mu, mu, True)

    def duals(self) -> tuple[Floats, Floats]:
        return self.local.mu, np.zeros(self.problem.n_examples)

    def share(self) -> float:
        return float(self.local.gap.sum())

    def theta(self) -> Floats:
        return self.local.mu


@final
class FrankWolfeBlock(_MarginBlock):
    """A block with the visits of block-coordinate Frank-Wolfe."""

    def __init__(self, goal: Goal, number: int) -> None:
        super().__init__(goal.problem, number)
        self.local: FrankWolfe = FrankWolfe(goal)
        self._leave("d")

    def move(self, examples: Ints, vectors: Vectors) -> int:
        self.local.d = vectors.room
        visits = self.local.visit(examples, vectors.l2, vectors.near)
        self.local.d = np.zeros(0)
        return visits

    def keep(self, examples: Ints) -> Any:
        atoms, slots = self.local.atoms, self._slots(examples)
        held = tuple(a[slots] for a in (atoms.alpha, atoms.begin, atoms.size, atoms.space))
        return super().keep(examples), atoms.used[examples], held, int(atoms.end[0])

    def put_back(self, examples: Ints, kept: Any) -> None:
        duals, used, held, end = kept
        super().put_back(examples, duals)
        atoms, slots = self.local.atoms, self._slots(examples)
        atoms.alpha[slots], atoms.begin[slots], atoms.size[slots], atoms.space[slots] = held
        atoms.end[0] = end
        # Where there was no free slot, a label may have been overwritten by another one. Without
        # its labels, such an example is a single point of the same set.
        full = used == self.local.room
        atoms.used[examples] = np.where(full, 0, used)
        atoms.alpha[self._slots(examples[full])] = 0.0

    def _slots(self, examples: Ints) -> Ints:
        """Return the slots of the labels of some examples."""
        room = self.local.room
        slots: Ints = (examples[:, None] * room + np.arange(room)).ravel()
        return slots


@njit(fastmath=FAST)
def _place_all(
    a: Any, order: Any, l2: float, square: Any, mu: Any, gap: Any, moved: Any, v: Any, totals: Any,
    buffers: Any,
) -> Any:  # fmt: skip
    """Place the examples of an order; returns the first one without finite scores or -1."""
    for turn in range(order.size):
        i = order[turn]
        if turn + 1 < order.size:
            fetch_example(a.design, order[turn + 1])
            prefetch(mu, a.part_ptr[order[turn + 1]])
        finite, changed = place(a, i, l2, square, mu, gap, v, totals, buffers)
        if not finite:
            return i
        moved[i] = changed
    return -1


@final
class CrammerSingerBlock(_MarginBlock):
    """A block with the visits of the method of Crammer and Singer, for classifiers.

    As there, an example that does not move waits for twice as many rounds each time. A pass has as
    many rounds over those that are due as fit into it, but no more than some.
    """

    def __init__(self, goal: Goal, number: int) -> None:
        super().__init__(goal.problem, number)
        self.local: CrammerSinger = CrammerSinger(goal)
        self._leave()
        self.moved = np.ones(goal.problem.n_examples, dtype=np.bool_)
        self.clock = 0  # rounds so far

    def draw(self, rng: np.random.Generator) -> Ints:
        local = self.local
        clock = self.clock
        if self.order.size:
            seen = np.unique(self.order)
            wait = np.minimum(2 * local.wait[seen] + 1, LONGEST)
            local.wait[seen] = np.where(self.moved[seen], 0, wait)
            local.due[seen] = clock + local.wait[seen]
        due = np.flatnonzero(local.due <= clock)
        if not due.size:
            clock = int(local.due.min())
            due = np.flatnonzero(local.due <= clock)
        rounds = min(max(self.problem.n_examples // max(due.size, 1), 1), _MOST_ROUNDS)
        self.clock = clock + rounds
        return np.concatenate([due[rng.permutation(due.size)] for _ in range(rounds)])

    def move(self, examples: Ints, vectors: Vectors) -> int:
        local = self.local
        bad = _place_all(
            local.problem.arrays,
            examples,
            vectors.l2,
            local.square,
            local.mu,
            local.gap,
            self.moved,
            vectors.near,
            local.totals,
            local.buffers,
        )
        if bad >= 0:
            raise not_finite(int(bad))
        return len(examples)

    def keep(self, examples: Ints) -> Any:
        return super().keep(examples), self.moved[examples]

    def put_back(self, examples: Ints, kept: Any) -> None:
        duals, self.moved[examples] = kept
        super().put_back(examples, duals)
