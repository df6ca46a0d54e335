"""The loop over the epochs of a fit: when to evaluate, to stop, to report and to save.

:mod:`partwise.training.course` describes when a full evaluation is made. A fit that has a
checkpoint is saved every so many minutes, also within an epoch, and when it ends. What the clock
decides is only when it is saved, never what the fit does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Final

from ..arrays import Floats
from ..problem.storage import Storage
from ..solvers.base import Evaluation, Solver
from .certificate import consistent, relative_gap
from .checkpoint import Keeper
from .course import Course, TraceRow
from .fit import Callback, Progress
from .interrupt import Interrupt

__all__ = ["Epochs"]

#: The verdict on a fit that a signal ended.
_INTERRUPTED: Final = "interrupted; the weights so far are certified"


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
    tol, max_passes, callbacks
        As in :func:`partwise.training.loop.train`.
    keeper : Keeper or None
        Writes the checkpoints.
    interrupt : Interrupt
        Says whether a signal asked the fit to end.
    """

    def __init__(
        self,
        machine: Solver,
        storage: Storage,
        course: Course,
        tol: float,
        max_passes: float,
        callbacks: Sequence[Callback],
        keeper: Keeper | None,
        interrupt: Interrupt,
    ) -> None:
        self.machine, self.storage, self.course = machine, storage, course
        self.tol, self.max_passes, self.callbacks = tol, max_passes, callbacks
        self.keeper, self.interrupt = keeper, interrupt
        self.began = 0.0
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
        verdict = ""
        if again:
            best = self.course.better(self.sound(self.machine.evaluate()))
            if self.near(best):
                return best, self.converged
        found: Evaluation | None = None
        if look_first:
            found, verdict = self.look()
        while not verdict:
            self.saved = False
            found, verdict = self.step()
            if not verdict and self.keeper is not None and self.keeper.due:
                self.save()
        if found is not None and self.near(found):
            self.save(ended=True)
        elif not self.saved:
            self.save()
        return found or self.course.better(self.sound(self.machine.evaluate())), verdict

    def near(self, value: Evaluation) -> bool:
        """Return whether the gap is as small as was asked for."""
        if self.machine.enough > 0.0:
            return consistent(value.primal, value.dual) and value.gap <= self.machine.enough
        return relative_gap(value.primal, value.dual) <= self.tol

    @property
    def converged(self) -> str:
        """The reason why a fit ends whose gap is as small as was asked for."""
        if self.machine.enough > 0.0:
            return f"converged: the gap is at most epsilon = {self.machine.enough:g}"
        return "converged: the relative gap is at most tol"

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
        """Evaluate the initial weights; returns that, and why the fit ends with them or ""."""
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
        if self.near(found) or stopped or self.interrupt.requested:
            return found, self.verdict(row, found, stopped)
        return None, ""

    def tell(self, row: TraceRow) -> bool:
        """Add a row to the trace and show it to the callbacks; returns whether one says stop."""
        self.course.trace.append(row)
        paused = time.perf_counter()
        progress = Progress(row, self.tol, self.max_passes, self.weights)
        stopped = [bool(callback(progress)) for callback in self.callbacks]
        self.aside += time.perf_counter() - paused
        return any(stopped)

    def step(self) -> tuple[Evaluation | None, str]:
        """Run an epoch and what follows it; returns its evaluation, and why the fit ends."""
        course, machine, schedule = self.course, self.machine, self.course.schedule
        try:
            epoch = course.epoch = course.epoch or machine.epoch()
        except _Interrupted:
            return None, _INTERRUPTED
        passes = course.passes + epoch.passes
        done = self.interrupt.requested or passes >= self.max_passes or epoch.ended != ""
        if done:
            # An evaluation that another end would not make may change the last bits, so the fit
            # is saved before it, with an epoch that is not yet in the trace.
            self.save()
        found, best = None, None
        due = schedule.due(passes, epoch.gap_estimate, epoch.dual) or course.certifies(epoch.dual)
        due = due and machine.settled
        course.passes, course.epoch = passes, None
        if done or due:
            found = self.sound(machine.evaluate())
            schedule.made(passes, epoch.gap_estimate, found)
            if consistent(found.primal, found.dual):
                course.bound = max(course.bound, found.dual)
            best = course.better(found)
            done |= self.near(best)
        paused = time.perf_counter()
        score = math.nan
        if found or machine.settled:
            stored = found.weights if found else None
            score = course.watcher.look(passes, lambda: self.weights(stored), done)
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
        return best, self.verdict(row, best, self.tell(row), epoch.ended)

    def verdict(
        self, row: TraceRow, best: Evaluation | None, stopped: bool, ended: str = ""
    ) -> str:
        """Return the reason why the fit ends, or "" if it goes on.

        Parameters
        ----------
        row : TraceRow
            The last row of the trace.
        best : Evaluation or None
            The best evaluation, if one was made after this epoch.
        stopped : bool
            Whether a callback says stop.
        ended : str
            Why the fit ends by a rule of the solver's own, or "".
        """
        watcher = self.course.watcher
        if best and self.near(best):
            return self.converged
        if best and not consistent(best.primal, best.dual):
            return "stopped: rounding exceeds tol"
        if self.interrupt.requested:
            return _INTERRUPTED
        if stopped:
            return "stopped by a callback"
        if watcher.over:
            return f"stopped: {watcher.waited} scorings without a better held-out score"
        if self.course.schedule.still:
            return "stopped: the solver no longer moves, its steps are lost in rounding"
        if ended:
            return ended
        if row.passes >= self.max_passes:
            return f"stopped at max_passes = {self.max_passes:g}"
        return ""
