"""Whether the numbers of a fit stay within float64.

The norm of v(u) is at most S = sum_i c_i R_i, with R_i a bound on |F_i^T (gold_i - y)|, so the norm
of the weights is at most S / l2 and scores are at most R S / l2. Solvers compute squares of these,
and products of two squares where they use curvature.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..errors import DataError
from ..problem.problem import Problem

#: The largest square that is allowed; its own square is still finite, with some room.
_LARGEST: Final = 1e150


def check_overflow(problem: Problem, l2: float) -> None:
    """Raise a DataError where squares of features, weights or scores would overflow.

    Parameters
    ----------
    problem : Problem
        What is to be solved.
    l2 : float
        The regulariser.
    """
    design = problem.arrays.design
    value = design.value
    with np.errstate(over="ignore"):
        # What is far from the bound is not looked at more closely.
        entries = float(len(design.start)) * problem.n_parts
        rough = max(value.max(initial=0.0), -value.min(initial=0.0)) if value.size else 1.0
        rough *= 2.0 * entries * max(1.0, float(problem.arrays.weight.max(initial=0.0)))
        if rough * rough * max(1.0, l2, 1.0 / l2) < _LARGEST:
            return
        reach = problem.arrays.weight * problem.reach
        size = max(float(reach.sum()), float(problem.reach.max(initial=0.0)))
        largest = size * size * max(1.0, l2, 1.0 / l2)
    if not largest < _LARGEST:
        example = int(np.argmax(np.maximum(reach, problem.reach)))
        raise DataError(
            f"the features are too large for l2 = {l2:g}: those of example {example} (counted from "
            f"0) have a norm of about {problem.reach[example]:.2g}, and what the fit computes from "
            "them would overflow; scale the features to about 1, and choose l2 for those"
        )
