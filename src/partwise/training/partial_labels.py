"""Training with labels that are known in part: convex steps, one after the other.

The objective is not convex (see :mod:`partwise.problem.partial_labels`):

    L(w) = R(w) + sum_i c_i [ log sum_y exp(w.f_i(y)) - log sum_{y in A_i} exp(w.f_i(y)) ]

Step k takes the expected counts q of the allowed labels at the weights w_k so far, and minimises

    Q_k(w) = R(w) + sum_i c_i [ log sum_y exp(w.f_i(y)) - q_i.F_i w ]

which is convex, and has a duality gap. L(w) <= Q_k(w) - sum_i c_i H(q_i), with equality at w_k, so
that whatever lowers Q_k lowers L at least as much. This is the EM algorithm of Dempster, Laird and
Rubin (1977) for a conditional model, and an instance of the concave-convex procedure.

The rule: the steps end when one that reached ``relative_gap <= tol``, with the counts q at w_k,
lowered L by at most tol L. The weights w_k were then within tol (L + Q_k) of the minimum of the
convex problem that touches L at these very weights: a stationary point to that accuracy, and not a
certified optimum.

How the steps are made shorter, without any effect on the rule:

- Early steps need no accuracy: a first step stops at a relative gap of ``_FIRST``, and the others
  at a share of the last decrease.
- Where all allowed labels are equally likely, as at w = 0, the steps lead through shallow ground. A
  fit that starts there begins with a larger l2, for which all this is easy, and some rough steps.
- The counts are those at w_k + (w_k - w_(k-1)), as long as this lowers L: the bound then does not
  touch L at w_k, but it is one (Salakhutdinov and Roweis 2003, overrelaxed bound optimisation). A
  step that does not lower L is taken back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..arrays import Floats
from ..compiled.vectors import inner
from ..errors import MismatchError
from ..problem.evaluation import DualPoint, Evaluator, penalty
from ..problem.example_arrays import pointers
from ..problem.matrix_evaluation import make_evaluator
from ..problem.problem import Problem
from ..problem.subset import subset
from ..solvers.eg.base import easy_l2
from .certificate import Certificate, Steps, warn_unless_converged
from .course import TraceRow
from .early_stopping import Watch
from .interrupt import Interrupt
from .loop import train
from .result import Callback, Fit, Progress

__all__ = ["AllowedLabels", "train_partial"]

# The expected counts of the allowed labels at given weights, for labels known in part.


class AllowedLabels:
    """Computes the expected counts of the allowed labels of a problem at given weights.

    Parameters
    ----------
    problem : Problem
        A problem with labels that are known in part.
    n_jobs : int
        The number of threads.
    """

    def __init__(self, problem: Problem, n_jobs: int = 1) -> None:
        assert problem.partial is not None
        self.partial, self.n_jobs = problem.partial, n_jobs
        examples = self.partial.examples
        every = len(examples) == problem.n_examples
        self.some = problem if every else subset(problem, examples)
        self.share = len(examples) / problem.n_examples
        sizes = np.diff(problem.arrays.gold_ptr)[examples]
        ends = pointers(sizes)
        inside = np.arange(ends[-1])
        # Where the counts of these examples are among the counts of all.
        self.places = inside + np.repeat(problem.arrays.gold_ptr[examples] - ends[:-1], sizes)
        owner = np.repeat(np.arange(len(examples)), sizes)
        self.parts = self.some.arrays.part_ptr[owner] + problem.arrays.gold_part[self.places]

    def expect(self, problem: Problem, weights: Floats) -> tuple[Problem, float]:
        """Take the expected counts of the allowed labels at some weights.

        Parameters
        ----------
        problem : Problem
            The problem, with counts for any weights.
        weights : ndarray
            Stored weights w.

        Returns
        -------
        problem, change
            The problem with the counts at w; and the number that has to be subtracted from the
            value of the problem that was given, at w, to have the true objective.
        """
        arrays = self.some.arrays._replace(
            mask=self.partial.mask,
            mask_ptr=self.partial.mask_ptr,
            gold_count=problem.arrays.gold_count[self.places],
        )
        some = replace(self.some, arrays=arrays)
        mu = np.empty(some.n_parts)
        slope = Evaluator(some, self.n_jobs).slope(weights, into=mu)
        count = problem.arrays.gold_count.copy()
        count[self.places] = mu[self.parts]
        entropy = np.zeros(problem.n_examples)
        entropy[self.partial.examples] = slope.linear
        arrays = problem.arrays._replace(gold_count=count)
        found = replace(problem, arrays=arrays, gold_entropy=entropy)
        return found, float(inner(slope.losses, some.arrays.weight))


_log = logging.getLogger(__name__)

#: The relative gap at which a first step stops.
_FIRST: Final = 0.1
#: A later step stops at this share of the relative decrease of the step before.
_SHARE: Final = 0.2
#: With a larger l2 than the one that is asked for, the steps end at this relative decrease ...
_ROUGH: Final = 0.1
#: ... and l2 is divided by this.
_FACTOR: Final = 10.0
#: Steps that lower the objective by less than this, times tol, take the counts at the weights.
_NEAR: Final = 5.0
#: No passes are left for a solver, which visits the examples once all the same.
_NONE_LEFT: Final = 1e-9


def train_partial(
    problem: Problem,
    l2: float,
    *,
    l1: float = 0.0,
    tol: float = 1e-4,
    max_passes: float = 1000.0,
    n_jobs: int = 1,
    seed: int | np.random.Generator = 0,
    callbacks: Sequence[Callback] = (),
    start: DualPoint | None = None,
    initial_weights: Floats | None = None,
    watch: Watch | None = None,
    **training: Any,
) -> Fit:
    """Train with labels that are known in part, until a step of accuracy `tol` changes little.

    Parameters
    ----------
    problem : Problem
        What to solve, with labels that are known in part.
    l2, l1, tol, n_jobs, seed, callbacks
        As in :func:`partwise.training.train`.
    max_passes : float
        Stop after this many visits per example, in all steps together.
    start : DualPoint or None
        Not used: a dual point belongs to one step, and so to weights that it does not hold.
    initial_weights : ndarray or None
        The weights to start from. None: all allowed labels are equally likely.
    watch : Watch or None
        Held-out data to score. There is no early stopping: the weights with the best score may be
        of a step that another one undid.
    **training
        Further arguments of :func:`partwise.training.train`.

    Returns
    -------
    Fit
        The certificate and the dual point are those of the last step. The trace holds all steps.
    """
    if watch is not None and watch.patience is not None:
        raise MismatchError(
            "there is no early stopping where labels are missing or uncertain; leave the patience "
            "out"
        )
    course = _ConvexSteps(callbacks, tol, max_passes)
    shared = {
        **training,
        "watch": watch,
        "l1": l1,
        "n_jobs": n_jobs,
        "seed": np.random.default_rng(seed),
    }
    steps = _Steps(problem, course, l1, n_jobs, shared, initial_weights)
    easier = () if initial_weights is not None else _larger(easy_l2(problem), l2)
    with Interrupt() as interrupt:
        for value in easier:
            steps.turn(value, max(tol, _FIRST))
            while not course.reason:
                steps.step(max(tol, _ROUGH * _FIRST))
                course.look(steps.fit, interrupt)
                if steps.taken and steps.decrease <= _ROUGH:
                    break
        steps.turn(l2, max(tol, _FIRST))
        settled = False
        while not settled:
            steps.step(tol)
            settled = steps.settled(tol)
            course.look(steps.fit, interrupt)
            if course.reason:
                break
    done = course.finished(steps, settled, interrupt.requested)
    warn_unless_converged(done.certificate, max_passes)
    return done


def _larger(easy: float, l2: float) -> list[float]:
    """Return values of l2 that fall from an easy one towards the target."""
    values = []
    while easy > 2.0 * l2:
        values.append(easy)
        easy /= _FACTOR
    return values


class _ConvexSteps:
    """What the steps of a fit have in common: passes, seconds, the trace, and reasons to stop."""

    def __init__(self, callbacks: Sequence[Callback], tol: float, max_passes: float) -> None:
        self.given, self.tol, self.max_passes = callbacks, tol, max_passes
        self.began = time.perf_counter()
        self.count, self.passes = 0, 0.0
        self.trace: list[TraceRow] = []
        self.stopped = False
        self.reason = ""

    @property
    def passes_left(self) -> float:
        """How many passes the next step may take."""
        return _NONE_LEFT if self.reason else max(self.max_passes - self.passes, _NONE_LEFT)

    def callbacks(self) -> list[Callback]:
        """Return the callbacks of the next step: they are told about all steps together."""
        before, seconds, epochs = self.passes, time.perf_counter() - self.began, len(self.trace)

        def tell(progress: Progress) -> bool:
            row = progress.row
            row = replace(
                row,
                epoch=row.epoch + epochs,
                passes=row.passes + before,
                seconds=row.seconds + seconds,
            )
            self.trace.append(row)
            mine = Progress(row, self.tol, self.max_passes, progress.weights)
            results = [bool(callback(mine)) for callback in self.given]
            self.stopped = self.stopped or any(results)
            return any(results)

        return [tell]

    def look(self, fit: Fit, interrupt: Interrupt) -> None:
        """Note the reason why there is no further step, if there is one."""
        if self.reason:
            return
        if interrupt.requested or fit.interrupted:
            self.reason = f"interrupted in step {self.count}; the weights so far are valid"
        elif self.stopped:
            self.reason = f"stopped by a callback in step {self.count}"
        elif self.passes >= self.max_passes:
            self.reason = f"stopped at max_passes = {self.max_passes:g}, in step {self.count}"
        elif not fit.certificate.converged:
            self.reason = f"step {self.count} {fit.certificate.verdict}"

    def finished(self, steps: _Steps, settled: bool, interrupted: bool) -> Fit:
        """Return the fit of all steps."""
        fit, partial = steps.result(), steps.allowed.partial
        verdict = self.reason
        if settled:
            verdict = (
                "converged: the last step reached tol and lowered the objective by less; the "
                "objective is not convex, so this is a stationary point, not a certified optimum"
            )
        certificate = Certificate(
            primal=fit.certificate.primal,
            dual=fit.certificate.dual,
            tol=self.tol,
            passes=self.passes,
            seconds=time.perf_counter() - self.began,
            verdict=verdict,
            steps=Steps(
                count=self.count,
                objective=steps.objective,
                decrease=steps.decrease,
                settled=settled,
                partial=len(partial.examples),
            ),
        )
        interrupted = interrupted or self.reason.startswith("interrupted")
        return replace(
            fit, certificate=certificate, trace=tuple(self.trace), interrupted=interrupted
        )


class _Steps:
    """The weights so far, and the step from them.

    Attributes
    ----------
    objective : float
        L at the weights.
    decrease : float
        How much the last step lowered it, divided by it.
    taken : bool
        Whether the last step lowered it at all.
    fit : Fit
        The fit of the last step.
    """

    fit: Fit

    def __init__(
        self,
        problem: Problem,
        course: _ConvexSteps,
        l1: float,
        n_jobs: int,
        shared: dict[str, Any],
        initial_weights: Floats | None,
    ) -> None:
        self.course, self.shared = course, shared
        self.allowed = AllowedLabels(problem, n_jobs)
        self.l1, self.n_jobs = l1, n_jobs
        self.weights = problem.storage.zeros()
        if initial_weights is not None:
            self.weights = problem.storage.scatter(initial_weights)
        self.before: Floats | None = None  # the weights before the last step
        self.dual_point: DualPoint | None = None
        self.l2, self.accuracy, self.decrease = 0.0, _FIRST, 0.0
        self.taken = True
        losses = make_evaluator(problem, n_jobs).primal(self.weights, 0.0, l1)
        self.problem, less = self.allowed.expect(problem, self.weights)
        self.objective = losses - less
        course.passes += 1.0 + self.allowed.share

    def turn(self, l2: float, accuracy: float) -> None:
        """Go on with another l2, and steps that begin with a relative gap of `accuracy`."""
        self.objective += penalty(self.weights, l2) - penalty(self.weights, self.l2)
        self.l2, self.accuracy, self.before = l2, accuracy, None

    def step(self, tol: float) -> None:
        """Solve one convex problem, to a relative gap that is not below tol."""
        course, allowed, problem = self.course, self.allowed, self.problem
        if self.before is not None:
            problem, _ = allowed.expect(problem, 2.0 * self.weights - self.before)
            course.passes += allowed.share
        self.touches = self.before is None
        cold = not self.weights.any()
        self.solved = problem
        self.fit = fit = train(
            problem,
            self.l2,
            tol=self.accuracy,
            max_passes=course.passes_left,
            callbacks=course.callbacks(),
            quiet=True,
            start=self.dual_point,
            initial_weights=None if cold else problem.storage.gather(self.weights),
            **self.shared,
        )
        course.count += 1
        course.passes += fit.certificate.passes + allowed.share
        found = problem.storage.scatter(fit.weights)
        problem, less = allowed.expect(problem, found)
        objective = fit.certificate.primal - less
        self.taken = self.touches or objective < self.objective
        _log.info(
            "step %d: l2 %g, objective %.6f, relative gap %.1e, %.1f passes%s",
            course.count, self.l2, objective, fit.certificate.relative_gap, course.passes,
            "" if self.taken else "; taken back",
        )  # fmt: skip
        self.dual_point = fit.dual_point
        if not self.taken:
            self.decrease, self.before = 0.0, None
            return
        self.decrease = (self.objective - objective) / max(objective, 1e-300)
        far = self.decrease > _NEAR * tol
        self.before = self.weights if far else None
        self.weights, self.problem, self.objective = found, problem, objective
        self.accuracy = max(tol, min(self.accuracy, _SHARE * self.decrease))

    def settled(self, tol: float) -> bool:
        """Return whether the rule is met."""
        solved = self.fit.certificate.relative_gap <= tol
        return solved and self.touches and self.decrease <= tol

    def result(self) -> Fit:
        """Return the last fit, with the weights so far and their value in its convex problem."""
        if self.taken:
            return self.fit
        primal = make_evaluator(self.solved, self.n_jobs).primal(self.weights, self.l2, self.l1)
        certificate = replace(self.fit.certificate, primal=primal)
        weights = self.solved.storage.gather(self.weights)
        return replace(self.fit, weights=weights, certificate=certificate)
