"""The nonlinear conjugate gradient method of Polak and Ribiere, by scipy."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np
from scipy.optimize import minimize

from ...arrays import Floats
from ...problem.evaluation import Slope
from ...problem.footprint import Footprint
from ..base import Epoch, Evaluation
from ..goal import Goal
from ..papers import POLAK_1969
from ..primal import PrimalSolver, primal_value

# A method of scipy.optimize, one iteration at a time.
#
# scipy runs to the end in one call, but the training loop asks for one epoch after another. So the
# call runs in a thread of its own, which waits after every iteration until the next one is wanted.
# Only one of the two threads runs at any time.


#: The gap decides when to stop; scipy must not.
_ENDLESS = 10**9


class _Abandoned(Exception):
    """Ends the thread of a call whose points nobody wants any more."""


class _Iterations:
    """The points that a call passes to its callback, one at a time and on demand."""

    def __init__(self, call: Callable[[Callable[[Floats], None]], None]) -> None:
        self._call = call
        self._asked, self._answered = threading.Semaphore(0), threading.Semaphore(0)
        self._point: Floats | None = None
        self._error: BaseException | None = None
        self._closed = self._ended = False
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self._asked.acquire()
        try:
            if not self._closed:
                self._call(self._reached)
        except _Abandoned:
            pass
        except BaseException as error:  # raised again in the thread that asked
            self._error = error
        # Set before the answer, since the thread itself may live on for a moment after it.
        self._point, self._ended = None, True
        self._answered.release()

    def _reached(self, point: Floats) -> None:
        self._point = np.array(point)
        self._answered.release()
        self._asked.acquire()
        if self._closed:
            raise _Abandoned

    def next(self) -> Floats | None:
        """Return the point after one more iteration, or None at the end."""
        if self._ended:
            return None
        self._asked.release()
        self._answered.acquire()
        if self._error is not None:
            raise self._error
        return self._point

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._asked.release()


class SteppedSolver(PrimalSolver):
    """A solver that leaves its steps to ``scipy.optimize.minimize``."""

    method: ClassVar[str]
    remade = ("iterations",)
    # The slopes at two points, and what scipy copies.
    occupies = Footprint(vectors=19, parts=1, examples=6)

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        self.passes = 0.0
        self.seen: Slope | None = None  # at the point that was evaluated last
        self.iterations = _Iterations(self._minimise)

    def close(self) -> None:
        self.iterations.close()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the options of scipy's method."""

    def _minimise(self, reached: Callable[[Floats], None]) -> None:
        # scipy's stubs know only literal names of methods.
        run: Any = minimize
        # scipy divides by squares of the gradient, which may vanish before the gradient does.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            run(
                self._objective,
                self.weights,
                method=self.method,
                jac=True,
                callback=reached,
                options={"maxiter": _ENDLESS, **self.settings()},
            )

    def slope_at(self, weights: Floats) -> Slope:
        """Return the slope at some weights; at the last point it is already known."""
        if self.seen is None or not np.array_equal(self.seen.weights, weights):
            self.seen = self.evaluator.slope(weights.copy())
            self.passes += 1.0
        return self.seen

    def _objective(self, weights: Floats) -> tuple[float, Floats]:
        slope = self.slope_at(weights)
        return primal_value(self.problem, slope, self.l2), self.l2 * slope.weights - slope.v

    def epoch(self) -> Epoch:
        """Take one iteration; every evaluation of the slope counts as a pass."""
        point = self.iterations.next()
        if point is None:
            # The line search found no better point: start again from here, without memory.
            self.iterations.close()
            self.iterations = _Iterations(self._minimise)
            self.seen = None
            point = self.iterations.next()
        if point is not None and np.isfinite(point).all():
            self.weights = point
        dual, gap = self.estimate(self.slope_at(self.weights))
        passes, self.passes = max(self.passes, 1.0), 0.0
        return Epoch(passes, dual, gap, self.l2)

    def evaluate(self) -> Evaluation:
        return self.certified(self.slope_at(self.weights))


@final
class ConjugateGradient(SteppedSolver):
    """Nonlinear conjugate gradient, by scipy, for comparison."""

    name: ClassVar[str] = "cg"
    on_disk = True
    papers = (POLAK_1969,)
    threads = True
    method: ClassVar[str] = "CG"

    def settings(self) -> dict[str, Any]:
        # scipy must never stop by rules of its own.
        return {"gtol": 0.0}
