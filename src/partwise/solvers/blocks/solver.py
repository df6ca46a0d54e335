"""Training in blocks of examples in one process."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.lanes import prefetch
from ...compiled.threads import thread_count
from ...problem.design import fetch_example
from ...problem.evaluation import DualPoint, not_finite
from ...problem.footprint import Footprint, held_bytes
from ...problem.matrix_evaluation import make_evaluator
from ...problem.problem import Problem
from ...problem.subset import part_places, subset
from ..goal import Goal
from ..margin.crammer_singer import LONGEST, CrammerSinger, place
from ..margin.frank_wolfe import FrankWolfe
from ..margin.marginal_ascent import LINEAR, MarginalAscent
from ..options import Count, OneOf, Preset
from ..papers import COLLINS_2008, LACOSTE_JULIEN_2013, MA_2015, Paper
from .ascent import BlockAscent, Threads
from .block import Block, EGBlock, copy_parts
from .plan import BlockPlan, Extent, block_ends, make_plan
from .vectors import Vectors

__all__ = ["Blocks", "CrammerSingerBlock", "FrankWolfeBlock", "make_block"]

# Blocks for the hinge loss: block-coordinate Frank-Wolfe, and the method of Crammer and Singer.


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
        """Move the marginals of some examples; return how often an oracle was called."""

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
    """Place the examples of an order; return the first one without finite scores, or -1."""
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


def make_block(method: str, goal: Goal, number: int, n_blocks: int) -> Block:
    """Make a block of examples.

    Parameters
    ----------
    method : str
        The solver that visits its examples.
    goal : Goal
        What to solve: the problem of the block, and where it starts.
    number, n_blocks : int
        The number of the block, and of all blocks.
    """
    if method in ("online-eg", "plain-eg"):
        order = "focused" if method == "online-eg" else "permutation"
        return EGBlock(goal, number, n_blocks, order)
    return (CrammerSingerBlock if method == "crammer-singer" else FrankWolfeBlock)(goal, number)


@final
class Blocks(BlockAscent):
    """Visit blocks of examples side by side, in threads, and add up what they find.

    The blocks are the same whatever the number of threads, and so is the result.

    Parameters
    ----------
    goal : Goal
        What to solve.
    blocks : int or None
        The number of blocks; None: 8. Blocks do not see each other's steps within a round, so more
        blocks need more passes.
    exchanges : int, "each" or None
        The number of rounds in a pass; "each": as many as a block has examples; None: so many that
        a chunk has four examples, but at most 256. More rounds need fewer passes, and take longer.
    method : {"online-eg"} or None
        Online EG for every loss, without annealing or a proximal term; None: what ``auto`` would
        take.
    """

    name: ClassVar[str] = "blocks"
    needs = frozenset({"whole labels"})
    takes_l1 = True
    threads = True
    papers: ClassVar[tuple[Paper, ...]] = (MA_2015, COLLINS_2008, LACOSTE_JULIEN_2013)
    presets: ClassVar[Mapping[str, Preset]] = {
        "collins2008-parallel": Preset(
            "Section 9 of Collins et al. (2008): k processors update one example each with online "
            "EG, side by side.",
            {"exchanges": "each", "method": "online-eg"},
        )
    }
    remade = ("dealt",)

    def __init__(
        self,
        goal: Goal,
        *,
        blocks: Count | None = None,
        exchanges: Count | Annotated[str, OneOf(("each",))] | None = None,
        method: Annotated[str, OneOf(("online-eg",))] | None = None,
    ) -> None:
        problem = goal.problem
        plan = _plan(problem, goal.l2, goal.l1, goal.warm, blocks, exchanges, method)
        super().__init__(plan, problem.storage, problem.n_examples, goal.l2, goal.l1, goal.rng)
        self.problem, self.evaluator = problem, goal.evaluator
        self.dealt = deal(problem, plan.blocks)
        made = [
            make_block(plan.method, _part(goal, examples), k, plan.blocks)
            for k, examples in enumerate(self.dealt)
        ]
        jobs = min(thread_count(goal.evaluator.n_jobs), plan.blocks)
        kind = (problem.storage, goal.l1, self.vectors.proximal, not plan.smooth)
        self.crew: Threads = Threads(made, self.vectors, [Vectors(*kind) for _ in range(jobs - 1)])
        if goal.warm:
            self.start_from(*self.fresh(), goal.initial_weights)
            self.crew.follow()

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        names = ("blocks", "exchanges", "method")
        plan = _plan(problem, l2, l1, False, *(options.get(name) for name in names))
        # v, its lag, what is added up, the marks; the weights and a v from scratch, twice each.
        vectors = 8.5 + (2.0 if plan.nearness else 0.0) + (1.0 if l1 else 0.0)
        copied = float(held_bytes(problem.arrays)) if _is_dealt(problem) else 0.0
        if plan.keeps_theta:
            return Footprint(
                vectors=vectors + 2.0 * (not plan.smooth), parts=2, examples=8, other=copied
            )
        kind = CrammerSinger if plan.method == "crammer-singer" else FrankWolfe
        size = kind.footprint(problem, l2, l1, {})
        return replace(size, vectors=vectors + 2.0, other=size.other + copied)

    def restored(self) -> None:
        super().restored()
        self.crew.follow()

    def dual_point(self) -> DualPoint:
        problem, blocks = self.problem, self.crew.blocks
        held = np.empty(problem.n_parts)
        for block, examples in zip(blocks, self.dealt, strict=True):
            held[part_places(problem, examples)] = block.theta()
        if self.plan.keeps_theta:
            return DualPoint(held)
        return DualPoint(self.evaluator.scores(self.current_weights()), held)


def _plan(
    problem: Problem,
    l2: float,
    l1: float,
    warm: bool,
    blocks: int | None,
    exchanges: int | str | None,
    method: str | None,
) -> BlockPlan:
    return make_plan(
        Extent.of(problem),
        problem.layout.n_weights,
        problem.loss.tau,
        problem.structure.name == "multiclass",
        l2,
        l1,
        warm=warm,
        blocks=blocks,
        exchanges=exchanges,
        method=method,
    )


def _is_dealt(problem: Problem) -> bool:
    """Return whether blocks are dealt out: examples of classifiers are often sorted."""
    return problem.structure.name == "multiclass"


def deal(problem: Problem, blocks: int) -> list[Ints]:
    """Return the examples of each block: neighbours, or every so many where they may be sorted."""
    n = problem.n_examples
    if _is_dealt(problem):
        return [np.arange(k, n, blocks) for k in range(blocks)]
    ends = block_ends(np.diff(problem.arrays.part_ptr), blocks)
    return [np.arange(a, b) for a, b in pairwise([0, *ends.tolist()])]


def _part(goal: Goal, examples: Ints) -> Goal:
    """Return the goal of some examples."""
    problem, start = goal.problem, goal.start
    mine = subset(problem, examples)
    if start is not None:
        places = part_places(problem, examples)
        mu = None if start.mu is None else start.mu[places]
        start = DualPoint(start.theta[places], mu)
    return replace(goal, problem=mine, evaluator=make_evaluator(mine), start=start)
