"""The examples of one block: read from their source, numbered, and laid out as a problem.

Features and labels must have the same numbers in all blocks. Every block numbers its own, in the
order in which they are first seen. The driver joins the names in the order of the blocks, so that
the numbers are those that one machine would have given, and tells every block the new numbers of
its own. The places of the weights follow from how often each feature occurs in all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from ..problem.batches import Batch, Keep, Relabel
from ..problem.example_arrays import (
    Encoded,
    check_gold_parts,
    encode,
    encode_gold,
    join_arrays,
    lay_out,
    most_work,
)
from ..problem.losses import Loss
from ..problem.problem import Problem, assemble
from ..problem.rows import Renumbering, Rows
from ..problem.storage import Layout, Storage
from ..problem.weight_rule import FeatureCounts, Observed, WeightRule, without_bare
from ..structures.base import Structure
from ..tasks.preparation import ExampleWeights, Joined, Preparation
from ..tasks.stream import numbered
from .pieces import Piece

__all__ = ["Blueprint", "Numbering", "Shard"]


@dataclass(frozen=True)
class Numbering:
    """How the examples of a block are numbered in the end.

    Attributes
    ----------
    structure : Structure
        What a label is made of.
    n_features : sequence of int
        How many features each kind of site has in the batches of all blocks.
    joined : Joined
        The numbers of this block among those of all.
    keep, relabel
        What becomes of these in the end, see `ProblemWriter.finish`.
    """

    structure: Structure
    n_features: Sequence[int]
    joined: Joined
    keep: Sequence[Keep | None]
    relabel: Relabel | None

    def rows(self, kind: int, rows: Rows) -> Rows:
        """Return rows with the final numbers of their features."""
        n, kept = self.n_features[kind], self.keep[kind]
        numbers = self.joined.features.get(kind)
        if numbers is not None:
            rows = rows.resize(len(numbers)).renumber(Renumbering(numbers, n))
        rows = rows.resize(n)
        if kept is None:
            return rows
        return rows.renumber(kept) if isinstance(kept, Renumbering) else rows.keep(kept)

    def gold(self, label: Ints) -> Ints:
        """Return a gold label with its final numbers."""
        if self.joined.labels is not None:
            label = self.joined.labels[label]
        if self.relabel is None:
            return label
        return self.relabel(label) if callable(self.relabel) else self.relabel[label]


@dataclass(frozen=True)
class Blueprint:
    """What all blocks are laid out by.

    Attributes
    ----------
    layout : Layout
        Which weights there are.
    bare : ndarray of bool or None
        The features that have no weights, if there are any.
    loss : Loss
        Temperature and cost.
    constraints
        What no label may contain.
    """

    layout: Layout
    bare: Any
    loss: Loss
    constraints: Any


class Shard:
    """The examples of one block.

    Parameters
    ----------
    number : int
        The number of the block.
    pieces : sequence of Piece
        Where its examples come from.
    first : int
        How many examples the blocks before have.
    weight : ndarray or None
        The weights of its examples, as a user gives them.
    """

    def __init__(
        self, number: int, pieces: Sequence[Piece], first: int, weight: Floats | None
    ) -> None:
        self.number, self.pieces, self.first, self.weight = number, pieces, first, weight
        self.batches: list[Batch] = []
        self.encoded: list[Encoded] = []
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

    def settle(self, numbering: Numbering) -> list[Ints]:
        """Give everything its final number; returns how often each feature occurs."""
        structure = numbering.structure
        counts = FeatureCounts()
        self.encoded, numbered_batches, n = [], [], self.first
        while self.batches:
            batch = self.batches.pop(0)
            rows = [numbering.rows(kind, some) for kind, some in enumerate(batch.rows)]
            gold = [numbering.gold(label) for label in batch.gold]
            counts.add(rows, len(batch))

            def labels(
                topologies: list[Ints], gold: Sequence[Ints] = gold, n: int = n
            ) -> tuple[Ints, Ints, Floats]:
                return encode_gold(structure, gold, topologies, n)

            self.encoded.append(encode(structure, batch.shapes, rows, labels, n))
            numbered_batches.append(replace(batch, rows=[], gold=gold))
            n += len(batch)
        self.batches, self.structure = numbered_batches, structure
        if not self.batches:
            return [np.zeros(0, dtype=np.int64) for _ in structure.kinds]
        widths = [rows.n_features for rows in rows]
        return counts.settled(widths, [None] * len(widths), sum(map(len, self.batches)))

    def observe(self, layout: Layout, rule: WeightRule) -> tuple[Any, Floats]:
        """Return which weights of a full layout the gold labels touch, packed, and how often."""
        observed = Observed(rule, layout)
        for encoded in self.encoded:
            observed.add(encoded.gold_sites, encoded.rows)
        return np.packbits(observed.seen), observed.totals

    def build(self, blueprint: Blueprint, storage: Storage) -> Problem:
        """Lay out the problem of this block, with the places that follow from the layout."""
        if not self.batches:
            raise DataError(
                f"block {self.number} (counted from 0) has no example with a weight above 0; use "
                "fewer blocks"
            )
        structure = self.structure
        own = any(
            mine is not None for batch in self.batches for mine in batch.own_constraints or ()
        )
        masked = blueprint.constraints is not None or own
        arrays, weights, n, work = [], [], self.first, 0
        for batch, encoded in zip(self.batches, self.encoded, strict=True):
            if blueprint.bare is not None:
                encoded = encoded.with_rows(without_bare(encoded.rows, blueprint.bare))
            found = lay_out(
                structure, encoded, storage, blueprint.loss, batch.gold, blueprint.constraints,
                batch.own_constraints, masked=masked, first=n,
            )  # fmt: skip
            check_gold_parts(structure, found.part_ptr, found.gold_ptr, found.gold_part, n)
            work = max(work, most_work(structure, encoded.topologies))
            arrays.append(found)
            weights.append(np.ones(len(batch)) if batch.weight is None else batch.weight)
            n += len(batch)
        self.batches, self.encoded = [], []
        whole = join_arrays(arrays)
        del arrays
        weight = np.ascontiguousarray(np.concatenate(weights), dtype=np.float64)
        self.problem = assemble(structure, storage, blueprint.loss, whole, weight, work)
        return self.problem
