"""Where a fit stands: its passes, its trace, and when it is evaluated, scored and ended.

There is one stopping rule, ``relative_gap <= tol``, or ``gap <= epsilon`` if the solver has such an
option, and only a full evaluation decides it. Between evaluations each epoch gives a free estimate
of the gap. A full evaluation is made when that estimate, corrected by how wrong it was the last
time, says that tol is reached, and in any case every ``EVERY`` passes. A fit that starts from
weights alone evaluates these before its first epoch. They may stay the best weights that are known;
then the running dual value tells without an estimate when they are certified. The schedule counts
passes and never looks at the clock, so that the same data and seed give the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from ..arrays import Floats
from ..errors import DataError
from ..solvers.base import Epoch, Evaluation
from .certificate import consistent, relative_gap
from .early_stopping import Scored, Watch

__all__ = ["EVERY", "Course", "TraceRow"]

#: A full evaluation costs about 0.8 passes: one in 25 is 3% of the run.
EVERY: Final = 25.0
_COST = 0.8
#: An evaluation that the estimate suggests waits until all of them take at most this share of the
#: run.
_SHARE = 0.2
#: A fit ends after this many full evaluations in a row with bitwise equal values.
_STILL: Final = 8
#: The verdict on a fit that a signal ended.
INTERRUPTED: Final = "interrupted; the weights so far are certified"


@dataclass(frozen=True)
class TraceRow:
    """One line of the trace.

    ``primal`` and ``gap`` are nan where no full evaluation was made; ``dual`` is then the running
    value for ``l2``, which exceeds the target while annealing. ``score`` is that of held-out data,
    nan where these were not scored.

    Examples
    --------
    >>> from partwise import LinearClassifier
    >>> classifier = LinearClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> row = classifier.trace_[-1]
    >>> row.certified, row.relative_gap <= 1e-4
    (True, True)
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
        """The relative gap if it is certified, else its estimate; inf if there is none."""
        if self.certified:
            return relative_gap(self.primal, self.dual)
        if not math.isfinite(self.gap_estimate):
            return math.inf
        return self.gap_estimate / max(abs(self.dual + self.gap_estimate), 1e-300)


class Course:
    """Where a fit stands; all of it is saved in a checkpoint.

    Parameters
    ----------
    tol : float
        The relative gap to be reached.
    watch : Watch or None
        Held-out data to score.
    initial : ndarray or None
        The stored weights that the fit starts from.
    epsilon : float
        If it is above 0, the gap to be reached instead.
    """

    remade: ClassVar[tuple[str, ...]] = ("tol", "epsilon", "watch")
    grows: ClassVar[tuple[str, ...]] = ("initial", "trace", "epoch")

    def __init__(
        self, tol: float, watch: Watch | None, initial: Floats | None, epsilon: float = 0.0
    ) -> None:
        self.tol, self.epsilon, self.watch = tol, epsilon, watch
        self.passes = 0.0
        self.seconds = 0.0  # spent on training before this process
        self.bound = 0.0  # the best dual value; 0 is that of the gold labels
        self.trace: list[TraceRow] = []
        self.initial = initial
        self.objective = math.nan  # that of the initial weights, once it is known
        self.epoch: Epoch | None = None  # an epoch that has ended and is not yet in the trace
        self.ratio = 0.8  # true gap / estimate, a mean over the evaluations
        self.evaluations = 0
        self.evaluated = 0.0  # the passes before the last evaluation
        self.values: tuple[float, float] | None = None
        self.repeated = 0  # evaluations in a row that had these values
        self.scored = 0.0  # the passes before the last scoring
        self.best: Scored | None = None
        self.waited = 0  # scorings since the best one

    def near(self, value: Evaluation) -> bool:
        """Return whether the gap is as small as was asked for."""
        if self.epsilon > 0.0:
            return consistent(value.primal, value.dual) and value.gap <= self.epsilon
        return relative_gap(value.primal, value.dual) <= self.tol

    def due(self, passes: float, estimate: float, dual: float) -> bool:
        """Return whether to evaluate now, from the estimate of the gap and the running dual."""
        if passes - self.evaluated >= EVERY:
            return True
        # The initial weights may be the best ones: then the dual value says whether they will do.
        if relative_gap(self.objective, dual) <= self.tol:
            return True
        spent = _COST * (self.evaluations + 1)
        affordable = self.evaluations == 0 or spent <= _SHARE * (passes + spent)
        if math.isinf(estimate):
            return affordable
        # An estimate that was corrected once and is well below tol is reliable: waiting would cost
        # more passes than the evaluation.
        enough = 1.0 if affordable else 0.5
        return self.ratio * estimate <= enough * (self.epsilon or self.tol * abs(dual))

    def take(self, passes: float, estimate: float, found: Evaluation) -> Evaluation:
        """Take note of an evaluation, and return it as `better` does."""
        self.evaluations += 1
        self.evaluated = passes
        values = (found.primal, found.dual)
        self.repeated = self.repeated + 1 if values == self.values else 1
        self.values = values
        gap = found.primal - found.dual
        if 0.0 < estimate < math.inf and gap > 0.0:
            # A single ratio is noisy, because outliers come and go within a pass.
            self.ratio = math.sqrt(self.ratio * gap / estimate)
        if consistent(found.primal, found.dual):
            self.bound = max(self.bound, found.dual)
        return self.better(found)

    def better(self, found: Evaluation) -> Evaluation:
        """Return an evaluation, with the initial weights where their objective is lower."""
        if self.initial is None or not self.objective < found.primal:
            return found
        return Evaluation(self.initial, self.objective, found.dual)

    def score(self, passes: float, weights: Callable[[], Floats], last: bool) -> float:
        """Score the weights on the held-out data if a scoring is due.

        Parameters
        ----------
        passes : float
            The passes so far.
        weights : callable
            Returns the weights.
        last : bool
            Whether the fit ends, so that they are scored in any case.

        Returns
        -------
        float
            The score; nan if none was due.
        """
        if self.watch is None or not (last or passes - self.scored >= self.watch.every):
            return math.nan
        self.scored = passes
        held = weights()
        score = float(self.watch.score(held))
        if score > (-math.inf if self.best is None else self.best.score):
            kept = held[:0] if self.watch.patience is None else held.copy()
            self.best = Scored(kept, score, passes)
            self.waited = 0
        else:
            self.waited += 1
        return score

    @property
    def given_up(self) -> bool:
        """Whether the score has not improved for as many scorings as was asked for."""
        patience = None if self.watch is None else self.watch.patience
        return patience is not None and self.waited >= patience

    def verdict(self, best: Evaluation | None, interrupted: bool, stopped: bool) -> str:
        """Return the reason why the fit ends, or "" if it goes on.

        Parameters
        ----------
        best : Evaluation or None
            The best evaluation, if one was made after this epoch.
        interrupted : bool
            Whether a signal asked the fit to end.
        stopped : bool
            Whether a callback says stop.
        """
        if best and self.near(best):
            if self.epsilon > 0.0:
                return f"converged: the gap is at most epsilon = {self.epsilon:g}"
            return "converged: the relative gap is at most tol"
        if best and not consistent(best.primal, best.dual):
            return "stopped: rounding exceeds tol"
        if interrupted:
            return INTERRUPTED
        if stopped:
            return "stopped by a callback"
        if self.given_up:
            return f"stopped: {self.waited} scorings without a better held-out score"
        if self.repeated >= _STILL:
            return "stopped: the solver no longer moves, its steps are lost in rounding"
        return ""

    def restored(self) -> None:
        """Check what comes from a file."""
        rows = all(isinstance(row, TraceRow) for row in self.trace)
        best, initial = self.best, self.initial
        whole = isinstance(initial, np.ndarray) and initial.dtype == np.float64
        sound = rows and (initial is None or (whole and initial.ndim == 1))
        sound = sound and (self.epoch is None or isinstance(self.epoch, Epoch))
        if not sound or not (best is None or isinstance(best, Scored)):
            raise DataError("the course of the fit is not sound")
