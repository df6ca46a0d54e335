"""Solvers made directly, without a fit around them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from partwise.arrays import Floats
from partwise.problem.evaluation import DualPoint
from partwise.problem.matrix_evaluation import make_evaluator
from partwise.problem.problem import Problem
from partwise.solvers.base import Solver
from partwise.solvers.goal import Goal
from partwise.solvers.options import settled_options

AnySolver = TypeVar("AnySolver", bound=Solver)


def goal_of(
    problem: Problem,
    l2: float = 1.0,
    seed: int = 0,
    *,
    l1: float = 0.0,
    point: DualPoint | None = None,
    initial_weights: Floats | None = None,
) -> Goal:
    """Ask for the optimum of a problem, from a point or weights if they are given."""
    return Goal(
        problem,
        l2,
        make_evaluator(problem),
        np.random.default_rng(seed),
        l1=l1,
        start=point,
        initial_weights=initial_weights,
    )


def solver_of(
    kind: type[AnySolver],
    problem: Problem,
    l2: float = 1.0,
    seed: int = 0,
    *,
    l1: float = 0.0,
    point: DualPoint | None = None,
    initial_weights: Floats | None = None,
    **options: Any,
) -> AnySolver:
    """Make a solver; what is not part of the goal is an option."""
    options = settled_options(kind, options)
    goal = goal_of(problem, l2, seed, l1=l1, point=point, initial_weights=initial_weights)
    return kind(goal, **options)
