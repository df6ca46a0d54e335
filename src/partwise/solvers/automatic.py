"""The default solver: which method begins, and when another one takes over.

Classifiers with a smooth loss are solved by Newton's method: a pass over all examples is a product
of matrices, up to 50 times faster than one that visits them one by one. Only where examples have
many features and there are many labels is that less than EG gains by needing fewer passes. Other
smooth problems begin with online EG, which was the first to certify the optimum on every task that
was measured, since its duals are the certificate. With l1 > 0 or a small l2 its proximal form is
used, and where labels are known in part: each step then goes on from weights, and duals of another
step are far from those weights. EG is slow on badly scaled problems, because features of very
different sizes make its steps tiny. So the free estimate of the gap is watched. Where it hardly
falls, a method that uses curvature continues from the weights so far, with the dual value that was
reached; such a method soon gets near the optimum, but is late to prove it. The hinge loss is not
smooth: classifiers get the coordinate descent of Crammer and Singer, other structures block-
coordinate Frank-Wolfe, both with a proximal term.

A smooth fit that starts from weights alone goes on from them, other than Newton's method by
proximal EG near them, if they are much better than no weights at all. Otherwise it begins as
without them, which takes fewer passes.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from dataclasses import replace
from typing import Any, ClassVar, Final, final

import numpy as np

from ..arrays import Floats
from ..problem.footprint import Footprint
from ..problem.matrix_evaluation import by_matrix
from ..problem.problem import Problem
from .base import CompositeSolver, Epoch, Evaluation
from .eg.base import LINEAR, default_annealing, easy_l2, is_small, refuse_l1_with_hinge
from .eg.online import OnlineEG
from .goal import Goal
from .options import settled_options
from .primal import PrimalSolver
from .registry import SOLVERS, offered

_logger = logging.getLogger(__name__)

#: Weights are a good start if their gap is at most this part of that of w = 0.
_GOOD: Final = 0.2
#: How many epochs the fall of the estimate is measured over.
_WINDOW: Final = 60
#: Newton's method begins for classifiers with fewer entries of features and labels per example.
_WIDE: Final = 1000.0
#: Another method takes over where EG would need more than this many further passes ...
_PATIENCE: Final = 4000.0
#: ... which for l1 = 0 is Newton's method up to this many weights, and L-BFGS beyond.
_FEW_WEIGHTS: Final = 1_000_000


@final
class Automatic(CompositeSolver):
    """Choose a solver by the problem, and change it once where progress is too slow.

    Parameters
    ----------
    goal : Goal
        What to solve.
    **options
        For the first solver. If there are any, a smooth loss with l1 = 0 begins with online EG,
        even if l2 is small.
    """

    name: ClassVar[str] = "auto"
    on_disk = True
    remade = ("looked",)
    needs = frozenset[str]()
    takes_l1 = True

    def __init__(self, goal: Goal, /, **options: Any) -> None:
        super().__init__(goal)
        self.falls: deque[tuple[float, float]] = deque(maxlen=_WINDOW)  # passes, log estimate
        self.passes = 0.0
        self.looked: Evaluation | None = None  # the evaluation of the initial weights
        name, why = first_choice(goal.problem, goal.l2, goal.l1, options)
        if goal.only_weights and goal.problem.loss.tau > 0.0 and not options:
            if not self._is_good(goal):
                goal = replace(goal, initial_weights=None)
            elif name != "newton":
                name, why = "proximal-eg", "it starts from weights"
        method = SOLVERS[name]
        options = settled_options(method, options)
        if goal.problem.loss.tau == 0.0:
            options.setdefault("nearness", None)
        elif name == "online-eg":
            options.setdefault("order", "focused")
            if not goal.warm:
                easy = easy_l2(goal.problem)
                options.setdefault("annealing", default_annealing(easy, goal.l2))
        _logger.info("solver auto: %s (%s)", name, f"{why}; {options}" if options else why)
        self.machine = method(goal, **options)

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # That of the first solver; few fits change it.
        name, _ = first_choice(problem, l2, l1, options)
        if problem.loss.tau == 0.0:
            options = {"nearness": None, **options}
        return SOLVERS[name].footprint(problem, l2, l1, settled_options(SOLVERS[name], options))

    def _is_good(self, goal: Goal) -> bool:
        """Return whether the initial weights are worth starting from."""
        assert goal.initial_weights is not None
        self.looked = found = super(CompositeSolver, self).certify(goal.initial_weights)
        if found.gap <= goal.tol * found.primal:
            return True
        nothing = self.evaluator.primal(self.problem.storage.zeros(), self.l2, self.l1)
        share = found.gap / max(nothing - found.dual, 1e-300)
        good = share <= _GOOD
        _logger.info(
            "the gap of the first weights is %.2g times that of no weights: %s",
            share, "it goes on from them" if good else "it begins without them",
        )  # fmt: skip
        return good

    def certify(self, weights: Floats) -> Evaluation:
        if self.looked is not None and self.looked.weights is weights:
            return self.looked
        return super().certify(weights)

    def epoch(self) -> Epoch:
        self.machine.pause = self.pause
        epoch = self.machine.epoch()
        self.passes += epoch.passes
        if isinstance(self.machine, OnlineEG):
            left = self._passes_left(epoch) if self.machine.settled else 0.0
            if left > _PATIENCE:
                self._take_over(self.machine, left)
        return epoch

    def turn_to(self, name: str) -> None:
        self.machine.close()
        self.machine = SOLVERS[name](self.goal)

    def _passes_left(self, epoch: Epoch) -> float:
        """Estimate how many more passes EG would need, from the fall of its gap estimate."""
        if not 0.0 < epoch.gap_estimate < math.inf:
            return 0.0
        self.falls.append((self.passes, math.log(epoch.gap_estimate)))
        if len(self.falls) < _WINDOW:
            return 0.0
        (first, high), (last, low) = self.falls[0], self.falls[-1]
        wanted = math.log(max(self.goal.tol * abs(epoch.dual), 1e-300))
        rate = (high - low) / (last - first)
        if low <= wanted:
            return 0.0
        return (low - wanted) / rate if rate > 0.0 else math.inf

    def _take_over(self, before: OnlineEG, left: float) -> None:
        # Imported here, since few fits need these and the import takes longer than a small fit.
        from .batch.lbfgs import LBFGS, OrthantWise
        from .batch.newton import TrustRegionNewton
        from .eg.proximal import ProximalEG

        weights = before.evaluate().weights
        s = before.scaled()[1] if isinstance(before, ProximalEG) else 1.0
        linear, v = s * float(before.duals.totals[LINEAR]), s * before.duals.v
        zero = np.zeros_like(weights)
        value = self.evaluator.primal(weights, self.l2, self.l1)
        if self.evaluator.primal(zero, self.l2, self.l1) < value:
            weights = zero
        few = self.problem.layout.n_weights <= _FEW_WEIGHTS
        goal = replace(self.goal, initial_weights=weights)
        machine: PrimalSolver
        if self.l1 > 0.0:
            machine = OrthantWise(goal)
        else:
            machine = TrustRegionNewton(goal) if few else LBFGS(goal)
        _logger.info(
            "solver auto: %s (%s would need about %.0f passes more)",
            machine.name, before.name, left,
        )  # fmt: skip
        machine.bound.add(linear, v)
        self.machine = machine


def first_choice(
    problem: Problem, l2: float, l1: float, options: dict[str, Any]
) -> tuple[str, str]:
    """Return the name of the solver that begins, and the reason for the choice."""
    refuse_l1_with_hinge(l1, problem.loss.tau)
    if l1 > 0.0:
        return "proximal-eg", "l1 > 0; its duals certify"
    if not options and by_matrix(problem) and not wide(problem):
        return "newton", "a classifier whose passes are products of matrices"
    if problem.gold_entropy is not None and not options:
        return "proximal-eg", "labels are known in part; it goes on from weights"
    if problem.loss.tau == 0.0 and "multiclass" in offered(problem):
        return "crammer-singer", "a classifier with the hinge loss"
    if problem.loss.tau == 0.0:
        return "bcfw", "the loss has corners"
    n_weights, n_sites = problem.layout.n_weights, len(problem.arrays.design.site_part)
    if not options and is_small(l2, easy_l2(problem), n_weights, n_sites):
        return "proximal-eg", "a small l2; its duals certify"
    return "online-eg", "its duals certify"


def first_choices(loss: str, l1: float) -> tuple[str, ...]:
    """Return the solvers that may begin if options are given, before the problem is known.

    Options are for online EG even if l2 is small, where its proximal form would begin otherwise.

    Parameters
    ----------
    loss : str
        The name of the loss.
    l1 : float
        The factor of |w|_1.
    """
    if loss == "hinge":
        return ("crammer-singer", "bcfw")
    return ("proximal-eg",) if l1 > 0.0 else ("online-eg",)


def wide(problem: Problem) -> bool:
    """Return whether a classifier has many labels and many features per example.

    A pass of EG then costs little more than products of matrices, and it needs fewer passes.
    """
    entries = float(len(problem.arrays.design.start)) * problem.max_parts
    return entries > _WIDE * problem.n_examples
