"""Cutting planes with one slack per example (Tsochantaridis et al. 2004, Algorithm 1).

Every example has a set of labels, at first empty. The examples are visited in order; the label of
example i that is worst for the weights joins its set if it is worse than all labels of the set by
more than epsilon:

    loss_i(w) > max(0, max over the set of  b - a.w) + epsilon

After ``every`` labels that were added, the best mixture of all labels is found anew, and the
weights follow: a quadratic program (``example_program.py``). The published method solves it after
every label; SVM-Struct, the program, after every hundred. None solves it once per pass, when all
examples see the same weights.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.vectors import inner
from ...problem.dual_point import DualPoint
from ..base import Epoch, Evaluation, Solver
from ..goal import Goal
from ..gold_labels import gold_marginals
from ..iterate_average import IterateAverage
from ..margin.marginal_ascent import LINEAR, NORM
from ..options import Count, NotNegative
from .example_planes import Planes, check_planes, chosen, joined, mix, no_planes
from .example_program import slacks, sweep
from .worst_labels import Rescaling, Worst, WorstLabels

#: A program is solved to this part of the gap of the pass, or of epsilon for all examples.
_ACCURACY: Final = 0.1
#: Rounding, beside the dual.
_DUST: Final = 1e-14
#: The most sweeps of a program.
_SWEEPS: Final = 200


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
    epsilon : float
        A label is added if it violates the slack of its example by more than this.
    every : int or None
        The program is solved anew after this many labels, and at the end of a pass.
    patience : int or None
        A label without weight in this many programs in a row is dropped; None: never.
    """

    name: ClassVar[str] = "n-slack"
    needs = frozenset({"maximum", "tau=0"})
    grows = tuple(f"planes.{name}" for name in Planes._fields if name != "last")

    def __init__(
        self,
        goal: Goal,
        *,
        rescaling: Rescaling = "margin",
        epsilon: NotNegative = 0.0,
        every: Count | None = None,
        patience: Count | None = 5,
    ) -> None:
        super().__init__(goal)
        problem = goal.problem
        self.epsilon, self.every, self.patience = epsilon, every, patience
        self.worst = WorstLabels(problem, goal.evaluator, rescaling)
        self.mixes = rescaling == "margin"
        self.planes, self.n_planes = no_planes(problem.n_examples), 0
        self.pending = 0  # labels that were added since the last program
        self.share = np.zeros(problem.n_examples)  # of the gap, at the last visit
        self.gold = gold_marginals(problem)
        self.v, self.totals = problem.storage.zeros(), np.zeros(2)
        self.d = problem.storage.zeros()  # between uses all 0
        self.average = IterateAverage(goal.l2)
        self.best = Evaluation(self.v, np.inf, 0.0)
        marginals = goal.marginals()
        if marginals is not None and self.mixes:
            self._start(marginals)

    def _start(self, mu: Floats) -> None:
        """Start every example with one label, its marginals."""
        a = self.problem.arrays
        cost = np.zeros(self.problem.n_examples)
        if a.cost.size:
            np.add.at(cost, np.repeat(np.arange(len(cost)), np.diff(a.part_ptr)), a.cost * mu)
        self._add(np.flatnonzero(a.weight), cost, mu, 0, alpha=1.0)
        self._rebuild()

    def restored(self) -> None:
        super().restored()
        places, parts = self.problem.storage.n_places, self.problem.n_parts
        check_planes(self.planes, self.n_planes, places, parts)

    def epoch(self) -> Epoch:
        if not self.under_way:
            self.left = np.arange(self.problem.n_examples)
        while self.under_way:
            begin = int(self.left[0])
            end = self._until(begin)
            self._visit(begin, end)
            self.left = self.left[end - begin :]
            if self.every is not None and self.pending >= self.every:
                self._solve()
            if self.under_way:
                self.pause()
        self._solve()
        self.average.add(self.v)
        return Epoch(1.0, self._dual(), float(self.share.sum()), self.l2)

    def _until(self, begin: int) -> int:
        """Return where a run of examples ends that cannot add more labels than are wanted."""
        n, part_ptr = self.problem.n_examples, self.problem.arrays.part_ptr
        end = int(np.searchsorted(part_ptr, part_ptr[begin] + self.stretch))
        if self.every is not None:
            end = min(end, begin + self.every - self.pending)
        return min(max(end, begin + 1), n)

    def _visit(self, begin: int, end: int) -> None:
        """Find the worst labels of a run of examples, and add those that are violated."""
        c = self.problem.arrays.weight[begin:end]
        found: Worst = self.worst.find(self.v, 1.0 / self.l2, begin, end)
        slack, mean = slacks(self.planes, begin, end, self.v, self.l2)
        losses = c * found.losses
        self.share[begin:end] = losses - mean
        # A label that is as bad as a known one is that one, up to rounding.
        least = slack + c * self.epsilon + 1e-12 * (1.0 + np.abs(losses))
        new = np.flatnonzero(losses > least)
        if len(new):
            first = int(self.problem.arrays.part_ptr[begin])
            self._add(new + begin, c[new] * found.offset[new], found.point, first)
            self.pending += len(new)

    def _add(
        self, examples: Ints, offset: Floats, point: Floats, first: int, alpha: float = 0.0
    ) -> None:
        self.planes = joined(
            self.problem, self.planes, self.n_planes, examples, offset, point, first, self.gold,
            self.d, alpha,
        )  # fmt: skip
        self.n_planes += len(examples)

    def _solve(self) -> None:
        """Find the mixture of all labels anew, and drop those that have long had no weight.

        The examples with new labels come first. Then there are sweeps over all examples, and
        between them over those that have most of the gap, until a sweep over all finds little gap.
        """
        n, planes = self.n_planes, self.planes
        everywhere = np.flatnonzero(planes.last >= 0)
        examples = np.flatnonzero(planes.last >= n - self.pending) if self.pending else everywhere
        weight = float(self.problem.arrays.weight.sum())
        aim = _ACCURACY * max(float(self.share.sum()), self.epsilon * weight)
        gaps = np.zeros(self.problem.n_examples)
        for _ in range(_SWEEPS):
            self.totals[LINEAR] += sweep(planes, examples, self.v, self.l2, gaps)
            dust = _DUST * (1.0 + abs(self.totals[LINEAR]))
            small = gaps[examples].sum() <= max(aim, dust)
            if len(examples) == len(everywhere) and small:
                break
            large = examples[gaps[examples] > aim / len(everywhere)]
            few = not small and 0 < len(large) < 0.5 * len(everywhere)
            examples = large if few else everywhere
        self.totals[NORM] = inner(self.v, self.v)
        self.pending = 0
        planes.idle[:n] = np.where(planes.alpha[:n] > 0.0, 0, planes.idle[:n] + 1)
        if self.patience is not None:
            stay = planes.idle[:n] < self.patience
            if not stay.all():
                self.planes, self.n_planes = chosen(planes, n, stay), int(stay.sum())

    def _mixture(self) -> Floats:
        mu: Floats = self.gold.copy()
        mix(self.planes, self.n_planes, mu)
        return mu

    def _rebuild(self) -> None:
        """Compute v and the totals from the labels, since the running ones drift."""
        n = self.n_planes
        self.v = self.evaluator.dual_sum(self._mixture())
        self.totals[NORM] = inner(self.v, self.v)
        self.totals[LINEAR] = float(self.planes.alpha[:n] @ self.planes.offset[:n])

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
