"""scikit-learn: LogisticRegression with each of its solvers, and LinearSVC. C = 1/l2."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..problems import Floats, LinearProblem, LinearWeights
from ..recorder import Recorder
from .base import Contestant, climb

PROBE_ROWS = 2_000


def iteration_rungs(factor: int) -> Iterator[int]:
    """Return 1, 2, 4, 8, ... for ``factor`` 2; for 1 (few, slow iterations) 1, 2, 3, 4, 6, ..."""
    if factor == 2:
        yield from (2**k for k in itertools.count())
    yield from (1, 2, 3)
    for k in itertools.count(2):
        yield 2**k
        yield 3 * 2 ** (k - 1)


def tolerance_rungs() -> Iterator[float]:
    """Return 1, 0.32, 0.1, ... down to 1e-10."""
    return (10.0 ** (-k / 2.0) for k in range(21))


@contextmanager
def minimize_watched(callback: Any) -> Iterator[None]:
    """Call ``callback`` in every iteration of ``scipy.optimize.minimize`` inside the block."""
    from scipy import optimize

    plain = optimize.minimize

    def watched(*args: Any, **kwargs: Any) -> Any:
        kwargs["callback"] = callback
        return plain(*args, **kwargs)

    setattr(optimize, "minimize", watched)  # noqa: B010 - mypy refuses the plain assignment
    try:
        yield
    finally:
        setattr(optimize, "minimize", plain)  # noqa: B010


class LogisticRegressionContestant(Contestant):
    """One solver of LogisticRegression, on dense or sparse data, whichever is faster."""

    kinds = frozenset({"softmax", "logistic"})
    packages = ("scikit-learn", "scipy", "numpy")

    def __init__(self, solver: str, rung_factor: int) -> None:
        self.solver = solver
        self.name = f"sklearn-{solver}"
        self.rung_factor = rung_factor
        self.form = ""

    def load_library(self) -> None:
        from sklearn.linear_model import LogisticRegression

        self._estimator = LogisticRegression

    def _fit(self, x: Any, y: Any, l2: float, max_iter: int, tol: float) -> Floats:
        estimator = self._estimator(
            C=1.0 / l2,
            solver=self.solver,
            max_iter=max_iter,
            tol=tol,
            fit_intercept=False,
            random_state=0,
        )
        with warnings.catch_warnings():
            # The rungs stop at max_iter on purpose; newton-cholesky warns about its fallback.
            warnings.simplefilter("ignore")
            estimator.fit(x, y)
        return np.asarray(estimator.coef_, dtype=np.float64)

    def _probe(self, x: Any, y: Any, l2: float) -> float:
        seconds = self._time_of_one_iteration(x, y, l2)
        # The first call also fills caches and imports; if that could matter, measure again.
        return seconds if seconds > 1.0 else self._time_of_one_iteration(x, y, l2)

    def _time_of_one_iteration(self, x: Any, y: Any, l2: float) -> float:
        start = time.process_time()
        self._fit(x, y, l2, max_iter=1, tol=1e-12)
        return time.process_time() - start

    def prepare(self, problem: LinearProblem) -> None:
        rows = slice(0, PROBE_ROWS)
        sparse, y = problem.x[rows], problem.y[rows]
        dense_seconds = self._probe(sparse.toarray(), y, problem.l2)
        self.form = "dense" if dense_seconds <= self._probe(sparse, y, problem.l2) else "CSR"
        self._x = problem.x.toarray() if self.form == "dense" else problem.x

    def train(self, problem: LinearProblem, recorder: Recorder) -> LinearWeights:
        recorder.event("note", text=f"{self.form} data")
        if self.solver == "lbfgs":
            return self._train_watched(problem, recorder)

        def fit(rung: float) -> Floats:
            return self._fit(self._x, problem.y, problem.l2, int(rung), tol=1e-14)

        rungs = (float(rung) for rung in iteration_rungs(self.rung_factor))
        return climb(problem, recorder, rungs, fit)

    def _train_watched(self, problem: LinearProblem, recorder: Recorder) -> LinearWeights:
        """L-BFGS, which runs in scipy, whose callback reports every iteration of one run."""
        over = False

        def watch(intermediate_result: Any) -> None:
            nonlocal over
            # scikit-learn divides the objective by the number of examples.
            recorder.point(float(intermediate_result.fun) * len(problem.y))
            if recorder.spent():
                over = True
                raise StopIteration

        recorder.start()
        with minimize_watched(watch):
            coef = self._fit(self._x, problem.y, problem.l2, 1_000_000, tol=1e-12)
        recorder.stop()
        if over:
            recorder.event("over budget")
        return LinearWeights(coef)


class LinearSvcContestant(Contestant):
    """LinearSVC with the hinge loss of Crammer and Singer: a copy of liblinear's solver."""

    name = "sklearn-linearsvc"
    kinds = frozenset({"hinge"})
    packages = ("scikit-learn",)

    def load_library(self) -> None:
        from sklearn.svm import LinearSVC

        self._estimator = LinearSVC

    def prepare(self, problem: LinearProblem) -> None:
        self._x = problem.x

    def train(self, problem: LinearProblem, recorder: Recorder) -> LinearWeights:
        def fit(tol: float) -> Floats:
            estimator = self._estimator(
                C=1.0 / problem.l2,
                multi_class="crammer_singer",
                fit_intercept=False,
                tol=tol,
                max_iter=1_000_000,
                random_state=0,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimator.fit(self._x, problem.y)
            return np.asarray(estimator.coef_, dtype=np.float64)

        return climb(problem, recorder, tolerance_rungs(), fit, patience=3)


SKLEARN: tuple[Contestant, ...] = (
    LogisticRegressionContestant("lbfgs", 2),
    LogisticRegressionContestant("newton-cholesky", 1),
    LogisticRegressionContestant("newton-cg", 1),
    LogisticRegressionContestant("sag", 2),
    LogisticRegressionContestant("saga", 2),
    LinearSvcContestant(),
)
