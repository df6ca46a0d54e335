"""dlib's structural SVM with the oracle of partwise.

dlib asks for the worst label of each example, with one call of Python per example. Here the whole
training set is one example, whose worst label consists of the worst labels of all examples. The
objective is the same, the cutting planes are the sums that dlib would have computed itself, and
there is one call per iteration. The time to pass a plane to dlib is not counted.
"""

from __future__ import annotations

import contextlib
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .papers.courses import Descent, Limits, Method, Point

if TYPE_CHECKING:
    from partwise.problem.problem import Problem


class OutOfTimeError(Exception):
    """Ends the loop of dlib, which has no limit of its own."""


class WholeSet:
    """The problem as dlib takes it: 1/2 |w|^2 + C (the sum of the losses), C = 1/l2."""

    num_samples = 1
    max_cache_size = 0
    epsilon = 1e-9
    be_verbose = False

    def __init__(self, problem: Problem, l2: float, limits: Limits) -> None:
        from partwise.problem.evaluation import Evaluator
        from partwise.solvers.planes.worst_labels import WorstLabels

        self.problem, self.l2, self.limits = problem, l2, limits
        self.evaluator = Evaluator(problem)
        self.worst = WorstLabels(problem, self.evaluator)
        self.num_dimensions = len(problem.storage.zeros())
        self.C = 1.0 / l2
        self.points: list[Point] = []
        self.began = time.process_time()

    def get_truth_joint_feature_vector(self, _: int) -> Any:
        """Return 0: the planes hold the difference to the gold labels."""
        return self._vector(np.zeros(self.num_dimensions))

    def separation_oracle(self, _: int, solution: Any) -> tuple[float, Any]:
        """Return the cost and features of the worst labels, and record the objective."""
        from partwise.compiled.vectors import inner
        from partwise.problem.evaluation import penalty

        handed = time.process_time()
        w = np.array(solution, dtype=np.float64).ravel()
        self.began += time.process_time() - handed
        found = self.worst.find(w, 1.0)
        weight = self.problem.arrays.weight
        psi = -self.evaluator.dual_sum(found.point)
        primal = float(inner(found.losses, weight)) + penalty(w, self.l2)
        handed = time.process_time()
        self.points.append(Point(float(len(self.points)), handed - self.began, primal))
        if self.limits.reached(self.points[-1]):
            raise OutOfTimeError
        vector = self._vector(psi)
        self.began += time.process_time() - handed
        return float(inner(found.offset, weight)), vector

    def _vector(self, values: Any) -> Any:
        import dlib

        return dlib.vector(values.tolist())


def follow_dlib(problem: Problem, l2: float, method: Method, limits: Limits) -> Descent:
    """Run dlib, which proves no lower bound."""
    import dlib

    whole = WholeSet(problem, l2, limits)
    with contextlib.suppress(OutOfTimeError):
        dlib.solve_structural_svm_problem(whole)
    return Descent(method, whole.points, -math.inf)
