"""SVM-Struct: cutting planes for the hinge loss.

``slack="one"`` is the bundle method (``bmrm.py``): one plane a pass, for all examples together
(Joachims, Finley and Yu 2009). ``slack="each"`` keeps labels for each example (``each_slack.py``;
Tsochantaridis et al. 2005), which takes fewer passes and larger programs.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, final

from ...arrays import Floats
from ...problem.dual_point import DualPoint
from ...problem.evaluation import Evaluator
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation, Solver
from ..options import Count, OneOf
from .bmrm import BMRM
from .each_slack import EachSlack
from .worst_labels import Rescaling


@final
class CuttingPlanes(Solver):
    """Cutting planes, with one slack for all examples or one for each.

    Parameters
    ----------
    problem, l2, evaluator
        What to solve.
    slack : {"one", "each"}
        Which of the two.
    rescaling : {"margin", "slack"}
        With "margin" the loss is the hinge, max_y cost(y) + w.f(y) - w.f(gold). With "slack" it is
        max_y cost(y) (1 + w.f(y) - w.f(gold)): another problem, and the objective, the dual and the
        certificate are those of that one. It is for classifiers and chains with a cost of 1 for
        each error.
    block : int or None
        With ``slack="each"``: how many examples share a program; None: all if there are at most
        200, else 10. All is the method as published. The time of a program grows with the cube
        of a block's labels, its memory with their square.
    patience : int
        A plane that has had no weight in so many programs, one after the other, is dropped.
    marginals : ndarray or None
        Those of a dual point to start from; without it, the gold labels.
    """

    name: ClassVar[str] = "svm-struct"
    needs = frozenset({"maximum", "tau=0"})
    package = "clarabel"

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        """Say what the planes of the bundle method take; those of examples are not foreseen."""
        return BMRM.footprint(problem, l2, l1, options)

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        *,
        slack: Annotated[str, OneOf(("one", "each"))] = "one",
        rescaling: Rescaling = "margin",
        block: Count | None = None,
        patience: Count = 5,
        marginals: Floats | None = None,
    ) -> None:
        super().__init__(problem, l2, evaluator)
        self.machine: BMRM | EachSlack
        if slack == "one":
            self.machine = BMRM(
                problem, l2, evaluator, rescaling=rescaling, patience=patience, marginals=marginals
            )
        else:
            self.machine = EachSlack(
                problem,
                l2,
                evaluator,
                rescaling=rescaling,
                block=block,
                patience=patience,
                marginals=marginals,
            )

    @property
    def settled(self) -> bool:
        """Always: there is one l2."""
        return True

    def epoch(self) -> Epoch:
        """Visit all examples once."""
        return self.machine.epoch()

    def evaluate(self) -> Evaluation:
        """Give what the form of the method certifies."""
        return self.machine.evaluate()

    def current_weights(self) -> Floats:
        """Give w(u)."""
        return self.machine.current_weights()

    def dual_point(self) -> DualPoint:
        """Give the mixture of labels, or with slack rescaling the scores at w."""
        return self.machine.dual_point()
