"""Primal coordinate descent for classifiers: one weight at a time, one Newton step each.

For the weight w_jy, with p_iy = p(y|x_i; w), the change of P and its derivatives at z = 0 are

    g(z)   = l2 (w_jy z + z^2/2) + sum_i c_i [log(1 + p_iy (exp(z x_ij) - 1)) - z x_ij [y_i = y]]
    g'(0)  = l2 w_jy + sum_i c_i x_ij (p_iy - [y_i = y])
    g''(0) = l2 + sum_i c_i x_ij^2 p_iy (1 - p_iy)

Huang, Hsieh, Chang and Lin (2010); section 2.2 of Yu, Huang and Lin (2011). With d = -g'/g'' the
step is the first t d, t = 1, 1/2, 1/4, ..., with g(t d) <= gamma t d g'(0). This often
needs no evaluation of g: |g'''| <= M g'' with M = max_i |x_ij|, hence

    g(t d) <= t d g'(0) (1 - t psi(M t |d|)),    psi(r) = (exp(r) - 1 - r) / r^2,

and psi(1.75) = 0.981 is below 1 - gamma = 0.99.

Two classes need one vector u = w_1 - w_0: at the optimum w_1 = -w_0, and l2 |w|^2 is l2/2 |u|^2.
Its weights are those of the second class, with l2/2 for l2, and the scores of the first stay 0.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, NamedTuple, final

import numpy as np
from scipy.sparse import coo_array

from ...arrays import Floats, Ints
from ...compiled.exponential import exp, exp_into
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...problem.evaluation import not_finite
from ...problem.matrix_evaluation import by_matrix
from ...problem.problem import Problem
from ..base import Epoch
from ..goal import Goal
from ..papers import HUANG_2010, YU_2011
from ..primal import PrimalSolver

_BETA: Final = 0.5
_GAMMA: Final = 0.01
#: A step with M t |d| up to this satisfies the condition of the line search.
_SURE: Final = 1.75
#: The sum of exponentials of an example is made afresh before it can overflow.
_LARGE: Final = 1e100


class FeatureColumns(NamedTuple):
    """The features, each with the examples that have it, and where its weights are."""

    ptr: Ints  # features + 1
    example: Ints  # one per entry
    value: Floats  # one per entry
    reach: Floats  # a feature: max |value|
    first: Ints  # a feature: where its block begins
    size: Ints  # a feature: how many weights its block has, if it is sparse; else 0
    slot: Any  # one per place in a sparse block: its label
    live: Any  # one per place in a dense block: whether it is a weight; empty if all are


class Scores(NamedTuple):
    """What is kept for every example and label."""

    q: Floats  # n x L: w_y.x_i
    e: Floats  # n x L: exp(q - shift)
    shift: Floats  # n
    z: Floats  # n: sum_y e


def make_columns(problem: Problem) -> FeatureColumns:
    """Transpose the design; examples of weight 0 are left out."""
    design, storage = problem.arrays.design, problem.storage
    used = np.repeat(problem.arrays.weight > 0.0, np.diff(design.entry_ptr))
    start = design.start[used]
    # Blocks do not overlap, so the place where one begins identifies its feature.
    n = len(storage.first)
    number = np.empty(storage.n_places, dtype=np.int64)
    number[storage.first] = np.arange(n)
    example = np.repeat(np.arange(problem.n_examples), np.diff(design.entry_ptr))[used]
    value = design.value[used] if design.value.size else np.ones(len(start))
    columns = coo_array((value, (example, number[start])), (problem.n_examples, n)).tocsc()
    reach = np.zeros(n)
    filled = np.diff(columns.indptr) > 0
    if filled.any():
        reach[filled] = np.maximum.reduceat(np.abs(columns.data), columns.indptr[:-1][filled])
    return FeatureColumns(
        ptr=columns.indptr.astype(np.int64),
        example=columns.indices.astype(np.int64),
        value=columns.data,
        reach=reach,
        first=storage.first,
        size=storage.size,
        slot=storage.slot,
        live=storage.live,
    )


@njit
def _centre(scores: Any, i: int) -> None:
    """Compute e, shift and z of an example from its q."""
    q, e = scores.q[i], scores.e[i]
    scores.shift[i] = q.max()
    exp_into(e, q, scores.shift[i])
    scores.z[i] = e.sum()


@njit(fastmath=FAST)
def _change(examples: Any, x: Any, weight: Any, scores: Any, y: int, step: float) -> Any:
    """Return sum_i c_i log(1 + p_iy (exp(step x_i) - 1))."""
    total = 0.0
    for k in range(examples.size):
        i = examples[k]
        p = scores.e[i, y] / scores.z[i]
        total += weight[i] * math.log1p(p * math.expm1(step * x[k]))
    return total


@njit(fastmath=FAST)
def _move(examples: Any, x: Any, scores: Any, y: int, step: float) -> None:
    """Add step x_i to q_iy, and update what depends on it."""
    for k in range(examples.size):
        i = examples[k]
        scores.q[i, y] += step * x[k]
        new = exp(scores.q[i, y] - scores.shift[i])
        total = scores.z[i] + (new - scores.e[i, y])
        scores.e[i, y] = new
        # If little of the sum is left, that is mostly rounding.
        if total < 0.5 * scores.z[i] or not total < _LARGE:
            _centre(scores, i)
        else:
            scores.z[i] = total


@njit(fastmath=FAST)
def primal_epoch(
    columns: Any, weight: Any, gold: Any, scores: Any, w: Any, l2: float, least: int, order: Any
) -> Any:
    """Take one step for every weight of the features in order, of the labels from least on.

    gold: one number per place, sum_i c_i x_ij [y_i = y].

    Returns (sum of g'^2 / (2 l2), entries that the line searches went through).
    """
    n_labels = scores.q.shape[1]
    for i in range(scores.z.size):
        _centre(scores, i)
    gap = 0.0
    searched = 0
    for f in order:
        lo, hi = columns.ptr[f], columns.ptr[f + 1]
        examples, x = columns.example[lo:hi], columns.value[lo:hi]
        dense = columns.size[f] == 0
        for j in range(least if dense else 0, n_labels if dense else columns.size[f]):
            at = columns.first[f] + j
            if dense and columns.live.size > 0 and columns.live[at] == 0.0:
                continue
            y = j if dense else columns.slot[at]
            slope, curve = l2 * w[at] - gold[at], l2
            for k in range(examples.size):
                i = examples[k]
                p = scores.e[i, y] / scores.z[i]
                slope += weight[i] * x[k] * p
                curve += weight[i] * x[k] * x[k] * p * (1.0 - p)
            gap += slope * slope / (2.0 * l2)
            step = -slope / curve
            # About 2,100 halvings lead from any finite step to 0.
            while _SURE < columns.reach[f] * abs(step) < math.inf:
                searched += examples.size
                change = _change(examples, x, weight, scores, y, step)
                change += step * (l2 * (w[at] + 0.5 * step) - gold[at])
                if change <= _GAMMA * step * slope:
                    break
                step *= _BETA
            w[at] += step
            _move(examples, x, scores, y, step)
    return gap, searched


@njit(fastmath=FAST)
def _losses(weight: Any, gold_part: Any, scores: Any) -> Any:
    """Return sum_i c_i loss_i."""
    total = 0.0
    for i in range(weight.size):
        if weight[i] > 0.0:
            log_z = scores.shift[i] + math.log(scores.z[i])
            total += weight[i] * (log_z - scores.q[i, gold_part[i]])
    return total


@final
class PrimalCoordinateDescent(PrimalSolver):
    """Coordinate descent on the weights, for comparison.

    An epoch takes one step per weight, with the features in a new random order. It counts as one
    pass; line searches count by how many entries they go through. Two classes have one vector, as
    in the paper, unless only the observed weights are trained.

    Parameters
    ----------
    goal : Goal
        What to solve.
    """

    name: ClassVar[str] = "primal-cd"
    papers = (HUANG_2010, YU_2011)
    needs = frozenset({"multiclass", "log loss", "unconstrained labels", "whole labels"})
    remade = ("columns", "gold")

    def __init__(self, goal: Goal) -> None:
        super().__init__(goal)
        problem, evaluator = goal.problem, goal.evaluator
        self.columns = make_columns(problem)
        shape = (problem.n_examples, problem.max_parts)
        self.single = by_matrix(problem) and problem.max_parts == 2
        self.own_l2 = 0.5 * self.l2 if self.single else self.l2
        self.vector = self.weights
        if self.single:
            table = self.weights.reshape(-1, 2)
            self.vector = ((table[:, 1:] - table[:, :1]) * [0.0, 1.0]).ravel()
        q = evaluator.scores(self.vector).reshape(shape)
        bad = np.flatnonzero(~np.isfinite(q).all(axis=1))
        if len(bad):
            raise not_finite(int(bad[0]))
        self.scores = Scores(q, np.empty(shape), np.empty(shape[0]), np.empty(shape[0]))
        # v(u) with u = 0: what the gold labels alone give.
        self.gold = evaluator.dual_sum(np.zeros(problem.n_parts))
        self.gap, self.searched = 0.0, 0  # of this epoch

    def epoch(self) -> Epoch:
        arrays = self.problem.arrays
        if not self.under_way:
            self.gap, self.searched = 0.0, 0
            self.left = self.rng.permutation(self.n_items)
        stretch = max(1, self.stretch * self.n_items // max(1, len(self.columns.example)))
        while self.under_way:
            order, rest = self.left[:stretch], self.left[stretch:]
            gap, searched = primal_epoch(
                self.columns, arrays.weight, self.gold, self.scores, self.vector,
                self.own_l2, int(self.single), order,
            )  # fmt: skip
            self.gap, self.searched = self.gap + float(gap), self.searched + int(searched)
            self.left = rest
            if self.under_way:
                self.pause()
        losses = float(_losses(arrays.weight, arrays.gold_part, self.scores))
        primal = losses + 0.5 * self.own_l2 * float(inner(self.vector, self.vector))
        entries = max(1, len(self.columns.example) * self.problem.max_parts)
        return Epoch(1.0 + self.searched / entries, primal - self.gap, self.gap, self.l2)

    def current_weights(self) -> Floats:
        if self.single:
            table = self.vector.reshape(-1, 2)
            self.weights = (table[:, 1:] * [-0.5, 0.5]).ravel()
        return self.weights

    @property
    def n_items(self) -> int:
        return len(self.columns.first)
