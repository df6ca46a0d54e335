"""Dual extragradient with Bregman projections.

Taskar, Lacoste-Julien and Jordan (2006), for the saddle point that the hinge is:

    min_w max_u  l2/2 |w|^2 + sum_i c_i cost_i.mu_i - w.v(u)

They keep w in a ball, where the function is bilinear. Here l2/2 |w|^2 stays in the function and is
minimised exactly. With steps g_j, G = sum_j g_j and A = a + G l2, from w0 and theta0:

    w  = (a w0 + sum_j g_j v(u'_j)) / A,     theta_i  = theta0_i + sum_j g_j (F_i w'_j + cost_i)
    w' = (A w + g v(u)) / (A + g l2),        theta'_i = theta_i + g (F_i w + cost_i)

Each step looks ahead to (w', u') and adds what it sees there; the averages of w' and u', weighted
by g, are the result.

Proof of the step. Let z = (w, u), f(z) = l2/2 |w|^2 and B(z) the slope of the rest, its sign
turned in u: a monotone map. z is the minimum of

    Phi(z) = sum_j g_j (B(z'_j).z + f(z)) + a/2 |w - w0|^2 + sum_i c_i KL(u_i, u0_i)

and with the distance d(x, z), A/2 |.|^2 between the weights and sum_i c_i KL between the duals,

    Phi(z+) >= Phi(z) + d(z+, z),    z' is the minimum of g (B(z).x + f(x)) + d(x, z) over x

so the next Phi, at its minimum z+, has risen by

    Phi(z+) + g (B(z').z+ + f(z+)) - Phi(z)
        >= g (B(z').z' + f(z')) + d(z+, z') + d(z', z) - g (B(z') - B(z)).(z' - z+)

If the last three terms are together not negative (*) at any step, then for every z = (w, u)

    sum_j g_j [ B(z'_j).(z'_j - z) + f(z'_j) - f(z) ] <= a/2 |w - w0|^2 + sum_i c_i KL(u_i, u0_i)

and the averages have a gap of at most the right side, at w = v(u)/l2 of the average, over G.
|v(u) - v(u')| <= M |u - u'| in a norm with |u - u'|^2 <= 2 sum_i c_i KL(u_i, u'_i), so (*) holds
for g <= sqrt(A) / M. There are two such norms, see excessive_gap.py: M^2 = C max_i R_i^2 belongs to
the l1 norm over all labels of all examples, and M^2 = sum_i c_i d_i^2 / 4, which is never larger,
to |u|^2 = sum_i c_i |u_i|_1^2.

With a = l2 g_0 and g_0 = l2 / M^2 the step g = g_0 is safe at all times and gives O(1/k), the rate
of the paper (``eta="theorem"``, with the first M). But A grows with G: g = sqrt(A) / M is safe as
well, grows like k, and gives O(1/k^2) (``eta="safe"``, with the second M). M assumes that all
examples push the weights the same way. By default it is a guess, which is raised while (*) does
not hold and lowered after each step; all terms of (*) are known. It is not raised beyond M itself,
where (*) always holds up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, NamedTuple, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ...problem.evaluation import DualPoint, Slope
from ...problem.footprint import Footprint
from ..base import Epoch, Evaluation, Solver
from ..dual_points import LinearTheta, Mixture, first_linear_theta
from ..goal import Goal
from ..options import NotNegative, OneOf, Positive, Preset
from ..papers import TASKAR_2006
from .excessive_gap import apart_bound, largest_cost, proven_bound, published_bound

#: The first guess at M^2 is this fraction of what it would be if no two examples shared a feature.
_GUESS: Final = 1.0 / 4.0
#: How the guess at M changes where (*) fails, and where it holds.
_RISE, _FALL = 1.4, 0.9
#: Rounding may change the sum in (*) by this fraction of its terms.
_NOISE: Final = 1e-13


class _Place(NamedTuple):
    """A pair (w, u)."""

    w: Floats
    point: LinearTheta
    slope: Slope


@final
class Extragradient(Solver):
    """Dual extragradient with Bregman projections.

    Parameters
    ----------
    goal : Goal
        What to solve; from weights w it starts with u_i = p(.|x_i; w) at temperature 1.
    gold : float
        Otherwise it starts with w = 0 and this theta on the parts of the gold labels; 0 is the
        uniform distributions.
    eta : {"search", "safe", "theorem"} or float
        The steps: found by trial; as long as is proven for all data, which then grow; the constant
        step that is proven with the norm as published; or a constant step of your own.
    epsilon : float
        The fit ends when the duality gap is at most this, which then takes the place of tol; 0 is
        no such end.
    """

    name: ClassVar[str] = "extragradient"
    papers = (TASKAR_2006,)
    presets: ClassVar[Mapping[str, Preset]] = {
        "taskar2006-constant": Preset(
            "Taskar et al. 2006, with l2/2 |w|^2 in the place of their ball of weights: the "
            "constant step, from the uniform distributions.",
            {"eta": "theorem", "gold": 0.0},
        )
    }
    threads = True
    occupies = Footprint(vectors=12, parts=3, examples=8)
    needs = frozenset({"marginals", "tau=0"})

    def __init__(
        self,
        goal: Goal,
        *,
        gold: NotNegative = 0.0,
        eta: Positive | Annotated[str, OneOf(("search", "safe", "theorem"))] = "search",
        epsilon: NotNegative = 0.0,
    ) -> None:
        super().__init__(goal)
        problem, l2, evaluator = goal.problem, goal.l2, goal.evaluator
        self.eta, self.enough = eta, epsilon
        weights = goal.weights()
        point = first_linear_theta(problem, weights, gold)
        self.ahead = np.empty(problem.n_parts)
        slope = point.slope(evaluator, self.ahead)
        w = problem.storage.zeros() if weights is None else weights
        self.place = _Place(w, point, slope)
        self.log_z = self._sum(slope.losses)
        self.mean_w = w
        self.mean_u = Mixture(evaluator, l2, self.ahead.copy(), slope)
        # No longer step than l2 / M^2 is needed: it leads to the labels of the highest cost.
        self.least = math.sqrt(l2 * _NOISE * largest_cost(problem))
        proven = published_bound(problem) if eta == "theorem" else proven_bound(problem)
        self.limit = max(math.sqrt(proven), self.least)
        self.m = self.limit
        if eta == "search":
            self.m = max(math.sqrt(_GUESS * apart_bound(problem)), self.least)
        self.first = l2 / self.m**2 if isinstance(eta, str) else eta
        self.total = 0.0
        self.passes = 1.0

    def _sum(self, values: Floats) -> float:
        return float(inner(values, self.problem.arrays.weight))

    def _look(
        self, a: float, g: float, at: _Place, w: Floats, v: Floats, into: Floats | None
    ) -> _Place:
        """Move from a place by g along the slope at (w, u), v = v(u)."""
        point = at.point.moved(w, g)
        moved = (a * at.w + g * v) / (a + g * self.l2)
        return _Place(moved, point, point.slope(self.evaluator, into))

    def _holds(self, a: float, g: float, z: _Place, ahead: _Place, after: _Place) -> bool:
        """Return whether (*) holds.

        KL(u', u) = (theta' - theta).mu' - log Z' + log Z, with v and the costs for mu.
        """
        loss = [self._sum(place.slope.losses) for place in (z, ahead, after)]
        v = [place.slope.v for place in (z, ahead, after)]
        there, back = ahead.w - z.w, ahead.w - after.w
        far = 0.5 * a * float(inner(there, there) + inner(back, back))
        cost, score = g * self._sum(ahead.slope.linear), g * float(inner(z.w, v[1]))
        far += cost - score - loss[1] + loss[0]
        far += loss[1] - loss[2] - g * float(inner(there, v[2]))
        cross = g * float(inner(there, v[1] - v[2]) - inner(v[1] - v[0], back))
        noise = _NOISE * (sum(map(abs, loss)) + abs(cost) + abs(score))
        return cross <= far + noise

    def epoch(self) -> Epoch:
        """Take one step; every trial takes two passes."""
        z = self.place
        a = self.l2 * (self.first + self.total)
        while True:
            grows = self.eta in ("search", "safe")
            g = math.sqrt(a) / self.m if grows else self.first
            ahead = self._look(a, g, z, z.w, z.slope.v, self.ahead)
            after = self._look(a, g, z, ahead.w, ahead.slope.v, None)
            self.passes += 2.0
            if self.eta != "search" or self.m >= self.limit:
                break
            if self._holds(a, g, z, ahead, after):
                break
            self.m *= _RISE
        self.total += g
        share = g / self.total
        self.mean_w = (1.0 - share) * self.mean_w + share * ahead.w
        self.mean_u.add(share, ahead.slope, self.ahead)
        self.place = after
        if self.eta == "search":
            self.m = max(_FALL * self.m, self.least)
        passes, self.passes = self.passes, 0.0
        return Epoch(passes, self.mean_u.dual(), self._bound(), self.l2)

    def _bound(self) -> float:
        """Bound the gap for a uniform first point, where KL(u_i, u0_i) is at most log Z0_i."""
        apart = self.mean_u.v / self.l2
        weights = 0.5 * self.l2 * self.first * float(inner(apart, apart))
        return (weights + self.log_z) / self.total

    def evaluate(self) -> Evaluation:
        self.mean_u.rebuild()
        primal = self.evaluator.primal(self.mean_w, self.l2)
        return Evaluation(self.mean_w, primal, self.mean_u.dual())

    def current_weights(self) -> Floats:
        return self.mean_w

    def dual_point(self) -> DualPoint:
        """Return the marginals of the average, and beside them the theta of the last iterate."""
        return self.place.point.dual_point(self.evaluator, self.mean_u.mu)
