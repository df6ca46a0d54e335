"""What a solver is asked for: the problem, the regulariser, and where to start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats
from ..compiled.vectors import shrunk
from ..problem.evaluation import DualPoint, Evaluator
from ..problem.problem import Problem
from ..problem.unfold import spread, unfold


@dataclass(frozen=True)
class Goal:
    """What a solver is asked for.

    A fit may start from the result of an earlier one: from its dual point, from its weights, or
    from both. Solvers keep different things, so the methods return that start in the form that a
    solver wants. Solvers that keep weights and solvers that keep duals can thus start from each
    other's results.

    Attributes
    ----------
    problem : Problem
        What to solve.
    l2 : float
        The regulariser l2/2 |w|^2.
    evaluator : Evaluator
        Computes primal and dual values of the problem, in threads.
    rng : numpy.random.Generator
        Used by the solvers that draw random numbers.
    l1 : float
        Weight of |w|_1, for the solvers that take it.
    tol : float
        The relative gap to be reached, for the solvers that plan ahead.
    start : DualPoint or None
        The dual point of an earlier fit.
    initial_weights : ndarray or None
        Stored weights to start from.
    score : callable or None
        Returns the score of a model's weights on held-out data, for the solvers that choose by it;
        larger is better.
    """

    problem: Problem
    l2: float
    evaluator: Evaluator
    rng: np.random.Generator
    l1: float = 0.0
    tol: float = 1e-4
    start: DualPoint | None = None
    initial_weights: Floats | None = None
    score: Callable[[Floats], float] | None = None

    @property
    def warm(self) -> bool:
        """Whether the fit starts from the result of an earlier one."""
        return self.start is not None or self.initial_weights is not None

    @property
    def only_weights(self) -> bool:
        """Whether the fit starts from weights, without a dual point."""
        return self.start is None and self.initial_weights is not None

    def unfolded(self) -> Goal:
        """Return the goal with the problem that has steps; itself if it needs none.

        The steps of a start that has none are those of its theta.
        """
        problem, start = unfold(self.problem), self.start
        if problem is self.problem:
            return self
        if start is not None:
            theta = spread(problem, start.theta)
            mu = start.unfolded
            known = mu is not None and mu.shape == theta.shape
            start = DualPoint(theta, mu if known else None, start.steps)
        evaluator = Evaluator(problem, self.evaluator.n_jobs)
        return replace(self, problem=problem, evaluator=evaluator, start=start)

    def theta(self) -> Floats | None:
        """Return the theta to start from, or None."""
        point = self._point()
        if point is None:
            return None
        if point.mu is not None and self.problem.has_entropy:
            return self.evaluator.conditional(point.mu)[0]
        return point.theta

    def marginals(self) -> Floats | None:
        """Return the marginals of the dual point to start from, or None."""
        point = self._point()
        if point is None:
            return None
        if point.mu is not None:
            return point.mu
        mu = self.problem.room.parts("mu", self.problem.n_parts)
        self.evaluator.marginals(point.theta, mu, np.empty(self.problem.n_examples))
        return mu

    def weights(self) -> Floats | None:
        """Return the stored weights to start from, w(u) if there is only a dual point, or None."""
        if self.initial_weights is not None:
            return self.initial_weights
        mu = self.marginals()
        return None if mu is None else shrunk(self.evaluator.dual_sum(mu), self.l1) / self.l2

    def _point(self) -> DualPoint | None:
        """Return the dual point of the earlier fit, or for a smooth loss that of its weights.

        For the hinge loss, weights do not determine a dual point.
        """
        if self.start is not None or self.initial_weights is None or self.problem.loss.tau == 0.0:
            return self.start
        return DualPoint(self.evaluator.scores(self.initial_weights))
