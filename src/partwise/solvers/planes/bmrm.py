"""The bundle method for regularised risk minimisation (Teo et al. 2010).

The risk R(w) = sum_i c_i loss_i(w) is convex, so at any weights w_k it has a plane below it:

    R(w) >= b_k - a_k.w,    a_k = v(u_k),    b_k = sum_i c_i [ tau H(u_k) + cost.mu_k ]

with u_k = p(.|x; w_k), or the worst labels at w_k for tau = 0. R(w) >= 0 is the plane of the gold
labels. The weights go to the minimum of l2/2 |w|^2 + max_k (b_k - a_k.w), whose dual is

    max  b.alpha - |sum_k alpha_k a_k|^2 / (2 l2)    over  alpha >= 0,  sum alpha <= 1

and w = sum_k alpha_k a_k / l2. Since entropy is concave, this is at most D at the mixture of the
u_k, and for tau = 0 it is D: every program gives a certificate. For the hinge loss this is the
1-slack form of cutting planes (Joachims, Finley and Yu 2009).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.vectors import inner
from ...errors import DataError
from ...problem.dual_point import DualPoint
from ...problem.evaluation import Slope
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation, Solver
from ..goal import Goal
from ..gold_labels import gold_marginals
from ..options import Count, NotNegative, Preset
from ..papers import JOACHIMS_2009, TEO_2010
from ..primal import primal_value
from .bundle_qp import require_clarabel
from .working_set import WorkingSet
from .worst_labels import Rescaling, WorstLabels

#: How many planes are usually kept at a time.
PLANES: Final = 12


@final
class BMRM(Solver):
    """The bundle method: one plane per pass, for the risk as a whole.

    Parameters
    ----------
    goal : Goal
        What to solve. It starts from its initial weights, or else from w(u) of its dual point;
        for the hinge that point is also the first plane.
    rescaling : {"margin", "slack"}
        For the hinge: which one. With "slack" the loss is max_y cost(y) (1 + w.f(y) - w.f(gold)),
        and primal, dual and certificate are those of that problem. It is for classifiers and
        chains with a cost of 1 for each error.
    patience : int or None
        A plane without weight in this many programs in a row is dropped; None keeps all.
    epsilon : float
        The fit ends when the duality gap is at most this, which then takes the place of tol; 0 is
        no such end. The gap is that of the best weights and the best dual value so far.
    """

    name: ClassVar[str] = "bmrm"
    papers = (TEO_2010, JOACHIMS_2009)
    threads = True
    needs = frozenset[str]()
    package = "clarabel"
    presets: ClassVar[Mapping[str, Preset]] = {
        "teo2010-bmrm": Preset("Teo et al. 2010: all planes are kept.", {"patience": None})
    }

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # So many planes, and the labels that each of them is made of.
        labels = 20.0 * PLANES * len(problem.arrays.gold_part)
        return Footprint(vectors=3 + PLANES, parts=4, examples=6, other=labels)

    def __init__(
        self,
        goal: Goal,
        *,
        rescaling: Rescaling = "margin",
        patience: Count | None = 5,
        epsilon: NotNegative = 0.0,
    ) -> None:
        super().__init__(goal)
        require_clarabel()
        self.enough = epsilon
        problem, l2, evaluator = goal.problem, goal.l2, goal.evaluator
        self.worst = WorstLabels(problem, evaluator, rescaling)
        # Only with margin rescaling is the mixture a dual point that other solvers can start from.
        self.mixes = problem.loss.tau == 0.0 and rescaling == "margin"
        self.planes: list[Floats] = []
        self.labels: list[tuple[Ints, Floats]] = []  # y - gold: parts and counts
        self.known = WorkingSet(l2, patience)
        self.gold = gold_marginals(problem) if self.mixes else np.zeros(0)
        self.weights = problem.storage.zeros()
        self.best = Evaluation(self.weights, np.inf, 0.0)
        self.slope: Slope | None = None  # at the weights, if they were evaluated
        self.point = self.gold  # the worst labels there
        marginals = goal.marginals()
        if marginals is not None:
            v = evaluator.dual_sum(marginals)
            self.weights = v / l2
            if self.mixes:
                none = np.zeros(problem.n_examples)
                self._add(v, evaluator.dual_linear(marginals, none), marginals)
                self._improve()
        if goal.initial_weights is not None:
            self.weights = goal.initial_weights.copy()

    def _visit(self) -> Slope:
        """Return the risk and its slope at the weights; the best weights are kept."""
        if self.slope is None:
            self.slope = self._risk()
            primal = primal_value(self.problem, self.slope, self.l2)
            if primal < self.best.primal:
                self.best = Evaluation(self.weights, primal, self.best.dual)
        return self.slope

    def _risk(self) -> Slope:
        if self.problem.loss.tau > 0.0:
            return self.evaluator.slope(self.weights)
        found = self.worst.find(self.weights, 1.0)
        self.point = found.point
        v = self.evaluator.dual_sum(found.point)
        return Slope(self.weights, found.losses, found.offset, v)

    def epoch(self) -> Epoch:
        """Add the plane at the weights, then move to the minimum over all planes."""
        slope = self._visit()
        linear = float(inner(slope.linear, self.problem.arrays.weight))
        self._add(slope.v, linear, self.point if self.mixes else None)
        self._improve()
        return Epoch(1.0, self.best.dual, self.best.gap, self.l2)

    def _add(self, v: Floats, linear: float, mu: Floats | None) -> None:
        self.planes.append(v)
        products = np.array([[inner(v, plane) for plane in self.planes]])
        self.known.add(np.array([linear]), np.zeros(1, dtype=np.int64), products)
        if mu is not None:
            parts = np.flatnonzero(mu != self.gold)
            self.labels.append((parts, mu[parts] - self.gold[parts]))

    def _improve(self) -> None:
        self.known.improve()
        stay = self.known.drop_idle()
        self.planes = [plane for plane, keep in zip(self.planes, stay, strict=True) if keep]
        if self.mixes:
            self.labels = [label for label, keep in zip(self.labels, stay, strict=True) if keep]
        alpha = self.known.alpha
        v = self.problem.storage.zeros()
        for k in np.flatnonzero(alpha):
            v += alpha[k] * self.planes[k]
        dual = float(inner(self.known.offset, alpha)) - float(inner(v, v)) / (2.0 * self.l2)
        self.weights, self.slope = v / self.l2, None
        self.best = Evaluation(self.best.weights, self.best.primal, max(self.best.dual, dual))

    def restored(self) -> None:
        super().restored()
        n = len(self.known.alpha)
        places, parts = self.problem.storage.n_places, len(self.gold)
        labels = n if self.mixes else 0
        sound = (
            len(self.planes) == n
            and len(self.labels) == labels
            and all(plane.shape == (places,) for plane in self.planes)
            and all(
                len(part) == len(count) and ((part >= 0) & (part < parts)).all()
                for part, count in self.labels
            )
        )
        if not sound:
            raise DataError("the planes of a bundle method do not fit the problem")

    def evaluate(self) -> Evaluation:
        """Return the best weights so far, the present ones included, and the best dual value."""
        self._visit()
        return self.best

    def primal(self, weights: Floats) -> float:
        if self.problem.loss.tau > 0.0:
            return super().primal(weights)
        return self.worst.primal(weights, self.l2)

    def current_weights(self) -> Floats:
        return self.weights

    def dual_point(self) -> DualPoint:
        """Return the scores at the weights, and for the hinge the mixture of labels."""
        theta = self.evaluator.scores(self.weights)
        if not self.mixes:
            return DualPoint(theta)
        mu = self.gold.copy()
        self.known.mix(self.labels, mu)
        return DualPoint(theta, mu)
