"""SMO first, then online EG (Bartlett et al. 2004, section 5).

SMO is fast at first, and EG overtakes it. EG starts from the theta of the marginals that SMO ends
with: the logarithms of conditional probabilities, theta = -grad H(mu). EG never gives weight to a
label that has none, so a small share of the uniform distribution is mixed in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...problem.dual_point import DualPoint
from ...problem.footprint import Footprint
from ..base import Epoch
from ..composite import CompositeSolver
from ..eg.online import OnlineEG
from ..goal import Goal
from ..options import CountFrom0
from ..papers import BARTLETT_2004
from .smo import SMO

#: The share of the uniform distribution.
_UNIFORM: Final = 0.01


@final
class SMOThenEG(CompositeSolver):
    """SMO for some epochs, then online EG from the point that they reached.

    Parameters
    ----------
    goal : Goal
        What to solve.
    smo_epochs : int
        How many epochs of SMO come first.
    """

    name: ClassVar[str] = "smo-eg"
    papers = (BARTLETT_2004,)
    occupies = Footprint(vectors=6, parts=6, examples=8)
    needs = SMO.needs | OnlineEG.needs

    def __init__(self, goal: Goal, *, smo_epochs: CountFrom0 = 5) -> None:
        super().__init__(goal)
        self.to_come = smo_epochs
        self.machine: SMO | OnlineEG = SMO(goal)

    def epoch(self) -> Epoch:
        if not self.machine.under_way:
            if self.to_come == 0 and isinstance(self.machine, SMO):
                self.machine = self._gradient(self.machine.mu)
            self.to_come = max(self.to_come - 1, 0)
        return super().epoch()

    def turn_to(self, name: str) -> None:
        self.machine = OnlineEG(self.goal)

    def _gradient(self, mu: Floats) -> OnlineEG:
        evaluator = self.evaluator
        even, entropy = np.empty_like(mu), np.empty(self.problem.n_examples)
        evaluator.marginals(np.zeros_like(mu), even, entropy)
        theta, _ = evaluator.conditional((1.0 - _UNIFORM) * mu + _UNIFORM * even)
        return OnlineEG(replace(self.goal, start=DualPoint(theta)))
