"""SMO first, then online EG (Bartlett et al. 2004, section 5).

SMO is fast at first, and EG overtakes it. EG starts from the theta of the marginals that SMO ends
with: the logarithms of conditional probabilities, theta = -grad H(mu). EG multiplies the weights
of labels, and SMO leaves nearly all of them without any, so some has to be mixed in.

The uniform distribution does not serve. Nearly all labels are bad ones, so the dual falls by more
than SMO has gained where their share is a hundredth, and a line search finds the share 0. From
there EG has as many steps to make as the logarithms of the missing weights are deep, and comes to
rest at the best point with the few labels of SMO. So each example moves towards a distribution
that is soft around its best labels by a line search of its own (see `partwise.solvers.margin.smo`).
The dual rises, and the labels that EG needs have weight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final, final

import numpy as np

from ...problem.dual_point import DualPoint
from ...problem.footprint import Footprint
from ...problem.unfold import fold
from ..base import Epoch
from ..composite import CompositeSolver
from ..eg.online import OnlineEG
from ..goal import Goal
from ..options import Count
from ..papers import BARTLETT_2004
from .smo import SMO

#: SMO ends when an epoch raises the dual by less than this part of it ...
_SLOW: Final = 0.2
#: ... and is followed by so many epochs that make its points soft.
_SOFT: Final = 2


@final
class SMOThenEG(CompositeSolver):
    """SMO for some epochs, then online EG from the point that they reached.

    Parameters
    ----------
    goal : Goal
        What to solve.
    smo_epochs : int or None
        How many epochs of SMO come first; None: until one raises the dual by less than a fifth.
    """

    name: ClassVar[str] = "smo-eg"
    papers = (BARTLETT_2004,)
    occupies = Footprint(vectors=6, parts=6, examples=8)
    needs = SMO.needs | OnlineEG.needs

    def __init__(self, goal: Goal, *, smo_epochs: Count | None = None) -> None:
        goal = goal.unfolded()
        super().__init__(goal)
        self.smo_epochs = smo_epochs
        self.made = self.softened = 0  # epochs
        self.before = self.reached = 0.0  # the dual before and after the last epoch
        self.machine: SMO | OnlineEG = SMO(goal)

    def epoch(self) -> Epoch:
        if not self.machine.under_way and isinstance(self.machine, SMO):
            self._next(self.machine)
        epoch = super().epoch()
        self.made += 1
        self.before, self.reached = self.reached, epoch.dual
        return epoch

    def _next(self, smo: SMO) -> None:
        """Decide what the next epoch is."""
        enough = self.made > 0 and self.reached - self.before <= _SLOW * abs(self.reached)
        if self.smo_epochs is not None:
            enough = self.made >= self.smo_epochs
        if self.softened == _SOFT:
            theta, _ = self.evaluator.conditional(smo.mu)
            self.machine = OnlineEG(replace(self.goal, start=DualPoint(theta)))
        elif enough or smo.softening:
            smo.softening = True
            self.softened += 1

    def turn_to(self, name: str) -> None:
        self.machine = OnlineEG(self.goal)

    def dual_point(self) -> DualPoint:
        if self.problem.folded is None or isinstance(self.machine, SMO):
            return self.machine.dual_point()
        theta = self.machine.dual_point().theta
        mu = np.empty_like(theta)
        self.evaluator.marginals(theta, mu, np.empty(self.problem.n_examples))
        return fold(self.problem, self.evaluator.scores(self.current_weights()), mu)
