"""SAG, SAG-NUS and SAGA: their options and their published forms."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, NamedTuple, TypeAlias, final

import numpy as np

from ...compiled.jit import njit
from ...problem.problem import Problem
from ..goal import Goal
from ..options import OneOf, Positive, Preset, Share
from ..papers import DEFAZIO_2014, SCHMIDT_2013, SCHMIDT_2015, Paper
from .base import AverageGradient
from .memory import SAMPLINGS, WORDS
from .steps import Eta, StepOptions

#: How examples are drawn.
Sampling: TypeAlias = Annotated[str, OneOf(SAMPLINGS)]
#: What the published forms have in common: L_g, or the first L_i, begins at 1 and is not halved.
_SEARCHED: Final = {"eta": "search", "first_curvature": 1.0}


class SAG(AverageGradient):
    """Stochastic average gradient."""

    name: ClassVar[str] = "sag"
    papers: ClassVar[tuple[Paper, ...]] = (SCHMIDT_2013, SCHMIDT_2015)
    presets: ClassVar[dict[str, Preset]] = {
        "schmidt2015-algorithm1": Preset(
            "Algorithms 1 and 2 of Schmidt et al. 2015: L_g begins at 1 and is only doubled, and "
            "falls by 2^(-1/n) per visit.",
            {**_SEARCHED, "sampling": "uniform"},
        ),
        "schmidt2013-theorem1": Preset(
            "The step 1/(16 L) of Theorem 1 of Schmidt, Le Roux and Bach 2013.",
            {"eta": "theorem", "sampling": "uniform"},
        ),
    }

    def __init__(
        self,
        goal: Goal,
        *,
        sampling: Sampling = "uniform",
        eta: Eta = "search",
        first_curvature: Positive | None = None,
        skipping: bool | None = None,
        delta: Positive | None = None,
    ) -> None:
        super().__init__(goal, StepOptions(sampling, eta, first_curvature, skipping), delta)


@final
class SAGNUS(SAG):
    """SAG that draws half of the examples in proportion to their curvature."""

    name: ClassVar[str] = "sag-nus"
    papers = (SCHMIDT_2015,)
    presets: ClassVar[dict[str, Preset]] = {
        "schmidt2015-nus": Preset(
            "SAG-NUS* of Schmidt et al. 2015, section 5: the first L_i is 1, a new one is half of "
            "their mean, and each falls to 0.9 L_i per search; with searches skipped.",
            {**_SEARCHED, "sampling": "nus", "skipping": True},
        ),
        "schmidt2015-nus-2013": Preset(
            "SAG-NUS of Schmidt et al. 2015: the scheme of Schmidt, Le Roux and Bach 2013, section "
            "5.5, where L_i begins at 1 and falls to 0.5 L_i per visit.",
            {**_SEARCHED, "sampling": "nus-2013", "skipping": False},
        ),
    }

    def __init__(
        self,
        goal: Goal,
        *,
        sampling: Sampling = "nus",
        eta: Eta = "search",
        first_curvature: Positive | None = None,
        skipping: bool | None = None,
        delta: Positive | None = None,
    ) -> None:
        super().__init__(
            goal,
            sampling=sampling,
            eta=eta,
            first_curvature=first_curvature,
            skipping=skipping,
            delta=delta,
        )


@final
class SAGA(AverageGradient):
    """SAGA, and its proximal variant with l1 > 0.

    Parameters
    ----------
    goal, eta, first_curvature, skipping, delta
        As for :class:`SAG`.
    sampling : {"uniform", "nus", "nus-2013", "proportional"}
        As for :class:`SAG`, and "proportional": in proportion to a bound on L_i, while the kept
        gradient of another example, drawn uniformly, is replaced. This takes two gradients per
        step, and eta="theorem" or a number.
    share : float or None
        The step, as a fraction of the step alpha of SAG. SAGA converges with a step of
        1 / (3 max_i L_i / (n p_i)), and L_i / (n p_i) is at most 1 / alpha, so a third is safe,
        which None is. Schmidt et al. (2015) used 1, which is faster with many examples and may
        diverge with few.
    """

    name: ClassVar[str] = "saga"
    papers = (DEFAZIO_2014, SCHMIDT_2015)
    takes_l1 = True
    saga = True
    presets: ClassVar[dict[str, Preset]] = {
        "schmidt2015-saga": Preset(
            "SAGA as Schmidt et al. 2015 ran it beside SAG, with the step of SAG; sampling is that "
            "of the user.",
            {**_SEARCHED, "share": 1.0},
        ),
        "schmidt2015-proposition1a": Preset(
            "Proposition 1 (a) of Schmidt et al. 2015: alpha = n min(p) / (4 L + n mu), with "
            "uniform draws or sampling='nus'.",
            {"eta": "theorem"},
        ),
        "schmidt2015-proposition1b": Preset(
            "Proposition 1 (b) of Schmidt et al. 2015: alpha = 1 / (4 mean L), two gradients per "
            "step.",
            {"eta": "theorem", "sampling": "proportional"},
        ),
    }

    def __init__(
        self,
        goal: Goal,
        *,
        sampling: Annotated[str, OneOf(WORDS)] = "uniform",
        eta: Eta = "search",
        first_curvature: Positive | None = None,
        skipping: bool | None = None,
        delta: Positive | None = None,
        share: Share | None = None,
    ) -> None:
        # A third where there is a share to choose.
        third = 1.0 / 3.0 if share is None and eta in ("search", "bound") else share
        super().__init__(goal, StepOptions(sampling, eta, first_curvature, skipping, third), delta)


# How much memory the gradients of all examples take, depending on how they are kept.
#
# Schmidt et al. (2015), section 4.2: the gradient of an example follows from the marginals of its
# parts. The parts of partwise are what that paper calls *mixed*: where features do not depend on
# the position, as the transitions of a chain, one part stands for all positions, and its expected
# count is the gradient of its feature.


class GradientMemory(NamedTuple):
    """How many numbers must be kept, summed over the examples.

    Attributes
    ----------
    dense : int
        All gradients in full: examples times weights.
    sparse : int
        The entries of the gradients that can differ from 0.
    marginals : int
        The marginals of every part at every position.
    mixed : int
        The expected counts of the parts: what SAG keeps, and EG too.
    """

    dense: int
    sparse: int
    marginals: int
    mixed: int


def gradient_memory(problem: Problem) -> GradientMemory:
    """Count how many numbers the gradients of a problem take."""
    arrays, structure = problem.arrays, problem.structure
    marginals = 0
    known: dict[bytes, int] = {}
    for i in range(problem.n_examples):
        topo = arrays.topo[arrays.topo_ptr[i] : arrays.topo_ptr[i + 1]]
        key = topo.tobytes()
        if key not in known:
            sites = structure.sites(topo)
            known[key] = int(np.sum(sites.width * sites.uses))
        marginals += known[key]
    held = np.zeros(problem.storage.n_places + 1, dtype=np.int64)
    np.maximum.at(held, problem.storage.first, problem.layout.sizes())
    return GradientMemory(
        dense=problem.n_examples * problem.layout.n_weights,
        sparse=int(_touched(arrays.design, held)),
        marginals=marginals,
        mixed=problem.n_parts,
    )


@njit
def _touched(design: Any, held: Any) -> Any:
    """Sum over the examples how many weights their features have, each weight counted once."""
    last = np.full(held.size, -1)
    total = 0
    for i in range(design.site_ptr.size - 1):
        for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                at = design.start[e]
                if last[at] < i:
                    last[at] = i
                    total += held[at]
    return total
