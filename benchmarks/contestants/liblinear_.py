"""liblinear: logistic regression of two classes (-s 0, -s 7) and Crammer-Singer (-s 4). C = 1/l2.

With more classes its logistic regression is one-versus-rest, which is another objective.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problems import Floats, LinearProblem, LinearWeights
from ..recorder import Recorder
from .base import Contestant, climb
from .sklearn_ import tolerance_rungs

#: Further rungs for -s 7: its stopping rule uses the gradient of one example, which may be large
#: when the objective is near its optimum.
LOOSE = (32.0, 10.0, 3.2)


class Liblinear(Contestant):
    """One of liblinear's solvers, from scratch with smaller and smaller ``-e``."""

    packages = ("liblinear-official",)

    def __init__(self, solver: int, kind: str) -> None:
        self.solver = solver
        self.name = f"liblinear-s{solver}"
        self.kinds = frozenset({kind})

    def load_library(self) -> None:
        from liblinear import liblinearutil

        self._library: Any = liblinearutil

    def prepare(self, problem: LinearProblem) -> None:
        self._problem = self._library.problem(problem.y.astype(np.float64), problem.x)

    def train(self, problem: LinearProblem, recorder: Recorder) -> LinearWeights:
        def fit(tol: float) -> Floats:
            options = f"-s {self.solver} -c {1.0 / problem.l2!r} -e {tol!r} -q"
            model = self._library.train(self._problem, self._library.parameter(options))
            return model_coef(model, problem)

        rungs = (*(LOOSE if self.solver == 7 else ()), *tolerance_rungs())
        return climb(problem, recorder, rungs, fit, patience=3)


def model_coef(model: Any, problem: LinearProblem) -> Floats:
    """Return the weights of a liblinear model, with the classes in the order 0, 1, ..."""
    labels = [int(label) for label in model.get_labels()]
    # A model of two classes holds one vector, that of the class that comes first in the data.
    width = 1 if problem.loss == "logistic" else len(labels)
    stored = np.ctypeslib.as_array(model.w, shape=(model.nr_feature * width,))
    w = stored.reshape(model.nr_feature, width).T.copy()
    coef = np.zeros((width, problem.x.shape[1]))
    if problem.loss == "logistic":
        coef[0, : model.nr_feature] = w[0] if labels[0] == 1 else -w[0]
    else:
        coef[labels, : model.nr_feature] = w
    return coef


LIBLINEAR: tuple[Contestant, ...] = (
    Liblinear(0, "logistic"),
    Liblinear(7, "logistic"),
    Liblinear(4, "hinge"),
)
