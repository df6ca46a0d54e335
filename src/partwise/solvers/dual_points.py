"""Forms in which solvers hold dual points without a theta per part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.vectors import approach, inner
from ..problem.evaluation import DualPoint, Evaluator, Slope
from ..problem.problem import Problem
from ..problem.sweeps import Dial

# The gold labels of all examples, as numbers of their parts.


def gold_places(problem: Problem, first: int = 0, last: int | None = None) -> Ints:
    """Return the places of the parts of the gold labels among those of all examples.

    Parameters
    ----------
    problem : Problem
        The problem.
    first, last : int
        The first example and the one after the last; by default all.
    """
    arrays, last = problem.arrays, problem.n_examples if last is None else last
    ends = arrays.gold_ptr[first : last + 1]
    places: Ints = np.repeat(arrays.part_ptr[first:last], np.diff(ends))
    places += arrays.gold_part[ends[0] : ends[-1]]
    return places


def gold_parts(problem: Problem, value: float | Floats) -> Floats:
    """Return one number per part: a value, or one of each, on the gold labels, 0 elsewhere."""
    parts = np.empty(problem.n_parts)
    set_gold(problem, parts, value)
    return parts


def set_gold(problem: Problem, parts: Floats, value: float | Floats) -> None:
    """Set one number per part to a value, or one of each, on the gold labels, and 0 elsewhere."""
    arrays, room = problem.arrays, problem.room
    for first, last in room.sweep(problem.n_examples, room.keeps(parts)):
        parts[arrays.part_ptr[first] : arrays.part_ptr[last]] = 0.0
        gold = slice(arrays.gold_ptr[first], arrays.gold_ptr[last])
        parts[gold_places(problem, first, last)] = (
            value[gold] if isinstance(value, np.ndarray) else value
        )


def set_parts(problem: Problem, parts: Floats, given: Floats) -> None:
    """Set one number per part to given ones."""
    if given is parts:
        return
    ends, room = problem.arrays.part_ptr, problem.room
    for first, last in room.sweep(problem.n_examples, room.keeps(parts)):
        own = slice(ends[first], ends[last])
        parts[own] = given[own]


def gold_marginals(problem: Problem) -> Floats:
    """Return the marginals of the gold labels."""
    return gold_parts(problem, problem.arrays.gold_count)


# Duals that are a linear function of one vector, so that no theta is stored.
#
# If every theta_i moves along the scores of the same weights, all of them stay in a small family
# (Bartlett et al. 2004, section 3):
#
#     theta_i = F_i z + cost cost_i + gold [gold_i]


class LinearTheta(NamedTuple):
    """A dual point u_i(y) ~ exp(theta_i.y) of this family."""

    z: Floats  # one per weight
    cost: float
    gold: float

    def moved(self, w: Floats, eta: float, kept: float = 1.0) -> LinearTheta:
        """Return the point with kept theta_i + eta (F_i w + cost_i)."""
        return LinearTheta(kept * self.z + eta * w, kept * self.cost + eta, kept * self.gold)

    def slope(self, evaluator: Evaluator, into: Floats | None = None) -> Slope:
        """Compute v(u) and what belongs to it; the losses are log Z_i - gold_i.F_i z."""
        return evaluator.slope(self.z, Dial(1.0, self.cost, self.gold), into)

    def dual_point(self, evaluator: Evaluator, mu: Floats | None = None) -> DualPoint:
        """Return theta written out, for another solver to start from."""
        return DualPoint(evaluator.scores(self.z, Dial(1.0, self.cost, self.gold)), mu)


def first_linear_theta(problem: Problem, weights: Floats | None, gold: float) -> LinearTheta:
    """Return the point p(.|x_i; w) of weights w, or the one with theta = gold on gold parts.

    For tau = 0 the temperature of p is 1.
    """
    if weights is None:
        return LinearTheta(problem.storage.zeros(), 0.0, gold)
    scale = 1.0 / (problem.loss.tau or 1.0)
    return LinearTheta(scale * weights, scale, 0.0)


# A mixture of dual points of the hinge loss.


class Mixture:
    """A dual point that is a mixture of others: its marginals, v(u) and sum_i c_i cost_i.mu_i.

        mu <- (1 - s) mu + s mu',    v <- (1 - s) v + s v'

    For tau = 0 that is all the dual needs: D(u) = linear - |v|^2 / (2 l2). Earlier rounding errors
    shrink by 1 - s as well, so they do not add up.

    Parameters
    ----------
    evaluator : Evaluator
        Computes v from marginals.
    l2 : float
        The regulariser.
    mu : ndarray
        The marginals of the first point; they are changed in place.
    slope : Slope
        The slope at the first point.
    """

    def __init__(self, evaluator: Evaluator, l2: float, mu: Floats, slope: Slope) -> None:
        self.evaluator, self.l2 = evaluator, l2
        self.mu = mu
        self.v = slope.v
        self.linear = self._linear(slope)

    def _linear(self, slope: Slope) -> float:
        return float(inner(slope.linear, self.evaluator.problem.arrays.weight))

    def mixed_v(self, s: float, slope: Slope) -> Floats:
        """Return v after mixing in a share s of another point."""
        return (1.0 - s) * self.v + s * slope.v

    def mixed_dual(self, s: float, slope: Slope) -> float:
        """Return D after mixing in a share s of another point."""
        v = self.mixed_v(s, slope)
        linear = (1.0 - s) * self.linear + s * self._linear(slope)
        return linear - float(inner(v, v)) / (2.0 * self.l2)

    def add(self, s: float, slope: Slope, mu: Floats) -> None:
        """Mix in a share s of another point."""
        self.linear = (1.0 - s) * self.linear + s * self._linear(slope)
        self.v = self.mixed_v(s, slope)
        approach(self.mu, mu, s)

    def dual(self) -> float:
        """Return D(u)."""
        return self.linear - float(inner(self.v, self.v)) / (2.0 * self.l2)

    def rebuild(self) -> None:
        """Compute everything from the marginals."""
        self.v = self.evaluator.dual_sum(self.mu)
        none = np.zeros(self.evaluator.problem.n_examples)
        self.linear = self.evaluator.dual_linear(self.mu, none)
