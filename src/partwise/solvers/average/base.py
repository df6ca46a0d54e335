"""What SAG and its relatives have in common: their start, their epochs and their certificate.

The kernels are in ``average_gradient.py`` and ``two_gradients.py``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.vectors import absolute_sum, inner, shrunk, shrunk_square
from ...errors import DataError
from ...problem.evaluation import Slope, not_finite
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..goal import Goal
from ..primal import PrimalSolver, certified
from .average_gradient import all_chances, sag_epoch, shrink_all, step_size
from .lazy import settle
from .memory import (
    BETA,
    CROSS,
    LARGEST,
    LINEAR,
    NORM,
    PROPORTIONAL,
    SEARCHES,
    SEEN,
    SLIDE,
    SQUARE,
    STALE,
    STEP,
    VISITS,
    WORDS,
    Memory,
    Rule,
    check_memory,
    distributions,
    make_memory,
)
from .steps import StepOptions, curvature_bounds
from .two_gradients import two_gradient_epoch


class Tossing(PrimalSolver):
    """A solver that draws every example when its turn comes, and whose steps are lazy."""

    remade: ClassVar[tuple[str, ...]] = ("rule", "other")
    grows: ClassVar[tuple[str, ...]] = ("coins",)
    memory: Memory
    rule: Rule

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        self.buffers = goal.problem.scratch(6)
        self.other = np.empty(goal.problem.max_parts)
        self.coins = np.zeros((0, 3))  # what is left of the draws of this epoch

    @abstractmethod
    def visit(self, coins: Floats) -> int:
        """Make one step per row; return the first example without a finite log Z, or -1."""

    def toss(self, steps: int) -> None:
        """Make the steps of an epoch, or what is left of them."""
        if not self.under_way:
            self.coins = self.rng.random((steps, 3))
        n = len(self.memory.order)
        stretch = max(1, self.stretch * n // max(1, self.problem.n_parts))
        while self.under_way:
            now, rest = self.coins[:stretch], self.coins[stretch:]
            bad = self.visit(now)
            if bad >= 0:
                raise not_finite(int(bad))
            self.coins = rest
            if self.under_way:
                self.pause()

    @property
    def under_way(self) -> bool:
        return len(self.coins) > 0 or super().under_way

    def restored(self) -> None:
        super().restored()
        check_memory(self.memory, self.problem)
        coins = self.coins
        if coins.ndim != 2 or coins.shape[1] != 3 or not ((coins >= 0.0) & (coins < 1.0)).all():
            raise DataError("the order of the examples is not that of the problem")

    def settle(self, memory: Memory) -> None:
        """Bring all weights up to date, so that z holds them."""
        totals = memory.totals
        if self.l1 > 0.0:
            shrink_all(memory, self.rule, totals[STEP])
        else:
            settle(memory.z, memory.d, totals[BETA], totals[SLIDE])
            totals[BETA], totals[SLIDE] = 1.0, 0.0

    def current_weights(self) -> Floats:
        # A copy, because another way of rounding would make the fit depend on who looks at it.
        held = self.memory
        memory = held._replace(z=held.z.copy(), stamp=held.stamp.copy(), totals=held.totals.copy())
        self.settle(memory)
        return memory.z


class AverageGradient(Tossing):
    """What SAG and SAGA have in common.

    If the goal has a start, the gradients of all examples are known from the beginning.

    Parameters
    ----------
    goal : Goal
        What to solve.
    steps : StepOptions
        The options that follow, but for delta.
    sampling : {"uniform", "nus", "nus-2013"}
        How examples are drawn: uniformly; half of the time in proportion to L_i, the estimate of
        their curvature; or as Schmidt, Le Roux and Bach (2013, section 5.5) do.
    eta : {"search", "theorem", "bound"} or float
        The step alpha, for a mean over the examples: 1 / (L + lambda) with an L that is found by
        line searches; the step of the convergence proofs, with bounds on the curvature; the step
        of "search", with these bounds in place of its estimates; or a number, which stays fixed.
    first_curvature : float or None
        Where L_g, or the first L_i, begins, as in Algorithm 1, which begins at 1 and only doubles
        it. None: it begins at 1, and the first search also halves it.
    skipping : bool or None
        Whether an example has no search for some visits after searches that found its L_i large
        enough at once. None: with sampling="nus" it does, as published.
    delta : float or None
        Also stop where no entry of d/n + lambda w, the estimate of the gradient, exceeds this and
        every example was seen, as Algorithm 1 does. It is looked at after every epoch.
    """

    on_disk = True
    saga: ClassVar[bool] = False  # whether the direction is SAGA's
    remade = ("delta",)
    grows = ("chances",)

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # z, d and v with copies of them; the marginals, and theta at the end.
        return Footprint(vectors=8 if l1 else 7, parts=2, examples=14)

    def __init__(self, goal: Goal, steps: StepOptions, delta: float | None) -> None:
        problem, evaluator, l2, l1 = goal.problem, goal.evaluator, goal.l2, goal.l1
        method, sampling = "saga" if self.saga else "sag", steps.sampling
        steps.check(method, goal, int(np.count_nonzero(problem.arrays.weight)))
        if delta is not None and l1 > 0.0:
            raise DataError("delta bounds the gradient, which l1 > 0 does not have; leave it out")
        weights = goal.initial_weights
        # Lazy steps with l1 need a constant m, so they begin with all gradients, those at w = 0.
        if l1 > 0.0 and not goal.warm:
            weights = problem.storage.zeros()
        theta = goal.theta() if weights is None else evaluator.scores(weights)
        mu, loss, linear = distributions(problem, evaluator, theta)
        v = problem.storage.zeros() if theta is None else evaluator.dual_sum(mu)
        if weights is None:
            weights = shrunk(v, l1) / l2
        super().__init__(replace(goal, start=None, initial_weights=weights))
        self.unpaid = 0.0 if theta is None else 1.0  # the pass that found the first gradients
        self.delta = delta
        examples = np.flatnonzero(problem.arrays.weight)
        lam = l2 / len(examples)
        first = 1.0 if steps.first_curvature is None else float(steps.first_curvature)
        bound, curvature = np.zeros(0), np.zeros(problem.n_examples)
        if not steps.searched:
            curvature = curvature_bounds(problem, lam if sampling == "proportional" else 0.0)
            bound = curvature_bounds(problem)[examples]
        elif theta is not None and sampling == "nus-2013":
            curvature[examples] = first
        self.rule = Rule(
            sampling=WORDS.index(sampling),
            saga=self.saga,
            share=1.0 if steps.share is None else float(steps.share),
            skipping=sampling == "nus" if steps.skipping is None else bool(steps.skipping),
            first=first,
            fixed=steps.fixed(method, bound, lam),
            l2=l2,
            l1=l1,
        )
        self.memory = make_memory(problem, l1, (mu, loss, linear), curvature)
        self.memory.z[:], self.memory.d[:] = self.weights, -v
        totals = self.memory.totals
        totals[LARGEST] = first if sampling == "uniform" else 0.0
        totals[SEEN] = 0.0 if theta is None else len(examples)
        totals[SEARCHES] = 0.0 if steps.first_curvature is None else 1.0
        totals[STEP] = self.rule.fixed or np.inf
        self.chances = np.zeros(0)  # on disk: the chance of each example in this epoch
        self._measure()

    def _measure(self) -> None:
        """Compute the running totals from scratch."""
        memory, totals = self.memory, self.memory.totals
        totals[NORM] = inner(memory.d, memory.d)
        totals[CROSS] = inner(memory.z, memory.d)
        totals[SQUARE] = inner(memory.z, memory.z)
        totals[LINEAR] = inner(self.problem.arrays.weight, memory.linear)

    def _dual(self) -> float:
        """Return D at the marginals that are kept."""
        totals = self.memory.totals
        norm = shrunk_square(self.memory.d, self.l1) if self.l1 > 0.0 else totals[NORM]
        return float(totals[LINEAR] - norm / (2.0 * self.l2))

    def epoch(self) -> Epoch:
        totals, n = self.memory.totals, len(self.memory.order)
        if not self.under_way:
            totals[STALE] = 0.0
        if self.problem.room.on_disk:
            for order in self.stretches(self._draw_all):
                bad = self._step(np.zeros((0, 3)), order)
                if bad >= 0:
                    raise not_finite(bad)
        else:
            self.toss(n)
        totals[STALE] /= n
        passes = float(totals[VISITS]) / self.problem.n_examples + self.unpaid
        totals[VISITS] = self.unpaid = 0.0
        if self.rule.sampling == PROPORTIONAL:
            self.settle(self.memory)
            self._measure()
        return Epoch(passes, self._dual(), self._gap_estimate(), self.l2, self._ended())

    def _ended(self) -> str:
        """Return why the fit ends by the stopping rule of Algorithm 1, or ""."""
        n = len(self.memory.order)
        if self.delta is None or self.memory.totals[SEEN] < n:
            return ""
        slope = self.memory.d + self.l2 * self.current_weights()
        if np.abs(slope).max() >= n * self.delta:
            return ""
        return f"stopped: no entry of the estimated gradient reaches delta = {self.delta:g}"

    def _draw_all(self) -> Ints:
        """Draw the examples of an epoch at its beginning, to visit them block by block.

        Every draw has the chances p_i of that time, by which SAGA's step is unbiased, but for the
        draws of one window, which come from the same block. The blocks are drawn with replacement,
        as examples are in memory: SAG fails where every gradient is as old as an epoch is long.
        """
        n = len(self.memory.order)
        self.chances = all_chances(self.memory, self.rule)
        return self.problem.room.drawn(self.rng, self.chances, n)

    def visit(self, coins: Floats) -> int:
        return self._step(coins, np.zeros(0, dtype=np.int64))

    def _step(self, coins: Floats, order: Ints) -> int:
        arrays, memory, rule = self.problem.arrays, self.memory, self.rule
        if rule.sampling == PROPORTIONAL:
            room = (self.buffers, self.other)
            return int(two_gradient_epoch(arrays, memory, np.zeros(0), rule, coins, *room))
        chances = self.chances[order]
        return int(sag_epoch(arrays, memory, rule, coins, order, chances, self.buffers))

    def restored(self) -> None:
        super().restored()
        chances, left = self.chances, self.left
        sound = (
            len(chances) in (0, self.problem.n_examples)
            and (chances[left] > 0.0).all()
            and (self.problem.arrays.weight[left] > 0.0).all()
        )
        if not sound:
            raise DataError("the order of the examples is not that of the problem")

    def _gap_estimate(self) -> float:
        """Estimate P(w) - D(u) = sum_i c_i tau KL(u_i, p_i) + R(w) + R*(v) - w.v by sampling KL."""
        l2, totals = self.l2, self.memory.totals
        if self.l1 == 0.0:
            apart = totals[NORM] + 2.0 * l2 * totals[CROSS] + l2 * l2 * totals[SQUARE]
            return float(totals[STALE] + max(apart, 0.0) / (2.0 * l2))
        shrink_all(self.memory, self.rule, step_size(self.memory, self.rule))
        w, d = self.memory.z, self.memory.d
        apart = 0.5 * l2 * inner(w, w) + self.l1 * absolute_sum(w) + inner(w, d)
        apart += shrunk_square(d, self.l1) / (2.0 * l2)
        return float(totals[STALE] + apart)

    def evaluate(self) -> Evaluation:
        """Compute P at the weights, and D between the gold labels and the kept marginals.

        The kept marginals come from different visits, but they are a better dual point than
        p(.|x_i; w), since the weights follow d, the sum over them.
        """
        memory = self.memory
        self.settle(memory)
        weights: Floats = memory.z.copy()
        v = self.evaluator.dual_sum(memory.mu)
        memory.d[:] = -v
        self._measure()
        kept = Slope(weights, memory.loss, memory.linear, v)
        dual = certified(self.problem, kept, self.l2, self.l1).dual
        return Evaluation(weights, self.evaluator.primal(weights, self.l2, self.l1), dual)
