"""The course of one method: the objective after every epoch, against passes and CPU seconds.

The clock runs while a solver is made and while its epochs run. The objective is computed from its
weights while the clock is stopped, and no certificate is computed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

#: Relative to the optimum; below this value the curves show only rounding errors.
FLOOR = 1e-10


@dataclass(frozen=True)
class Method:
    """A solver with its options. ``title`` is its name in the paper.

    An option that is a function returns its value for a problem and an l2. If ``tuned``, the step
    is the power of 10 that does best on the training data, at no cost, as for the stochastic
    gradient methods of the paper. If ``tied``, there is one part per pair of labels.
    """

    name: str
    title: str
    solver: str
    options: dict[str, Any] = field(default_factory=dict)
    tuned: bool = False
    tied: bool = True


class Point(NamedTuple):
    """``passes`` are calls of the oracle for marginals or log Z per example."""

    passes: float
    seconds: float
    objective: float


@dataclass(frozen=True)
class Limits:
    """When a run ends: by passes, by CPU seconds, or within ``floor`` of the optimum."""

    passes: float
    seconds: float
    optimum: float = -math.inf

    def reached(self, point: Point) -> bool:
        """Return whether this point is the last."""
        near = point.objective <= self.optimum + FLOOR * abs(self.optimum)
        return point.passes >= self.passes or point.seconds >= self.seconds or near


@dataclass(frozen=True)
class Descent:
    """The points of one method on one task, with the step that was chosen for it.

    ``dual`` is the lower bound that the method proved at its end, or minus infinity.
    """

    method: Method
    points: list[Point]
    dual: float = -math.inf
    eta: float | None = None
    tried: dict[float, float] = field(default_factory=dict)

    def excess_at(self, passes: float, optimum: float) -> float | None:
        """Return P - optimum after some passes, interpolating the logarithm linearly."""
        at = [point.passes for point in self.points]
        if not at or passes > at[-1]:
            return None
        logs = [math.log(self._excess(point, optimum)) for point in self.points]
        return math.exp(float(np.interp(passes, at, logs)))

    def _excess(self, point: Point, optimum: float) -> float:
        return max(point.objective - optimum, FLOOR * abs(optimum))

    def curve(self, optimum: float) -> list[float]:
        """Return P - optimum of every point."""
        return [self._excess(point, optimum) for point in self.points]

    def seconds_to(self, epsilon: float, optimum: float) -> float | None:
        """Return when the objective was first within epsilon of the optimum, relative to it."""
        aim = optimum + epsilon * abs(optimum)
        return next((p.seconds for p in self.points if p.objective <= aim), None)


def follow(problem: Problem, l2: float, method: Method, limits: Limits, **options: Any) -> Descent:
    """Run a method; if it diverges, it ends with a point whose objective is infinite."""
    from partwise.errors import DataError
    from partwise.problem.evaluation import Evaluator
    from partwise.solvers.goal import Goal
    from partwise.solvers.registry import make_solver

    evaluator = Evaluator(problem)
    seconds = passes = 0.0
    began = time.process_time()
    given = {**method.options, **options}
    options = {k: value(problem, l2) if callable(value) else value for k, value in given.items()}
    goal = Goal(problem, l2, evaluator, np.random.default_rng(0), tol=1e-12)
    solver = make_solver(method.solver, goal, options)
    seconds += time.process_time() - began
    points: list[Point] = []
    try:
        while True:
            objective = evaluator.primal(solver.current_weights(), l2)
            points.append(Point(passes, seconds, objective))
            if not math.isfinite(objective):
                return Descent(method, points)
            if limits.reached(points[-1]):
                return Descent(method, points, solver.evaluate().dual)
            began = time.process_time()
            passes += solver.epoch().passes
            seconds += time.process_time() - began
    except DataError:
        return Descent(method, [*points, Point(passes, seconds, math.inf)])
    finally:
        solver.close()


def descend(problem: Problem, l2: float, method: Method, limits: Limits) -> Descent:
    """Run a method; if it is tuned, try powers of 10 as its step and return the best run."""
    from partwise.solvers.stochastic.step_search import best_power

    if not method.tuned:
        return follow(problem, l2, method, limits)
    runs: dict[float, Descent] = {}

    def trial(eta: float) -> float:
        runs[eta] = follow(problem, l2, method, limits, eta=eta)
        return runs[eta].points[-1].objective

    eta, tried = best_power(trial)
    return replace(runs[eta], eta=eta, tried=tried)


def warm_up(problem: Problem, l2: float, methods: list[Method]) -> None:
    """Compile or load the code that the methods need."""
    from partwise.problem.subset import subset

    few = subset(problem, np.arange(min(3, problem.n_examples)))
    for method in methods:
        options = {"eta": 1e-3} if method.tuned else {}
        follow(few, l2, method, Limits(3.0, math.inf), **options)
