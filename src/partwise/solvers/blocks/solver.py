"""Training in blocks of examples in one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, final

import numpy as np

from ...arrays import Ints
from ...compiled.threads import thread_count
from ...problem.dual_point import DualPoint
from ...problem.footprint import Footprint, held_bytes
from ...problem.matrix_evaluation import make_evaluator
from ...problem.problem import Problem
from ...problem.subset import part_places, subset
from ..goal import Goal
from ..margin.crammer_singer import CrammerSinger
from ..margin.frank_wolfe import FrankWolfe
from ..options import Count, OneOf, Preset
from ..papers import COLLINS_2008, LACOSTE_JULIEN_2013, MA_2015, Paper
from .ascent import BlockAscent
from .block import Block
from .crew import Threads
from .eg_block import EGBlock
from .margin_blocks import CrammerSingerBlock, FrankWolfeBlock
from .plan import Extent, Plan, block_ends, make_plan
from .vectors import Vectors

__all__ = ["Blocks", "make_block"]


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
) -> Plan:
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
