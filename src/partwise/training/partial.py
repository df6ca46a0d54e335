"""Training with labels that are known in part: convex steps, one after the other.

The objective is not convex (see :mod:`partwise.problem.partial`):

    L(w) = R(w) + sum_i c_i [ log sum_y exp(w.f_i(y)) - log sum_{y in A_i} exp(w.f_i(y)) ]

Step k takes the expected counts q of the allowed labels at the weights w_k so far, and minimises

    Q_k(w) = R(w) + sum_i c_i [ log sum_y exp(w.f_i(y)) - q_i.F_i w ]

which is convex, and has a duality gap. L(w) <= Q_k(w) - sum_i c_i H(q_i), with equality at w_k, so
that whatever lowers Q_k lowers L at least as much. This is the EM algorithm of Dempster, Laird and
Rubin (1977) for a conditional model, and an instance of the concave-convex procedure.

The rule: the steps end when one that reached ``relative_gap <= tol`` lowered L by at most tol L.
The weights before that step were then within tol (L + Q_k) of the minimum of the convex problem
that touches L at these very weights: a stationary point to that accuracy, and not a certified
optimum. Early steps need no such accuracy: the first one stops at a relative gap of ``_FIRST``, and
the others at a share of the last decrease.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..arrays import Floats
from ..problem.allowed_labels import AllowedLabels
from ..problem.dual_point import DualPoint
from ..problem.evaluation import Evaluator
from ..problem.problem import Problem
from .certificate import Certificate, Steps
from .interrupt import Interrupt
from .loop import Callback, Fit, Progress, TraceRow, solve, warn_unless_converged

__all__ = ["train_partial"]

_log = logging.getLogger(__name__)

#: The relative gap at which the first step stops.
_FIRST: Final = 0.1
#: A later step stops at this share of the relative decrease of the step before.
_SHARE: Final = 0.2


def train_partial(
    problem: Problem,
    l2: float,
    *,
    tol: float = 1e-4,
    max_passes: float = 1000.0,
    n_jobs: int = 1,
    seed: int | np.random.Generator = 0,
    callbacks: Sequence[Callback] = (),
    start: DualPoint | None = None,
    initial_weights: Floats | None = None,
    **training: Any,
) -> Fit:
    """Train with labels that are known in part, until a step of accuracy `tol` changes little.

    Parameters
    ----------
    problem : Problem
        What to solve, with labels that are known in part.
    l2, tol, n_jobs, seed, callbacks
        As in :func:`partwise.training.loop.train`.
    max_passes : float
        Stop after this many visits per example, in all steps together.
    start : DualPoint or None
        Not used: a dual point belongs to one step, and so to weights that it does not hold.
    initial_weights : ndarray or None
        The weights to start from. None: all allowed labels are equally likely.
    **training
        Further arguments of :func:`partwise.training.loop.train`.

    Returns
    -------
    Fit
        The certificate and the dual point are those of the last step. The trace holds all steps.
    """
    course = _Course(problem, callbacks, tol, max_passes)
    rng = np.random.default_rng(seed)
    allowed = AllowedLabels(problem, n_jobs)
    first = problem.storage.zeros()
    if initial_weights is not None:
        first = problem.storage.scatter(initial_weights)
    objective = Evaluator(problem, n_jobs).primal(first, l2, float(training.get("l1", 0.0)))
    problem, less = allowed.expect(problem, first)
    objective -= less
    course.passes += 1.0 + allowed.share
    accuracy = max(tol, _FIRST)
    with Interrupt() as interrupt:
        while True:
            fit = solve(
                problem,
                l2,
                tol=accuracy,
                max_passes=max(max_passes - course.passes, 1e-9),
                n_jobs=n_jobs,
                seed=rng,
                callbacks=course.callbacks(),
                start=start,
                initial_weights=initial_weights,
                **training,
            )
            course.add(fit)
            problem, less = allowed.expect(problem, problem.storage.scatter(fit.weights))
            course.passes += allowed.share
            before, objective = objective, fit.certificate.primal - less
            course.decrease = (before - objective) / max(objective, 1e-300)
            _log.info(
                "step %d: objective %.6f, relative gap %.1e, %.1f passes",
                course.count, objective, fit.certificate.relative_gap, course.passes,
            )  # fmt: skip
            met = fit.certificate.relative_gap <= tol
            if met and course.decrease <= tol:
                verdict = (
                    "converged: the last step reached tol and lowered the objective by less; the "
                    "objective is not convex, so this is a stationary point, not a certified "
                    "optimum"
                )
                break
            verdict = course.ended(fit, interrupt.requested)
            if verdict:
                break
            accuracy = max(tol, min(accuracy, _SHARE * course.decrease))
            initial_weights = fit.weights
            start = fit.dual_point
    done = course.finished(fit, objective, verdict, interrupt.requested)
    warn_unless_converged(done.certificate, max_passes)
    return done


class _Course:
    """What the steps of a fit have in common: passes, seconds, the trace, and reasons to stop."""

    def __init__(
        self, problem: Problem, callbacks: Sequence[Callback], tol: float, max_passes: float
    ) -> None:
        assert problem.partial is not None
        self.n_partial = len(problem.partial.examples)
        self.given, self.tol, self.max_passes = callbacks, tol, max_passes
        self.began = time.perf_counter()
        self.count, self.passes, self.decrease = 0, 0.0, 0.0
        self.trace: list[TraceRow] = []
        self.stopped = False

    def callbacks(self) -> list[Callback]:
        """Return the callbacks of the next step: they are told about all steps together."""
        before, seconds, epochs = self.passes, time.perf_counter() - self.began, len(self.trace)

        def shifted(row: TraceRow) -> TraceRow:
            return replace(
                row,
                epoch=row.epoch + epochs,
                passes=row.passes + before,
                seconds=row.seconds + seconds,
            )

        def tell(progress: Progress) -> bool:
            self.trace.append(shifted(progress.row))
            mine = Progress(self.trace[-1], self.tol, self.max_passes, progress.weights)
            results = [bool(callback(mine)) for callback in self.given]
            self.stopped = self.stopped or any(results)
            return any(results)

        return [tell]

    def add(self, fit: Fit) -> None:
        """Take one more step in."""
        self.count += 1
        self.passes += fit.certificate.passes

    def ended(self, fit: Fit, interrupted: bool) -> str:
        """Return the reason why there is no further step, or an empty string."""
        if interrupted or fit.interrupted:
            return f"interrupted in step {self.count}; the weights so far are valid"
        if self.stopped:
            return f"stopped by a callback in step {self.count}"
        if self.passes >= self.max_passes:
            return f"stopped at max_passes = {self.max_passes:g}, in step {self.count}"
        if not fit.certificate.converged:
            return f"step {self.count} {fit.certificate.verdict}"
        return ""

    def finished(self, fit: Fit, objective: float, verdict: str, interrupted: bool) -> Fit:
        """Return the fit of all steps."""
        steps = Steps(
            count=self.count,
            objective=objective,
            decrease=self.decrease,
            settled=verdict.startswith("converged"),
            partial=self.n_partial,
        )
        certificate = Certificate(
            primal=fit.certificate.primal,
            dual=fit.certificate.dual,
            tol=self.tol,
            passes=self.passes,
            seconds=time.perf_counter() - self.began,
            verdict=verdict,
            steps=steps,
        )
        return replace(
            fit,
            certificate=certificate,
            trace=tuple(self.trace),
            interrupted=fit.interrupted or interrupted,
        )
