"""How steps are found: what users may ask for, and the steps that proofs allow.

With f_i = c_i loss_i + lambda/2 |w|^2 and lambda = l2 / n, which is also mu:

    L_i  = c_i diameter_i^2 / (4 tau) + lambda      the variance of what lies within an interval
                                                    is at most a quarter of its square
    SAG, uniform draws             1 / (16 L)       L = max_i L_i: Schmidt, Le Roux and Bach 2013
    SAGA, example j drawn by p_j   n min(p) / (4 L + n mu)            Proposition 1 (a)
    SAGA, p_j = L_j / sum_i L_i,
    another example is kept        1 / (4 mean L)                     Proposition 1 (b)
    SVRG, p_j = 1/n                1 / (10 L)       Johnson and Zhang 2013; with p_j = L_j / sum_i
                                                    L_i the mean of L (Xiao and Zhang 2014)

The propositions are those of Schmidt et al. (2015). They keep lambda w of an earlier w within each
gradient, as their equation (3) does. The methods here take lambda w as it is, as their equation (4)
does, which leaves more room: <f'(w), w - w*> is then at least 1/(n L) sum_i |g_i(w) - g_i(w*)|^2 +
lambda |w - w*|^2, twice what inequality (6) has, and of inequality (10) lambda/4 |w - w*|^2 and
half of the sum are left. That pays for |f'(w)|^2 - 2 |g(w) - g(w*)|^2 <= 2 lambda^2 |w - w*|^2 in
the variance, since the steps are at most 1 / (4 lambda).
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple, TypeAlias

import numpy as np

from ...arrays import Floats
from ...errors import DataError
from ...problem.problem import Problem
from ..goal import Goal
from ..options import OneOf, Positive

__all__ = ["Eta", "StepOptions", "curvature_bounds", "proven_step"]

#: The step alpha, or how it is found.
Eta: TypeAlias = Positive | Annotated[str, OneOf(("search", "theorem", "bound"))]

_SAG: Final = 16.0
_SAGA: Final = 4.0
_SVRG: Final = 10.0


def curvature_bounds(problem: Problem, lam: float = 0.0) -> Floats:
    """Return L_i for each example; 0 for those without a weight."""
    arrays = problem.arrays
    bound: Floats = arrays.weight * problem.diameter**2 / (4.0 * arrays.tau)
    return np.where(arrays.weight > 0.0, bound + lam, 0.0)


def proven_step(method: str, sampling: str, bound: Floats, lam: float) -> float:
    """Return the step that a proof allows.

    Parameters
    ----------
    method : {"sag", "saga", "svrg"}
        The method.
    sampling : {"uniform", "nus", "proportional"}
        How examples are drawn; for SAG uniformly.
    bound : ndarray
        c_i diameter_i^2 / (4 tau) of the examples that have a weight.
    lam : float
        lambda.
    """
    n, curvature = len(bound), bound + lam
    if sampling == "proportional":
        return float(1.0 / ((_SAGA if method == "saga" else _SVRG) * curvature.mean()))
    if method == "saga":
        p = np.full(n, 1.0 / n)
        if sampling == "nus" and bound.any():
            p = 0.5 * p + 0.5 * bound / bound.sum()
        return float(n * p.min() / (_SAGA * curvature.max() + n * lam))
    return float(1.0 / ((_SAG if method == "sag" else _SVRG) * curvature.max()))


class StepOptions(NamedTuple):
    """The options on draws and steps, as users give them."""

    sampling: str
    eta: float | str
    first_curvature: float | None = None
    skipping: bool | None = None
    share: float | None = None

    @property
    def searched(self) -> bool:
        """Whether line searches find the step."""
        return self.eta == "search"

    def check(self, method: str, goal: Goal, n: int) -> None:
        """Refuse what contradicts itself or would be ignored.

        Parameters
        ----------
        method : {"sag", "saga", "svrg"}
            The method.
        goal : Goal
            What to solve.
        n : int
            How many losses f is the mean of.
        """
        if self.searched:
            self._check_search()
            return
        if self.sampling == "nus-2013":
            raise DataError(
                "sampling='nus-2013' finds the L_i by its searches, so no step is proven; give "
                "eta='search', or sampling='uniform' or 'nus'"
            )
        if self.first_curvature is not None or self.skipping is not None:
            raise DataError("first_curvature and skipping are for eta='search'; leave them out")
        if self.eta == "theorem" and self.sampling == "nus" and method == "sag":
            raise DataError(
                "no step is proven for SAG with sampling='nus'; give eta='bound', or use saga, "
                "whose step is that of Proposition 1 (a)"
            )
        if self.share is not None and self.eta != "bound":
            raise DataError("share is for eta='search' and 'bound'; leave it out")
        if not isinstance(self.eta, str) and self.eta * goal.l2 >= n:
            raise DataError(
                f"eta is {self.eta:g}, and steps of n / l2 = {n / goal.l2:g} or more take the "
                "weights beyond 0; give a smaller number"
            )
        if self.sampling == "proportional":
            self._check_proportional(goal)

    def _check_search(self) -> None:
        if self.sampling == "proportional":
            raise DataError(
                "sampling='proportional' draws by bounds on the curvature, without searches; give "
                "eta='theorem' or a number"
            )
        if self.skipping is not None and self.sampling == "uniform":
            raise DataError(
                "skipping is for examples that have an L_i of their own; give sampling='nus'"
            )

    def _check_proportional(self, goal: Goal) -> None:
        if self.eta == "bound":
            raise DataError("sampling='proportional' takes eta='theorem' or a number")
        if goal.l1 > 0.0:
            raise DataError("sampling='proportional' cannot take l1 > 0; use 'uniform' or 'nus'")
        if goal.problem.room.on_disk:
            raise DataError(
                "sampling='proportional' needs all examples in memory; use 'uniform' or 'nus'"
            )

    def fixed(self, method: str, bound: Floats, lam: float) -> float:
        """Return the fixed step, or 0 if it is found by searches.

        With eta="bound" it is 1/L, or (1/L + 1/mean L) / 2 for sampling="nus": the step of the
        searches, with bounds in place of what they find. Schmidt et al. (2015) have no such bounds
        ("L_g depends on the covariance of the CRF and is typically too expensive to compute").
        """
        if self.searched:
            return 0.0
        if self.eta == "theorem":
            return proven_step(method, self.sampling, bound, lam)
        if self.eta == "bound":
            alpha = 1.0 / (bound.max() + lam)
            if self.sampling != "uniform":
                alpha = 0.5 * (alpha + 1.0 / (bound.mean() + lam))
            return float(alpha * (1.0 if self.share is None else self.share))
        return float(self.eta)
