"""What a contestant is: it prepares, trains on the clock, and returns weights."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from ..machine import version
from ..problems import Floats, LinearProblem, LinearWeights, Weights, linear_objective
from ..recorder import Recorder


class Contestant(abc.ABC):
    """One trainer under one name.

    The worker imports the contestant's library (``load_library``), then calls ``prepare`` and
    ``train``, once each, in a new process.

    Attributes
    ----------
    name
        The name in tables and on the command line.
    kinds
        The kinds of problem it trains: ``chain``, ``chain-l1`` (with l1 > 0), ``softmax``,
        ``logistic``, ``hinge``.
    packages
        Distributions whose versions are reported.
    compiled
        Whether it compiles with numba, which it then must do in ``prepare``. Such a contestant is
        prepared twice: cold, with an empty cache of compiled code, and warm, with the cache that
        the cold start filled. It is trained warm.
    """

    name: str
    kinds: frozenset[str]
    packages: tuple[str, ...]
    compiled: ClassVar[bool] = False

    def missing(self) -> list[str]:
        """Return which of its packages are not installed."""
        return [name for name in self.packages if version(name) is None]

    @abc.abstractmethod
    def load_library(self) -> None:
        """Import the library, so that the time of the import can be measured."""

    @abc.abstractmethod
    def prepare(self, problem: Any) -> None:
        """Turn the problem into the input of the contestant; this time is only reported."""

    @abc.abstractmethod
    def train(self, problem: Any, recorder: Recorder) -> Weights:
        """Train between ``recorder.start()`` and ``recorder.stop()``.

        ``recorder.point(objective)`` records the course. What only serves the record (such as
        evaluating the objective) belongs inside ``recorder.paused()``. Notes for the tables go to
        ``recorder.event("note", text=...)``; what a run proved about itself goes to
        ``recorder.event("certified", tol=, cpu=, wall=, passes=, relative_gap=, nonzero=)``; a run
        that gives up early, which it may when ``recorder.spent()``, says
        ``recorder.event("over budget")``.
        """


def climb(
    problem: LinearProblem,
    recorder: Recorder,
    rungs: Iterable[float],
    fit: Callable[[float], Floats],
    patience: int = 1,
) -> LinearWeights:
    """Train from scratch with tighter and tighter settings, if a library reports no progress.

    Each setting, called a rung, is one point: the whole time of that fit, and the objective of its
    weights. The climb ends when ``patience`` rungs in a row have changed the objective by no more
    than 1e-10 of it, or when the next rung would be over the budget, judging by the growth of the
    last two.
    """
    best: Floats | None = None
    last_cpu = 0.0
    last = lowest = float("inf")
    unchanged = 0
    for rung in rungs:
        recorder.start()
        coef = fit(rung)
        cpu, wall = recorder.stop()
        value = linear_objective(problem, coef)
        recorder.point(value, at=(cpu, wall), rung=rung)
        if best is None or value < lowest:
            best, lowest = coef, value
        unchanged = unchanged + 1 if abs(last - value) <= 1e-10 * value else 0
        if unchanged == patience:
            break
        growth = min(max(cpu / last_cpu, 1.25), 4.0) if last_cpu > 0.0 else 2.0
        if growth * cpu > recorder.budget:
            recorder.event("over budget")
            break
        last, last_cpu = value, cpu
    if best is None:
        raise ValueError("a climb needs at least one rung.")
    return LinearWeights(best)
