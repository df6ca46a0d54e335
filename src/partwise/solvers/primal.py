"""What the solvers that keep weights share: the certificate from the marginals at w.

With u_i = p(.|x_i; w) the gap is |grad P(w)|^2 / (2 l2) where l1 = 0, so a primal method needs no
duals to be certified. Where another point between the gold labels and u is better it is taken:

    u_i(s) = (1 - s) gold_i + s u_i,    v(u(s)) = s v(u),    0 <= s <= 1

With l1 > 0 this is how the dual point is scaled into |v| <= l1, where the norm in D vanishes. The
entropy of the mixture is exact, since log u_i(gold) = -loss_i(w) / tau.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from ..evaluation import Evaluator, Slope, penalty
from ..problem import Problem
from ..structures.base import Floats
from ..vectors import inner, shrunk_square
from .base import Evaluation, Solver


class PrimalSolver(Solver):
    """A solver whose state is a weight vector.

    Parameters
    ----------
    problem, l2, evaluator
        What to solve.
    l1 : float
        Weight of the absolute sum of the weights, for solvers that take it.
    start : ndarray or None
        A dual point theta to start from: its w(u).
    initial_weights : ndarray or None
        Weights to start from, as stored; they go before ``start``.
    """

    needs = frozenset({"marginals", "tau>0"})

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        *,
        l1: float = 0.0,
        start: Floats | None = None,
        initial_weights: Floats | None = None,
    ) -> None:
        super().__init__(problem, l2, evaluator)
        self.l1 = l1
        self.weights: Floats
        if initial_weights is not None:
            self.weights = initial_weights.copy()
        elif start is not None:
            self.weights = evaluator.weights(start, l2, l1)
        else:
            self.weights = problem.storage.zeros()

    @property
    def settled(self) -> bool:
        """Always: there is one l2."""
        return True

    def evaluate(self) -> Evaluation:
        """Compute both sides from the weights."""
        return certified(
            self.problem, self.evaluator.slope(self.current_weights()), self.l2, self.l1
        )

    def current_weights(self) -> Floats:
        """Give the weights."""
        return self.weights

    def dual_point(self) -> Floats:
        """Give theta_i = (F_i w + cost_i) / tau."""
        return self.evaluator.scores(self.current_weights())


def primal_value(problem: Problem, slope: Slope, l2: float, l1: float = 0.0) -> float:
    """Give P(w) at the weights of a slope."""
    return float(inner(slope.losses, problem.arrays.weight)) + penalty(slope.weights, l2, l1)


def certified(problem: Problem, slope: Slope, l2: float, l1: float = 0.0) -> Evaluation:
    """Give primal and dual values that belong to a slope."""
    mixture = _Mixture(problem, slope)

    def lost(s: float) -> float:
        # |shrunk(s v, l1)| = s |shrunk(v, l1 / s)|
        norm = s * s * float(shrunk_square(slope.v, l1 / s)) if s > 0.0 else 0.0
        return norm / (2.0 * l2) - mixture.linear(s)

    found = minimize_scalar(lost, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    dual = -min(lost(1.0), float(found.fun))
    return Evaluation(slope.weights, primal_value(problem, slope, l2, l1), dual)


class _Mixture:
    """sum_i c_i [tau H(u_i(s)) + cost_i.mu_i(s)] for s in [0, 1]."""

    def __init__(self, problem: Problem, slope: Slope) -> None:
        arrays = problem.arrays
        self.tau, self.weight = arrays.tau, arrays.weight
        log_gold = -slope.losses / self.tau  # log u_i(gold_i)
        gold = np.exp(log_gold)
        self.other = -np.expm1(log_gold)  # 1 - u_i(gold_i)
        self.rest = slope.linear + self.tau * gold * log_gold  # what s scales

    def linear(self, s: float) -> float:
        if s == 0.0:
            return 0.0
        left = s * self.other
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(left < 1.0, (1.0 - left) * np.log1p(-left), 0.0)
        mixed = s * self.rest - self.tau * (left * np.log(s) + own)
        return float(inner(mixed, self.weight))
