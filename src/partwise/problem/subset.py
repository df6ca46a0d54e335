"""A problem with some of the examples of another one, and the same weights."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np

from ..arrays import Ints
from .design import Design
from .example_arrays import pointers
from .problem import Problem
from .room import Room

__all__ = ["part_places", "problem_digest", "subset"]


def subset(problem: Problem, examples: Ints) -> Problem:
    """Take some examples of a problem, in a given order.

    Parameters
    ----------
    problem : Problem
        The problem.
    examples : ndarray of int64
        Which examples to take, counted from 0.

    Returns
    -------
    Problem
        The features, labels, costs and masks of these examples are copied, unless they are
        neighbours; the places of the weights are those of the whole problem.
    """
    a = problem.arrays
    parts, part_ptr = _runs(a.part_ptr, examples)
    topo, topo_ptr = _runs(a.topo_ptr, examples)
    gold, gold_ptr = _runs(a.gold_ptr, examples)
    arrays = a._replace(
        topo=a.topo[topo],
        topo_ptr=topo_ptr,
        part_ptr=part_ptr,
        design=_subdesign(a.design, examples),
        cost=a.cost[parts] if a.cost.size else a.cost,
        mask_ptr=a.mask_ptr[examples],
        gold_ptr=gold_ptr,
        gold_part=a.gold_part[gold],
        gold_count=a.gold_count[gold],
        weight=a.weight[examples],
    )
    return dataclasses.replace(
        problem,
        arrays=arrays,
        max_parts=int(np.diff(part_ptr).max(initial=0)),
        partial=None,
        room=Room(),
        gold_entropy=None if problem.gold_entropy is None else problem.gold_entropy[examples],
    )


def part_places(problem: Problem, examples: Ints) -> Ints | slice:
    """Return the places of the parts of some examples among those of all."""
    return _runs(problem.arrays.part_ptr, examples)[0]


def _runs(begins: Ints, chosen: Ints | slice) -> tuple[Ints | slice, Ints]:
    """Return the positions of the chosen runs, one after the other, and the pointers to them.

    The positions of neighbours are a slice.
    """
    first, last = begins[:-1][chosen], begins[1:][chosen]
    ends = pointers(last - first)
    if len(first) and (isinstance(chosen, slice) or (np.diff(chosen) == 1).all()):
        return slice(int(first[0]), int(last[-1])), ends
    return np.arange(ends[-1]) + np.repeat(first - ends[:-1], last - first), ends


def _subdesign(design: Design, examples: Ints) -> Design:
    sites, site_ptr = _runs(design.site_ptr, examples)
    entries, entry_ptr = _runs(design.entry_ptr, sites)
    return design._replace(
        site_ptr=site_ptr,
        site_part=design.site_part[sites],
        site_width=design.site_width[sites],
        entry_ptr=entry_ptr,
        sparse_ptr=design.sparse_ptr[sites] - design.entry_ptr[sites] + entry_ptr[:-1],
        start=design.start[entries],
        value=design.value[entries] if design.value.size else design.value,
        size=design.size[entries] if design.size.size else design.size,
    )


# A digest of a problem: whether two fits have the same examples, features, labels and costs.


def problem_digest(problem: Problem) -> str:
    """Return the SHA-256 of everything that the objective of a problem depends on.

    Parameters
    ----------
    problem : Problem
        The problem.
    """
    structure, layout = problem.structure, problem.layout
    digest = hashlib.sha256()
    what = (structure.name, structure.constants(), layout.widths, layout.n_features)
    digest.update(repr(what).encode())
    for array in (layout.first, layout.slot):
        _add(digest, array)
    _add(digest, problem.arrays)
    return digest.hexdigest()


def _add(digest: Any, thing: Any) -> None:
    """Add an array, a number, or all that a tuple holds; compiled functions are left out."""
    if isinstance(thing, np.ndarray):
        digest.update(f"{thing.dtype.str}{thing.shape}".encode())
        digest.update(np.ascontiguousarray(thing).reshape(-1).view(np.uint8).data)
    elif isinstance(thing, tuple):
        for held in thing:
            _add(digest, held)
    elif isinstance(thing, (int, float, np.generic)):
        digest.update(repr(float(thing)).encode())
