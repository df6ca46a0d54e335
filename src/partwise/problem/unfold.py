"""A problem whose duals have a number for each step of the program that builds the labels.

Its parts are those of the problem that it is made of, and behind those of each example its steps
(`partwise.structures.steps`), which have no features and no cost. So the weights, the primal and
the dual are the same, but the marginals of steps determine a distribution where those of the
parts do not: if positions share their parts, if several steps share one, or none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.jit import njit
from ..errors import DataError
from ..structures.steps import (
    check_steps,
    flat_steps,
    steps_marginals,
    steps_maximum,
    steps_work,
)
from .design import Design
from .evaluation import DualPoint
from .example_arrays import pointers
from .problem import Arrays, Problem
from .room import Room
from .storage import filled_width

__all__ = ["fold", "spread", "unfold"]


def unfold(problem: Problem) -> Problem:
    """Return the problem with steps; itself if the marginals of its parts are enough.

    Parameters
    ----------
    problem : Problem
        All its labels are known, and it is in memory.
    """
    a, structure = problem.arrays, problem.structure
    if problem.has_entropy:
        return problem
    places: dict[bytes, int] = {}
    pool, size, work = [np.zeros(0, dtype=np.int64)], 0, problem.work_size
    begins, counts = np.zeros((2, problem.n_examples), dtype=np.int64)
    for i in range(problem.n_examples):
        topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
        key = topo.tobytes()
        if key not in places:
            steps = structure.steps(topo)
            places[key] = i
            begins[i], counts[i] = size, len(steps.tail_ptr) - 1
            pool.append(flat_steps(steps, structure.n_parts(topo)))
            size += len(pool[-1])
            check_steps(16.0 * size, f"the steps that build the labels of {len(places)} examples")
            work = max(work, steps_work(steps))
        begins[i], counts[i] = begins[places[key]], counts[places[key]]
    n_parts = np.diff(a.part_ptr)
    total = int((n_parts + counts).sum())
    # The marginals, the gold labels, costs and masks, theta and what is computed on the way.
    check_steps(16.0 * size + 64.0 * total, f"a dual with {total:,} parts and steps")
    arrays = a._replace(
        marginals=steps_marginals.compiled,
        maximum=steps_maximum.compiled,
        spec=np.concatenate(pool),
        topo=begins,
        topo_ptr=np.arange(problem.n_examples + 1),
        part_ptr=pointers(n_parts + counts),
        design=_with_sites(a.design, n_parts, counts),
    )
    largest = int((n_parts + counts).max())
    unfolded = replace(
        problem, arrays=arrays, work_size=work, max_parts=largest, room=Room(), folded=problem
    )
    if a.cost.size:
        arrays = arrays._replace(cost=spread(unfolded, a.cost))
    if a.mask.size:
        runs = zip(a.mask_ptr.tolist(), n_parts.tolist(), strict=True)
        own = np.concatenate([a.mask[at : at + n] for at, n in runs])
        arrays = arrays._replace(mask=spread(unfolded, own), mask_ptr=arrays.part_ptr[:-1].copy())
    return replace(unfolded, arrays=_with_gold(unfolded, arrays))


def spread(problem: Problem, parts: Floats) -> Floats:
    """Return numbers of the parts of a problem that has steps, with a 0 for each of its steps."""
    found = np.zeros(problem.n_parts)
    found[_places(problem)] = parts
    return found


def fold(problem: Problem, theta: Floats, mu: Floats) -> DualPoint:
    """Return a dual point of the problem without steps.

    Parameters
    ----------
    problem : Problem
        The problem, with steps or without.
    theta, mu : ndarray
        Scores near the point and the marginals of the point, with those of the steps.
    """
    if problem.folded is None:
        return DualPoint(theta, mu)
    own = _places(problem)
    return DualPoint(theta[own], mu[own], unfolded=mu)


def _places(problem: Problem) -> Ints:
    """Return where the parts of the problem without steps are among parts and steps."""
    assert problem.folded is not None
    begins, own = problem.arrays.part_ptr[:-1], problem.folded.arrays.part_ptr
    found: Ints = np.repeat(begins - own[:-1], np.diff(own))
    found += np.arange(len(found))
    return found


def _with_sites(design: Design, n_parts: Ints, counts: Ints) -> Design:
    """Return the design with one more site per example: its steps, which have no features."""
    at, ends = design.site_ptr[1:], design.entry_ptr[design.site_ptr[1:]]
    widest = int(counts.max())
    return design._replace(
        site_ptr=design.site_ptr + np.arange(len(design.site_ptr)),
        site_part=np.insert(design.site_part, at, n_parts),
        site_width=np.insert(design.site_width, at, counts),
        entry_ptr=np.insert(design.entry_ptr, at, ends),
        sparse_ptr=np.insert(design.sparse_ptr, at, ends),
        widest=max(design.widest, filled_width(widest) if design.filled else widest),
    )


def _with_gold(problem: Problem, arrays: Arrays) -> Arrays:
    """Return the arrays of a problem that has steps, with those of the gold labels."""
    assert problem.folded is not None
    a, counts = problem.folded.arrays, np.zeros(problem.n_parts)
    work, scores = np.empty(problem.work_size), np.empty(problem.max_parts)
    bad = _find_gold(arrays, a.gold_ptr, a.gold_part, a.part_ptr, scores, counts, work)
    own = np.zeros(problem.folded.n_parts)
    own[np.repeat(a.part_ptr[:-1], np.diff(a.gold_ptr)) + a.gold_part] = a.gold_count
    if bad >= 0 or not np.array_equal(counts[_places(problem)], own):
        raise DataError(
            f"the steps of {problem.structure.name} labels do not build the gold label"
            + (f" of example {bad} (counted from 0)" if bad >= 0 else "s")
        )
    held = np.flatnonzero(counts)
    owner = np.searchsorted(arrays.part_ptr, held, "right") - 1
    return arrays._replace(
        gold_ptr=np.searchsorted(owner, np.arange(problem.n_examples + 1)),
        gold_part=held - arrays.part_ptr[owner],
        gold_count=counts[held],
    )


@njit
def _find_gold(
    a: Any, gold_ptr: Any, gold_part: Any, own_ptr: Any, scores: Any, counts: Any, work: Any
) -> Any:
    """Fill in the parts and steps of the gold labels; return an example without one, or -1.

    Only the gold label has none but its parts.
    """
    for i in range(gold_ptr.size - 1):
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        for r in range(n):
            scores[r] = -1.0 if r < own_ptr[i + 1] - own_ptr[i] else 0.0
        for g in range(gold_ptr[i], gold_ptr[i + 1]):
            scores[gold_part[g]] = 0.0
        topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
        if a.maximum(a.spec, topo, scores[:n], counts[lo : lo + n], work) != 0.0:
            return i
    return -1
