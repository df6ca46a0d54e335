"""Excessive gap with Bregman projections: O(1/k^2) for the hinge.

Zhang, Saha and Vishwanathan (2011), Algorithms 1 and 2. The maximum of the hinge is smoothed by
the relative entropy to a centre u0, as a rule the uniform distributions:

    J_mu(w) = l2/2 |w|^2 + sum_i c_i [max_u { (F_i w + cost_i).u - mu KL(u, u0_i) } - gold_i.F_i w]

Weights w and duals alpha are kept so that J_mu(w) <= D(alpha) while mu falls to 0. Since
P(w) <= J_mu(w) + mu K with K = sum_i c_i max_u KL(u, u0_i), the gap is at most mu K. One step:

    beta      = the maximiser in J_mu(w):    theta_i = theta0_i + (F_i w + cost_i) / mu
    alpha-hat = (1 - t) alpha + t beta
    w'        = (1 - t) w + t w(alpha-hat)
    alpha~    = beta moved along D's slope:  theta_i + (F_i w(alpha-hat) + cost_i) t / ((1 - t) mu)
    alpha'    = (1 - t) alpha + t alpha~
    mu'       = (1 - t) mu

The paper's objective is P / C with C = sum_i c_i (its 1/n is c_i / C): so its lambda is l2 / C, its
alpha_i is u_i c_i / C, and its mu is this mu. The proof needs a norm and an L with

    sum_i c_i KL(u_i, u'_i) >= |u - u'|^2 / 2   and   |v(u) - v(u')|^2 / l2 <= L |u - u'|^2

As published (``eta="theorem"``) the norm is C^-1/2 sum_i c_i |u_i|_1, the l1 norm over the labels
of all examples, and L = max |psi|^2 / lambda = C max_i R_i^2 / l2 with R_i >= |F_i^T (gold_i - y)|
(`Problem.reach`). With mu_1 = L and t_k = 2 / (k + 3) that is (12),

    P(w_k) - D(alpha_k) <= 6 L K / ((k + 1) (k + 2)).

Two facts make L smaller (``eta="safe"``). A difference of two distributions is s (p - q) with
distributions p and q and |s (p - q)|_1 = 2 s, if they share no label. So with d_i a bound on
|F_i^T (y - z)| for any two labels (`Problem.diameter`), |F_i^T (u_i - u'_i)| is at most
|u_i - u'_i|_1 d_i / 2, where d_i <= 2 max |psi_i|. And by Pinsker's inequality for each example,
|u|^2 = sum_i c_i |u_i|_1^2 is a norm as well, in which the largest example becomes a mean: by
Cauchy and Schwarz L = sum_i c_i d_i^2 / (4 l2). It is never above the published L. The proof only
needs t^2 L <= (1 - t) mu; with equality mu_k falls like 4 L / k^2 instead of 6 L / k^2.

Even so L assumes that all examples push the weights the same way; most problems are milder by
orders of magnitude. The conclusion of the proof can be checked, since J_mu'(w') is known from the
next beta. So by default L is a guess. It is doubled while J_mu'(w') > D(alpha'), but not beyond L
itself, and falls by a tenth after each step. With any guesses L_k

    1 / sqrt(mu_{k+1}) >= 1 / sqrt(mu_k) + 1 / (2 sqrt(L_k)),   so   mu_k <= 4 / (sum_j L_j^-1/2)^2

since t_k^2 L_k = mu_{k+1}: the rate stays the same, with a constant that depends on the data.

The theta of beta and alpha~ is never stored: it is a linear function of one vector
(`LinearTheta`). Both grow like 1/mu, but as logarithms of probabilities, so the marginals stay
exact until mu nears the rounding error of the scores. alpha has no theta; its marginals are kept,
and are always a mixture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ...problem.evaluation import DualPoint, Slope, penalty
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation, Solver
from ..dual_points import Mixture, first_linear_theta
from ..goal import Goal
from ..options import NotNegative, OneOf, Preset
from ..papers import ZHANG_2011

#: The first guess at L is this fraction of what L would be if no two examples shared a feature.
_GUESS: Final = 1.0 / 64.0
#: How the guess rises while the first mu is too small, and where J_mu > D; how it falls otherwise.
_FIRST, _RISE, _FALL = 4.0, 2.0, 0.9
#: Rounding may change J_mu - D by this fraction of their terms.
_NOISE: Final = 1e-14


@final
class ExcessiveGap(Solver):
    """Excessive gap with Bregman projections: all examples at once, a gap of O(1/k^2).

    Parameters
    ----------
    goal : Goal
        What to solve; from weights w, the centre u0 is p(.|x_i; w) at temperature 1.
    gold : float
        Otherwise the theta of the parts of the gold labels in the centre; 0 is the uniform
        distributions.
    eta : {"search", "safe", "theorem"}
        How fast mu falls, and with it how long the steps are: found by trial; as fast as is proven
        for all data; or as published, which is proven with a larger constant.
    epsilon : float
        The fit ends when the duality gap is at most this, which then takes the place of tol; 0 is
        no such end. The gap of the paper is that of the mean loss: epsilon is n times its epsilon.
    """

    name: ClassVar[str] = "excessive-gap"
    papers = (ZHANG_2011,)
    presets: ClassVar[Mapping[str, Preset]] = {
        "zhang2011-algorithm2": Preset(
            "Zhang et al. 2011, Algorithm 2: mu_1 = max |psi|^2 / lambda and tau_k = 2 / (k + 3), "
            "from the uniform distributions.",
            {"eta": "theorem", "gold": 0.0},
        )
    }
    threads = True
    occupies = Footprint(vectors=9, parts=3, examples=8)
    needs = frozenset({"marginals", "tau=0"})

    def __init__(
        self,
        goal: Goal,
        *,
        gold: NotNegative = 0.0,
        eta: Annotated[str, OneOf(("search", "safe", "theorem"))] = "search",
        epsilon: NotNegative = 0.0,
    ) -> None:
        super().__init__(goal)
        problem, l2, evaluator = goal.problem, goal.l2, goal.evaluator
        self.eta, self.enough = eta, epsilon
        self.centre = first_linear_theta(problem, goal.weights(), gold)
        slope = self.centre.slope(evaluator)
        self.log_z = self._sum(slope.losses)
        self.w = slope.v / l2
        # With a smaller mu, J_mu is P up to rounding.
        self.least = _NOISE * largest_cost(problem)
        proven = published_bound(problem) if eta == "theorem" else proven_bound(problem)
        self.limit = max(proven / l2, self.least)
        first = max(_GUESS * apart_bound(problem) / l2, self.least)
        self.mu = first if eta == "search" else self.limit
        self.passes = 1.0
        self.tilde = np.empty(problem.n_parts)
        # alpha_1 = V(alpha_0, ...) has the theta of beta at w_1 = w(alpha_0), mu_1.
        while True:
            self.point = self.centre.moved(self.w, 1.0 / self.mu)
            self.beta = self.point.slope(evaluator, self.tilde)
            self.passes += 1.0
            self.alpha = Mixture(evaluator, l2, self.tilde, self.beta)
            self.smoothed = self._smoothed(self.w, self.mu, self.beta)
            if self._excessive(self.smoothed, self.alpha.dual(), self.mu):
                break
            self.mu *= _FIRST
        self.alpha.mu = self.tilde.copy()
        self.lipschitz = self.mu
        self.k = 1

    def _sum(self, values: Floats) -> float:
        return float(inner(values, self.problem.arrays.weight))

    def _smoothed(self, w: Floats, mu: float, beta: Slope) -> float:
        """Return J_mu(w), from the logarithms of the normalisers at beta and at the centre."""
        return penalty(w, self.l2) + mu * (self._sum(beta.losses) - self.log_z)

    def _excessive(self, smoothed: float, dual: float, limit: float) -> bool:
        """Return whether J_mu(w) <= D(alpha), or it is proven."""
        noise = _NOISE * (abs(smoothed) + abs(dual) + penalty(self.w, self.l2))
        return smoothed <= dual + noise or limit >= self.limit

    def _share(self) -> float:
        """Return t with t^2 L = (1 - t) mu, or that of the paper."""
        if self.eta == "theorem":
            return 2.0 / (self.k + 3.0)
        return 2.0 / (1.0 + math.sqrt(1.0 + 4.0 * self.lipschitz / self.mu))

    def epoch(self) -> Epoch:
        """Take one step; every trial takes two passes."""
        alpha, evaluator = self.alpha, self.evaluator
        while True:
            t = self._share()
            mu = (1.0 - t) * self.mu
            towards = alpha.mixed_v(t, self.beta) / self.l2
            tilde = self.point.moved(towards, t / mu).slope(evaluator, self.tilde)
            w = (1.0 - t) * self.w + t * towards
            point = self.centre.moved(w, 1.0 / mu)
            beta = point.slope(evaluator)
            self.passes += 2.0
            smoothed, dual = self._smoothed(w, mu, beta), alpha.mixed_dual(t, tilde)
            if self._excessive(smoothed, dual, self.lipschitz):
                break
            self.lipschitz *= _RISE
        alpha.add(t, tilde, self.tilde)
        self.w, self.mu, self.point, self.beta, self.smoothed = w, mu, point, beta, smoothed
        if self.eta == "search":
            self.lipschitz = max(_FALL * self.lipschitz, self.least)
        self.k += 1
        passes, self.passes = self.passes, 0.0
        # mu log Z instead of the maximum: slightly above the gap if the centre is uniform.
        estimate = smoothed + mu * self.log_z - dual
        return Epoch(passes, dual, max(estimate, 0.0), self.l2)

    def evaluate(self) -> Evaluation:
        self.alpha.rebuild()
        return Evaluation(self.w, self.evaluator.primal(self.w, self.l2), self.alpha.dual())

    def current_weights(self) -> Floats:
        # These are not w(alpha).
        return self.w

    def dual_point(self) -> DualPoint:
        """Return the marginals of alpha, and beside them the theta of beta."""
        return self.point.dual_point(self.evaluator, self.alpha.mu)


def published_bound(problem: Problem) -> float:
    """Return C max_i R_i^2 over the examples with a weight, which bounds |v(u) - v(u')|^2.

    It does so in the l1 norm over the labels of all examples, C^-1/2 sum_i c_i |u_i|_1.
    """
    c = problem.arrays.weight
    return float(c.sum() * (problem.reach[c > 0.0] ** 2).max(initial=0.0))


def proven_bound(problem: Problem) -> float:
    """Return sum_i c_i d_i^2 / 4, which bounds |v(u) - v(u')|^2 in |u|^2 = sum_i c_i |u_i|_1^2."""
    return float(inner(problem.arrays.weight, problem.diameter**2)) / 4.0


def apart_bound(problem: Problem) -> float:
    """Return max_i c_i d_i^2 / 4, the same bound for examples that share no feature."""
    return float((problem.arrays.weight * problem.diameter**2).max(initial=0.0)) / 4.0


def largest_cost(problem: Problem) -> float:
    """Return the largest cost of a part, or 1 if there are no costs."""
    return float(problem.arrays.cost.max(initial=0.0)) or 1.0
