"""From blocks that number their examples by themselves to blocks of one problem."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Ints
from ..errors import DataError
from ..models.prepared import Prepared
from ..problem.batches import Blueprint
from ..problem.losses import make_loss
from ..problem.problem import check_loss, check_size
from ..problem.weight_rule import Observed, WeightRule
from ..tasks.preparation import Preparation
from .shard import BlockNumbers

__all__ = ["Assembly", "assemble"]

#: Calls a method of every shard, with arguments of its own; returns the results in their order.
Call = Callable[[str, Sequence[tuple[Any, ...]]], Sequence[Any]]


@dataclass(frozen=True)
class Assembly:
    """What all blocks were laid out by, so that each of them can be made again.

    Attributes
    ----------
    prepared : Prepared
        What was found in all examples.
    preparation : Preparation
        What prepares the examples of a block, before its first batch.
    numberings : list of BlockNumbers
        The final numbers of each block.
    blueprint : Blueprint
        The places of the weights, and what else all blocks share.
    """

    prepared: Prepared
    preparation: Preparation
    numberings: list[BlockNumbers]
    blueprint: Blueprint


def assemble(call: Call, blocks: int, how: Any, initial: Any = None) -> Assembly:
    """Number and lay out all blocks.

    Parameters
    ----------
    call : callable
        Calls the shards of all blocks.
    blocks : int
        The number of blocks.
    how : Trainer
        The parameters.
    initial : Model or None
        A model to start from.
    """
    preparation: Preparation = how._preparation(initial, whole=False)
    for turn in range(preparation.looks):
        for other in call("look", [(copy.deepcopy(preparation), turn) for _ in range(blocks)]):
            preparation.join_looks(other)
    preparation.ready()
    before = copy.deepcopy(preparation)
    joined = [
        preparation.join(other)
        for other in call("read", [(copy.deepcopy(before),) for _ in range(blocks)])
    ]
    prepared = preparation.finish()
    structure = prepared.structure
    numberings = [BlockNumbers(structure, one, prepared.numbering) for one in joined]
    rule = WeightRule.of(prepared.weights or how.weights)
    loss = make_loss(how.loss, structure.n_labels, how.cost_matrix)
    check_loss(structure, loss)
    found = call("settle", [(one,) for one in numberings])
    counts = _summed(prepared.numbering.sizes(), found)
    check_size(structure, [len(some) for some in counts], rule)

    def observe(observed: Observed) -> None:
        layout = observed.layout
        for seen, totals in call("observe", [(layout, rule)] * blocks):
            observed.seen |= np.unpackbits(seen, count=layout.n_weights).view(np.bool_)
            observed.totals += totals

    layout, bare = rule.layout(structure, counts, observe)
    blueprint = Blueprint(layout, bare, loss, prepared.constraints)
    return Assembly(prepared, before, numberings, blueprint)


def _summed(sizes: Sequence[int], blocks: Sequence[Sequence[Ints]]) -> list[Ints]:
    """Add up how often each feature occurs in the blocks."""
    found = [np.zeros(n, dtype=np.int64) for n in sizes]
    for counts in blocks:
        for total, some in zip(found, counts, strict=True):
            if len(some) > len(total):
                raise DataError("a block has features that are not those of all blocks")
            total[: len(some)] += some
    return found
