"""Masks: hard constraints as numbers over the parts of each example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from ..structures.base import Structure

__all__ = ["make_masks", "pointers"]


def pointers(sizes: Sequence[int] | Ints) -> Ints:
    """Return where runs of these sizes begin, one after the other, and where the last one ends."""
    found = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, dtype=np.int64, out=found[1:])
    return found


def make_masks(
    structure: Structure,
    topologies: Sequence[Ints],
    constraints: Any,
    own_constraints: Sequence[Any] | None,
    wanted: bool = False,
) -> tuple[Floats, Ints]:
    """Make one mask per shape, which is shared, and one per example with its own constraints.

    Returns the masks, one after the other, and where each example's begins; no masks at all if
    nothing is constrained, unless they are wanted all the same.
    """
    own = own_constraints if own_constraints is not None else [None] * len(topologies)
    if len(own) != len(topologies):
        raise DataError(f"constraints for {len(own)} examples where there are {len(topologies)}")
    pointers = np.zeros(len(topologies), dtype=np.int64)
    bare = own_constraints is None or all(mine is None for mine in own)
    if not wanted and constraints is None and bare:
        return np.zeros(0), pointers
    begins: dict[bytes, int] = {}
    masks = [np.zeros(0)]
    at = 0
    for i, (topo, mine) in enumerate(zip(topologies, own, strict=True)):
        key = topo.tobytes()
        if mine is None and key in begins:
            pointers[i] = begins[key]
            continue
        if mine is None:
            begins[key] = at
        pointers[i] = at
        mask = np.zeros(structure.n_parts(topo))
        for rules in (constraints, mine):
            if rules is not None:
                mask += structure.mask(topo, rules)
        masks.append(mask)
        at += len(mask)
    return np.concatenate(masks), pointers
