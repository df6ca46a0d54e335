"""A fit from its first weights to its certificate, epoch by epoch.

:mod:`partwise.training.course` describes when a full evaluation is made. A fit that has a
checkpoint is saved every so many minutes, also within an epoch, and when it ends. What the clock
decides is only when it is saved, never what the fit does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import DataError
from ..problem.evaluation import DualPoint
from ..problem.matrix_evaluation import make_evaluator
from ..problem.problem import Problem
from ..problem.storage import Storage
from ..problem.subset import problem_digest
from ..solvers.base import Evaluation, Solver
from ..solvers.goal import Goal
from ..solvers.registry import make_solver
from .certificate import Certificate, consistent, relative_gap, warn_unless_converged
from .checkpoint import Checkpoint, Keeper, MakeModel, Saved, load_checkpoint
from .course import INTERRUPTED, Course, TraceRow
from .early_stopping import Watch
from .interrupt import Interrupt
from .result import Callback, Fit, Progress
from .settings import Parameters, as_json

__all__ = ["run", "train"]


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
    checkpoint: Checkpoint | None = None,
    model: MakeModel | None = None,
) -> Fit:
    """Train until the relative duality gap is at most `tol`.

    Parameters
    ----------
    problem : Problem
        What to solve.
    l2 : float
        The regulariser: ``l2/2 |w|^2``.
    l1 : float
        Adds ``l1 |w|_1`` to it, which makes some weights exactly 0.
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
    checkpoint : Checkpoint or None
        Where to save the fit, and whether to go on from there.
    model : callable or None
        Makes the header and the arrays of a model from weights, to be saved with the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.problem.losses import Loss
    >>> from partwise.problem.problem import build_problem
    >>> from partwise.problem.rows import Rows
    >>> from partwise.structures.multiclass import Multiclass
    >>> from partwise.training import train
    >>> rows = Rows.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> gold = [np.array([0]), np.array([1])]
    >>> problem = build_problem(Multiclass(2), [1, 1], [rows], gold, Loss("log", 1.0, False))
    >>> fit = train(problem, l2=1.0)
    >>> fit.weights.shape, fit.certificate.converged
    ((4,), True)
    """
    Parameters.check_values(l2=l2, l1=l1, tol=tol, max_passes=max_passes)
    if not problem.arrays.weight.any():
        raise DataError("all examples have weight 0; give some a positive sample_weight")
    began = time.perf_counter()
    evaluator = make_evaluator(problem, n_jobs)
    rng = np.random.default_rng(seed)
    keeper, saved = None, None
    if checkpoint is not None:
        saved = None if checkpoint.source is None else load_checkpoint(checkpoint.source)
        checkpoint.check_target()
        settings = {"l2": l2, "l1": l1, "solver": solver, "options": options or {}, "seed": seed}
        keeper = Keeper(
            checkpoint, problem_digest(problem), as_json(settings), rng, problem.room, model
        )
    if saved is not None:
        start = initial_weights = None  # the checkpoint holds what came of them
    stored = None if initial_weights is None else problem.storage.scatter(initial_weights)
    goal = Goal(
        problem, l2, evaluator, rng, l1=l1, tol=tol, start=start, initial_weights=stored,
        score=None if watch is None else watch.score,
    )  # fmt: skip
    return run(
        make_solver(solver, goal, options),
        problem.storage,
        tol=tol,
        max_passes=max_passes,
        callbacks=callbacks,
        watch=watch,
        quiet=quiet,
        initial_weights=stored,
        look_first=stored is not None and start is None,
        keeper=keeper,
        saved=saved,
        began=began,
    )


def run(
    machine: Solver,
    storage: Storage,
    *,
    tol: float,
    max_passes: float,
    callbacks: Sequence[Callback] = (),
    watch: Watch | None = None,
    quiet: bool = False,
    initial_weights: Floats | None = None,
    look_first: bool = False,
    keeper: Keeper | None = None,
    saved: Saved | None = None,
    began: float | None = None,
) -> Fit:
    """Let a solver work until the relative duality gap is at most `tol`.

    Parameters
    ----------
    machine : Solver
        A solver that was just made. Its epochs and evaluations may run elsewhere.
    storage : Storage
        Where it stores the weights.
    tol, max_passes, callbacks, watch, quiet
        As in `train`.
    initial_weights : ndarray or None
        The stored weights that the solver starts from.
    look_first : bool
        Whether to evaluate the initial weights before the first epoch; they count as the best ones
        until the solver has found better ones.
    keeper : Keeper or None
        Writes the checkpoints.
    saved : Saved or None
        The checkpoint to go on from.
    began : float or None
        When the fit began, by `time.perf_counter`; None is now.
    """
    course = Course(tol, watch, initial_weights, machine.enough)
    with Interrupt() as interrupt, closing(machine):
        if keeper is not None:
            keeper.check_room(machine)
        if keeper is not None and saved is not None:
            keeper.resume(saved, machine, course)
            if course.initial is not None and len(course.initial) != storage.n_places:
                raise DataError(f"{saved.path} is not sound: its first weights do not fit the data")
        began = time.perf_counter() if began is None else began
        epochs = Epochs(machine, storage, course, max_passes, callbacks, keeper, interrupt, began)
        again = saved is not None and saved.ended
        best, verdict = epochs.work(again, look_first)
        if course.epsilon > 0.0 and best.primal > 0.0:
            tol = course.epsilon / best.primal
        if course.initial is not None and math.isnan(course.objective):
            course.objective = machine.primal(course.initial)
        apart = relative_gap(best.primal, best.dual) > tol
        keeps = watch is not None and watch.patience is not None
        kept = course.best if keeps and apart else None
        if kept is not None:
            bound = course.bound
            bound = max(bound, best.dual) if consistent(best.primal, best.dual) else bound
            chosen = storage.scatter(kept.weights)
            best = Evaluation(chosen, machine.primal(chosen), bound)
            verdict += f"; kept the weights of pass {kept.passes:.1f}, with the best score"
        else:
            # The lower bound holds for all weights, and the initial ones may be better; far from
            # the optimum even w = 0.
            best = course.better(best)
            if relative_gap(best.primal, best.dual) > tol:
                zeros = storage.zeros()
                primal = machine.primal(zeros)
                if primal < best.primal:
                    best = Evaluation(zeros, primal, best.dual)
        certificate = Certificate(
            primal=best.primal,
            dual=best.dual,
            tol=tol,
            passes=course.passes,
            seconds=epochs.seconds,
            verdict=verdict,
        )
        dual_point = machine.dual_point()
    if not quiet and not course.given_up:
        warn_unless_converged(certificate, max_passes)
    return Fit(
        storage.gather(best.weights),
        certificate,
        tuple(course.trace),
        dual_point,
        interrupt.requested,
        course.objective,
        kept_passes=None if kept is None else kept.passes,
    )


class _Interrupted(Exception):
    """Ends an epoch between two stretches, after a signal."""


class Epochs:
    """Epochs, evaluations, the trace and the checkpoints of one fit.

    Parameters
    ----------
    machine : Solver
        The solver.
    storage : Storage
        Where it stores the weights.
    course : Course
        Where the fit stands.
    max_passes, callbacks
        As in `train`.
    keeper : Keeper or None
        Writes the checkpoints.
    interrupt : Interrupt
        Says whether a signal asked the fit to end.
    began : float
        When the fit began, by `time.perf_counter`.
    """

    def __init__(
        self,
        machine: Solver,
        storage: Storage,
        course: Course,
        max_passes: float,
        callbacks: Sequence[Callback],
        keeper: Keeper | None,
        interrupt: Interrupt,
        began: float,
    ) -> None:
        self.machine, self.storage, self.course = machine, storage, course
        self.max_passes, self.callbacks = max_passes, callbacks
        self.keeper, self.interrupt, self.began = keeper, interrupt, began
        self.saved = False  # since the last epoch began
        self.before = course.seconds
        self.aside = 0.0  # seconds that callbacks and scorings took
        machine.pause = self.pause

    @property
    def seconds(self) -> float:
        """The seconds of training, those before a resumption included."""
        return self.before + time.perf_counter() - self.began - self.aside

    def weights(self, stored: Floats | None = None) -> Floats:
        """Return the running weights, or stored ones, as a model has them."""
        return self.storage.gather(self.machine.current_weights() if stored is None else stored)

    def save(self, ended: bool = False) -> None:
        """Write a checkpoint, if there is one to write."""
        if self.keeper is not None:
            self.course.seconds = self.seconds
            self.keeper.write(self.machine, self.course, self.weights(), ended)
            self.saved = True

    def pause(self) -> None:
        """Do what is due between two stretches of an epoch."""
        if self.interrupt.requested:
            self.save()
            raise _Interrupted
        if self.keeper is not None and self.keeper.due:
            self.save()

    def work(self, again: bool, look_first: bool) -> tuple[Evaluation, str]:
        """Train, and return the last evaluation and the reason why the fit ended.

        Parameters
        ----------
        again : bool
            Whether the fit was saved when it had reached its gap, so that an evaluation may do.
        look_first : bool
            Whether to evaluate the initial weights.
        """
        course, verdict = self.course, ""
        found: Evaluation | None = None
        if again:
            best = course.better(self.sound(self.machine.evaluate()))
            if course.near(best):
                return best, course.verdict(best, False, False)
        if look_first:
            found, verdict = self.look()
        while not verdict:
            self.saved = False
            found, verdict = self.step()
            if not verdict and self.keeper is not None and self.keeper.due:
                self.save()
        if found is not None and course.near(found):
            self.save(ended=True)
        elif not self.saved:
            self.save()
        return found or course.better(self.sound(self.machine.evaluate())), verdict

    def sound(self, value: Evaluation) -> Evaluation:
        """Return an evaluation that makes use of the fact that no objective is below 0.

        A negative dual value is replaced by 0, the dual value of the gold labels. Where every
        example has one possible label only, w = 0 has the objective 0, and the values of other
        weights are nothing but rounding.
        """
        if not value.dual >= 0.0:
            value = Evaluation(value.weights, value.primal, 0.0)
        if consistent(value.primal, value.dual):
            return value
        zeros = self.storage.zeros()
        return Evaluation(zeros, 0.0, 0.0) if self.machine.primal(zeros) == 0.0 else value

    def look(self) -> tuple[Evaluation | None, str]:
        """Evaluate the initial weights; return that, and why the fit ends with them or ""."""
        course = self.course
        assert course.initial is not None
        found = self.sound(self.machine.certify(course.initial))
        course.objective = found.primal
        if consistent(found.primal, found.dual):
            course.bound = found.dual
        row = TraceRow(
            epoch=0,
            passes=0.0,
            seconds=self.seconds,
            l2=self.machine.l2,
            primal=found.primal,
            dual=found.dual,
            gap_estimate=found.gap,
        )
        stopped = self.tell(row)
        if course.near(found) or stopped or self.interrupt.requested:
            return found, course.verdict(found, self.interrupt.requested, stopped)
        return None, ""

    def tell(self, row: TraceRow) -> bool:
        """Add a row to the trace and show it to the callbacks; return whether one says stop."""
        self.course.trace.append(row)
        paused = time.perf_counter()
        progress = Progress(row, self.course.tol, self.max_passes, self.weights)
        stopped = [bool(callback(progress)) for callback in self.callbacks]
        self.aside += time.perf_counter() - paused
        return any(stopped)

    def step(self) -> tuple[Evaluation | None, str]:
        """Run an epoch and what follows it; return its evaluation, and why the fit ends or ""."""
        course, machine = self.course, self.machine
        try:
            epoch = course.epoch = course.epoch or machine.epoch()
        except _Interrupted:
            return None, INTERRUPTED
        passes = course.passes + epoch.passes
        done = self.interrupt.requested or passes >= self.max_passes or epoch.ended != ""
        if done:
            # An evaluation that another end would not make may change the last bits, so the fit
            # is saved before it, with an epoch that is not yet in the trace.
            self.save()
        found, best = None, None
        due = course.due(passes, epoch.gap_estimate, epoch.dual) and machine.settled
        course.passes, course.epoch = passes, None
        if done or due:
            found = self.sound(machine.evaluate())
            best = course.take(passes, epoch.gap_estimate, found)
            done |= course.near(best)
        paused = time.perf_counter()
        score = math.nan
        if found or machine.settled:
            stored = found.weights if found else None
            score = course.score(passes, lambda: self.weights(stored), done)
        self.aside += time.perf_counter() - paused
        row = TraceRow(
            epoch=course.trace[-1].epoch + 1 if course.trace else 1,
            passes=passes,
            seconds=self.seconds,
            l2=machine.l2 if best else epoch.l2,
            primal=best.primal if best else math.nan,
            dual=best.dual if best else epoch.dual,
            gap_estimate=epoch.gap_estimate,
            score=score,
        )
        stopped = self.tell(row)
        verdict = course.verdict(best, self.interrupt.requested, stopped) or epoch.ended
        if not verdict and passes >= self.max_passes:
            verdict = f"stopped at max_passes = {self.max_passes:g}"
        return best, verdict
