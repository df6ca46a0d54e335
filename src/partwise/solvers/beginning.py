"""From where a solver begins: what an earlier fit left, in the form that the solver takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Floats
from ..compiled.vectors import shrunk
from ..problem.dual_point import DualPoint
from ..problem.evaluation import Evaluator
from .base import Solver
from .options import takes


def beginning(
    solver: type[Solver],
    evaluator: Evaluator,
    l2: float,
    l1: float,
    point: DualPoint | None,
    weights: Floats | None,
) -> dict[str, Any]:
    """Give the arguments from which a solver begins, of those that its constructor takes.

    ``point`` is a dual point as it is, ``start`` its theta, ``marginals`` its mu, and
    ``initial_weights`` stored weights. Solvers that keep weights and solvers that keep duals can
    so begin from each other's results.

    Parameters
    ----------
    solver : type
        The solver.
    evaluator, l2, l1
        What it will solve.
    point : DualPoint or None
        The dual point of an earlier fit.
    weights : ndarray or None
        Stored weights.
    """
    if takes(solver, "point"):
        return {"point": point, "initial_weights": weights}
    begin: dict[str, Any] = {}
    by_weights, by_theta = takes(solver, "initial_weights"), takes(solver, "start")
    if by_weights and weights is not None:
        begin["initial_weights"] = weights
    # For the hinge no dual point goes with any weights.
    smooth = evaluator.problem.loss.tau > 0.0
    if point is None and weights is not None and not by_weights and smooth:
        point = DualPoint(evaluator.scores(weights))
    if point is None:
        return begin
    if takes(solver, "marginals"):
        begin["marginals"] = _marginals(evaluator, point)
    elif by_theta:
        begin["start"] = _theta(evaluator, point)
    elif by_weights and weights is None:
        v = evaluator.dual_sum(_marginals(evaluator, point))
        begin["initial_weights"] = shrunk(v, l1) / l2
    return begin


def _marginals(evaluator: Evaluator, point: DualPoint) -> Floats:
    if point.mu is not None:
        return point.mu
    mu, entropy = np.empty_like(point.theta), np.empty(evaluator.problem.n_examples)
    evaluator.marginals(point.theta, mu, entropy)
    return mu


def _theta(evaluator: Evaluator, point: DualPoint) -> Floats:
    if point.mu is not None and evaluator.problem.structure.has_entropy:
        return evaluator.conditional(point.mu)[0]
    return point.theta
