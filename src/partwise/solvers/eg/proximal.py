"""Online exponentiated gradient with a proximal term: for l1 > 0, and for an l2 that is small.

The dual of an elastic net with a small l2 is hard: w(u) = shrunk(v, l1) / l2 makes much of every
error in v. So each epoch solves a problem near the last weights z instead, which has an l2 of
l2 + k and is easy (the proximal point method of Rockafellar 1976; for the dual this is the method
of multipliers, as in Tomioka, Suzuki and Sugiyama 2011):

    min_w  P(w) + k/2 |w - z|^2,    w(u) = shrunk(v(u) + k z, l1) / (l2 + k)

:mod:`partwise.solvers.nearness` says how k and z are chosen. The examples' part of the gap is
sum_i c_i tau KL(u_i, p_i).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner, shrunk
from ...problem.evaluation import Evaluator, penalty
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..nearness import Nearness
from ..options import NotNegative, OneOf
from ..scaling import scaled_dual
from .base import LINEAR, VISITS, easy_l2
from .online import ORDERS, FirstStep, OnlineEG, safe_steps

#: The examples' part of the gap, divided by the weights' part, that k is steered to.
_PROPORTION: Final = 0.1
#: From duals or weights that are given, k begins at most at this times l2.
_WARM: Final = 10.0


@final
class ProximalEG(OnlineEG):
    """Online EG with a proximal term.

    Parameters
    ----------
    problem, l2, evaluator, rng, start, order, first_step
        As in :class:`OnlineEG`.
    l1 : float
        Weight of the absolute sum of the weights.
    initial_weights : ndarray or None
        Stored weights z to begin near to; without ``start`` the duals begin at their marginals.
    nearness : float or None
        The first k; None: one for which the first problem is easy, or less near a solution.
    """

    name: ClassVar[str] = "proximal-eg"
    needs = frozenset({"marginals", "tau>0"})

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        """Say what theta, mu and v take, the centre, the weights before and now, two sums."""
        return Footprint(vectors=9 if l1 else 6, parts=2, examples=8)

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        l1: float = 0.0,
        start: NotNegative | Floats | None = None,
        initial_weights: Floats | None = None,
        order: Annotated[str, OneOf(ORDERS)] = "focused",
        first_step: FirstStep = 0.5,
        nearness: NotNegative | None = None,
    ) -> None:
        if initial_weights is not None and start is None:
            start = evaluator.scores(initial_weights)
        super().__init__(
            problem, l2, evaluator, rng, start=start, order=order, first_step=first_step
        )
        self.l1 = l1
        self.weights = problem.storage.zeros()
        if initial_weights is not None:
            self.weights[:] = initial_weights
        elif isinstance(start, np.ndarray):
            self.weights[:] = shrunk(self.duals.v, l1) / l2
        if nearness is None:
            nearness = max(easy_l2(problem) - l2, 0.0)
            if isinstance(start, np.ndarray) and l1 == 0.0:
                nearness = min(nearness, _WARM * l2)
        self.nearness = Nearness(nearness, self.weights, l2, _PROPORTION)
        self.near = problem.storage.zeros()
        self.shrunk = problem.storage.zeros() if l1 else self.near

    def epoch(self) -> Epoch:
        """Visit the examples once for the problem near the weights so far."""
        k, z = self.nearness.k, self.nearness.centre
        duals, totals = self.duals, self.duals.totals
        l2 = self.l2 + k
        self.least = np.minimum(1e-3, safe_steps(self.problem, l2))
        self.near[:] = duals.v + k * z
        w = self.shrunk
        if self.l1:
            w[:] = shrunk(self.near, self.l1)
        self.duals = duals._replace(v=self.near)
        self._visit(self._draw(), l2, 2 if self.epochs == 0 else 5, w, self.l1)
        duals.v[:] = self.near - k * z
        self.duals = duals
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
        self.nearness.steer(own, others, self.weights)
        return Epoch(passes, dual, own + others, self.l2)

    def scaled(self) -> tuple[float, float]:
        """Give D of the best point between the gold labels and u, and its s.

        The entropy is concave, so s times that of u is a bound from below.
        """
        linear = float(self.duals.totals[LINEAR])
        return scaled_dual(lambda s: s * linear, self.duals.v, self.l2, self.l1)

    def evaluate(self) -> Evaluation:
        """Compute mu, H and v from theta again, then both sides."""
        self.refresh()
        primal = self.evaluator.primal(self.weights, self.l2, self.l1)
        return Evaluation(self.weights, primal, self.scaled()[0])

    def current_weights(self) -> Floats:
        """Give those of the last epoch."""
        return self.weights
