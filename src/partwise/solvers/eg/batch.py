"""Batch exponentiated gradient: all duals at once.

Primal, dual and update are those of online EG, but every theta_i moves by the same step from the
same weights (Figure 1 of Collins et al. 2008). The step is halved until the dual improves, then
multiplied by 1.05; or it is fixed (`steps`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...problem.design import score
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch
from ..goal import Goal
from ..options import NotNegative, Positive, Preset
from ..papers import BARTLETT_2004, COLLINS_2008
from .base import BATCH, Annealing, Eta, ExponentiatedGradient, first_batch_step, searched


@njit(fastmath=FAST)
def batch_eg_directions(
    a: Any, v: Any, l2: float, theta: Any, out: Any, begin: int, end: int
) -> None:
    """Compute out_i = F_i w + cost_i - tau theta_i for i in [begin, end), the way of an EG step."""
    for i in range(begin, end):
        lo, hi = a.part_ptr[i], a.part_ptr[i + 1]
        score(a.design, i, v, out[lo:hi])
        for r in range(lo, hi):
            out[r] = out[r] / l2 - a.tau * theta[r]
            if a.cost.size > 0:
                out[r] += a.cost[r]


@final
class BatchEG(ExponentiatedGradient):
    """Exponentiated gradient on the dual, with one step for all examples at once.

    Parameters
    ----------
    goal, start, annealing
        As in :class:`ExponentiatedGradient`.
    eta : float or {"search", "theorem", "safe"}
        A fixed step; one that is searched for; or a fixed one that is proven to improve the dual,
        that of Theorem 1 or a longer one.
    first_step : float or None
        Where the search begins; None: at 0.5.
    """

    name: ClassVar[str] = "batch-eg"
    papers = (COLLINS_2008, BARTLETT_2004)
    presets: ClassVar[Mapping[str, Preset]] = BATCH
    threads = True

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # theta and mu of two points, the way between them, and three products.
        return replace(super().footprint(problem, l2, l1, options), parts=8, examples=4)

    def __init__(
        self,
        goal: Goal,
        *,
        start: NotNegative | None = None,
        eta: Eta = "search",
        first_step: Positive | None = None,
        annealing: Annealing | None = None,
    ) -> None:
        super().__init__(goal, start=start, annealing=annealing)
        self.fixed = not searched(eta, first_step=first_step)
        self.eta = first_batch_step(goal.problem, goal.l2, eta, first_step)

    def epoch(self) -> Epoch:
        """Take one step; every trial counts as a pass."""
        l2 = self.current_l2
        arrays, old = self.problem.arrays, self.duals
        before = self.running_dual(l2)
        direction = np.empty_like(old.theta)

        def task(begin: int, end: int) -> None:
            batch_eg_directions(arrays, old.v, l2, old.theta, direction, begin, end)

        self.evaluator.run(0, self.problem.n_examples, task)
        passes = 0
        tau = self.problem.loss.tau
        while True:
            passes += 1
            eta = self.eta
            self.duals = old._replace(
                theta=old.theta + eta * direction,
                mu=np.empty_like(old.mu),
                entropy=np.empty_like(old.entropy),
                totals=old.totals.copy(),
            )
            self.refresh()
            after = self.running_dual(l2)
            if self.fixed or after >= before - 1e-14 * abs(before):
                break
            self.eta *= 0.5
            if passes > 60:
                self.duals = old
                break
        change = self.duals.mu - old.mu
        weight = np.repeat(arrays.weight, np.diff(arrays.part_ptr))
        spread = inner(eta * direction * change, weight)
        estimate = spread / (2.0 * tau * eta * eta) if tau > 0.0 else spread / eta
        if not self.fixed:
            self.eta = min(1.05 * self.eta, 1.0 / tau if tau else np.inf)
        self.epochs += 1
        if tau == 0.0:
            self.average.add(self.duals.v)
        return Epoch(float(passes), self.running_dual(l2), float(estimate), l2)
