"""SVM-Struct: cutting planes for the hinge loss.

``slack="one"`` is the bundle method (``bmrm.py``): one plane per pass, for all examples together
(Joachims, Finley and Yu 2009). ``slack="each"`` keeps labels for each example (Tsochantaridis et
al. 2004, Algorithm 1), which takes fewer passes. Every example has a set of labels, at first empty.
The examples are visited in order; the label of example i that is worst for the weights joins its
set if it is worse than all labels of the set by more than epsilon:

    loss_i(w) > max(0, max over the set of  b - a.w) + epsilon

After ``every`` labels that were added, the best mixture of all labels is found anew, and the
weights follow: a quadratic program. The published method solves it after every label; SVM-Struct,
the program, after every hundred. None solves it once per pass, when all examples see the same
weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...compiled.vectors import inner
from ...errors import MismatchError
from ...problem.evaluation import DualPoint
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import CompositeSolver, Epoch, Evaluation, Solver
from ..dual_points import gold_marginals
from ..goal import Goal
from ..iterate_average import IterateAverage
from ..margin.marginal_ascent import LINEAR, NORM
from ..options import Count, NotNegative, OneOf, Preset
from ..papers import COLLINS_2008, JOACHIMS_2009, TSOCHANTARIDIS_2005
from .bmrm import BMRM
from .example_planes import Planes, check_planes, chosen, dot, joined, mix, no_planes
from .worst_labels import Rescaling, Worst, WorstLabels

# The quadratic program over the planes of single examples.
#
#     max  sum_k b_k alpha_k - |v|^2 / (2 l2),    v = sum_k alpha_k a_k
#
# over alpha >= 0 whose sum over the planes of each example is at most 1; the rest of an example is
# the weight of its gold label, whose plane is 0. It is solved by ascent over one example after the
# other. With the rest of v held fixed, the gradient for its planes is
#
#     g_k = b_k - a_k.v / l2
#
# and weight moves from the plane with the lowest g that has any to the plane with the highest (SMO,
# Platt 1998), until the example's share of the gap, max(g, 0) - alpha.g, is small. The time of a
# sweep is linear in the entries of the planes.


#: An example is left when its share of the gap is this part of what it was at the visit ...
_LEFT: Final = 0.01
#: ... or after so many steps per plane.
_STEPS: Final = 10


@njit
def slacks(planes: Any, begin: int, end: int, v: Any, l2: float) -> Any:
    """Return the largest b - a.w of each example, at least 0, and its mean by alpha."""
    most, mean = np.zeros(end - begin), np.zeros(end - begin)
    for i in range(begin, end):
        k = planes.last[i]
        while k >= 0:
            worth = planes.offset[k] - dot(planes, k, v) / l2
            most[i - begin] = max(most[i - begin], worth)
            mean[i - begin] += planes.alpha[k] * worth
            k = planes.before[k]
    return most, mean


@njit
def _weigh(gram: Any, g: Any, alpha: Any, l2: float) -> Any:
    """Move the weights of the planes of one example; return its share of the gap before.

    The last of the m planes is that of the gold label. g is kept up to date.
    """
    m, first = g.size, -1.0
    for _ in range(_STEPS * m):
        high, low, mean = 0, -1, 0.0
        for k in range(m):
            mean += alpha[k] * g[k]
            if g[k] > g[high]:
                high = k
            if alpha[k] > 0.0 and (low < 0 or g[k] < g[low]):
                low = k
        gap = g[high] - mean
        if first < 0.0:
            first = max(gap, 0.0)
        rise = g[high] - g[low]
        if gap <= _LEFT * first or rise <= 1e-15 * (abs(g[high]) + abs(g[low])):
            break
        bend = gram[high, high] + gram[low, low] - 2.0 * gram[high, low]
        step = alpha[low]
        if bend > 0.0:
            step = min(step, l2 * rise / bend)
        alpha[high] += step
        alpha[low] = 0.0 if step == alpha[low] else alpha[low] - step
        for k in range(m):
            g[k] -= step * (gram[k, high] - gram[k, low]) / l2
    return first


@njit
def sweep(planes: Any, examples: Any, v: Any, l2: float, share: Any) -> Any:
    """Solve for the weights of each of some examples in turn; v follows.

    share: for each example, set to its part of the gap of the program at its visit. Returns the
    change of sum b alpha.
    """
    widest = 0
    for i in examples:
        m, k = 0, planes.last[i]
        while k >= 0:
            m, k = m + 1, planes.before[k]
        widest = max(widest, m)
    own = np.empty(widest, dtype=np.int64)
    room, grams = np.empty((2, widest + 1)), np.empty((widest + 1) ** 2)
    change = 0.0
    for i in examples:
        m, k = 0, planes.last[i]
        while k >= 0:
            own[m] = k
            m, k = m + 1, planes.before[k]
        gram = grams[: (m + 1) ** 2].reshape(m + 1, m + 1)
        g, alpha = room[0, : m + 1], room[1, : m + 1]
        alpha[m], g[m] = 1.0, 0.0
        for j in range(m):
            k = own[j]
            g[j] = planes.offset[k] - dot(planes, k, v) / l2
            alpha[j] = planes.alpha[k]
            alpha[m] -= alpha[j]
            for t in range(j, m):
                gram[j, t] = gram[t, j] = planes.product[planes.product_ptr[k] + t - j]
            gram[j, m] = gram[m, j] = 0.0
        gram[m, m] = 0.0
        alpha[m] = max(alpha[m], 0.0)
        share[i] = _weigh(gram, g, alpha, l2)
        total = 0.0
        for j in range(m):
            total += alpha[j]
        for j in range(m):
            k = own[j]
            new = alpha[j] / max(total, 1.0)  # rounding may have added up to more than 1
            step = new - planes.alpha[k]
            if step != 0.0:
                planes.alpha[k] = new
                change += step * planes.offset[k]
                for e in range(planes.pointer[k], planes.pointer[k + 1]):
                    v[planes.place[e]] += step * planes.value[e]
    return change


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


@final
class CuttingPlanes(CompositeSolver):
    """Cutting planes, with one slack for all examples or one for each.

    Parameters
    ----------
    goal : Goal
        What to solve; it starts from its dual point, or else from the gold labels.
    slack : {"one", "each"}
        One slack, so one plane per pass; or one per example, with fewer passes.
    rescaling : {"margin", "slack"}
        With "margin" the loss is the hinge, max_y cost(y) + w.f(y) - w.f(gold). With "slack" it is
        max_y cost(y) (1 + w.f(y) - w.f(gold)): another problem, and the objective, the dual and the
        certificate are those of that one. It is for classifiers and chains with a cost of 1 for
        each error.
    epsilon : float
        With ``slack="each"``: a label is added if it violates the slack of its example by more.
    every : int or None
        With ``slack="each"``: the weights are found anew after so many labels, and at the end of
        a pass. The published method does so after every label.
    patience : int or None
        A plane without weight in this many programs in a row is dropped; None: never.
    """

    name: ClassVar[str] = "svm-struct"
    papers = (JOACHIMS_2009, TSOCHANTARIDIS_2005, COLLINS_2008)
    presets: ClassVar[Mapping[str, Preset]] = {
        "tsochantaridis2005-algorithm1": Preset(
            "Tsochantaridis et al. (2005), Algorithm 1: a program after every label, none dropped.",
            {"slack": "each", "epsilon": 0.1, "every": 1, "patience": None},
        ),
        "collins2008-svm-struct": Preset(
            "SVM-Struct, as Collins et al. (2008), section 8, ran it: a program after 100 labels.",
            {"slack": "each", "epsilon": 0.1, "every": 100, "patience": None},
        ),
    }
    threads = True
    needs = frozenset({"maximum", "tau=0"})
    package = "clarabel"

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # That of the bundle method; what labels of single examples take is not known in advance.
        return BMRM.footprint(problem, l2, l1, options)

    def __init__(
        self,
        goal: Goal,
        *,
        slack: Annotated[str, OneOf(("one", "each"))] = "one",
        rescaling: Rescaling = "margin",
        epsilon: NotNegative = 0.0,
        every: Count | None = None,
        patience: Count | None = 5,
    ) -> None:
        super().__init__(goal)
        goal = replace(goal, initial_weights=None)
        self.machine: BMRM | EachSlack
        if slack == "one":
            if epsilon > 0.0 or every is not None:
                raise MismatchError(
                    "epsilon and every are for one slack per example; use slack='each', or leave "
                    "them out"
                )
            self.machine = BMRM(goal, rescaling=rescaling, patience=patience)
        else:
            self.machine = EachSlack(
                goal, rescaling=rescaling, epsilon=epsilon, every=every, patience=patience
            )
