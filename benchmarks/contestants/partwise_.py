"""partwise: ``solver="auto"``, and dual coordinate descent beside liblinear's; on one thread.

The training clock covers building the problem and training, with every evaluation that the
stopping rule asks for; the time for building is recorded. There are two kinds of runs. Certified
runs train to ``tol`` = 1e-3 and 1e-4, as a user would. The trajectory comes from one more run, to
1e-7; the time to compute the objective between the evaluations of the solver is not counted.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problems import ChainProblem, ChainWeights, Floats, Ints, LinearProblem, LinearWeights
from ..recorder import Recorder
from .base import Contestant

if TYPE_CHECKING:
    from partwise.problem.losses import Loss
    from partwise.problem.problem import Problem
    from partwise.problem.rows import Rows
    from partwise.structures.base import Structure
    from partwise.training.result import Fit, Progress

CERTIFIED = (1e-3, 1e-4)
TRAJECTORY = 1e-7
MAX_PASSES = 2_000
# From here on, points are 2% apart: the hinge loss takes many epochs, and a point costs as much.
DENSE_EPOCHS = 100


@dataclass(frozen=True)
class Input:
    """What the clock starts from: features and labels as arrays of numbers."""

    structure: Structure
    lengths: Ints
    rows: Rows
    gold: list[Ints]
    loss: Loss
    weights: str
    l2: float
    l1: float
    labels: list[str]
    attributes: dict[str, int]

    def build(self) -> Problem:
        """Return the training problem."""
        from partwise.problem.problem import build_problem
        from partwise.tasks.sequences.features import PositionFeatures

        features = PositionFeatures(self.rows.n_features).laid_out(self.structure, self.rows)
        return build_problem(
            self.structure, self.lengths, features, self.gold, self.loss, weights=self.weights
        )

    def head(self, n: int) -> Input:
        """Return the first examples only."""
        lengths = self.lengths[:n]
        rows = self.rows.take(slice(0, int(lengths.sum())))
        return replace(self, lengths=lengths, rows=rows, gold=self.gold[:n])


def chain_input(problem: ChainProblem) -> Input:
    """Number attributes and labels in the order in which they are first seen."""
    from partwise.models.vocabulary import fit_rows
    from partwise.problem.losses import make_loss
    from partwise.structures.chain.structure import Chain

    rows, vocabulary, lengths = fit_rows(sentence.attributes for sentence in problem.train())
    index: dict[str, int] = {}
    gold = [
        np.array([index.setdefault(row[-1], len(index)) for row in sentence], dtype=np.int64)
        for sentence in problem.train_columns
    ]
    return Input(
        structure=Chain(len(index)),
        lengths=lengths,
        rows=rows,
        gold=gold,
        loss=make_loss("log", len(index)),
        weights="all" if problem.all_weights else "observed",
        l2=problem.l2,
        l1=problem.l1,
        labels=list(index),
        attributes=vocabulary.index,
    )


def linear_input(problem: LinearProblem) -> Input:
    """Return one row per example; two classes have two weight vectors, hence twice the l2."""
    from partwise.problem.losses import make_loss
    from partwise.problem.rows import Rows
    from partwise.structures.multiclass import Multiclass

    return Input(
        structure=Multiclass(problem.n_classes),
        lengths=np.ones(len(problem.y), dtype=np.int64),
        rows=Rows.from_scipy(problem.x),
        gold=list(problem.y.reshape(-1, 1)),
        loss=make_loss("hinge" if problem.loss == "hinge" else "log", problem.n_classes),
        weights="all",
        l2=problem.l2 * (2.0 if problem.loss == "logistic" else 1.0),
        l1=0.0,
        labels=[],
        attributes={},
    )


def fit(problem: Problem, solver: str, l2: float, l1: float, tol: float, *callbacks: Any) -> Fit:
    """Train, without a warning if the fit ends before ``tol``: the record says so."""
    from partwise.training.certificate import ConvergenceWarning
    from partwise.training.loop import train

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return train(
            problem, l2, l1=l1, solver=solver, tol=tol, max_passes=MAX_PASSES, callbacks=callbacks
        )


class Partwise(Contestant):
    """The library with its own defaults, or with one of its solvers."""

    packages = ("partwise", "numba")
    compiled = True

    def __init__(self, solver: str = "auto", *kinds: str) -> None:
        self.solver = solver
        self.name = "partwise" if solver == "auto" else f"partwise-{solver}"
        self.kinds = frozenset(kinds or ("chain", "chain-l1", "softmax", "logistic", "hinge"))

    def load_library(self) -> None:
        import partwise.models.fit

        self._library: Any = partwise

    def prepare(self, problem: ChainProblem | LinearProblem) -> None:
        if isinstance(problem, ChainProblem):
            self._input = chain_input(problem)
        else:
            self._input = linear_input(problem)
        # Compiles or loads the code that training needs, before the clock starts.
        self._fit(self._input.head(3).build(), 0.5)

    def _fit(self, training: Problem, tol: float, *callbacks: Any) -> Fit:
        return fit(training, self.solver, self._input.l2, self._input.l1, tol, *callbacks)

    def train(
        self, problem: ChainProblem | LinearProblem, recorder: Recorder
    ) -> ChainWeights | LinearWeights:
        for tol in CERTIFIED:
            if not self._certified(tol, recorder):
                break
        recorder.start()
        training = self._input.build()
        recorder.event(
            "note", text=f"{recorder.elapsed()[0]:.2f} s of the clock to build the problem"
        )
        watch = self._watch(training, recorder)
        result = self._fit(training, TRAJECTORY, watch)
        over = recorder.spent()
        recorder.stop()
        if over:
            recorder.event("over budget")
        return self._weights(training, result.weights, problem)

    def _certified(self, tol: float, recorder: Recorder) -> bool:
        recorder.start()
        training = self._input.build()
        result = self._fit(training, tol, lambda _: recorder.spent())
        cpu, wall = recorder.stop()
        certificate = result.certificate
        recorder.event(
            "certified",
            tol=tol,
            cpu=cpu,
            wall=wall,
            passes=certificate.passes,
            relative_gap=certificate.relative_gap,
            nonzero=int(np.count_nonzero(result.weights)),
        )
        return certificate.converged

    def _watch(self, training: Problem, recorder: Recorder) -> Any:
        from partwise.problem.matrix_evaluation import make_evaluator

        evaluator = make_evaluator(training)
        following = 1

        def watch(progress: Progress) -> bool:
            nonlocal following
            row = progress.row
            if row.certified:
                recorder.point(row.primal)
            elif row.epoch >= following:
                with recorder.paused():
                    stored = training.storage.scatter(progress.weights())
                    value = evaluator.primal(stored, self._input.l2, self._input.l1)
                if math.isfinite(value):
                    recorder.point(value)
                following = row.epoch + (row.epoch // 50 if row.epoch > DENSE_EPOCHS else 1)
            return recorder.spent()

        return watch

    def _weights(
        self, training: Problem, weights: Floats, problem: ChainProblem | LinearProblem
    ) -> ChainWeights | LinearWeights:
        layout = training.layout
        state = layout.dense(weights, 0)
        if isinstance(problem, ChainProblem):
            n = len(self._input.labels)
            transitions = layout.dense(weights, 1).reshape(n, n)
            return ChainWeights(
                self._input.attributes, self._input.labels, state, transitions, layout.n_weights
            )
        coef = np.ascontiguousarray(state.T)
        return LinearWeights(coef[1:] - coef[:1] if problem.loss == "logistic" else coef)


PARTWISE: tuple[Contestant, ...] = (Partwise(), Partwise("dual-cd", "softmax", "logistic"))
