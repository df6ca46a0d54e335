"""The loop around every solver: when to evaluate, when to stop, what to report.

There is one stopping rule, ``relative_gap <= tol``, and only a full evaluation decides it. Between
evaluations each epoch gives a free estimate of the gap. A full evaluation is made when that
estimate, corrected by how wrong it was the last time, says that tol is reached, and in any case
every ``EVERY`` passes. The schedule counts passes and never looks at the clock, so that the same
data and seed give the same model.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..arrays import Floats
from ..errors import DataError, level_outside
from ..problem.dual_point import DualPoint
from ..problem.evaluation import Evaluator
from ..problem.problem import Problem
from ..solvers.base import Evaluation, Solver
from ..solvers.goal import Goal
from ..solvers.registry import make_solver
from .certificate import CLOSER_SIZES, Certificate, ConvergenceWarning, consistent, relative_gap
from .early_stopping import Watch, Watcher
from .interrupt import Interrupt
from .settings import check_numbers
from .start import Start

#: A full evaluation costs about 0.8 passes: one in 25 is 3% of the run.
EVERY: Final = 25.0
_COST = 0.8
#: An evaluation that the estimate suggests waits until all of them take at most this share of the
#: run.
_SHARE = 0.2
#: A fit ends after this many full evaluations in a row with bitwise equal values.
_STILL: Final = 8


@dataclass(frozen=True)
class TraceRow:
    """One line of the trace.

    ``primal`` and ``gap`` are nan where no full evaluation was made; ``dual`` is then the running
    value for ``l2``, which exceeds the target while annealing. ``score`` is that of held-out data,
    nan where these were not scored.
    """

    epoch: int
    passes: float
    seconds: float
    l2: float
    primal: float
    dual: float
    gap_estimate: float
    score: float = math.nan

    @property
    def certified(self) -> bool:
        """Whether primal and dual come from a full evaluation."""
        return not math.isnan(self.primal)

    @property
    def relative_gap(self) -> float:
        """The relative gap if it is certified, else its estimate."""
        if self.certified:
            return relative_gap(self.primal, self.dual)
        return self.gap_estimate / max(abs(self.dual + self.gap_estimate), 1e-300)


@dataclass(frozen=True)
class Progress:
    """The argument of a callback: the new row, and a function that returns the weights."""

    row: TraceRow
    tol: float
    max_passes: float
    weights: Callable[[], Floats]


#: Called after every epoch; a true result stops the fit, with a certificate.
Callback = Callable[[Progress], Any]


@dataclass(frozen=True)
class Fit:
    """A finished fit."""

    weights: Floats
    certificate: Certificate
    trace: tuple[TraceRow, ...]
    dual_point: DualPoint
    interrupted: bool = False  # whether Ctrl-C was pressed, even if the fit converged
    initial_objective: float = math.nan  # the objective of the initial weights, if there were any
    start: Start | None = None  # the other model that the initial weights are from
    kept_passes: float | None = None  # when the weights were found, if a score chose them


class _Schedule:
    """Decides when a full evaluation is worth its cost."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.ratio = 0.8  # true gap / estimate, a mean over the evaluations
        self.evaluations = 0
        self.last = 0.0
        self.values: tuple[float, float] | None = None
        self.repeated = 0

    @property
    def still(self) -> bool:
        """Whether the solver no longer moves."""
        return self.repeated >= _STILL

    def due(self, passes: float, estimate: float, dual: float) -> bool:
        if passes - self.last >= EVERY:
            return True
        spent = _COST * (self.evaluations + 1)
        affordable = self.evaluations == 0 or spent <= _SHARE * (passes + spent)
        if math.isinf(estimate):
            return affordable
        # An estimate that was corrected once and is well below tol is reliable: waiting would cost
        # more passes than the evaluation.
        enough = self.tol if affordable else 0.5 * self.tol
        return self.ratio * estimate <= enough * abs(dual)

    def made(self, passes: float, estimate: float, found: Evaluation) -> None:
        self.evaluations += 1
        self.last = passes
        values = (found.primal, found.dual)
        self.repeated = self.repeated + 1 if values == self.values else 1
        self.values = values
        gap = found.primal - found.dual
        if 0.0 < estimate < math.inf and gap > 0.0:
            # A single ratio is noisy, because outliers come and go within a pass.
            self.ratio = math.sqrt(self.ratio * gap / estimate)


def train(
    problem: Problem,
    l2: float,
    *,
    l1: float = 0.0,
    solver: str = "auto",
    tol: float = 1e-4,
    max_passes: float = 1000.0,
    n_jobs: int = 1,
    seed: int | np.random.Generator = 0,
    callbacks: Sequence[Callback] = (),
    start: DualPoint | None = None,
    initial_weights: Floats | None = None,
    options: dict[str, Any] | None = None,
    watch: Watch | None = None,
    quiet: bool = False,
) -> Fit:
    """Train until the relative duality gap is at most `tol`.

    Parameters
    ----------
    problem : Problem
        What to solve.
    l2 : float
        The regulariser: l2/2 |w|^2.
    l1 : float
        Adds l1 |w|_1 to it, which makes some weights exactly 0.
    solver : str
        The name of the solver, or "auto".
    tol : float
        Stop at ``relative_gap <= tol``.
    max_passes : float
        Stop after this many visits per example.
    n_jobs : int
        The number of threads for evaluations and batch solvers; it does not change the result.
    seed : int or Generator
        Draws the order of the examples.
    callbacks : sequence of callables
        Called with a :class:`Progress` after every epoch.
    start : DualPoint or None
        The dual point of an earlier fit of the same examples, to start from.
    initial_weights : ndarray or None
        Weights to start from. A solver that keeps duals starts at u_i = p(.|x_i; w), unless it
        gets a dual point.
    options : dict or None
        Further arguments of the solver.
    watch : Watch or None
        Held-out data to score, by weights, and how long to go on without a better score. If the fit
        then ends before the gap is reached, the weights are those with the best score.
    quiet : bool
        Whether to leave out the warning if the gap is not reached.
    """
    check_numbers(l2, l1, tol, max_passes)
    if not problem.arrays.weight.any():
        raise DataError("all examples have weight 0; give some a positive sample_weight")
    began = time.perf_counter()
    evaluator = Evaluator(problem, n_jobs)
    stored = None if initial_weights is None else problem.storage.scatter(initial_weights)
    goal = Goal(
        problem,
        l2,
        evaluator,
        np.random.default_rng(seed),
        l1=l1,
        tol=tol,
        start=start,
        initial_weights=stored,
    )
    machine = make_solver(solver, goal, options)
    trace: list[TraceRow] = []
    schedule = _Schedule(tol)
    passes, aside, verdict = 0.0, 0.0, ""

    def weights() -> Floats:
        return problem.storage.gather(machine.current_weights())

    best: Evaluation | None = None
    watcher, bound = Watcher(watch), 0.0  # 0 is the dual value of the gold labels
    with Interrupt() as interrupt, closing(machine):
        while not verdict:
            epoch = machine.epoch()
            passes += epoch.passes
            done = interrupt.requested or passes >= max_passes
            best = None
            if done or (machine.settled and schedule.due(passes, epoch.gap_estimate, epoch.dual)):
                best = _bounded(machine.evaluate())
                schedule.made(passes, epoch.gap_estimate, best)
                if consistent(best.primal, best.dual):
                    bound = max(bound, best.dual)
                done |= relative_gap(best.primal, best.dual) <= tol
            paused = time.perf_counter()
            score = math.nan
            if best or machine.settled:
                held = _gathered(problem, best) if best else weights
                score = watcher.look(passes, held, done)
            aside += time.perf_counter() - paused
            row = TraceRow(
                epoch=len(trace) + 1,
                passes=passes,
                seconds=time.perf_counter() - began - aside,
                l2=l2 if best else epoch.l2,
                primal=best.primal if best else math.nan,
                dual=best.dual if best else epoch.dual,
                gap_estimate=epoch.gap_estimate,
                score=score,
            )
            trace.append(row)
            paused = time.perf_counter()
            stopped = [
                bool(callback(Progress(row, tol, max_passes, weights))) for callback in callbacks
            ]
            aside += time.perf_counter() - paused
            if best and row.relative_gap <= tol:
                verdict = "converged: the relative gap is at most tol"
            elif best and not consistent(best.primal, best.dual):
                verdict = "stopped: rounding exceeds tol"
            elif interrupt.requested:
                verdict = "interrupted; the weights so far are certified"
            elif any(stopped):
                verdict = "stopped by a callback"
            elif watcher.over:
                verdict = f"stopped: {watcher.waited} scorings without a better held-out score"
            elif schedule.still:
                verdict = "stopped: the solver no longer moves, its steps are lost in rounding"
            elif passes >= max_passes:
                verdict = f"stopped at max_passes = {max_passes:g}"
        if best is None:
            best = _bounded(machine.evaluate())
    initial_objective = math.nan if stored is None else machine.primal(stored)
    kept = watcher.best if watcher.keeps and relative_gap(best.primal, best.dual) > tol else None
    if kept is not None:
        bound = max(bound, best.dual) if consistent(best.primal, best.dual) else bound
        chosen = problem.storage.scatter(kept.weights)
        best = Evaluation(chosen, machine.primal(chosen), bound)
        verdict += f"; kept the weights of pass {kept.passes:.1f}, with the best score"
    else:
        best = _improved(machine, best, stored, initial_objective, tol)
    certificate = Certificate(
        primal=best.primal,
        dual=best.dual,
        tol=tol,
        passes=passes,
        seconds=time.perf_counter() - began - aside,
        verdict=verdict,
    )
    if not quiet and not watcher.over:
        warn_unless_converged(certificate, max_passes)
    return Fit(
        problem.storage.gather(best.weights),
        certificate,
        tuple(trace),
        machine.dual_point(),
        interrupt.requested,
        initial_objective,
        kept_passes=None if kept is None else kept.passes,
    )


def _gathered(problem: Problem, found: Evaluation) -> Callable[[], Floats]:
    return lambda: problem.storage.gather(found.weights)


def _improved(
    machine: Solver, best: Evaluation, initial: Floats | None, objective: float, tol: float
) -> Evaluation:
    """Return better weights than those of an evaluation, where they are known.

    The lower bound holds for all weights. The initial ones, with their objective, may be better,
    and far from the optimum even w = 0.
    """
    if initial is not None and objective < best.primal:
        best = Evaluation(initial, objective, best.dual)
    if relative_gap(best.primal, best.dual) > tol:
        zeros = machine.problem.storage.zeros()
        primal = machine.primal(zeros)
        if primal < best.primal:
            best = Evaluation(zeros, primal, best.dual)
    return best


def warn_unless_converged(certificate: Certificate, max_passes: float) -> None:
    """Issue a ConvergenceWarning, with advice, if a fit did not reach its tol."""
    if not certificate.converged:
        warnings.warn(
            _advice(certificate, max_passes), ConvergenceWarning, stacklevel=level_outside()
        )


def _bounded(value: Evaluation) -> Evaluation:
    """Replace a negative dual value by 0, the dual value of the gold labels."""
    return value if value.dual >= 0.0 else Evaluation(value.weights, value.primal, 0.0)


def _advice(certificate: Certificate, max_passes: float) -> str:
    if not certificate.consistent:
        return f"{certificate.verdict}: {certificate.doubt}; {CLOSER_SIZES}"
    if certificate.steps is not None:
        return (
            f"{certificate.verdict} after {certificate.passes:.1f} passes and "
            f"{certificate.steps.count} steps; {certificate.steps}. Raise max_passes (now "
            f"{max_passes:g}), go on with warm_start=True, or use a larger l2 or tol"
        )
    return (
        f"relative gap {certificate.relative_gap:.3g} > tol {certificate.tol:.3g} after "
        f"{certificate.passes:.1f} passes ({certificate.verdict}); the objective is at most "
        f"{certificate.gap:.6g} above the optimum. Raise max_passes (now {max_passes:g}), go on "
        "with warm_start=True, scale the features to similar sizes, or use a larger l2 or tol"
    )
