"""Whether the numbers of a fit stay within float64.

No v(u) is longer than S = sum_i c_i R_i, with R_i a bound on |F_i^T (gold_i - y)|, so weights are
up to S / l2 long and scores up to R S / l2. Solvers work with squares of these, and with products
of two squares where they look at curvature.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..errors import DataError
from ..problem.problem import Problem

#: The largest square; the square of it is still finite, with some room.
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
    with np.errstate(over="ignore"):
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
