"""What the solvers have in common that keep the marginals mu of a dual point, for the hinge loss.

The dual is then a function of mu alone, D = sum_i c_i cost_i.mu_i - |v(mu)|^2 / (2 l2). A solver
moves the marginals of one example after the other, with v and both terms kept up to date. It may
do so for a problem with a proximal term (:mod:`partwise.solvers.proximal_term`). Then w is not
w(mu), and the dual value is that of the best point between the gold labels and mu.

The kernels are compiled without fast-math flags. Two labels may have equal scores, so the last bit
can decide which way a step goes; without these flags numbers are added up in the order in which the
code names them.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...compiled.vectors import inner
from ...problem.design import any_change, scatter, score
from ...problem.evaluation import DualPoint
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation, Solver
from ..dual_points import gold_places, set_gold, set_parts
from ..eg.base import easy_l2
from ..goal import Goal
from ..iterate_average import IterateAverage
from ..options import NotNegative
from ..proximal_term import ProximalTerm

_logger = logging.getLogger(__name__)

#: Positions in the running totals: |v|^2, and sum_i c_i cost_i.mu_i.
NORM, LINEAR = range(2)
#: The examples' part of the gap, divided by the weights' part, that k is steered to.
_PROPORTION: Final = 10.0


@njit
def score_with_cost(a: Any, i: int, v: Any, l2: float, own: Any, q: Any) -> Any:
    """Compute q = F_i w + cost_i, and return q.mu_i."""
    lo, n = a.part_ptr[i], own.size
    score(a.design, i, v, q)
    mean = 0.0
    for r in range(n):
        q[r] /= l2
    if a.cost.size > 0:
        for r in range(n):
            q[r] += a.cost[lo + r]
    for r in range(n):
        mean += q[r] * own[r]
    return mean


@njit
def _move(design: Any, i: int, way: Any, d: Any, g: float, v: Any) -> None:
    """v -= g d and then d = 0, in the blocks of example i that the way changes."""
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        if not any_change(way[design.site_part[s] : design.site_part[s] + n]):
            continue
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            size = design.size[e] if e >= design.sparse_ptr[s] else n
            for k in range(at, at + size):
                v[k] -= g * d[k]
                d[k] = 0.0


@njit
def step(
    a: Any, i: int, way: Any, rise: float, most: float, l2: float, own: Any, d: Any, v: Any,
    totals: Any,
) -> Any:  # fmt: skip
    """Move along c_i (the way) as far as D rises, but at most by ``most``; return the distance g.

    rise: c_i q.(the way). d holds zeros, as many as there are weights.
    """
    lo, cost = a.part_ptr[i], 0.0
    if a.cost.size > 0:
        for r in range(own.size):
            cost += a.cost[lo + r] * way[r]
    square = scatter(a.design, i, way, d)
    g = most
    if square > 0.0:
        g = max(min(most, l2 * rise / square), 0.0)
    _move(a.design, i, way, d, g, v)
    totals[NORM] += g * g * square - 2.0 * g * l2 * (rise - cost)
    totals[LINEAR] += g * cost
    for r in range(own.size):
        own[r] += g / a.weight[i] * way[r]
    return g


class MarginalAscent(Solver):
    """The state of a solver that keeps marginals, and its certificate.

    Parameters
    ----------
    goal : Goal
        What to solve. Without a dual point the fit begins at the gold labels and w = 0, since
        weights alone determine no duals. With one, the initial weights, or else those of the dual
        point, are the first centre of the proximal term.
    nearness : float or None
        The first factor of the proximal term; 0 is no such term, and None a factor that makes the
        first problem easy.
    """

    needs = frozenset({"maximum", "tau=0"})

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # v, the weights and their mean, mu, and a dual point at the end. A proximal term needs
        # its centre, the v near it, and mostly another mu.
        if options.get("nearness", 0.0) == 0.0:
            return Footprint(vectors=5, parts=2, examples=5)
        return Footprint(vectors=7, parts=2.5, examples=5)

    def __init__(self, goal: Goal, *, nearness: NotNegative | None = 0.0) -> None:
        super().__init__(goal)
        problem, l2 = goal.problem, goal.l2
        self.gap = np.where(problem.arrays.weight > 0.0, np.inf, 0.0)  # shares, at the last visits
        self.v, self.totals = problem.storage.zeros(), np.zeros(2)
        self.average = IterateAverage()
        self.mu = problem.room.parts("mu", problem.n_parts)
        marginals = goal.marginals()
        if marginals is None:
            set_gold(problem, self.mu, problem.arrays.gold_count)
        else:
            set_parts(problem, self.mu, marginals)
            self._rebuild()
        # Near initial weights without duals, a fit took now fewer and now more passes than a fresh
        # one. The training loop keeps them as the best known weights until there are better ones.
        given = None if goal.only_weights else goal.initial_weights
        self.weights = self.v / l2 if given is None else given
        k = max(easy_l2(problem), l2) if nearness is None else nearness
        self.proximal_term = ProximalTerm(k, self.weights, l2, _PROPORTION)
        self.proximal = k > 0.0
        self.near = self.v if k == 0.0 else problem.storage.zeros()  # v + k z in an epoch
        self.visits = 0  # in this epoch

    def visit(self, order: Ints, l2: float, v: Floats) -> int:
        """Move marginals of examples so that the dual rises, for an l2 and a v, which is updated.

        Returns the calls of an oracle.
        """
        raise NotImplementedError

    def draw(self) -> Ints:
        """Return the examples that an epoch visits, in order."""
        return self.problem.room.order(self.rng, self.problem.n_examples)

    def sweep(self, l2: float, v: Floats) -> float:
        """Visit the examples of an epoch, and return the number of passes."""
        for order in self.stretches(self.draw):
            self.visits += self.visit(order, l2, v)
        visits, self.visits = self.visits, 0
        return visits / self.problem.n_examples

    def epoch(self) -> Epoch:
        k, z = self.proximal_term.k, self.proximal_term.centre
        if k == 0.0:
            passes = self.sweep(self.l2, self.v)
            self.average.add(self.v / self.l2)
            return Epoch(passes, self._value(self._share()), float(self.gap.sum()), self.l2)
        if not self.under_way:
            self.near = self.v + k * z
        passes = self.sweep(self.l2 + k, self.near)
        self.v = self.near - k * z
        self.totals[NORM] = inner(self.v, self.v)
        self.weights = self.near / (self.l2 + k)
        self.average.add(self.weights)
        dual, own = self._value(self._share()), float(self.gap.sum())
        others = self.totals[LINEAR] - inner(self.weights, self.v) - dual
        others += 0.5 * self.l2 * inner(self.weights, self.weights)
        self.proximal_term.steer(own, others, self.weights)
        estimate = own + max(others, 0.0)
        self._watch(estimate)
        return Epoch(passes, dual, estimate, self.l2)

    def _watch(self, estimate: float) -> None:
        """Drop the proximal term where it holds the weights back: few examples, many weights."""
        if self.proximal_term.holds_back(estimate):
            _logger.info("%s: goes on without a proximal term, the gap hardly falls", self.name)
            self.proximal_term.k = 0.0

    def _rebuild(self) -> None:
        """Compute v and the totals from mu, since the running ones drift."""
        self.v = self.evaluator.dual_sum(self.mu)
        self.totals[NORM] = inner(self.v, self.v)
        none = np.zeros(self.problem.n_examples)
        self.totals[LINEAR] = self.evaluator.dual_linear(self.mu, none)

    def _value(self, s: float) -> float:
        """Return D at gold + s (mu - gold)."""
        return float(s * self.totals[LINEAR] - s * s * self.totals[NORM] / (2.0 * self.l2))

    def _share(self) -> float:
        """Return the s in [0, 1] where D is largest; 1 without a proximal term."""
        if not self.proximal or self.totals[NORM] == 0.0:
            return 1.0
        return float(min(self.l2 * max(self.totals[LINEAR], 0.0) / self.totals[NORM], 1.0))

    def evaluate(self) -> Evaluation:
        self._rebuild()
        weights = self.current_weights()
        weights, primal = self.average.better_weights(self.evaluator, self.l2, weights)
        return Evaluation(weights, primal, self._value(self._share()))

    def current_weights(self) -> Floats:
        return self.weights if self.proximal_term.k else self.v / self.l2

    def dual_point(self) -> DualPoint:
        """Return the marginals of the best s, and the scores at w.

        On disk there is no room for other marginals: those that were reached are a dual point too.
        """
        s, mu = self._share(), self.mu
        if s < 1.0 and not self.problem.room.keeps(mu):
            mu = s * mu
            mu[gold_places(self.problem)] += (1.0 - s) * self.problem.arrays.gold_count
        return DualPoint(self.evaluator.scores(self.current_weights()), mu)
