"""Methods against each other: when each comes how close to the optimum, in CPU seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..problems import Floats
from .courses import Descent, Limits, Method, follow
from .figure import Claim, Curve, Panel, compare

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

SYNTHETIC = "the data are generated, so that seconds say nothing about the set of the paper"


class Run(NamedTuple):
    """The course of a method, with the norm of the gradient at each of its points."""

    descent: Descent
    gradients: list[float]

    @property
    def title(self) -> str:
        return self.descent.method.title


class Set(NamedTuple):
    """The courses of all methods on one set of data."""

    title: str
    real: bool
    optimum: float
    runs: list[Run]

    def seconds(self, name: str, epsilon: float) -> float:
        """Return when a method was first this close to the optimum; infinity if it was not."""
        run = next(run for run in self.runs if run.descent.method.name == name)
        found = run.descent.seconds_to(epsilon, self.optimum)
        return math.inf if found is None else found

    def first(self, epsilon: float, names: Sequence[str]) -> str:
        """Return the fastest of some methods."""
        return min(names, key=lambda name: self.seconds(name, epsilon))

    def left(self, name: str) -> float:
        """Return the relative difference at the end of a run."""
        run = next(run for run in self.runs if run.descent.method.name == name)
        return run.descent.curve(self.optimum)[-1] / self.optimum

    def ends(self, names: Sequence[str]) -> str:
        """Return the relative differences at the end in words."""
        parts = [f"{name} {self.left(name):.0e}" for name in names]
        return f"{self.title}, relative difference at the end: {', '.join(parts)}"

    def times(self, epsilon: float, names: Sequence[str]) -> str:
        """Return the seconds of some methods in words."""
        parts = [f"{name} {self.seconds(name, epsilon):.2g}" for name in names]
        return f"{self.title}, s to {epsilon:.0e}: {', '.join(parts)}"


def run(
    problem: Problem,
    l2: float,
    method: Method,
    seconds: float,
    optimum: float,
    error: Callable[[Floats], float],
    gradient: Callable[[Floats], float],
) -> Run:
    gradients: list[float] = []

    def look(weights: Floats) -> float:
        gradients.append(gradient(weights))
        return error(weights)

    limits = Limits(1e9, seconds, optimum, spacing=0.1, error=look)
    descent = follow(problem, l2, method, limits)
    gradients += [math.inf] * (len(descent.points) - len(gradients))
    return Run(descent, gradients)


def long_fit(problem: Problem, l2: float, passes: float) -> float:
    """Return the objective of a long fit."""
    import warnings

    from partwise.training.certificate import ConvergenceWarning
    from partwise.training.loop import train

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = train(problem, l2, solver="dual-cd", tol=1e-9, max_passes=passes)
    return fit.certificate.primal


def beside(title: str, real: bool, optimum: float, runs: list[Run]) -> Set:
    """Return the runs beside the smallest objective that is known."""
    points = [point.objective for run in runs for point in run.descent.points]
    return Set(title, real, min([optimum, *points]), runs)


def panels_of(found: Set) -> list[Panel]:
    """Return the three columns of Figures 2 and 3."""
    excess, gradient, accuracy = [], [], []
    for run in found.runs:
        points = run.descent.points[1:]
        at = [max(point.seconds, 1e-4) for point in points]
        left = run.descent.curve(found.optimum)[1:]
        excess.append(Curve(run.title, at, [rest / found.optimum for rest in left]))
        gradient.append(Curve(run.title, at, run.gradients[1:]))
        accuracy.append(Curve(run.title, at, [100.0 * (1.0 - point.error) for point in points]))
    time = "CPU seconds"
    return [
        Panel(found.title, time, "relative difference of P", excess, "xy"),
        Panel(found.title, time, "norm of the gradient", gradient, "xy"),
        Panel(found.title, time, "accuracy in the test, %", accuracy, "x"),
    ]


def every(sets: Sequence[Set], says: str, holds: Callable[[Set], bool], words: Callable[[Set], str],
           why: str = "") -> list[Claim]:  # fmt: skip
    """Return a claim for the real sets, and one that cannot be compared for the others."""
    claims = []
    for found in sets:
        verdict = holds(found) if found.real else None
        claims.append(compare(says, words(found), verdict, why if found.real else SYNTHETIC))
    return claims
