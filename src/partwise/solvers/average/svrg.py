"""Stochastic variance reduced gradient (Johnson and Zhang 2013): its epochs and its options.

Schmidt et al. (2015, section 7) name it as the method that needs none of the memory of SAG: it
computes two gradients per step, and now and then those of all examples. The kernel is in
``two_gradients.py``.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias, final

import numpy as np

from ...arrays import Floats
from ...problem.footprint import Footprint
from ..base import Epoch
from ..goal import Goal
from ..options import OneOf, Positive, Preset, Share
from ..papers import JOHNSON_2013, SCHMIDT_2015
from .base import Tossing
from .memory import LARGEST, PROPORTIONAL, SEEN, UNIFORM, VISITS, Rule, make_memory
from .steps import StepOptions, curvature_bounds
from .two_gradients import two_gradient_epoch

#: The step alpha, or how it is found.
Eta: TypeAlias = Positive | Annotated[str, OneOf(("search", "theorem"))]


@final
class SVRG(Tossing):
    """Stochastic variance reduced gradient: it keeps no gradients, and often computes all of them.

    An epoch computes the gradients of all examples at its first weights, the anchor. Its steps
    correct the gradient of one example by that at the anchor.

    Parameters
    ----------
    goal : Goal
        What to solve.
    sampling : {"uniform", "proportional"}
        How examples are drawn: uniformly, or in proportion to a bound on their curvature.
    eta : {"search", "theorem"} or float
        The step, for a mean over the examples: share / (L + lambda) with an L that is found by
        line searches, 1 / (10 L) with a bound on the curvature, or a number, which stays fixed.
    inner : float
        How many steps an epoch takes, as a multiple of the number of examples.
    share : float or None
        The step, as a fraction of 1 / (L + lambda); None is a quarter, where the proof ends.
    """

    name: ClassVar[str] = "svrg"
    papers = (JOHNSON_2013, SCHMIDT_2015)
    occupies = Footprint(vectors=9, parts=1, examples=14)
    remade = ("inner",)
    presets: ClassVar[dict[str, Preset]] = {
        "johnson2013-convex": Preset(
            "Johnson and Zhang 2013 for convex losses: 2 n steps with eta = 0.1 / L.",
            {"eta": "theorem", "sampling": "uniform", "inner": 2.0},
        )
    }

    def __init__(
        self,
        goal: Goal,
        *,
        sampling: Annotated[str, OneOf(("uniform", "proportional"))] = "uniform",
        eta: Eta = "search",
        inner: Positive = 2.0,
        share: Share | None = None,
    ) -> None:
        steps = StepOptions(
            sampling, eta, share=0.25 if share is None and eta == "search" else share
        )
        problem, self.inner = goal.problem, inner
        examples = np.flatnonzero(problem.arrays.weight)
        steps.check("svrg", goal, len(examples))
        super().__init__(goal)
        lam = goal.l2 / len(examples)
        bound = np.zeros(0) if steps.searched else curvature_bounds(problem)[examples]
        proportional = sampling == "proportional"
        self.rule = Rule(
            sampling=PROPORTIONAL if proportional else UNIFORM,
            saga=True,
            share=1.0 if steps.share is None else float(steps.share),
            skipping=False,
            first=1.0,
            fixed=steps.fixed("svrg", bound, lam),
            l2=goal.l2,
            l1=0.0,
        )
        nothing = np.zeros(0)
        chances = curvature_bounds(problem, lam) if proportional else np.zeros(problem.n_examples)
        self.memory = make_memory(problem, 0.0, (nothing, nothing, nothing), chances)
        self.memory.z[:] = self.weights
        self.memory.totals[LARGEST], self.memory.totals[SEEN] = 1.0, len(examples)
        self.anchor = problem.storage.zeros()
        self.dual, self.gap = -np.inf, np.inf  # at the anchor

    def epoch(self) -> Epoch:
        totals = self.memory.totals
        if not self.under_way:
            self._begin()
        self.toss(max(1, round(self.inner * len(self.memory.order))))
        self.settle(self.memory)
        passes = float(totals[VISITS]) / self.problem.n_examples
        totals[VISITS] = 0.0
        return Epoch(passes, self.dual, self.gap, self.l2)

    def _begin(self) -> None:
        """Compute the gradients of all examples."""
        self.anchor[:] = self.memory.z
        slope = self.evaluator.slope(self.anchor.copy())
        self.memory.d[:] = -slope.v
        self.memory.totals[VISITS] += self.problem.n_examples
        value = self.certified(slope)
        self.dual, self.gap = value.dual, value.gap

    def visit(self, coins: Floats) -> int:
        arrays, memory, rule = self.problem.arrays, self.memory, self.rule
        room = (self.buffers, self.other)
        return int(two_gradient_epoch(arrays, memory, self.anchor, rule, coins, *room))
