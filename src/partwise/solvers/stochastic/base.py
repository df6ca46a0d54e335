"""What the stochastic gradient methods have in common: the order, the first step, the passes.

They see the objective as a mean over the n examples that have a weight:

    P(w) / n = lam/2 |w|^2 + 1/n sum_i c_i loss_i(w),    lam = l2 / n

and step along  lam w - c_i F_i^T (gold_i - mu_i(w))  for one example after the other.
"""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from typing import Annotated, ClassVar, Final, TypeAlias

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...problem.footprint import Footprint
from ...problem.matrix_evaluation import make_evaluator
from ...problem.subset import subset
from ..base import Epoch
from ..goal import Goal
from ..options import OneOf, Positive
from ..primal import PrimalSolver
from .step_search import GRID, best_power, trial_sample

_logger = logging.getLogger(__name__)

#: A stretch has this many parts per weight, at least.
_PARTS_A_WEIGHT: Final = 20
SEARCH: Final = "search"
OF_GRID: Final = "grid"
#: How the examples of an epoch are drawn.
ORDERS: Final = ("permutation", "replacement")
Order: TypeAlias = Annotated[str, OneOf(ORDERS)]
#: The step of a stochastic method: a number, or found by trial.
Eta: TypeAlias = Positive | Annotated[str, OneOf((SEARCH, OF_GRID))]


class StochasticSolver(PrimalSolver):
    """A solver that takes one step per example, of a size that theory does not give.

    Parameters
    ----------
    goal : Goal
        What to solve; its rng draws a new order of the examples for every epoch, and the
        sample for the search.
    eta : float, "search" or "grid"
        The step. "search" tries powers of 10 on a tenth of the examples. "grid" makes one pass with
        each of 1, 0.1, 0.01, 0.001 and 0.0001, as Collins et al. (2008) do, and takes the one with
        the best score on held-out data, or without such data the lowest objective.
    order : {"permutation", "replacement"}
        A new random permutation each epoch, or draws with replacement, which the convergence
        proofs are about and the papers used.
    """

    occupies = Footprint(vectors=5, parts=1, examples=8)
    remade: ClassVar[tuple[str, ...]] = ("examples", "blocks", "all_blocks")

    def __init__(self, goal: Goal, *, eta: Eta = SEARCH, order: Order = "permutation") -> None:
        super().__init__(goal)
        self.examples: Ints = np.flatnonzero(goal.problem.arrays.weight > 0.0)
        self.order = order
        self.eta = None if isinstance(eta, str) else float(eta)
        self.search = self._search_grid if eta == OF_GRID else self._search
        self.score = goal.score
        self.visits = 0

    @property
    def lam(self) -> float:
        """The l2 of the mean over the examples."""
        return self.l2 / len(self.examples)

    def with_step(self, goal: Goal, eta: float) -> StochasticSolver:
        """Return a solver for a trial, with the options of this one except for the step."""
        return type(self)(goal, eta=eta)

    @abstractmethod
    def visit(self, order: Ints, eta: float) -> int:
        """Take one step per example of order; returns the first that diverged, or -1.

        Adds the calls of an oracle to ``visits`` and leaves ``weights`` up to date.
        """

    def begin(self) -> None:
        """Prepare for a new epoch."""

    def values(self) -> tuple[float, float]:
        """Return the dual value and the estimate of the gap after the last epoch.

        A method that does not keep the sum of its gradients knows neither.
        """
        return math.nan, math.inf

    def epoch(self) -> Epoch:
        if self.eta is None:
            self.eta = self.search()
        if not self.under_way:
            self.begin()
        # A visit ends with some work for every weight.
        least = max(self.stretch, _PARTS_A_WEIGHT * self.problem.storage.n_places)
        for order in self.stretches(self._draw, least):
            bad = self.visit(order, self.eta)
            if bad >= 0:
                raise DataError(
                    f"{self.name} with eta = {self.eta:g} diverged at example {bad} (counted from "
                    "0); use a smaller eta or eta='search', or scale the features"
                )
        passes, self.visits = self.visits / self.problem.n_examples, 0
        return Epoch(passes, *self.values(), self.l2)

    def _draw(self) -> Ints:
        """Return the examples of an epoch, in the order in which they are visited."""
        if self.order == "replacement":
            return self.rng.choice(self.examples, len(self.examples))
        return self.rng.permutation(self.examples)

    def current_weights(self) -> Floats:
        # A copy, since the next epoch changes the weights in place.
        weights: Floats = self.weights.copy()
        return weights

    def _search(self) -> float:
        sample = trial_sample(self.examples, self.rng)
        # With l2 in proportion, lam and thus every step are those of the whole problem.
        part, l2 = subset(self.problem, sample), self.l2 * len(sample) / len(self.examples)
        evaluator = make_evaluator(part, self.evaluator.n_jobs)
        order = np.arange(len(sample))

        goal = Goal(part, l2, evaluator, np.random.default_rng(0), initial_weights=self.weights)

        def trial(eta: float) -> float:
            other = self.with_step(goal, eta)
            bad = other.visit(order, eta)
            self.visits += other.visits
            if bad >= 0:
                return math.inf
            self.visits += len(sample)
            value = evaluator.primal(other.current_weights(), l2)
            return value if math.isfinite(value) else math.inf

        return self._best(*best_power(trial), f"on {len(sample)} examples")

    def _search_grid(self) -> float:
        goal = Goal(
            self.problem, self.l2, self.evaluator, np.random.default_rng(0),
            initial_weights=self.weights.copy(),
        )  # fmt: skip
        order, score = self._draw(), self.score

        def trial(eta: float) -> float:
            other = self.with_step(goal, eta)
            bad = other.visit(order, eta)
            self.visits += other.visits
            weights = other.current_weights()
            if bad >= 0 or not np.isfinite(weights).all():
                return math.inf
            if score is not None:
                return -score(self.problem.storage.gather(weights))
            self.visits += len(order)
            value = self.evaluator.primal(weights, self.l2)
            return value if math.isfinite(value) else math.inf

        tried = {eta: trial(eta) for eta in GRID}
        best = min(tried, key=lambda eta: tried[eta])
        return self._best(best if math.isfinite(tried[best]) else 0.0, tried, "by one pass each")

    def _best(self, eta: float, tried: dict[float, float], how: str) -> float:
        """Return the step that was found, and log what was tried."""
        shown = ", ".join(f"{step:g}: {value:.6g}" for step, value in sorted(tried.items()))
        _logger.info("%s: eta %g, by trial %s (%s)", self.name, eta, how, shown)
        if eta == 0.0:
            raise DataError(f"{self.name} diverges with every eta tried; scale the features")
        return eta
