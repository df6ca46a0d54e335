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
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lstsq

from ...arrays import Floats, Ints
from ...compiled.vectors import inner
from ...errors import DataError, PartwiseError
from ...problem.evaluation import DualPoint, Slope
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation, Solver
from ..dual_points import gold_marginals
from ..goal import Goal
from ..options import Count, NotNegative, Preset
from ..papers import JOACHIMS_2009, TEO_2010
from ..primal import primal_value
from .worst_labels import Rescaling, WorstLabels

# The quadratic program of cutting planes, by an interior-point method.
#
#     max  linear.alpha - alpha'G alpha / 2    over  alpha >= 0,  sum of each group of alpha <= 1
#
# What is left of a group is the weight of the gold label, whose plane is 0. The solver is Clarabel
# (Goulart and Chen 2024). It is imported when the first solver that needs it is made.


#: The tolerance for Clarabel, relative to the largest coefficient; a worse result is also accepted.
_TOL: Final = 1e-11
#: Directions in which G is flatter than this, relative to the steepest, are left as they are.
_FLAT: Final = 1e-13


def require_clarabel() -> None:
    """Raise a PartwiseError that says how to install Clarabel if it is missing."""
    try:
        import clarabel  # noqa: F401
    except ImportError:
        raise PartwiseError(
            'cutting planes need clarabel, which is not installed; run pip install "partwise[qp]"'
        ) from None


def bundle_gap(gram: Floats, linear: Floats, group: Ints, alpha: Floats) -> float:
    """Bound how far a feasible point is below the optimum, by the rise to the best vertices."""
    gradient = linear - gram @ alpha
    return float(_multipliers(gradient, group).sum() - gradient @ alpha)


def bundle_optimum(gram: Floats, linear: Floats, group: Ints, start: Floats) -> Floats:
    """Solve the program; the result is feasible, and its gap is not above that of the start.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        Symmetric and positive semidefinite.
    linear : ndarray of shape (m,)
        The linear coefficients.
    group : ndarray of shape (m,)
        The group of each variable, counted from 0.
    start : ndarray of shape (m,)
        A feasible point, which is returned if rounding hides any improvement.
    """
    scale = float(np.abs(linear).max(initial=0.0))
    if scale == 0.0:
        return np.zeros_like(linear)
    gram, linear = gram / scale, linear / scale
    points = [start]
    found = np.asarray(_interior_point(gram, linear, group))
    if np.isfinite(found).all():
        inside = _feasible(found, group)
        points += [inside, _polished(gram, linear, group, inside)]
    return min(points, key=lambda alpha: bundle_gap(gram, linear, group, alpha))


def _multipliers(gradient: Floats, group: Ints) -> Floats:
    """Return the largest gradient of each group, at least 0, that of the gold label."""
    best = np.zeros(int(group.max()) + 1)
    np.maximum.at(best, group, gradient)
    return best


def _feasible(alpha: Floats, group: Ints) -> Floats:
    positive = np.maximum(alpha, 0.0)
    feasible: Floats = positive / np.maximum(np.bincount(group, weights=positive), 1.0)[group]
    return feasible


def _polished(gram: Floats, linear: Floats, group: Ints, alpha: Floats) -> Floats:
    """Solve exactly for the optimum that an interior point is close to.

    At the optimum either alpha_k is 0, or the gradient of k equals the best of its group; and
    either the rest of a group is 0, or its multiplier. The smaller of the two is assumed to be 0.
    This leaves linear equations, which are solved by the smallest correction.
    """
    gradient = linear - gram @ alpha
    best = _multipliers(gradient, group)
    used = alpha >= best[group] - gradient
    tight = 1.0 - np.bincount(group, weights=alpha) <= best
    kept = np.where(used, alpha, 0.0)
    sums = (group[used] == np.flatnonzero(tight)[:, None]).astype(np.float64)
    lacks = (linear - gram @ kept - np.where(tight, best, 0.0)[group])[used]
    rests = 1.0 - sums @ kept[used]
    corner = np.zeros((len(sums), len(sums)))
    system = np.block([[gram[np.ix_(used, used)], sums.T], [sums, corner]])
    change = lstsq(system, np.concatenate([lacks, rests]), cond=_FLAT, lapack_driver="gelsy")[0]
    kept[used] += change[: len(lacks)]
    return _feasible(kept, group)


def _interior_point(gram: Floats, linear: Floats, group: Ints) -> Any:
    """Minimise alpha'G alpha / 2 - linear.alpha subject to A alpha + s = b, s >= 0."""
    import clarabel

    m, n = len(linear), int(group.max()) + 1
    # By columns: the upper triangle of G, and in A the sum of a variable's group above its sign.
    row, column = np.tril_indices(m)
    ends = np.concatenate([[0], np.cumsum(np.arange(1, m + 1))])
    upper = sparse.csc_matrix((gram[row, column], column, ends), shape=(m, m))
    where = np.stack([group, n + np.arange(m)], axis=1).ravel()
    signs = np.tile([1.0, -1.0], m)
    constraints = sparse.csc_matrix((signs, where, np.arange(0, 2 * m + 1, 2)), shape=(n + m, m))
    bounds = np.concatenate([np.ones(n), np.zeros(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOL
    cones = [clarabel.NonnegativeConeT(n + m)]
    return clarabel.DefaultSolver(upper, -linear, constraints, bounds, cones, settings).solve().x


# The planes of one quadratic program, represented by what the program needs of them.
#
# Plane k is the bound b_k - a_k.w on the losses of its group. For the groups of a set, with v' the
# part of v that other sets contribute,
#
#     D(alpha) = b.alpha - |v' + sum_k alpha_k a_k|^2 / (2 l2)
#
# so only the offsets b and the inner products of the planes are kept here; the solver keeps the
# planes themselves, in the same order.


class WorkingSet:
    """Offsets, groups, inner products and weights of planes.

    Parameters
    ----------
    l2 : float
        The regulariser.
    patience : int or None
        A plane without weight in this many programs in a row is dropped; None: never.
    """

    remade: ClassVar[tuple[str, ...]] = ("l2", "patience")
    grows: ClassVar[tuple[str, ...]] = ("offset", "group", "gram", "alpha", "idle")

    def __init__(self, l2: float, patience: int | None) -> None:
        self.l2, self.patience = l2, patience
        self.offset: Floats = np.zeros(0)
        self.group: Ints = np.zeros(0, dtype=np.int64)
        self.gram: Floats = np.zeros((0, 0))
        self.alpha: Floats = np.zeros(0)
        self.idle: Ints = np.zeros(0, dtype=np.int64)

    def restored(self) -> None:
        """Check numbers that come from a file."""
        n = len(self.alpha)
        sizes = {len(array) for array in (self.offset, self.group, self.idle)}
        if sizes - {n} or self.gram.shape != (n, n) or (self.group < 0).any():
            raise DataError("the planes of a cutting-plane method do not belong together")

    def __len__(self) -> int:
        return len(self.offset)

    def add(self, offset: Floats, group: Ints, products: Floats, alpha: float = 0.0) -> None:
        """Add planes, given their inner products with all planes, the new ones at the end."""
        old, new = len(self), len(offset)
        gram = np.empty((old + new, old + new))
        gram[:old, :old] = self.gram
        gram[old:] = products
        gram[:old, old:] = products[:, :old].T
        self.gram = gram
        self.offset = np.concatenate([self.offset, offset])
        self.group = np.concatenate([self.group, group])
        self.alpha = np.concatenate([self.alpha, np.full(new, alpha)])
        self.idle = np.concatenate([self.idle, np.zeros(new, dtype=np.int64)])

    def improve(self, elsewhere: Floats | float = 0.0) -> None:
        """Find the best weights; ``elsewhere`` is a_k.v' for every plane."""
        linear = self.offset - elsewhere / self.l2
        self.alpha = bundle_optimum(self.gram / self.l2, linear, self.group, self.alpha)
        self.idle = np.where(self.alpha > 0.0, 0, self.idle + 1)

    def mix(self, labels: list[tuple[Ints, Floats]], mu: Floats) -> None:
        """Add the label of every plane, given by parts and counts, to mu with its weight."""
        for k in np.flatnonzero(self.alpha):
            parts, counts = labels[k]
            mu[parts] += self.alpha[k] * counts

    def drop_idle(self) -> NDArray[np.bool_]:
        """Drop the planes that have long had no weight; return which planes stay."""
        stay: NDArray[np.bool_] = self.idle < (np.inf if self.patience is None else self.patience)
        if not stay.all():
            self.offset, self.group = self.offset[stay], self.group[stay]
            self.alpha, self.idle = self.alpha[stay], self.idle[stay]
            self.gram = self.gram[np.ix_(stay, stay)]
        return stay


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
