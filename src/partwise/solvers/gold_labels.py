"""The gold labels of all examples, as numbers of their parts."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints
from ..problem.problem import Problem


def gold_places(problem: Problem) -> Ints:
    """Return the places of the parts of the gold labels among those of all examples."""
    arrays = problem.arrays
    places: Ints = np.repeat(arrays.part_ptr[:-1], np.diff(arrays.gold_ptr)) + arrays.gold_part
    return places


def gold_parts(problem: Problem, value: float | Floats) -> Floats:
    """Return one number per part: a value, or one of each, on the gold labels, 0 elsewhere."""
    parts = np.empty(problem.n_parts)
    set_gold(problem, parts, value)
    return parts


def set_gold(problem: Problem, parts: Floats, value: float | Floats) -> None:
    """Set one number per part to a value, or one of each, on the gold labels, and 0 elsewhere."""
    parts[:] = 0.0
    parts[gold_places(problem)] = value


def gold_marginals(problem: Problem) -> Floats:
    """Return the marginals of the gold labels."""
    return gold_parts(problem, problem.arrays.gold_count)
