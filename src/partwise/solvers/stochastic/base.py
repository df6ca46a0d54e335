"""What the stochastic gradient methods have in common: the order, the first step, the passes.

They see the objective as a mean over the n examples that have a weight:

    P(w) / n = lam/2 |w|^2 + 1/n sum_i c_i loss_i(w),    lam = l2 / n

and step along  lam w - c_i F_i^T (gold_i - mu_i(w))  for one example after the other.
"""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...errors import DataError
from ...problem.footprint import Footprint
from ...problem.matrix_evaluation import make_evaluator
from ...problem.problem import Problem
from ...problem.storage import filled_width
from ...problem.subset import subset
from ..base import Epoch
from ..goal import Goal
from ..options import OneOf, Positive
from ..primal import PrimalSolver

# The first step of a stochastic method, found by trial among powers of 10.
#
# Collins et al. (2008), section 7.1.3, make one pass with each of five steps and keep the one with
# the best validation error. Schmidt et al. (2015) let the stochastic methods of their comparison
# take the best power of 10. In ``best_power`` the passes are over a tenth of the examples. Every
# visit is counted.


#: A trial visits one in this many examples, but at least this many.
_SHARE: Final = 10
_FEWEST: Final = 50
#: The largest and, negated, the smallest power of 10 that is tried.
_FARTHEST: Final = 12
#: The steps that Collins et al. (2008) try.
GRID: Final = (1.0, 0.1, 0.01, 0.001, 0.0001)


def trial_sample(examples: Ints, rng: np.random.Generator) -> Ints:
    """Draw a tenth of the examples, or the fewest that are meaningful."""
    size = min(len(examples), max(len(examples) // _SHARE, _FEWEST))
    return rng.permutation(examples)[:size]


def best_power(trial: Callable[[float], float]) -> tuple[float, dict[float, float]]:
    """Try 1, then smaller or larger powers of 10, while the objective falls.

    Parameters
    ----------
    trial : callable
        Returns the objective after a trial with a step, or inf if it diverged.

    Returns
    -------
    eta, tried
        The best step, or 0.0 if all diverged, and the objective for each step.
    """
    tried: dict[float, float] = {}

    def value(power: int) -> float:
        eta = 10.0**power
        if eta not in tried:
            tried[eta] = trial(eta)
        return tried[eta]

    best = 0
    way = 1 if value(-1) >= value(0) and math.isfinite(value(0)) else -1
    while abs(best) < _FARTHEST:
        here, there = value(best), value(best + way)
        if there >= here and math.isfinite(here):
            break
        best += way
    return (10.0**best if math.isfinite(value(best)) else 0.0), tried


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
        """Take one step per example of order; return the first that diverged, or -1.

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


# The distinct blocks of weights that an example touches, and how long each was idle.
#
# A method whose step for an example depends on the whole gradient of a weight cannot go through the
# features one by one: a feature may occur at several positions of the example.


class TouchedBlocks(NamedTuple):
    """Room for the blocks of one example, and one clock per block."""

    first: Ints  # where the block begins
    width: Ints  # how many places it has
    idle: Ints  # for how many steps it was not touched
    clock: Ints  # one per place, used where a block begins: the step after its last one


def make_blocks(problem: Problem) -> TouchedBlocks:
    """Allocate room for the example with most features; all clocks are at 0."""
    design = problem.arrays.design
    entries = np.diff(design.entry_ptr[design.site_ptr])
    first, width, idle = np.empty((3, int(entries.max(initial=0))), dtype=np.int64)
    return TouchedBlocks(first, width, idle, np.zeros(problem.storage.n_places, dtype=np.int64))


def every_block(problem: Problem) -> tuple[Ints, Ints]:
    """Return the beginnings and the widths of the blocks of all features that have weights."""
    storage, layout = problem.storage, problem.layout
    wide = [filled_width(w) if storage.filled else w for w in layout.widths]
    full = np.repeat(np.array(wide, dtype=np.int64), layout.n_features)
    width = np.where(storage.size > 0, storage.size, full)
    return storage.first[width > 0], width[width > 0]


@njit
def touch(design: Any, i: int, step: int, blocks: Any) -> Any:
    """List the blocks of example i and set their clocks to the next step; return how many."""
    count = 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        full = filled_width(n) if design.filled else n
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            first = design.start[e]
            if blocks.clock[first] == step + 1:
                continue
            blocks.first[count] = first
            blocks.width[count] = design.size[e] if e >= design.sparse_ptr[s] else full
            blocks.idle[count] = step - blocks.clock[first]
            blocks.clock[first] = step + 1
            count += 1
    return count
