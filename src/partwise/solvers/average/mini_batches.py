"""SAG that keeps gradients themselves, without their zeros, for mini-batches of examples.

    w <- (1 - alpha lambda) w - alpha d / m,    d = sum of the kept gradients g_B,   lambda = l2 / B

where a visit to a mini-batch replaces g_B = sum_{i in B} c_i F_i^T (mu_i - gold_i), and m of the B
mini-batches were seen. With one example per mini-batch this is the form of memory that Schmidt et
al. (2015) call *sparse*; their section 7 has mini-batches, of which features that several examples
share are kept once. Marginals take less where there are many features per part.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...problem.design import scatter, score
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch
from ..goal import Goal
from ..options import Count, OneOf, Positive, Preset
from ..papers import SCHMIDT_2015
from .average_gradient import NEGLIGIBLE, from_gold, respond, scores, value_after
from .base import Tossing
from .lazy import settle
from .memory import (
    BETA,
    LARGEST,
    SEARCHES,
    SEEN,
    SLIDE,
    UNIFORM,
    VISITS,
    Rule,
    make_memory,
)
from .steps import StepOptions

_Places: TypeAlias = npt.NDArray[np.uint32]
#: The step alpha, or how it is found.
Eta: TypeAlias = Positive | Annotated[str, OneOf(("search",))]


class MiniBatches(NamedTuple):
    """The mini-batches, and which numbers are kept of each."""

    ends: Ints  # B + 1: where the examples of a mini-batch are
    examples: Ints
    at: Ints  # B + 1: where its gradient is
    places: _Places  # the weights that it has
    least: Floats  # one per mini-batch: no search where |g|^2 is at most this


def make_batches(problem: Problem, size: int) -> MiniBatches:
    """Divide the examples that have a weight, in their order."""
    a, design = problem.arrays, problem.arrays.design
    examples = np.flatnonzero(a.weight)
    ends = np.append(np.arange(0, len(examples), size), len(examples))
    at, none = np.zeros(len(ends), dtype=np.int64), np.zeros(0, dtype=np.uint32)
    last = np.zeros(problem.storage.n_places, dtype=np.int64)
    places = np.zeros(_touched(design, ends, examples, last, at, none), dtype=np.uint32)
    last[:] = 0
    _touched(design, ends, examples, last, at, places)
    reach = np.add.reduceat((a.weight * problem.diameter)[examples], ends[:-1])
    least = 1e-8 * np.minimum(1.0, reach**2)
    return MiniBatches(ends, examples, at, places, least)


@njit
def _touched(design: Any, ends: Any, examples: Any, last: Any, at: Any, places: Any) -> Any:
    """List the weights of the features of every mini-batch; return how many there are in all.

    last: for a block, one more than the mini-batch that had it last. Without room in places the
    weights are only counted.
    """
    total = 0
    for k in range(ends.size - 1):
        for x in range(ends[k], ends[k + 1]):
            i = examples[x]
            for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
                for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                    first = np.int64(design.start[e])
                    if last[first] > k:
                        continue
                    last[first] = k + 1
                    sparse = e >= design.sparse_ptr[s]
                    size = np.int64(design.size[e]) if sparse else design.site_width[s]
                    for place in range(first, first + size):
                        if design.live.size == 0 or design.live[place] == 1:
                            if places.size > 0:
                                places[total] = place
                            total += 1
        at[k + 1] = total
    return total


@njit(fastmath=FAST)
def _value(a: Any, examples: Any, L: float, memory: Any, rule: Any, buffers: Any) -> Any:
    """Return the loss of a mini-batch at w - g / L, g in ``memory.room``."""
    q, change = buffers[0], buffers[1]
    total = 0.0
    for i in examples:
        scores(a, i, memory, rule, q, change)
        score(a.design, i, memory.room, change)
        total += value_after(a, i, L, buffers)
    return total


@njit(fastmath=FAST)
def _search(
    a: Any, examples: Any, f: float, noise: float, square: float, memory: Any, rule: Any, more: Any
) -> Any:
    """Double L_g until f_B(w - g / L) <= f_B(w) - |g|^2 / (2 L); the first search also halves it.

    Returns (L, trials).
    """
    L, trials = memory.totals[LARGEST], 0
    down = memory.totals[SEARCHES] == 0.0
    while 0.0 < L < math.inf:
        trials += 1
        # The negation also catches a value that is not finite.
        if not _value(a, examples, L, memory, rule, more) <= f - square / (2.0 * L) + noise:
            L *= 2.0
            down = False
        elif down:
            L *= 0.5
        else:
            break
    return L, trials


@njit(fastmath=FAST)
def batch_epoch(
    a: Any, b: Any, kept: Any, fresh: Any, memory: Any, rule: Any, coins: Any, buffers: Any
) -> Any:
    """Visit one mini-batch per row of coins.

    kept: the numbers of every gradient at its last visit, one after the other; fresh: whether a
    mini-batch was never visited.

    Returns the first example without a finite log Z, or -1.
    """
    q, pull, theta, mu, delta, masked, work = buffers
    totals, room, n = memory.totals, memory.room, fresh.size
    lam, decay = rule.l2 / n, 2.0 ** (-1.0 / n)
    for t in range(coins.shape[0]):
        k = int(coins[t, 0] * n)
        examples = b.examples[b.ends[k] : b.ends[k + 1]]
        f = noise = square = 0.0
        for i in examples:
            scores(a, i, memory, rule, q, pull)
            log_z, _, gold = respond(a, i, q, theta, mu, masked, work)
            if not math.isfinite(log_z):
                return i
            from_gold(a, i, mu, delta)
            square += scatter(a.design, i, delta, room)
            f += a.weight[i] * (a.tau * log_z - gold)
            noise += 1e-15 * a.weight[i] * (a.tau * abs(log_z) + abs(gold))
        totals[VISITS] += examples.size
        if rule.fixed == 0.0 and square > b.least[k]:
            L, trials = _search(a, examples, f, noise, square, memory, rule, buffers)
            totals[LARGEST] = L
            totals[VISITS] += trials * examples.size
            totals[SEARCHES] += 1.0
        totals[SEEN] += fresh[k]
        fresh[k] = False
        alpha = rule.fixed if rule.fixed > 0.0 else 1.0 / (totals[LARGEST] + lam)
        for e in range(b.at[k], b.at[k + 1]):
            place = b.places[e]
            step = room[place] - kept[e]
            kept[e], room[place] = room[place], 0.0
            memory.d[place] += step
            memory.z[place] += totals[SLIDE] * step
        totals[BETA] *= 1.0 - alpha * lam
        totals[SLIDE] += alpha / (totals[SEEN] * totals[BETA])
        if totals[BETA] < 1e-100:
            settle(memory.z, memory.d, totals[BETA], totals[SLIDE])
            totals[BETA], totals[SLIDE] = 1.0, 0.0
        totals[LARGEST] = max(decay * totals[LARGEST], NEGLIGIBLE * lam)
    return -1


@final
class BatchSAG(Tossing):
    """SAG whose kept gradients are those of mini-batches, without their zeros.

    Parameters
    ----------
    goal : Goal
        What to solve.
    batch : int
        How many examples, one after the other in the data, make a mini-batch. Like SAG with few
        examples, few mini-batches may not converge.
    eta : {"search"} or float
        The step alpha, for a mean over the mini-batches: 1 / (L + lambda) with an L that is found
        by line searches, or a number, which stays fixed.
    first_curvature : float or None
        Where L begins, as in Algorithm 1, which begins at 1 and only doubles it. None: it begins
        at 1, and the first search also halves it.
    """

    name: ClassVar[str] = "sag-batch"
    papers = (SCHMIDT_2015,)
    remade = ("batches",)
    presets: ClassVar[dict[str, Preset]] = {
        "schmidt2015-sparse": Preset(
            "Algorithm 1 of Schmidt et al. 2015 with the sparse gradients of its section 4.2.",
            {"batch": 1, "eta": "search", "first_curvature": 1.0},
        )
    }

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # A number and its place, for every weight of every feature of an example, at most.
        design = problem.arrays.design
        numbers = float(np.dot(np.diff(design.entry_ptr), design.site_width))
        return Footprint(vectors=8, parts=1, examples=16, other=12.0 * numbers)

    def __init__(
        self,
        goal: Goal,
        *,
        batch: Count = 1,
        eta: Eta = "search",
        first_curvature: Positive | None = None,
    ) -> None:
        steps = StepOptions("uniform", eta, first_curvature)
        self.batches = make_batches(goal.problem, batch)
        self.kept = np.zeros(len(self.batches.places))
        self.fresh = np.ones(len(self.batches.least), dtype=np.bool_)
        steps.check("sag", goal, len(self.fresh))
        super().__init__(goal)
        first = 1.0 if first_curvature is None else float(first_curvature)
        self.rule = Rule(
            sampling=UNIFORM,
            saga=False,
            share=1.0,
            skipping=False,
            first=first,
            fixed=steps.fixed("sag", np.zeros(0), 0.0),
            l2=goal.l2,
            l1=0.0,
        )
        nothing, n = np.zeros(0), goal.problem.n_examples
        self.memory = make_memory(goal.problem, 0.0, (nothing, nothing, nothing), np.zeros(n))
        self.memory.z[:] = self.weights
        self.memory.totals[LARGEST] = first
        self.memory.totals[SEARCHES] = 0.0 if first_curvature is None else 1.0

    def epoch(self) -> Epoch:
        totals = self.memory.totals
        self.toss(len(self.fresh))
        passes = float(totals[VISITS]) / self.problem.n_examples
        totals[VISITS] = 0.0
        return Epoch(passes, math.nan, math.inf, self.l2)

    def visit(self, coins: Floats) -> int:
        held = (self.batches, self.kept, self.fresh, self.memory)
        return int(batch_epoch(self.problem.arrays, *held, self.rule, coins, self.buffers))
