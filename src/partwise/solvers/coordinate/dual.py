"""Dual coordinate descent for classifiers: solves for the duals of one context at a time.

    min_alpha  |v|^2 / (2 l2) + sum_xy alpha_xy log alpha_xy,    sum_y alpha_xy = total_x, alpha > 0
    v(alpha) = sum_xy (counts_xy - alpha_xy) f(x, y)

Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy
models" (2011): Algorithm 5 for two classes, Algorithms 6 and 7 for more. The tolerance to which the
problem of a block is solved begins at 1e-2, and falls to 1e-8 as the blocks need fewer steps.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...problem.dual_point import DualPoint
from ...problem.evaluation import not_finite
from ..base import Epoch, Evaluation, Solver
from ..goal import Goal
from ..options import OneOf
from ..papers import YU_2011
from .contexts import find_contexts
from .entropy_blocks import EntropyBlocks
from .logistic_blocks import LogisticBlocks
from .subproblem import METHODS, SMALLEST

ORDERS: Final = ("permutation", "focused")

#: The tolerance for |g'| of a block, at first and at last.
_LOOSE: Final = 1e-2
_TIGHT: Final = 1e-8
#: "focused" leaves a context out while its share of the gap is below this part of the mean ...
_FOCUS: Final = 0.3
#: ... but visits it at least every so many epochs.
_WAIT: Final = 3


@final
class DualCoordinateDescent(Solver):
    """Dual coordinate descent, with Newton steps that are safe against cancellation.

    A context of m examples is visited m times per epoch. If it were visited once, the heaviest
    contexts would hold up all others: they would be solved for weights that have changed much by
    their next visit.

    Parameters
    ----------
    goal : Goal
        What to solve. Without a start the duals begin close to the gold labels, by (36) for
        two classes and (51) for more.
    newton : {"modified", "line-search", "bisection"}
        How the sub-problem in one variable is solved: Algorithm 4; one Newton step with a line
        search (CDdual-ls); or halving until Newton steps are safe (Algorithm 9).
    order : {"permutation", "focused"}
        A new random permutation each epoch, as in the paper; or the same, but contexts whose share
        of the gap was small at their last visit are left out for up to two epochs.
    group : bool
        Whether examples with the same features are one context.
    """

    name: ClassVar[str] = "dual-cd"
    papers = (YU_2011,)
    needs = frozenset({"multiclass", "log loss", "unconstrained labels", "whole labels"})
    remade = ("contexts", "visits", "order")

    def __init__(
        self,
        goal: Goal,
        *,
        newton: Annotated[str, OneOf(METHODS)] = "modified",
        order: Annotated[str, OneOf(ORDERS)] = "focused",
        group: bool = True,
    ) -> None:
        super().__init__(goal)
        problem = goal.problem
        self.method = METHODS.index(newton)
        self.focused = order == "focused"
        self.contexts = find_contexts(problem, group)
        halved = problem.max_parts == 2 and not problem.storage.slot.size
        self.blocks: LogisticBlocks | EntropyBlocks = (LogisticBlocks if halved else EntropyBlocks)(
            problem, goal.l2, self.contexts, goal.evaluator
        )
        theta = goal.theta()
        if theta is not None:
            self._start_from(theta)
        self.blocks.rebuild()
        # sum_x total_x H(alpha_x / total_x) is this minus sum alpha log alpha.
        self.most = float(inner(self.contexts.total, np.log(self.contexts.total)))
        self.tol = _LOOSE
        self.made = self.steps = 0  # visits of this epoch, and those that changed something
        n = len(self.contexts.first)
        self.visits = np.repeat(np.arange(n), self.contexts.size)
        self.order = np.empty_like(self.visits)
        self.age = np.zeros(n, dtype=np.int64)  # epochs since the last visit

    def _start_from(self, theta: Floats) -> None:
        """Start from theta: alpha_x is the sum of c_i u_i over the examples of a context.

        v is then that of the examples, and D is no lower than theirs.
        """
        mu = np.empty_like(theta)
        self.evaluator.marginals(theta, mu, np.empty(self.problem.n_examples))
        used = self.contexts.member >= 0
        mass = (mu.reshape(-1, self.problem.max_parts).T * self.problem.arrays.weight).T
        alpha = np.zeros_like(self.contexts.counts)
        np.add.at(alpha, self.contexts.member[used], mass[used])
        self.blocks.alpha[:] = np.maximum(alpha, SMALLEST)

    def _draw(self) -> Ints:
        n = len(self.visits)
        if self.focused:
            share = self.blocks.share
            least = _FOCUS * float(share.sum()) / n
            n = _due(self.visits, share, self.contexts.size, least, self.age, self.order)
        else:
            self.order[:] = self.visits
        _shuffle(self.order[:n], self.rng.random(n))
        order: Ints = self.order[:n].copy()
        return order

    @property
    def n_items(self) -> int:
        return len(self.contexts.first)

    def epoch(self) -> Epoch:
        """Visit every context as often as it has examples."""
        if not self.under_way:
            self.made = self.steps = 0
        for order in self.stretches(self._draw):
            bad, steps = self.blocks.epoch(order, self.tol, self.method)
            if bad >= 0:
                raise not_finite(int(self.contexts.first[bad]))
            self.made, self.steps = self.made + len(order), self.steps + int(steps)
        if self.steps <= self.made / 10:
            self.tol = max(0.1 * self.tol, _TIGHT)
        passes = self.made / self.problem.n_examples
        return Epoch(passes, self._dual(), float(self.blocks.share.sum()), self.l2)

    def _dual(self) -> float:
        """Return D(u) from the duals and the running weights."""
        return self.most - float(_negative_entropy(self.blocks.alpha)) - self.blocks.penalty()

    def evaluate(self) -> Evaluation:
        alpha = self.blocks.alpha
        # Each visit may change the sum by a rounding error.
        alpha *= (self.contexts.total / alpha.sum(axis=1))[:, None]
        self.blocks.rebuild()
        weights = self.current_weights()
        return Evaluation(weights, self.evaluator.primal(weights, self.l2), self._dual())

    def current_weights(self) -> Floats:
        return self.blocks.weights()

    def dual_point(self) -> DualPoint:
        alpha = self.blocks.alpha
        theta = np.log(alpha) - np.log(alpha.sum(axis=1, keepdims=True))
        return DualPoint(self.contexts.spread(theta, 0.0).ravel())


@njit
def _due(visits: Ints, share: Any, size: Any, least: float, age: Ints, out: Ints) -> Any:
    """Write the visits of the contexts whose turn it is into out; returns how many there are.

    These are the contexts whose share of the gap is at least ``least`` per example, and those that
    have waited.
    """
    for i in range(age.size):
        age[i] = 0 if share[i] >= least * size[i] or age[i] + 1 >= _WAIT else age[i] + 1
    n = 0
    for i in visits:
        out[n] = i
        n += age[i] == 0
    return n


@njit
def _shuffle(items: Ints, uniform: Floats) -> None:
    """Shuffle the items, given as many random numbers in [0, 1)."""
    for k in range(items.size):
        j = int(uniform[k] * (k + 1))
        items[k], items[j] = items[j], items[k]


@njit(fastmath=FAST)
def _negative_entropy(alpha: Floats) -> float:
    """Return sum_x sum_y alpha_xy log alpha_xy."""
    value = 0.0
    for i in range(alpha.shape[0]):
        for y in range(alpha.shape[1]):
            value += alpha[i, y] * np.log(alpha[i, y])
    return value
