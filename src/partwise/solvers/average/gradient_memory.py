"""How much memory the gradients of all examples take, depending on how they are kept.

Schmidt et al. (2015), section 4.2: the gradient of an example follows from the marginals of its
parts. The parts of partwise are what that paper calls *mixed*: where features do not depend on
the position, as the transitions of a chain, one part stands for all positions, and its expected
count is the gradient of its feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiled.jit import njit
from ...problem.problem import Problem


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
