"""SVM-Struct: cutting planes for the hinge loss.

``slack="one"`` is the bundle method (``bmrm.py``): one plane per pass, for all examples together
(Joachims, Finley and Yu 2009). ``slack="each"`` keeps labels for each example (``each_slack.py``;
Tsochantaridis et al. 2005), which takes fewer passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, final

from ...errors import MismatchError
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import CompositeSolver
from ..goal import Goal
from ..options import Count, NotNegative, OneOf, Preset
from ..papers import COLLINS_2008, JOACHIMS_2009, TSOCHANTARIDIS_2005
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
        One slack, so one plane per pass; or one per example, with fewer passes.
    rescaling : {"margin", "slack"}
        With "margin" the loss is the hinge, max_y cost(y) + w.f(y) - w.f(gold). With "slack" it is
        max_y cost(y) (1 + w.f(y) - w.f(gold)): another problem, and the objective, the dual and the
        certificate are those of that one. It is for classifiers and chains with a cost of 1 for
        each error.
    epsilon : float
        With ``slack="each"``: a label is added if it violates the slack of its example by more.
    every : int or None
        With ``slack="each"``: the weights are found anew after so many labels, and at the end of
        a pass. The published method does so after every label.
    patience : int or None
        A plane without weight in this many programs in a row is dropped; None: never.
    """

    name: ClassVar[str] = "svm-struct"
    papers = (JOACHIMS_2009, TSOCHANTARIDIS_2005, COLLINS_2008)
    presets: ClassVar[Mapping[str, Preset]] = {
        "tsochantaridis2005-algorithm1": Preset(
            "Tsochantaridis et al. (2005), Algorithm 1: a program after every label, none dropped.",
            {"slack": "each", "epsilon": 0.1, "every": 1, "patience": None},
        ),
        "collins2008-svm-struct": Preset(
            "SVM-Struct, as Collins et al. (2008), section 8, ran it: a program after 100 labels.",
            {"slack": "each", "epsilon": 0.1, "every": 100, "patience": None},
        ),
    }
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
        epsilon: NotNegative = 0.0,
        every: Count | None = None,
        patience: Count | None = 5,
    ) -> None:
        super().__init__(goal)
        goal = replace(goal, initial_weights=None)
        self.machine: BMRM | EachSlack
        if slack == "one":
            if epsilon > 0.0 or every is not None:
                raise MismatchError(
                    "epsilon and every are for one slack per example; use slack='each', or leave "
                    "them out"
                )
            self.machine = BMRM(goal, rescaling=rescaling, patience=patience)
        else:
            self.machine = EachSlack(
                goal, rescaling=rescaling, epsilon=epsilon, every=every, patience=patience
            )
