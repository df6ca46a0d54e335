"""The gold labels of all examples, as numbers of their parts."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints
from ..problem.problem import Problem


def gold_places(problem: Problem, first: int = 0, last: int | None = None) -> Ints:
    """Return the places of the parts of the gold labels among those of all examples.

    Parameters
    ----------
    problem : Problem
        The problem.
    first, last : int
        The first example and the one after the last; by default all.
    """
    arrays, last = problem.arrays, problem.n_examples if last is None else last
    ends = arrays.gold_ptr[first : last + 1]
    places: Ints = np.repeat(arrays.part_ptr[first:last], np.diff(ends))
    places += arrays.gold_part[ends[0] : ends[-1]]
    return places


def gold_parts(problem: Problem, value: float | Floats) -> Floats:
    """Return one number per part: a value, or one of each, on the gold labels, 0 elsewhere."""
    parts = np.empty(problem.n_parts)
    set_gold(problem, parts, value)
    return parts


def set_gold(problem: Problem, parts: Floats, value: float | Floats) -> None:
    """Set one number per part to a value, or one of each, on the gold labels, and 0 elsewhere."""
    arrays, room = problem.arrays, problem.room
    for first, last in room.sweep(problem.n_examples, room.keeps(parts)):
        parts[arrays.part_ptr[first] : arrays.part_ptr[last]] = 0.0
        gold = slice(arrays.gold_ptr[first], arrays.gold_ptr[last])
        parts[gold_places(problem, first, last)] = (
            value[gold] if isinstance(value, np.ndarray) else value
        )


def set_parts(problem: Problem, parts: Floats, given: Floats) -> None:
    """Set one number per part to given ones."""
    if given is parts:
        return
    ends, room = problem.arrays.part_ptr, problem.room
    for first, last in room.sweep(problem.n_examples, room.keeps(parts)):
        own = slice(ends[first], ends[last])
        parts[own] = given[own]


def gold_marginals(problem: Problem) -> Floats:
    """Return the marginals of the gold labels."""
    return gold_parts(problem, problem.arrays.gold_count)
