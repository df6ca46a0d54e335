"""Cutting planes with one slack per example (Tsochantaridis et al. 2005).

Every example i has a set of labels y, each with a plane c_i F_i^T (gold_i - y). A visit adds the
label that is worst for the weights, if it is worse than all labels of the set, and then solves for
the mixture of the labels:

    max  sum b_y alpha_y - |v|^2 / (2 l2),    v = sum alpha_y c_i F_i^T (gold_i - y)

over the alpha of a block of examples, sum alpha <= 1 for each of them, while the other examples
stay as they are. The published method has one block. Smaller blocks limit the memory for the inner
products, one per pair of labels of a block.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...compiled.vectors import inner
from ...errors import DataError
from ...problem.dual_point import DualPoint
from ..base import Epoch, Evaluation, Solver
from ..goal import Goal
from ..gold_labels import gold_marginals
from ..iterate_average import IterateAverage
from ..margin.marginal_ascent import LINEAR, NORM
from ..options import Count
from .bundle_qp import require_clarabel
from .sparse_planes import against, last_products, mixed_in, no_planes, planes_of
from .working_set import WorkingSet
from .worst_labels import Rescaling, WorstLabels

#: Up to this many examples share one program. If there are more, blocks are small: a large block
#: that is not all examples fits its own examples too well, and the next block undoes it.
_JOINT: Final = 200
_FEW: Final = 10


class Block:
    """The examples begin .. end - 1 and their labels."""

    grows: ClassVar[tuple[str, ...]] = ("planes.pointer", "planes.place", "planes.value")

    def __init__(self, begin: int, end: int, l2: float, patience: int) -> None:
        self.begin, self.end = begin, end
        self.known = WorkingSet(l2, patience)
        self.planes = no_planes()
        self.labels: list[tuple[Ints, Floats]] = []  # m - gold: parts, counted through, and counts

    def slack(self, worth: Floats) -> Floats:
        """Return the largest b - a.w of each example, at least 0, from those of the planes."""
        slack = np.zeros(self.end - self.begin)
        np.maximum.at(slack, self.known.group, worth)
        return slack


@final
class EachSlack(Solver):
    """The n-slack form of cutting planes.

    Parameters
    ----------
    goal : Goal
        What to solve; for margin rescaling it starts from its dual point, else from the gold
        labels.
    rescaling : {"margin", "slack"}
        Which hinge loss; see :class:`~partwise.solvers.planes.worst_labels.WorstLabels`.
    block : int or None
        How many examples share a program; None: all if there are at most 200, else 10.
    patience : int
        A label without weight in this many programs in a row is dropped.
    """

    name: ClassVar[str] = "n-slack"
    needs = frozenset({"maximum", "tau=0"})

    def __init__(
        self,
        goal: Goal,
        *,
        rescaling: Rescaling = "margin",
        block: Count | None = None,
        patience: Count = 5,
    ) -> None:
        super().__init__(goal)
        require_clarabel()
        problem, l2 = goal.problem, goal.l2
        self.worst = WorstLabels(problem, goal.evaluator, rescaling)
        self.mixes = rescaling == "margin"
        n = problem.n_examples
        size = (n if n <= _JOINT else _FEW) if block is None else block
        self.blocks = [
            Block(begin, min(begin + size, n), l2, patience) for begin in range(0, n, size)
        ]
        self.gold = gold_marginals(problem)
        self.v, self.totals = problem.storage.zeros(), np.zeros(2)
        self.d = problem.storage.zeros()  # between uses all 0
        self.average = IterateAverage(l2)
        self.best = Evaluation(self.v, np.inf, 0.0)
        marginals = goal.marginals()
        if marginals is not None and self.mixes:
            self._start(marginals)

    def _start(self, mu: Floats) -> None:
        """Start every example with one label, its marginals."""
        a = self.problem.arrays
        for block in self.blocks:
            cost = np.zeros(block.end - block.begin)
            if a.cost.size:
                for k, i in enumerate(range(block.begin, block.end)):
                    own = slice(a.part_ptr[i], a.part_ptr[i + 1])
                    cost[k] = inner(a.cost[own], mu[own])
            used = a.weight[block.begin : block.end] > 0.0
            held = mu[a.part_ptr[block.begin] : a.part_ptr[block.end]]
            self._add(block, used, cost, held, alpha=1.0)
        self._rebuild()

    def restored(self) -> None:
        super().restored()
        places, parts = self.problem.storage.n_places, self.problem.n_parts
        for block in self.blocks:
            sound = block.planes.sound(len(block.known.alpha), places) and all(
                len(part) == len(count) and ((part >= 0) & (part < parts)).all()
                for part, count in block.labels
            )
            if not sound or (block.known.group >= block.end - block.begin).any():
                raise DataError("the planes of a cutting-plane method do not fit the problem")

    def epoch(self) -> Epoch:
        gap = sum(self._visit(block) for block in self.blocks)
        self.average.add(self.v)
        return Epoch(1.0, self._dual(), gap, self.l2)

    def _visit(self, block: Block) -> float:
        """Add the worst labels of a block and mix anew; returns the block's share of the gap."""
        known, c = block.known, self.problem.arrays.weight[block.begin : block.end]
        found = self.worst.find(self.v, 1.0 / self.l2, block.begin, block.end)
        worth = known.offset - against(block.planes, self.v) / self.l2
        losses = c * found.losses
        share = float(losses.sum() - inner(known.alpha, worth))
        # A label that is as bad as a known one is that one, up to rounding.
        new = losses > block.slack(worth) + 1e-12 * (1.0 + np.abs(losses))
        if new.any():
            self._add(block, new, found.offset, found.point)
        before, products = known.alpha, against(block.planes, self.v)
        known.improve(products - known.gram @ before)
        way = known.alpha - before
        mixed_in(block.planes, way, self.v)
        self.totals[NORM] += float(way @ (2.0 * products + known.gram @ way))
        self.totals[LINEAR] += float(way @ known.offset)
        stay = known.drop_idle()
        if not stay.all():
            block.planes = block.planes.chosen(stay)
            block.labels = [x for x, keep in zip(block.labels, stay, strict=True) if keep]
        return share

    def _add(
        self,
        block: Block,
        new: NDArray[np.bool_],
        offset: Floats,
        point: Floats,
        alpha: float = 0.0,
    ) -> None:
        """Add one label for each of some examples of a block."""
        a, begin = self.problem.arrays, int(self.problem.arrays.part_ptr[block.begin])
        chosen = np.flatnonzero(new)
        ways = [np.zeros(0)]
        for i in chosen + block.begin:
            own = slice(a.part_ptr[i], a.part_ptr[i + 1])
            change = point[own.start - begin : own.stop - begin] - self.gold[own]
            parts = np.flatnonzero(change)
            block.labels.append((parts + own.start, change[parts]))
            ways.append(-a.weight[i] * change)
        ends = np.cumsum([len(way) for way in ways])
        planes = planes_of(self.problem, chosen + block.begin, np.concatenate(ways), ends, self.d)
        block.planes = block.planes.joined(planes)
        products = last_products(block.planes, len(chosen), self.d)
        weighted = a.weight[block.begin + chosen] * offset[chosen]
        block.known.add(weighted, chosen, products, alpha)

    def _mixture(self) -> Floats:
        mu: Floats = self.gold.copy()
        for block in self.blocks:
            block.known.mix(block.labels, mu)
        return mu

    def _rebuild(self) -> None:
        """Compute v and the totals from the labels, since the running ones drift."""
        self.v = self.evaluator.dual_sum(self._mixture())
        self.totals[NORM] = inner(self.v, self.v)
        sums = [inner(block.known.alpha, block.known.offset) for block in self.blocks]
        self.totals[LINEAR] = np.sum(sums)

    def _dual(self) -> float:
        return float(self.totals[LINEAR] - self.totals[NORM] / (2.0 * self.l2))

    def evaluate(self) -> Evaluation:
        # Of all weights that were evaluated, the best are kept.
        self._rebuild()
        mean = self.average.value
        vectors = [self.v] if mean is None else [self.v, mean]
        for v in vectors:
            weights = v / self.l2
            primal = self.primal(weights)
            if primal < self.best.primal:
                self.best = Evaluation(weights, primal, 0.0)
        return Evaluation(self.best.weights, self.best.primal, self._dual())

    def primal(self, weights: Floats) -> float:
        return self.worst.primal(weights, self.l2)

    def current_weights(self) -> Floats:
        return self.v / self.l2

    def dual_point(self) -> DualPoint:
        """Return the scores at w, and for margin rescaling the marginals."""
        theta = self.evaluator.scores(self.current_weights())
        return DualPoint(theta, self._mixture() if self.mixes else None)
