"""What the solvers that keep weights have in common: the certificate from the marginals at w.

With u_i = p(.|x_i; w) the gap is |grad P(w)|^2 / (2 l2) where l1 = 0, so a primal method needs no
duals to be certified. If another point between the gold labels and u is better, that one is used
(`search_dual_line`); its entropy is exact, since log u_i(gold) = -loss_i(w) / tau. Where labels
are known in part, gold_i is a distribution itself, and the entropy is bounded from below.

If l2 is small a single point is a poor one: its w(u) is off by grad P(w) / l2. So the points of
earlier evaluations are kept, as one mixture:

    u <- (1 - g) u + g u',    v <- (1 - g) v + g v',    H(u) >= (1 - g) H(u) + g H(u')

with the g for which D, with this bound on the entropy, is largest. The result is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Floats
from ..compiled.vectors import inner, shrunk_square
from ..problem.evaluation import DualPoint, Slope, penalty
from ..problem.footprint import Footprint
from ..problem.problem import Problem
from .base import Evaluation, Solver
from .goal import Goal

# The best dual point between the gold labels and a given one.
#
#     u_i(s) = (1 - s) gold_i + s u_i,    v(u(s)) = s v(u),    0 <= s <= 1
#     D(u(s)) = linear(s) - |shrunk(s v, l1)|^2 / (2 l2)
#
# With l1 > 0 this is how a dual point is scaled into |v| <= l1, where the norm vanishes.


def search_dual_line(
    linear: Callable[[float], float], v: Floats, l2: float, l1: float
) -> tuple[float, float]:
    """Return the largest D(u(s)), and the s where it is reached.

    Parameters
    ----------
    linear : callable
        The terms of D(u(s)) other than the norm, or a lower bound on them; concave.
    v : ndarray
        v(u).
    l2, l1 : float
        The regulariser.
    """
    from scipy.optimize import minimize_scalar  # slow to import

    # A v within l1 stays within it, so only the others are looked at for every s.
    far = v[np.abs(v) > l1] if l1 else v[:0]
    square = 0.0 if l1 else float(inner(v, v))

    def lost(s: float) -> float:
        norm = float(shrunk_square(s * far, l1)) if l1 else s * s * square
        return norm / (2.0 * l2) - linear(s)

    # Huge scores give values that are not finite; s = 1 is then as good as any.
    with np.errstate(over="ignore", invalid="ignore"):
        found = minimize_scalar(lost, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    return max((-lost(1.0), 1.0), (-float(found.fun), float(found.x)))


class PrimalSolver(Solver):
    """A solver whose state is a weight vector.

    It starts from the initial weights of the goal, or else from w(u) of its dual point.
    """

    needs = frozenset({"marginals", "tau>0"})
    occupies = Footprint(vectors=6, parts=1, examples=8)

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        self.bound = DualBound(goal.l2, goal.l1)
        self.weights: Floats
        if goal.initial_weights is not None:
            self.weights = goal.initial_weights.copy()
        elif (theta := goal.theta()) is not None:
            self.weights = goal.evaluator.weights(theta, goal.l2, goal.l1)
        else:
            self.weights = goal.problem.storage.zeros()

    def evaluate(self) -> Evaluation:
        return self.certified(self.evaluator.slope(self.current_weights()))

    def certified(self, slope: Slope) -> Evaluation:
        """Return both sides at the weights of a slope; the dual is the best that is known."""
        value = certified(self.problem, slope, self.l2, self.l1)
        linear = float(inner(slope.linear, self.problem.arrays.weight))
        bound = self.bound.add(linear, slope.v)
        return Evaluation(value.weights, value.primal, max(value.dual, bound))

    def certify(self, weights: Floats) -> Evaluation:
        slope = getattr(self, "slope", None)
        if isinstance(slope, Slope) and np.array_equal(slope.weights, weights):
            return certified(self.problem, slope, self.l2, self.l1)
        return super().certify(weights)

    def estimate(self, slope: Slope) -> tuple[float, float]:
        """Return the dual value of the mixture with the point of a slope, and the gap to it.

        The line to the gold labels, whose search takes as long as a pass or two of a classifier,
        is left to `certified`.
        """
        linear = float(inner(slope.linear, self.problem.arrays.weight))
        dual = max(self.bound.add(linear, slope.v), 0.0)
        return dual, primal_value(self.problem, slope, self.l2, self.l1) - dual

    def current_weights(self) -> Floats:
        return self.weights

    def dual_point(self) -> DualPoint:
        """Return theta_i = (F_i w + cost_i) / tau."""
        return DualPoint(self.evaluator.scores(self.current_weights()))


def primal_value(problem: Problem, slope: Slope, l2: float, l1: float = 0.0) -> float:
    """Return P(w) at the weights of a slope."""
    return float(inner(slope.losses, problem.arrays.weight)) + penalty(slope.weights, l2, l1)


def certified(problem: Problem, slope: Slope, l2: float, l1: float = 0.0) -> Evaluation:
    """Return the primal and dual values of a slope."""
    linear: Callable[[float], float]
    if problem.gold_entropy is None:
        linear = _GoldMixture(problem, slope).linear
    else:
        linear = _between(problem, slope, problem.gold_entropy)
    dual, _ = search_dual_line(linear, slope.v, l2, l1)
    return Evaluation(slope.weights, primal_value(problem, slope, l2, l1), dual)


class DualBound:
    """A lower bound on the best dual value: a mixture of the points that were added."""

    def __init__(self, l2: float, l1: float = 0.0) -> None:
        self.l2, self.l1 = l2, l1
        self.linear = 0.0
        self.v: Floats | None = None
        self.best = -np.inf

    @property
    def vectors(self) -> list[Floats]:
        """The vectors that it holds, as long as the weights."""
        return [] if self.v is None else [self.v]

    def _value(self, g: float, linear: float, v: Floats) -> float:
        mixed = v if self.v is None else (1.0 - g) * self.v + g * v
        total = (1.0 - g) * self.linear + g * linear
        return total - float(shrunk_square(mixed, self.l1)) / (2.0 * self.l2)

    def add(self, linear: float, v: Floats) -> float:
        """Mix in a dual point, given v(u) and the rest of D(u), and return the bound."""
        if self.v is None:
            g = 1.0
        elif self.l1:
            from scipy.optimize import minimize_scalar  # slow to import

            found = minimize_scalar(
                lambda g: -self._value(g, linear, v), bounds=(0.0, 1.0), method="bounded"
            )
            g = float(found.x)
        else:
            way = v - self.v
            square = float(inner(way, way))
            rise = self.l2 * (linear - self.linear) - float(inner(self.v, way))
            g = min(max(rise / square, 0.0), 1.0) if square > 0.0 else 1.0
        self.best = max(self.best, self._value(g, linear, v))
        self.v = v.copy() if self.v is None else (1.0 - g) * self.v + g * v
        self.linear = (1.0 - g) * self.linear + g * linear
        return self.best


def _between(problem: Problem, slope: Slope, gold: Floats) -> Callable[[float], float]:
    """Return a bound on sum_i c_i H(u_i(s)) where the gold labels are distributions.

    The entropy is concave, so that of a mixture is at least the mixture of the entropies.
    """
    arrays = problem.arrays
    there = float(inner(slope.linear, arrays.weight))
    here = arrays.tau * float(inner(gold, arrays.weight))
    return lambda s: (1.0 - s) * here + s * there


class _GoldMixture:
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
