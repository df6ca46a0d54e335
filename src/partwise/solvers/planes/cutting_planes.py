"""SVM-Struct: cutting planes for the hinge loss.

``slack="one"`` is the bundle method (``bmrm.py``): one plane per pass, for all examples together
(Joachims, Finley and Yu 2009). ``slack="each"`` keeps labels for each example (``each_slack.py``;
Tsochantaridis et al. 2005), which takes fewer passes and larger programs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, final

from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..composite import CompositeSolver
from ..goal import Goal
from ..options import Count, OneOf
from ..papers import JOACHIMS_2009, TSOCHANTARIDIS_2005
from .bmrm import BMRM
from .each_slack import EachSlack
from .worst_labels import Rescaling


@final
class CuttingPlanes(CompositeSolver):
    """Cutting planes, with one slack for all examples or one for each.

    Parameters
    ----------
    goal : Goal
        What to solve; it starts from its dual point, or else from the gold labels.
    slack : {"one", "each"}
        One slack, so one plane per pass; or one per example, with fewer passes and larger programs.
    rescaling : {"margin", "slack"}
        With "margin" the loss is the hinge, max_y cost(y) + w.f(y) - w.f(gold). With "slack" it is
        max_y cost(y) (1 + w.f(y) - w.f(gold)): another problem, and the objective, the dual and the
        certificate are those of that one. It is for classifiers and chains with a cost of 1 for
        each error.
    block : int or None
        With ``slack="each"``: how many examples share a program; None: all if there are at most
        200, else 10. The published method uses all. The time of a program grows with the cube
        of a block's labels, its memory with their square.
    patience : int
        A plane without weight in this many programs in a row is dropped.
    """

    name: ClassVar[str] = "svm-struct"
    papers = (JOACHIMS_2009, TSOCHANTARIDIS_2005)
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
        block: Count | None = None,
        patience: Count = 5,
    ) -> None:
        super().__init__(goal)
        goal = replace(goal, initial_weights=None)
        self.machine: BMRM | EachSlack
        if slack == "one":
            self.machine = BMRM(goal, rescaling=rescaling, patience=patience)
        else:
            self.machine = EachSlack(goal, rescaling=rescaling, block=block, patience=patience)
