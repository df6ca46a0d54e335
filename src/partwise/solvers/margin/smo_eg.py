"""SMO first, then online EG (Bartlett et al. 2004, section 5).

SMO starts up quickly and EG overtakes it. The marginals that SMO ends with become the theta that EG
begins with: the logarithms of conditional probabilities, theta = -grad H(mu). A label without
weight would never get any from EG, so a little of the uniform distribution is mixed in.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

import numpy as np

from ...arrays import Floats
from ...problem.dual_point import DualPoint
from ...problem.evaluation import Evaluator
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation, Solver
from ..eg.online import OnlineEG
from ..options import CountFrom0
from .smo import SMO

#: The share of the uniform distribution.
_UNIFORM: Final = 0.01


@final
class SMOThenEG(Solver):
    """SMO for some epochs, then online EG.

    Parameters
    ----------
    problem, l2, evaluator, rng
        As for the other solvers.
    smo_epochs : int
        How many epochs of SMO come first.
    marginals : ndarray or None
        Those of a dual point to start from; without it, the gold labels.
    """

    name: ClassVar[str] = "smo-eg"
    occupies = Footprint(vectors=6, parts=6, examples=8)
    needs = SMO.needs | OnlineEG.needs

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        smo_epochs: CountFrom0 = 5,
        marginals: Floats | None = None,
    ) -> None:
        super().__init__(problem, l2, evaluator)
        self.rng, self.left = rng, smo_epochs
        self.machine: SMO | OnlineEG = SMO(problem, l2, evaluator, rng, marginals=marginals)

    def epoch(self) -> Epoch:
        """Let the present method go on."""
        if self.left == 0 and isinstance(self.machine, SMO):
            self.machine = self._gradient(self.machine.mu)
        self.left = max(self.left - 1, 0)
        return self.machine.epoch()

    def _gradient(self, mu: Floats) -> OnlineEG:
        evaluator = self.evaluator
        even, entropy = np.empty_like(mu), np.empty(self.problem.n_examples)
        evaluator.marginals(np.zeros_like(mu), even, entropy)
        theta, _ = evaluator.conditional((1.0 - _UNIFORM) * mu + _UNIFORM * even)
        return OnlineEG(self.problem, self.l2, evaluator, self.rng, start=theta)

    @property
    def settled(self) -> bool:
        """Whether the present method is."""
        return self.machine.settled

    def evaluate(self) -> Evaluation:
        """Give what the present method certifies."""
        return self.machine.evaluate()

    def current_weights(self) -> Floats:
        """Give those of the present method."""
        return self.machine.current_weights()

    def dual_point(self) -> DualPoint:
        """Give that of the present method."""
        return self.machine.dual_point()
