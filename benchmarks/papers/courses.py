"""The course of one method: primal, dual and test error against passes and CPU seconds.

The clock runs while a solver is made and while its epochs run. The objective and the error are
computed from its weights while the clock is stopped, and no certificate is computed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from partwise.arrays import Floats
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
    """Where a method is after some epochs.

    Attributes
    ----------
    passes : float
        Calls of the oracle for marginals or log Z per example.
    seconds : float
        CPU seconds.
    objective : float
        P(w).
    dual : float
        The running D(u) of a method that keeps duals, otherwise minus infinity or nan.
    error : float
        What ``Limits.error`` returned.
    """

    passes: float
    seconds: float
    objective: float
    dual: float = -math.inf
    error: float = math.nan


@dataclass(frozen=True)
class Limits:
    """When a run ends, and how often it is looked at.

    Attributes
    ----------
    passes, seconds : float
        The run ends after so many passes or CPU seconds ...
    optimum : float
        ... or within ``FLOOR`` of this optimum.
    spacing : float
        The least growth of the passes between two points, as a part of them: 0 has a point after
        every epoch, and 0.05 about fifty points per decade.
    error : callable or None
        Takes the weights as the model has them, and returns the error on other data. A solver
        that chooses by a score gets it, too.
    seed : int
        Of the orders that the method draws.
    """

    passes: float
    seconds: float = math.inf
    optimum: float = -math.inf
    spacing: float = 0.0
    error: Callable[[Floats], float] | None = None
    seed: int = 0

    def reached(self, point: Point) -> bool:
        """Return whether this point is the last."""
        near = point.objective <= self.optimum + FLOOR * abs(self.optimum)
        return point.passes >= self.passes or point.seconds >= self.seconds or near

    def due(self, passes: float, seconds: float, last: Point) -> bool:
        """Return whether there is a point after so many passes and seconds."""
        late = passes >= self.passes or seconds >= self.seconds
        return late or passes >= last.passes * (1.0 + self.spacing)


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
    given = {**method.options, **options}
    options = {k: value(problem, l2) if callable(value) else value for k, value in given.items()}
    gather, error_of = problem.storage.gather, limits.error
    score = None if error_of is None else lambda weights: -error_of(weights)
    rng = np.random.default_rng(limits.seed)
    goal = Goal(problem, l2, evaluator, rng, tol=1e-12, score=score)
    began = time.process_time()
    solver = make_solver(method.solver, goal, options)
    seconds, passes, dual = time.process_time() - began, 0.0, -math.inf
    points: list[Point] = []
    try:
        while True:
            weights = solver.current_weights()
            objective = evaluator.primal(weights, l2)
            error = math.nan
            if error_of is not None and math.isfinite(objective):
                error = error_of(gather(weights))
            points.append(Point(passes, seconds, objective, dual, error))
            if not math.isfinite(objective):
                return Descent(method, points)
            if limits.reached(points[-1]):
                dual, eta = solver.evaluate().dual, getattr(solver, "eta", None)
                return Descent(method, points, dual, eta if isinstance(eta, float) else None)
            while True:
                began = time.process_time()
                epoch = solver.epoch()
                seconds += time.process_time() - began
                passes, dual = passes + epoch.passes, epoch.dual
                if limits.due(passes, seconds, points[-1]):
                    break
    except DataError:
        return Descent(method, [*points, Point(passes, seconds, math.inf)])
    finally:
        solver.close()


def tuned(problem: Problem, l2: float, method: Method, limits: Limits) -> list[Descent]:
    """Run a method with powers of 10 as its step, and return the runs, the best first.

    Each has its step. The best ends with the lowest objective; all its neighbours were tried.
    """
    from partwise.solvers.stochastic.base import best_power

    runs: dict[float, Descent] = {}

    def trial(eta: float) -> float:
        runs[eta] = replace(follow(problem, l2, method, limits, eta=eta), eta=eta)
        return runs[eta].points[-1].objective

    _, tried = best_power(trial)
    return [replace(runs[eta], tried=tried) for eta in sorted(runs, key=lambda eta: tried[eta])]


def descend(problem: Problem, l2: float, method: Method, limits: Limits) -> Descent:
    """Run a method; if it is tuned, try powers of 10 as its step and return the best run."""
    if not method.tuned:
        return follow(problem, l2, method, limits)
    return tuned(problem, l2, method, limits)[0]


def warm_up(problem: Problem, l2: float, methods: list[Method]) -> None:
    """Compile or load the code that the methods need."""
    from partwise.problem.subset import subset

    few = subset(problem, np.arange(min(3, problem.n_examples)))
    for method in methods:
        options = {"eta": 1e-3} if method.tuned else {}
        follow(few, l2, method, Limits(3.0, math.inf), **options)
