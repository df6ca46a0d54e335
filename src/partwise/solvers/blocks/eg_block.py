"""Blocks that exponentiated gradient works on."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...problem.problem import Problem
from ..eg.base import LINEAR, VISITS
from ..eg.online import OnlineEG
from ..eg.steps import safe_steps
from ..goal import Goal
from .block import Block
from .messages import Pass
from .vectors import Vectors

__all__ = ["EGBlock", "copy_parts"]


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
