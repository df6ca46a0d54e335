"""The examples of one block: read from their source, numbered, and laid out as a problem.

Features and labels must have the same numbers in all blocks. Every block numbers its own, in the
order in which they are first seen. The driver joins the names in the order of the blocks, so that
the numbers are those that one machine would have given, and tells every block the new numbers of
its own. The places of the weights follow from how often each feature occurs in all blocks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from ..models.prepared import Prepared
from ..problem.batches import Batch, Blueprint, EncodedBatch
from ..problem.example_arrays import (
    join_arrays,
    most_work,
)
from ..problem.losses import make_loss
from ..problem.numbering import Numbering
from ..problem.problem import Problem, assemble, check_loss, check_size
from ..problem.rows import Renumbering, Rows
from ..problem.storage import Layout, Storage
from ..problem.weight_rule import FeatureCounts, Observed, WeightRule
from ..structures.base import Structure
from ..tasks.preparation import ExampleWeights, Joined, Preparation
from ..tasks.stream import numbered
from .pieces import BlockPiece

__all__ = ["Assembly", "BlockNumbers", "Shard", "assemble_blocks"]


@dataclass(frozen=True)
class BlockNumbers:
    """How the examples of a block are numbered in the end.

    Attributes
    ----------
    structure : Structure
        What a label is made of.
    joined : Joined
        The numbers of this block among those of all.
    numbering : Numbering
        What becomes of those of all.
    """

    structure: Structure
    joined: Joined
    numbering: Numbering

    def rows(self, rows: Sequence[Rows]) -> list[Rows]:
        """Return the rows of every kind of site with the final numbers of their features."""
        found = list(rows)
        for kind, numbers in self.joined.features.items():
            to = Renumbering(numbers, self.numbering.counts[kind])
            found[kind] = found[kind].resize(len(numbers)).renumber(to)
        return self.numbering.rows(found)

    def gold(self, labels: Sequence[Ints]) -> Sequence[Ints]:
        """Return the gold labels of examples with their final numbers."""
        joined = self.joined.labels
        return self.numbering.gold(labels if joined is None else [joined[y] for y in labels])


class Shard:
    """The examples of one block.

    Parameters
    ----------
    number : int
        The number of the block.
    pieces : sequence of BlockPiece
        Where its examples come from.
    first : int
        How many examples the blocks before have.
    weight : ndarray or None
        The weights of its examples, as a user gives them.
    """

    def __init__(
        self, number: int, pieces: Sequence[BlockPiece], first: int, weight: Floats | None
    ) -> None:
        self.number, self.pieces, self.first, self.weight = number, pieces, first, weight
        self.batches: list[Batch] = []
        self.encoded: list[EncodedBatch] = []
        self.problem: Problem | None = None

    def _sources(self) -> Iterator[tuple[int, Any, Floats]]:
        """Yield some examples at a time, the number of those before, and their weights."""
        weights, n = ExampleWeights(self.weight), 0
        for piece in self.pieces:
            for source in piece.sources():
                yield self.first + n, source, weights.of(n, source)
                n += len(source)

    def look(self, preparation: Preparation, turn: int) -> Preparation:
        """Look at all examples, before any of them is prepared."""
        for n, source, weight in self._sources():
            with numbered(n):
                preparation.look(source, weight, turn)
        preparation.without_examples()
        return preparation

    def read(self, preparation: Preparation) -> Preparation:
        """Prepare all examples; their batches stay here."""
        self.batches = []
        for n, source, weight in self._sources():
            with numbered(n):
                self.batches += preparation.batches(source, weight)
        for batch in self.batches:
            for rows in batch.rows:
                rows.check_finite("the features")
        self.pieces = ()  # they may hold the examples
        preparation.without_examples()
        return preparation

    def settle(self, numbers: BlockNumbers) -> list[Ints]:
        """Give everything its final number, and return how often each feature occurs."""
        structure = numbers.structure
        counts, n = FeatureCounts(), self.first
        self.structure, self.encoded = structure, []
        while self.batches:
            batch = self.batches.pop(0)
            rows, gold = numbers.rows(batch.rows), numbers.gold(batch.gold)
            counts.add(rows, len(batch))
            self.encoded.append(EncodedBatch.of(structure, batch, rows, gold, n))
            n += len(batch)
        if not self.encoded:
            return [np.zeros(0, dtype=np.int64) for _ in structure.kinds]
        return counts.settled(Numbering([some.n_features for some in rows]), n - self.first)

    def observe(self, layout: Layout, rule: WeightRule) -> tuple[Any, Floats]:
        """Return which weights of a full layout the gold labels touch, packed, and how often."""
        observed = Observed(rule, layout)
        for some in self.encoded:
            observed.add(some.encoded.gold_sites, some.encoded.rows)
        return np.packbits(observed.seen), observed.totals

    def build(self, blueprint: Blueprint, storage: Storage) -> Problem:
        """Lay out the problem of this block, with the places that follow from the layout."""
        if not self.encoded:
            raise DataError(
                f"block {self.number} (counted from 0) has no example with a weight above 0; use "
                "fewer blocks"
            )
        structure = self.structure
        own = any(mine is not None for some in self.encoded for mine in some.own_constraints or ())
        masked = blueprint.constraints is not None or own
        arrays, weights, work = [], [], 0
        for some in self.encoded:
            arrays.append(some.laid_out(structure, blueprint, storage, masked))
            weights.append(some.weight)
            work = max(work, most_work(structure, some.encoded.topologies))
        self.encoded = []
        whole = join_arrays(arrays)
        del arrays
        weight = np.ascontiguousarray(np.concatenate(weights), dtype=np.float64)
        self.problem = assemble(structure, storage, blueprint.loss, whole, weight, work)
        return self.problem


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


def assemble_blocks(call: Call, blocks: int, how: Any, initial: Any = None) -> Assembly:
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
