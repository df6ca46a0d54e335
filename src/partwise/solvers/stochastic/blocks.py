"""The distinct blocks of weights that an example touches, and how long each was idle.

A method whose step for an example depends on the whole gradient of a weight cannot go through the
features one by one: a feature may occur at several positions of the example.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Ints
from ...compiled.jit import njit
from ...problem.problem import Problem
from ...problem.storage import filled_width


class Blocks(NamedTuple):
    """Room for the blocks of one example, and one clock per block."""

    first: Ints  # where the block begins
    width: Ints  # how many places it has
    idle: Ints  # for how many steps it was not touched
    clock: Ints  # one per place, used where a block begins: the step after its last one


def make_blocks(problem: Problem) -> Blocks:
    """Allocate room for the example with most features; all clocks are at 0."""
    design = problem.arrays.design
    entries = np.diff(design.entry_ptr[design.site_ptr])
    first, width, idle = np.empty((3, int(entries.max(initial=0))), dtype=np.int64)
    return Blocks(first, width, idle, np.zeros(problem.storage.n_places, dtype=np.int64))


def every_block(problem: Problem) -> tuple[Ints, Ints]:
    """Return the beginnings and the widths of the blocks of all features that have weights."""
    storage, layout = problem.storage, problem.layout
    wide = [filled_width(w) if storage.filled else w for w in layout.widths]
    full = np.repeat(np.array(wide, dtype=np.int64), layout.n_features)
    width = np.where(storage.size > 0, storage.size, full)
    return storage.first[width > 0], width[width > 0]


@njit
def touch(design: Any, i: int, step: int, blocks: Any) -> Any:
    """List the blocks of example i and set their clocks to the next step; returns how many."""
    count = 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        full = filled_width(n) if design.filled else n
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            first = design.start[e]
            if blocks.clock[first] == step + 1:
                continue
            blocks.first[count] = first
            blocks.width[count] = design.size[e] if e >= design.sparse_ptr[s] else full
            blocks.idle[count] = step - blocks.clock[first]
            blocks.clock[first] = step + 1
            count += 1
    return count
