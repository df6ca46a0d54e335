"""What the solvers share that keep the marginals mu of the dual point, for the hinge loss.

The dual is then a function of mu alone, D = sum_i c_i cost_i.mu_i - |v(mu)|^2 / (2 l2). A solver
moves the marginals of one example after the other, with v and both terms kept up to date.
"""

from __future__ import annotations

import numpy as np

from ..dual_point import DualPoint
from ..evaluation import Evaluator
from ..problem import Problem
from ..structures.base import Floats
from ..vectors import inner
from .base import Epoch, Evaluation, Solver
from .exponentiated_gradient import Average

#: Positions in the running totals: |v|^2, and sum_i c_i cost_i.mu_i.
NORM, LINEAR = range(2)


class MarginalAscent(Solver):
    """The state of a solver that keeps marginals, and its certificate.

    Parameters
    ----------
    problem, l2, evaluator
        What to solve.
    marginals : ndarray or None
        Those of a dual point to start from; without it, the gold labels.
    """

    needs = frozenset({"maximum", "tau=0"})

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        *,
        marginals: Floats | None = None,
    ) -> None:
        super().__init__(problem, l2, evaluator)
        self.gap = np.where(problem.arrays.weight > 0.0, np.inf, 0.0)  # shares, at the last visits
        self.v, self.totals = problem.storage.zeros(), np.zeros(2)
        self.average = Average()
        if marginals is None:
            self.mu = gold_marginals(problem)
        else:
            self.mu = marginals.copy()
            self._rebuild()

    @property
    def settled(self) -> bool:
        """Always: there is one l2."""
        return True

    def told(self, passes: float) -> Epoch:
        """Give what an epoch of so many passes tells, and take its v into the mean."""
        self.average.add(self.v)
        return Epoch(passes, self._dual(), float(self.gap.sum()), self.l2)

    def _rebuild(self) -> None:
        """Compute v and the totals from mu: the running ones drift."""
        self.v = self.evaluator.dual_sum(self.mu)
        self.totals[NORM] = inner(self.v, self.v)
        none = np.zeros(self.problem.n_examples)
        self.totals[LINEAR] = self.evaluator.dual_linear(self.mu, none)

    def _dual(self) -> float:
        return float(self.totals[LINEAR] - self.totals[NORM] / (2.0 * self.l2))

    def evaluate(self) -> Evaluation:
        """Compute v and both sides from mu; the primal at w(u) or at the mean of the iterates."""
        self._rebuild()
        weights = self.current_weights()
        primal = self.evaluator.primal(weights, self.l2)
        if self.average.v is not None:
            averaged = self.average.v / self.l2
            other = self.evaluator.primal(averaged, self.l2)
            if other < primal:
                weights, primal = averaged, other
        return Evaluation(weights, primal, self._dual())

    def current_weights(self) -> Floats:
        """Give w(u)."""
        return self.v / self.l2

    def dual_point(self) -> DualPoint:
        """Give the marginals, and the scores at w."""
        return DualPoint(self.evaluator.scores(self.current_weights()), self.mu)


def gold_marginals(problem: Problem) -> Floats:
    """Give the marginals of the gold labels."""
    arrays = problem.arrays
    mu = np.zeros(problem.n_parts)
    offset = np.repeat(arrays.part_ptr[:-1], np.diff(arrays.gold_ptr))
    mu[offset + arrays.gold_part] = arrays.gold_count
    return mu
