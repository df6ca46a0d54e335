"""The arrays of some examples: shapes, features, gold labels, costs and masks, laid out.

A problem in memory has the arrays of all its examples; a problem on disk is made of the arrays of
some examples after the other. Both are made here, in two steps: which weights there are may depend
on the gold labels of all examples, and the features point at the places of the weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from ..structures.base import Sites, Structure
from .design import Design, by_shape, make_design
from .losses import Loss
from .rows import Rows
from .storage import Storage

__all__ = [
    "Encoded",
    "ExampleArrays",
    "join_arrays",
    "lay_out",
    "make_masks",
    "make_topologies",
    "most_work",
    "pointers",
]

# Masks: hard constraints as numbers over the parts of each example.


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


@dataclass(frozen=True)
class Encoded:
    """Examples before the places of the weights are known.

    Attributes
    ----------
    topologies : list of ndarray
        The shape of each example; equal shapes share one array.
    site_ptr, sites, rows
        The sites of each example and their features, as `site_rows` returns them.
    gold_ptr, gold_part, gold_count
        The parts of the gold labels, as `Structure.encode_all` returns them.
    """

    topologies: list[Ints]
    site_ptr: Ints
    sites: Sites
    rows: Rows
    gold_ptr: Ints
    gold_part: Ints
    gold_count: Floats

    @property
    def gold_sites(self) -> tuple[Ints, Ints, Ints, Ints, Floats]:
        """What `Observed.add` needs of the gold labels."""
        return self.site_ptr, self.sites.part, self.gold_ptr, self.gold_part, self.gold_count

    def with_rows(self, rows: Rows) -> Encoded:
        """Return the examples with other features."""
        return replace(self, rows=rows)


class ExampleArrays(NamedTuple):
    """The arrays of some examples; all pointers begin at 0. See `partwise.problem.Arrays`."""

    topo: Ints
    topo_ptr: Ints
    part_ptr: Ints
    design: Design
    cost: Floats
    mask: Floats
    mask_ptr: Ints
    gold_ptr: Ints
    gold_part: Ints
    gold_count: Floats


def lay_out(
    structure: Structure,
    encoded: Encoded,
    storage: Storage,
    loss: Loss,
    gold: Sequence[Ints],
    constraints: Any,
    own_constraints: Sequence[Any] | None,
    *,
    masked: bool = False,
    first: int = 0,
) -> ExampleArrays:
    """Make the arrays of some examples, once the places of the weights are known.

    Parameters
    ----------
    structure, loss, gold, constraints, own_constraints
        As in :func:`partwise.problem.problem.build_problem`.
    encoded : Encoded
        The examples.
    storage : Storage
        The places of the weights.
    masked : bool
        Whether to make masks even if nothing is constrained here.
    first : int
        The number of the first example, for messages.
    """
    topologies = encoded.topologies
    distinct, which = by_shape(topologies)
    part_ptr = pointers(
        np.array([structure.n_parts(topo) for topo in distinct], dtype=np.int64)[which]
    )
    _check_gold_parts(structure, part_ptr, encoded.gold_ptr, encoded.gold_part, first)
    cost = np.zeros(0)
    if loss.has_cost:
        cost = structure.part_costs(gold, topologies, loss.cost_matrix)
    nothing = np.zeros(0, dtype=np.int64)
    mask, mask_ptr = make_masks(structure, topologies, constraints, own_constraints, masked)
    if mask.size:
        _check_gold(mask, mask_ptr, encoded.gold_ptr, encoded.gold_part, first)
    return ExampleArrays(
        # All shapes of a classifier are empty, and joining them would take longer than a pass.
        topo=np.concatenate([*(topologies if any(map(len, distinct)) else ()), nothing]),
        topo_ptr=pointers(np.array([len(topo) for topo in distinct], dtype=np.int64)[which]),
        part_ptr=part_ptr,
        design=make_design(storage, encoded.site_ptr, encoded.sites, encoded.rows),
        cost=cost,
        mask=mask,
        mask_ptr=mask_ptr,
        gold_ptr=encoded.gold_ptr,
        gold_part=encoded.gold_part,
        gold_count=encoded.gold_count,
    )


def join_arrays(several: Sequence[ExampleArrays]) -> ExampleArrays:
    """Put the arrays of examples that come one after the other into one.

    Parameters
    ----------
    several : sequence of ExampleArrays
        At least one, all with the same places of the weights.
    """
    if len(several) == 1:
        return several[0]
    designs = [one.design for one in several]
    valued = any(design.value.size for design in designs)

    def joined(arrays: Sequence[Any], ends: bool = False, shift: Sequence[int] = ()) -> Any:
        """Join arrays; of pointers that have an end, only the last one keeps it."""
        moved = arrays if not shift else [a + s for a, s in zip(arrays, shift, strict=True)]
        kept = [a[:-1] for a in moved[:-1]] + [moved[-1]] if ends else moved
        return np.concatenate(kept)

    def before(sizes: Iterable[int]) -> list[int]:
        return [0, *accumulate(sizes)][:-1]

    entries = before(len(d.start) for d in designs)
    sites = before(len(d.site_part) for d in designs)
    design = designs[0]._replace(
        site_ptr=joined([d.site_ptr for d in designs], True, sites),
        site_part=joined([d.site_part for d in designs]),
        site_width=joined([d.site_width for d in designs]),
        entry_ptr=joined([d.entry_ptr for d in designs], True, entries),
        sparse_ptr=joined([d.sparse_ptr for d in designs], False, entries),
        start=joined([d.start for d in designs]),
        value=joined([_values(d) for d in designs]) if valued else designs[0].value,
        size=joined([d.size for d in designs]),
        widest=max(d.widest for d in designs),
    )

    def pointers_of(name: str) -> Any:
        held = [getattr(one, name) for one in several]
        return joined(held, True, before(int(p[-1]) for p in held))

    masks = before(len(one.mask) for one in several)
    return ExampleArrays(
        topo=joined([one.topo for one in several]),
        topo_ptr=pointers_of("topo_ptr"),
        part_ptr=pointers_of("part_ptr"),
        design=design,
        cost=joined([one.cost for one in several]),
        mask=joined([one.mask for one in several]),
        mask_ptr=joined([one.mask_ptr for one in several], False, masks),
        gold_ptr=pointers_of("gold_ptr"),
        gold_part=joined([one.gold_part for one in several]),
        gold_count=joined([one.gold_count for one in several]),
    )


def _values(design: Design) -> Floats:
    return design.value if design.value.size else np.ones(len(design.start))


def make_topologies(
    structure: Structure, shapes: Sequence[Any] | Ints, first: int = 0
) -> list[Ints]:
    """Describe the shape of every example; equal shapes share one description.

    Parameters
    ----------
    structure : Structure
        The structure.
    shapes : sequence
        The shape of each example.
    first : int
        The number of the first example, to name one that the structure refuses.
    """
    known: dict[Any, Ints] = {}
    topologies = []
    plain = shapes.tolist() if isinstance(shapes, np.ndarray) else shapes
    if isinstance(shapes, np.ndarray) and len(shapes) > 1 and (shapes == shapes[0]).all():
        return make_topologies(structure, plain[:1], first) * len(plain)
    for i, shape in enumerate(plain, first):
        if shape not in known:
            try:
                topo = structure.topology(shape)
            except DataError as why:
                why.within(unit="example", example=i)
                raise
            known[shape] = np.ascontiguousarray(topo, dtype=np.int64)
        topologies.append(known[shape])
    return topologies


def most_work(structure: Structure, topologies: Sequence[Ints]) -> int:
    """Return how many numbers the oracles need as scratch for any of these shapes."""
    return max((structure.work_size(topo) for topo in by_shape(topologies)[0]), default=0)


def _check_gold_parts(
    structure: Structure, part_ptr: Ints, gold_ptr: Ints, gold_part: Ints, first: int
) -> None:
    """Raise a DataError unless the gold parts lie inside their examples, as kernels require."""
    sizes = np.repeat(np.diff(part_ptr), np.diff(gold_ptr))
    bad = np.flatnonzero((gold_part < 0) | (gold_part >= sizes))
    if len(bad):
        i = first + int(np.searchsorted(gold_ptr, bad[0], side="right")) - 1
        raise DataError(
            f"the gold label of example {i} (counted from 0, those of weight 0 left out) is none "
            f"of its shape; give labels as a {structure.name} has them"
        )


def _check_gold(mask: Floats, mask_ptr: Ints, gold_ptr: Ints, gold_part: Ints, first: int) -> None:
    owner = np.repeat(np.arange(len(mask_ptr)), np.diff(gold_ptr))
    broken = owner[np.isneginf(mask[mask_ptr[owner] + gold_part])]
    if len(broken):
        raise DataError(
            f"the gold labels of example {first + broken[0]} (counted from 0) break the "
            "constraints; correct the labels or relax the constraints"
        )
