"""SAG and SAGA as solvers: their start, their epochs and their certificate.

The kernels are in ``average_gradient.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeAlias, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.vectors import absolute_sum, inner, shrunk, shrunk_square
from ...errors import DataError
from ...problem.evaluation import Evaluator, Slope, not_finite
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..goal import Goal
from ..gold_labels import gold_places, set_gold
from ..options import OneOf, Share
from ..papers import DEFAZIO_2014, SCHMIDT_2013, SCHMIDT_2015, Paper
from ..primal import PrimalSolver, certified
from ..scratch import scratch
from .average_gradient import (
    BETA,
    CHOSEN,
    CROSS,
    LARGEST,
    LINEAR,
    LONGEST,
    N_TOTALS,
    NORM,
    SAMPLINGS,
    SEEN,
    SLIDE,
    SQUARE,
    STALE,
    STEP,
    VISITS,
    Memory,
    Rule,
    all_chances,
    sag_epoch,
    shrink_all,
    step_size,
)
from .lazy import settle
from .sum_tree import make_tree

#: How examples are drawn.
Sampling: TypeAlias = Annotated[str, OneOf(SAMPLINGS)]


class _AverageGradient(PrimalSolver):
    """What SAG and SAGA have in common.

    If the goal has a start, the gradients of all examples are known from the beginning.

    Parameters
    ----------
    goal : Goal
        What to solve.
    sampling : {"uniform", "nus", "nus-2013"}
        How examples are drawn: uniformly; half of the time in proportion to L_i, the estimate of
        their curvature; or as Schmidt, Le Roux and Bach (2013, section 5.5) do.
    safe : bool
        Use the fixed step of the convergence proofs, with bounds on the curvature.
    share : float
        The step, as a fraction of the step of SAG.
    """

    on_disk = True
    saga: ClassVar[bool] = False  # whether the direction is SAGA's
    remade = ("rule",)
    grows = ("coins", "chances")

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # z, d and v with copies of them; the marginals, and theta at the end.
        return Footprint(vectors=8 if l1 else 7, parts=2, examples=14)

    def __init__(self, goal: Goal, *, sampling: Sampling, safe: bool, share: Share) -> None:
        if safe and sampling == "nus-2013":
            raise DataError("no safe step is known for sampling='nus-2013'; use 'uniform' or 'nus'")
        problem, evaluator, l2, l1 = goal.problem, goal.evaluator, goal.l2, goal.l1
        weights = goal.initial_weights
        # Lazy steps with l1 need a constant m, so they begin with all gradients, those at w = 0.
        if l1 > 0.0 and not goal.warm:
            weights = problem.storage.zeros()
        theta = goal.theta() if weights is None else evaluator.scores(weights)
        mu, loss, linear = _distributions(problem, evaluator, theta)
        v = problem.storage.zeros() if theta is None else evaluator.dual_sum(mu)
        if weights is None:
            weights = shrunk(v, l1) / l2
        super().__init__(replace(goal, start=None, initial_weights=weights))
        self.unpaid = 0.0 if theta is None else 1.0  # the pass that found the first gradients
        examples = np.flatnonzero(problem.arrays.weight)
        curvature = np.zeros(problem.n_examples)
        if safe:
            # The variance of what lies within an interval is at most a quarter of its square.
            curvature = problem.arrays.weight * problem.diameter**2 / (4.0 * problem.arrays.tau)
        elif theta is not None and sampling == "nus-2013":
            curvature[examples] = 1.0
        self.rule = Rule(
            sampling=SAMPLINGS.index(sampling),
            saga=self.saga,
            share=share,
            skipping=sampling == "nus",
            fixed=self._fixed(curvature[examples], sampling) if safe else 0.0,
            l2=l2,
            l1=l1,
        )
        self.memory = self._memory(mu, loss, linear, curvature, examples)
        self.memory.z[:], self.memory.d[:] = self.weights, -v
        totals = self.memory.totals
        totals[BETA] = 1.0
        totals[LARGEST] = 1.0 if sampling == "uniform" else 0.0
        totals[SEEN] = 0.0 if theta is None else len(examples)
        totals[CHOSEN] = np.count_nonzero(curvature)
        totals[STEP] = self.rule.fixed or np.inf
        self.buffers = scratch(problem, 6)
        self.coins = np.zeros((0, 3))  # what is left of the draws of this epoch
        self.chances = np.zeros(0)  # on disk: the chance of each example in this epoch
        self._measure()

    def _memory(
        self, mu: Floats, loss: Floats, linear: Floats, curvature: Floats, examples: Ints
    ) -> Memory:
        """Allocate what is kept, with w = d = 0; vectors from the storage are aligned."""
        problem, storage, n = self.problem, self.problem.storage, self.problem.n_examples
        place = np.zeros(n, dtype=np.int64)
        place[examples] = np.arange(len(examples))
        return Memory(
            mu=mu,
            loss=loss,
            linear=linear,
            curvature=curvature,
            streak=np.zeros(n, dtype=np.int64),
            skip=np.zeros(n, dtype=np.int64),
            order=examples,
            place=place,
            # 1e-8 as in the paper, or in proportion where all gradients are small.
            least=1e-8 * np.minimum(1.0, (problem.arrays.weight * problem.reach) ** 2),
            tree=make_tree(curvature),
            z=storage.zeros(),
            d=storage.zeros(),
            room=storage.zeros(),
            stamp=np.zeros(storage.n_places if self.l1 else 0, dtype=np.int64),
            edges=np.unique(np.append(storage.first, storage.n_places)),
            totals=np.zeros(N_TOTALS),
        )

    def _fixed(self, bound: Floats, sampling: str) -> float:
        """Return n min(p) / (4 L + n mu) for SAGA, Proposition 1 (a), and 1 / (16 L) for SAG."""
        n = len(bound)
        mu = self.l2 / n
        largest = bound.max() + mu
        if not self.saga:
            return float(1.0 / (16.0 * largest))
        p = np.full(n, 1.0 / n)
        if sampling == "nus":
            p = 0.5 * p + 0.5 * bound / bound.sum()
        return float(n * p.min() / (4.0 * largest + n * mu))

    def _settle(self, memory: Memory) -> None:
        """Bring all weights up to date, so that z holds them."""
        totals = memory.totals
        if self.l1 > 0.0:
            shrink_all(memory, self.rule, totals[STEP])
        else:
            settle(memory.z, memory.d, totals[BETA], totals[SLIDE])
            totals[BETA], totals[SLIDE] = 1.0, 0.0

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
                self._visit(np.zeros((0, 3)), order)
        else:
            self._toss()
        totals[STALE] /= n
        passes = float(totals[VISITS]) / self.problem.n_examples + self.unpaid
        totals[VISITS] = self.unpaid = 0.0
        return Epoch(passes, self._dual(), self._gap_estimate(), self.l2)

    def _toss(self) -> None:
        """Visit as many examples as there are, each drawn when its turn comes."""
        n = len(self.memory.order)
        if not self.under_way:
            self.coins = self.rng.random((n, 3))
        stretch = max(1, self.stretch * n // max(1, self.problem.n_parts))
        while self.under_way:
            now, rest = self.coins[:stretch], self.coins[stretch:]
            self._visit(now, np.zeros(0, dtype=np.int64))
            self.coins = rest
            if self.under_way:
                self.pause()

    def _draw_all(self) -> Ints:
        """Draw the examples of an epoch at its beginning, to visit them block by block.

        Every draw has the chances p_i of that time, by which SAGA's step is unbiased, but for the
        draws of one window, which come from the same block. The blocks are drawn with replacement,
        as examples are in memory: SAG fails where every gradient is as old as an epoch is long.
        """
        n = len(self.memory.order)
        self.chances = all_chances(self.memory, self.rule)
        return self.problem.room.drawn(self.rng, self.chances, n)

    def _visit(self, coins: Floats, order: Ints) -> None:
        arrays, chances = self.problem.arrays, self.chances[order]
        bad = sag_epoch(arrays, self.memory, self.rule, coins, order, chances, self.buffers)
        if bad >= 0:
            raise not_finite(int(bad))

    @property
    def under_way(self) -> bool:
        return len(self.coins) > 0 or super().under_way

    def restored(self) -> None:
        super().restored()
        memory, coins, n = self.memory, self.coins, self.problem.n_examples
        used = np.flatnonzero(self.problem.arrays.weight)
        sound = (
            np.array_equal(np.sort(memory.order), used)
            and np.array_equal(memory.place[memory.order], np.arange(len(used)))
            and 0.0 <= memory.totals[SEEN] <= len(used)
            and ((memory.streak >= 0) & (memory.streak <= LONGEST)).all()
            and coins.ndim == 2
            and coins.shape[1] == 3
            and len(coins) <= n
            and ((coins >= 0.0) & (coins < 1.0)).all()
            and len(self.chances) in (0, n)
            and (self.chances[self.left] > 0.0).all()
            and (self.problem.arrays.weight[self.left] > 0.0).all()
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
        self._settle(memory)
        weights: Floats = memory.z.copy()
        v = self.evaluator.dual_sum(memory.mu)
        memory.d[:] = -v
        self._measure()
        kept = Slope(weights, memory.loss, memory.linear, v)
        dual = certified(self.problem, kept, self.l2, self.l1).dual
        return Evaluation(weights, self.evaluator.primal(weights, self.l2, self.l1), dual)

    def current_weights(self) -> Floats:
        # A copy, because another way of rounding would make the fit depend on who looks at it.
        held = self.memory
        memory = held._replace(z=held.z.copy(), stamp=held.stamp.copy(), totals=held.totals.copy())
        self._settle(memory)
        return memory.z


def _distributions(
    problem: Problem, evaluator: Evaluator, theta: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Return mu, -tau log u(gold) and tau H + cost.mu of u ~ exp(theta), or of the gold labels."""
    arrays, n = problem.arrays, problem.n_examples
    mu, loss, linear = problem.room.parts("mu", problem.n_parts), np.zeros(n), np.zeros(n)
    if theta is None:
        set_gold(problem, mu, arrays.gold_count)
        return mu, loss, linear
    entropy = np.empty(n)
    evaluator.marginals(theta, mu, entropy)
    for first, last in problem.room.sweep(n):
        some, size = slice(first, last), last - first
        ends, gold_ends = arrays.part_ptr[first : last + 1], arrays.gold_ptr[first : last + 1]
        owner = np.repeat(np.arange(size), np.diff(gold_ends))
        part_owner = np.repeat(np.arange(size), np.diff(ends))
        own = mu[ends[0] : ends[-1]]
        log_z = entropy[some] + np.bincount(part_owner, theta[ends[0] : ends[-1]] * own, size)
        count = arrays.gold_count[gold_ends[0] : gold_ends[-1]]
        gold = theta[gold_places(problem, first, last)] * count
        loss[some] = arrays.tau * (log_z - np.bincount(owner, gold, size))
        linear[some] = arrays.tau * entropy[some]
        if arrays.cost.size:
            linear[some] += np.bincount(part_owner, arrays.cost[ends[0] : ends[-1]] * own, size)
    return mu, loss, linear


class SAG(_AverageGradient):
    """Stochastic average gradient."""

    name: ClassVar[str] = "sag"
    papers: ClassVar[tuple[Paper, ...]] = (SCHMIDT_2013, SCHMIDT_2015)

    def __init__(self, goal: Goal, *, sampling: Sampling = "uniform", safe: bool = False) -> None:
        super().__init__(goal, sampling=sampling, safe=safe, share=1.0)


@final
class SAGNUS(SAG):
    """SAG that draws half of the examples in proportion to their curvature."""

    name: ClassVar[str] = "sag-nus"
    papers = (SCHMIDT_2015,)

    def __init__(self, goal: Goal, *, sampling: Sampling = "nus") -> None:
        super().__init__(goal, sampling=sampling)


@final
class SAGA(_AverageGradient):
    """SAGA, and its proximal variant with l1 > 0.

    Parameters
    ----------
    goal, sampling, safe
        As for :class:`SAG`.
    share : float
        The step, as a fraction of the step alpha of SAG. SAGA converges with a step of
        1 / (3 max_i L_i / (n p_i)), and L_i / (n p_i) is at most 1 / alpha, so a third is safe.
        Schmidt et al. (2015) used 1, which is faster with many examples and may diverge with few.
    """

    name: ClassVar[str] = "saga"
    papers = (DEFAZIO_2014, SCHMIDT_2015)
    takes_l1 = True
    saga = True

    def __init__(
        self,
        goal: Goal,
        *,
        sampling: Sampling = "uniform",
        safe: bool = False,
        share: Share = 1.0 / 3.0,
    ) -> None:
        super().__init__(goal, sampling=sampling, safe=safe, share=share)
