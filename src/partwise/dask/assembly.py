"""From blocks that number their examples by themselves to blocks of one problem."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Ints
from ..errors import DataError
from ..problem.losses import make_loss
from ..problem.problem import check_loss, check_size
from ..problem.rows import Renumbering
from ..problem.storage import Layout
from ..problem.weight_rule import Observed, WeightRule
from ..tasks.preparation import Outline, Preparation
from .shard import Blueprint, Numbering

__all__ = ["Assembly", "assemble"]

#: Calls a method of every shard, with arguments of its own; returns the results in their order.
Call = Callable[[str, Sequence[tuple[Any, ...]]], Sequence[Any]]


@dataclass(frozen=True)
class Assembly:
    """What all blocks were laid out by, so that each of them can be made again.

    Attributes
    ----------
    outline : Outline
        What was found in all examples.
    preparation : Preparation
        What prepares the examples of a block, before its first batch.
    numberings : list of Numbering
        The final numbers of each block.
    blueprint : Blueprint
        The places of the weights, and what else all blocks share.
    """

    outline: Outline
    preparation: Preparation
    numberings: list[Numbering]
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
    preparation: Preparation = how._streamed(initial)
    for turn in range(preparation.looks):
        for other in call("look", [(copy.deepcopy(preparation), turn) for _ in range(blocks)]):
            preparation.join_looks(other)
    preparation.ready()
    before = copy.deepcopy(preparation)
    joined = [
        preparation.join(other)
        for other in call("read", [(copy.deepcopy(before),) for _ in range(blocks)])
    ]
    outline = preparation.finish()
    structure = outline.structure
    keep = list(outline.keep or [None] * len(outline.n_features))
    numberings = [
        Numbering(structure, outline.n_features, one, keep, outline.relabel) for one in joined
    ]
    rule = outline.weights or how.weights
    rule = rule if isinstance(rule, WeightRule) else WeightRule(rule)
    loss = make_loss(how.loss, structure.n_labels, how.cost_matrix)
    check_loss(structure, loss)
    counts = _summed(_sizes(outline), call("settle", [(one,) for one in numberings]))
    check_size(structure, [len(some) for some in counts], rule)
    layout, bare = Layout.full(structure.widths, counts), None
    if rule.leaves_out:
        observed = Observed(rule, layout)
        for seen, totals in call("observe", [(layout, rule)] * blocks):
            observed.seen |= np.unpackbits(seen, count=layout.n_weights).view(np.bool_)
            observed.totals += totals
        layout, bare = observed.settled(structure.kinds)
    blueprint = Blueprint(layout, bare, loss, outline.constraints)
    return Assembly(outline, before, numberings, blueprint)


def _sizes(outline: Outline) -> list[int]:
    """Return how many features each kind of site has in the end."""
    found = []
    for n, kept in zip(
        outline.n_features, outline.keep or [None] * len(outline.n_features), strict=True
    ):
        if isinstance(kept, Renumbering):
            found.append(kept.n_features)
        else:
            found.append(n if kept is None else int(np.count_nonzero(kept)))
    return found


def _summed(sizes: Sequence[int], blocks: Sequence[Sequence[Ints]]) -> list[Ints]:
    """Add up how often each feature occurs in the blocks."""
    found = [np.zeros(n, dtype=np.int64) for n in sizes]
    for counts in blocks:
        for total, some in zip(found, counts, strict=True):
            if len(some) > len(total):
                raise DataError("a block has features that are not those of all blocks")
            total[: len(some)] += some
    return found
