"""The labels that are worst for some weights, from which cutting planes are made.

    margin rescaling   loss_i(w) = max_y  cost_i(y) + w.f_i(y) - w.f_i(gold_i)
    slack rescaling    loss_i(w) = max_y  cost_i(y) (1 + w.f_i(y) - w.f_i(gold_i))

Either is at least b - w.F_i^T (gold_i - m) for any w, where y is the label that is worst at some
weights, b = cost_i(y), and

    m = y    or    m = gold_i + cost_i(y) (y - gold_i)

Everything else is the same for both: the dual is sum_i c_i b_i - |v(m)|^2 / (2 l2) for any mixture
of such m and b.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...errors import MismatchError
from ...problem.design import score
from ...problem.evaluation import Evaluator, not_finite, penalty
from ...problem.problem import Problem, example_maximum
from ...structures.chain.search import count_room, worst_by_count
from ...structures.chain.structure import Chain
from ...structures.multiclass import Multiclass
from ..options import OneOf

#: Which hinge loss.
Rescaling: TypeAlias = Annotated[str, OneOf(("margin", "slack"))]


class Worst(NamedTuple):
    """The worst labels of a run of examples."""

    losses: Floats  # one per example: loss_i(w)
    offset: Floats  # one per example: b
    point: Floats  # one per part: m


@njit(fastmath=FAST)
def _score_gold(a: Any, i: int, v: Any, by: float, q: Any) -> Any:
    """Compute q = by F_i v, and return q.gold_i."""
    score(a.design, i, v, q)
    for r in range(q.size):
        q[r] *= by
    gold = 0.0
    for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
        gold += a.gold_count[g] * q[a.gold_part[g]]
    return gold


@njit(fastmath=FAST)
def _by_margin(
    a: Any, v: Any, by: float, losses: Any, offset: Any, point: Any, begin: int, end: int,
    first: int, work: Any,
) -> Any:  # fmt: skip
    """Compute losses, b and m of the examples in [begin, end) at w = by v, for margin rescaling.

    The arrays begin at example first. Returns the first example without a finite loss, or -1.
    """
    size = (a.part_ptr[begin + 1 : end + 1] - a.part_ptr[begin:end]).max()
    room, masked = np.empty(size), np.empty(size if a.mask.size > 0 else 0)
    for i in range(begin, end):
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        q, y = room[:n], point[lo - a.part_ptr[first] : lo - a.part_ptr[first] + n]
        gold = _score_gold(a, i, v, by, q)
        if a.cost.size > 0:
            for r in range(n):
                q[r] += a.cost[lo + r]
        found = example_maximum(a, i, q, y, masked, work)
        if not math.isfinite(found):
            return i
        cost = 0.0
        if a.cost.size > 0:
            for r in range(n):
                cost += a.cost[lo + r] * y[r]
        losses[i - first] = found - gold
        offset[i - first] = cost
    return -1


@njit(fastmath=FAST)
def _by_slack(
    a: Any, spec: Any, v: Any, by: float, losses: Any, offset: Any, point: Any, begin: int,
    end: int, first: int, work: Any,
) -> Any:  # fmt: skip
    """Compute the same for slack rescaling, of chains; without a topology their length is 1."""
    size = (a.part_ptr[begin + 1 : end + 1] - a.part_ptr[begin:end]).max()
    room = np.empty(size)
    for i in range(begin, end):
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        q, y = room[:n], point[lo - a.part_ptr[first] : lo - a.part_ptr[first] + n]
        gold = _score_gold(a, i, v, by, q)
        if a.mask.size > 0:
            at = a.mask_ptr[i]
            for r in range(n):
                q[r] += a.mask[at + r]
        length = a.topo[a.topo_ptr[i]] if a.topo_ptr[i + 1] > a.topo_ptr[i] else 1
        y[:] = 0.0
        loss, errors = worst_by_count(spec, length, q, a.cost[lo : lo + n], gold, y, work)
        if not math.isfinite(loss):
            return i
        for r in range(n):
            y[r] *= errors
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            y[a.gold_part[g]] += (1.0 - errors) * a.gold_count[g]
        losses[i - first] = loss
        offset[i - first] = errors
    return -1


class WorstLabels:
    """Find the worst labels of a problem.

    Parameters
    ----------
    problem, evaluator
        What to solve, and with how many threads.
    rescaling : {"margin", "slack"}
        Which loss; slack rescaling is for classifiers and chains with a cost of 1 for each error.
    """

    def __init__(self, problem: Problem, evaluator: Evaluator, rescaling: str = "margin") -> None:
        self.problem, self.evaluator = problem, evaluator
        self.spec: Ints | None = None
        self.work_size = problem.work_size
        if rescaling == "slack":
            self.spec = _chain_spec(problem)
            longest = int(problem.arrays.topo.max(initial=1))
            self.work_size = int(count_room(longest, problem.structure.n_labels))

    def find(self, v: Floats, by: float, begin: int = 0, end: int | None = None) -> Worst:
        """Find the labels that are worst at w = by v, of the examples in [begin, end)."""
        arrays = self.problem.arrays
        end = self.problem.n_examples if end is None else end
        size = int(arrays.part_ptr[end] - arrays.part_ptr[begin])
        worst = Worst(np.empty(end - begin), np.empty(end - begin), np.empty(size))

        def task(low: int, high: int) -> int:
            run = (low, high, begin)
            work = np.empty(self.work_size)
            if self.spec is None:
                return int(_by_margin(arrays, v, by, *worst, *run, work))
            return int(_by_slack(arrays, self.spec, v, by, *worst, *run, work))

        bad = [i for i in self.evaluator.run(begin, end, task) if i >= 0]
        if bad:
            raise not_finite(bad[0])
        return worst

    def primal(self, weights: Floats, l2: float) -> float:
        """Compute the objective of this loss at some weights."""
        losses = inner(self.find(weights, 1.0).losses, self.problem.arrays.weight)
        return float(losses) + penalty(weights, l2)


def _chain_spec(problem: Problem) -> Ints:
    """Return the spec of the labels as a chain, or raise an error that says why there is none."""
    structure, cost = problem.structure, problem.arrays.cost
    if structure.name not in (Multiclass.name, Chain.name):
        raise MismatchError(
            f"slack rescaling is for multiclass and chain labels, not for {structure.name}; "
            "use rescaling='margin'"
        )
    if not problem.loss.has_cost or not np.isin(cost, (0.0, 1.0)).all():
        raise MismatchError(
            "slack rescaling needs a cost of 1 for each wrong label; leave cost_matrix out, or use "
            "rescaling='margin'"
        )
    if structure.name == Chain.name:
        return structure.spec
    return np.array([structure.n_labels, 0, 0, 0], dtype=np.int64)
