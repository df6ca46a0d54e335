"""Online exponentiated gradient with a proximal term: for l1 > 0, and for an l2 that is small.

The dual of an elastic net with a small l2 is hard: w(u) = shrunk(v, l1) / l2 amplifies every error
in v. So each epoch solves a problem near the last weights z instead, which has an l2 of l2 + k and
is easy (the proximal point method of Rockafellar 1976; for the dual this is the method of
multipliers, as in Tomioka, Suzuki and Sugiyama 2011):

    min_w  P(w) + k/2 |w - z|^2,    w(u) = shrunk(v(u) + k z, l1) / (l2 + k)

:mod:`partwise.solvers.proximal_term` describes how k and z are chosen. The examples' part of the
gap is sum_i c_i tau KL(u_i, p_i).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner, shrunk
from ...problem.evaluation import penalty
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..goal import Goal
from ..options import NotNegative, OneOf, Preset
from ..papers import COLLINS_2008, ROCKAFELLAR_1976, TOMIOKA_2011
from ..primal import search_dual_line
from ..proximal_term import ProximalTerm, holding_factor
from .base import LINEAR, VISITS, easy_l2, safe_steps
from .online import ORDERS, FirstStep, OnlineEG

#: The examples' part of the gap, divided by the weights' part, that k is steered to.
_PROPORTION: Final = 0.1
#: If the goal has a start, the first k is at most this times l2.
_WARM: Final = 10.0


@final
class ProximalEG(OnlineEG):
    """Online EG with a term that keeps the weights near the last, for l1 > 0 and for a small l2.

    Parameters
    ----------
    goal : Goal
        What to solve; its initial weights, or else those of its dual point, are the first z.
    start, order, first_step
        As in :class:`OnlineEG`.
    nearness : float or None
        The first k. None: one for which the first problem is easy, or a smaller one if the goal has
        a dual point, or a larger one that keeps the weights if it has only these.
    """

    name: ClassVar[str] = "proximal-eg"
    papers = (COLLINS_2008, ROCKAFELLAR_1976, TOMIOKA_2011)
    presets: ClassVar[Mapping[str, Preset]] = {}
    needs = frozenset({"marginals", "tau>0"})
    takes_l1 = True

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # theta, mu and v; the centre, the weights before and now, and two sums.
        return Footprint(vectors=9 if l1 else 6, parts=2, examples=8)

    def __init__(
        self,
        goal: Goal,
        *,
        start: NotNegative | None = None,
        order: Annotated[str, OneOf(ORDERS)] = "focused",
        first_step: FirstStep | None = None,
        nearness: NotNegative | None = None,
    ) -> None:
        super().__init__(goal, start=start, order=order, first_step=first_step)
        problem, l2, l1 = goal.problem, goal.l2, goal.l1
        self.weights = problem.storage.zeros()
        if goal.initial_weights is not None:
            self.weights[:] = goal.initial_weights
        elif goal.warm:
            self.weights[:] = shrunk(self.duals.v, l1) / l2
        leaves = nearness is None and goal.only_weights
        if leaves:
            nearness = max(easy_l2(problem), holding_factor(self.weights, self.duals.v, l2, l1))
        if nearness is None:
            nearness = max(easy_l2(problem) - l2, 0.0)
            if goal.warm and l1 == 0.0:
                nearness = min(nearness, _WARM * l2)
        self.proximal_term = ProximalTerm(nearness, self.weights, l2, _PROPORTION, leaves)
        self.near = problem.storage.zeros()
        self.shrunk = problem.storage.zeros() if l1 else self.near

    def epoch(self) -> Epoch:
        """Visit the examples once, for the problem near the present weights."""
        k, z = self.proximal_term.k, self.proximal_term.centre
        duals, totals = self.duals, self.duals.totals
        l2 = self.l2 + k
        self.least = np.minimum(1e-3, safe_steps(self.problem, l2))
        w = self.shrunk
        if not self.under_way:
            self.near[:] = duals.v + k * z
            if self.l1:
                w[:] = shrunk(self.near, self.l1)
        near = duals._replace(v=self.near)
        for order in self.stretches(self._draw):
            self._visit(order, near, l2, self.halvings[self.epochs > 0], w if self.l1 else None)
        duals.v[:] = self.near - k * z
        self.weights = w / l2
        self.epochs += 1
        passes, totals[VISITS] = float(totals[VISITS]) / self.problem.n_examples, 0.0
        dual, _ = self.scaled()
        own = float(duals.gap.sum())
        others = (
            float(totals[LINEAR] - inner(self.weights, duals.v))
            + penalty(self.weights, self.l2, self.l1)
            - dual
        )
        self.proximal_term.steer(own, others, self.weights)
        return Epoch(passes, dual, own + others, self.l2)

    def scaled(self) -> tuple[float, float]:
        """Return D of the best point between the gold labels and u, and the s of that point.

        The entropy is concave, so s times that of u is a bound from below.
        """
        linear = float(self.duals.totals[LINEAR])
        return search_dual_line(lambda s: s * linear, self.duals.v, self.l2, self.l1)

    def evaluate(self) -> Evaluation:
        self.refresh()
        primal = self.evaluator.primal(self.weights, self.l2, self.l1)
        return Evaluation(self.weights, primal, self.scaled()[0])

    def current_weights(self) -> Floats:
        return self.weights
