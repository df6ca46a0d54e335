"""Online exponentiated gradient with a proximal term: for l1 > 0, and for an l2 that is tiny.

The dual of an elastic net with a small l2 is hard: w(u) = shrunk(v, l1) / l2 makes much of every
error in v. So each epoch solves a problem near the last weights z instead, which has an l2 of
l2 + k and is easy (the proximal point method of Rockafellar 1976; for the dual this is the method
of multipliers, as in Tomioka, Suzuki and Sugiyama 2011):

    min_w  P(w) + k/2 |w - z|^2,    w(u) = shrunk(v(u) + k z, l1) / (l2 + k)

Its dual points are those of P itself, so the certificate is that of P, and it is split in two:

    P(w) - D(u) = sum_i c_i tau KL(u_i, p_i) + [R(w) + R*(v) - w.v],    R = l2/2 |.|^2 + l1 |.|_1

The first part is what the examples have still to do, and is less with a large k. The second is
what the weights have still to do, about k^2 |w - z|^2 / (2 l2), and is less with a small k. Every
epoch tells both. k is steered so that they stay in proportion, and z stays where it is while the
examples' part grows beyond its proportion: weights that run ahead of the duals overshoot.
"""

from __future__ import annotations

import math
from typing import ClassVar, Final, final

import numpy as np

from ..evaluation import Evaluator, penalty
from ..numerics.vectors import inner, shrunk
from ..problem import Problem
from ..structures.base import Floats
from .base import Epoch, Evaluation
from .exponentiated_gradient import LINEAR, VISITS, easy_l2
from .online_eg import OnlineEG, safe_steps
from .scaling import scaled_dual

#: The examples' part of the gap, divided by the weights' part, that k is steered to ...
_PROPORTION: Final = 0.1
#: ... by a factor within these bounds whenever z moves.
_SLOWEST: Final = 0.8
_FASTEST: Final = 1.1
#: Below this part of l2, k is 0.
_NOTHING: Final = 0.1
#: z waits while the examples' part is so many times what it was when z moved last, ...
_GROWTH: Final = 1.2
#: ... but never for more epochs than these.
_PATIENCE: Final = 5


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
        The first k; None: one for which the first problem is easy.
    """

    name: ClassVar[str] = "proximal-eg"
    needs = frozenset({"marginals", "tau>0"})

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        l1: float = 0.0,
        start: float | Floats | None = None,
        initial_weights: Floats | None = None,
        order: str = "focused",
        first_step: float = 0.5,
        nearness: float | None = None,
    ) -> None:
        if initial_weights is not None and start is None:
            start = evaluator.scores(initial_weights)
        super().__init__(
            problem, l2, evaluator, rng, start=start, order=order, first_step=first_step
        )
        self.l1 = l1
        self.nearness = max(easy_l2(problem) - l2, 0.0) if nearness is None else nearness
        self.weights = problem.storage.zeros()
        if initial_weights is not None:
            self.weights[:] = initial_weights
        elif isinstance(start, np.ndarray):
            self.weights[:] = shrunk(self.duals.v, l1) / l2
        self.centre = self.weights
        self.own, self.waited = 0.0, 0
        self.near, self.shrunk = problem.storage.zeros(), problem.storage.zeros()

    def epoch(self) -> Epoch:
        """Visit the examples once for the problem near the weights so far."""
        k, z, duals, totals = self.nearness, self.centre, self.duals, self.duals.totals
        l2 = self.l2 + k
        self.least = np.minimum(1e-3, safe_steps(self.problem, l2))
        self.near[:] = duals.v + k * z
        w = self.near
        if self.l1:
            w = self.shrunk
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
        self._steer(own, others)
        return Epoch(passes, dual, own + others, self.l2)

    def scaled(self) -> tuple[float, float]:
        """Give D of the best point between the gold labels and u, and its s.

        The entropy is concave, so s times that of u is a bound from below.
        """
        linear = float(self.duals.totals[LINEAR])
        return scaled_dual(lambda s: s * linear, self.duals.v, self.l2, self.l1)

    def _steer(self, own: float, others: float) -> None:
        if own > max(_GROWTH * self.own, _PROPORTION * others) and self.waited < _PATIENCE:
            self.waited += 1
            return
        self.own, self.waited = own, 0
        self.centre = self.weights
        if not (0.0 < own < math.inf and others > 0.0):
            return
        factor = math.sqrt(own / (_PROPORTION * others))
        self.nearness *= min(max(factor, _SLOWEST), _FASTEST)
        if self.nearness < _NOTHING * self.l2:
            self.nearness = 0.0

    def evaluate(self) -> Evaluation:
        """Compute mu, H and v from theta again, then both sides."""
        self.refresh()
        primal = self.evaluator.primal(self.weights, self.l2, self.l1)
        return Evaluation(self.weights, primal, self.scaled()[0])

    def current_weights(self) -> Floats:
        """Give those of the last epoch."""
        return self.weights
