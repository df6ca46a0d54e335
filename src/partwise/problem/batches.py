"""A problem that is larger than memory, made of one batch of examples after the other.

Which weights there are, and where they are stored, depends on all examples. So batches are spooled
to disk as they come, and laid out when all of them are there. The arrays of the problem equal those
that :func:`partwise.problem.problem.build_problem` makes in memory, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError, MismatchError
from ..files.work_folder import WorkFolder, telling
from ..structures.base import Structure
from .design import site_rows
from .disk_arrays import ArraysOnDisk, ArraysWriter, Spool
from .disk_room import BLOCK_BYTES, Blocked, DiskRoom, cut_blocks
from .example_arrays import Encoded, ExampleArrays, lay_out, make_topologies, most_work
from .losses import Loss
from .numbering import Numbering
from .problem import Problem, assemble, check_loss, check_size
from .rows import Rows
from .storage import Layout, Storage
from .weight_rule import FeatureCounts, Observed, WeightRule, without_bare

__all__ = ["Batch", "Blueprint", "EncodedBatch", "ProblemWriter"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some examples with their labels.

    Attributes
    ----------
    shapes : sequence
        The shape of each example, as `Structure.topology` takes it.
    rows : sequence of Rows
        For each kind of site one row per site, the examples one after the other, or a single row
        for all sites of that kind. Features are numbered the same in all batches; later batches
        may have more of them.
    gold : sequence of ndarray
        The label of each example.
    weight : ndarray or None
        The weight of each example; None means 1 for each.
    own_constraints : sequence or None
        For each example, its own constraints or None.
    allowed : sequence or None
        For each example, what its label may be if it is known in part: refused unless all are None.
    """

    shapes: Sequence[Any] | Ints
    rows: Sequence[Rows]
    gold: Sequence[Ints]
    weight: Floats | None = None
    own_constraints: Sequence[Any] | None = None
    allowed: Sequence[Any] | None = None

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.shapes)


@dataclass(frozen=True)
class Blueprint:
    """What all batches are laid out by, once all of them were seen.

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
    bare: npt.NDArray[np.bool_] | None
    loss: Loss
    constraints: Any


@dataclass(frozen=True, eq=False)
class EncodedBatch:
    """Some examples with their final numbers, before the places of the weights are known.

    Attributes
    ----------
    first : int
        The number of the first example.
    encoded : Encoded
        Shapes, features and gold labels.
    gold, weight, own_constraints
        As in `Batch`.
    """

    first: int
    encoded: Encoded
    gold: Sequence[Ints]
    weight: Floats
    own_constraints: Sequence[Any] | None

    @classmethod
    def of(
        cls,
        structure: Structure,
        batch: Batch,
        rows: Sequence[Rows],
        gold: Sequence[Ints],
        first: int,
    ) -> EncodedBatch:
        """Encode a batch whose features and labels have these final numbers."""
        topologies = make_topologies(structure, batch.shapes, first)
        sites = site_rows(structure, topologies, rows)
        try:
            encoded = Encoded(topologies, *sites, *structure.encode_all(gold, topologies))
        except DataError as error:
            error.within(first=first)
            raise
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        return cls(first, encoded, gold, weight, batch.own_constraints)

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.weight)

    def laid_out(
        self, structure: Structure, blueprint: Blueprint, storage: Storage, masked: bool
    ) -> ExampleArrays:
        """Return the arrays of the examples; `masked` is whether masks are made in any case."""
        encoded, first = self.encoded, self.first
        if blueprint.bare is not None:
            encoded = encoded.with_rows(without_bare(encoded.rows, blueprint.bare))
        return lay_out(
            structure, encoded, storage, blueprint.loss, self.gold, blueprint.constraints,
            self.own_constraints, masked=masked, first=first,
        )  # fmt: skip


class ProblemWriter:
    """Lays out a problem on disk.

    Parameters
    ----------
    folder : str or path-like
        Where its files are made: a new or an empty folder.
    resume : bool
        Whether the folder is that of an earlier fit, which will go on from its checkpoint.
    block_bytes : int
        The size of the blocks of examples.
    memory : float or None
        The bytes of memory that there are; None: as many as the system allows.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        resume: bool = False,
        block_bytes: int = BLOCK_BYTES,
        memory: float | None = None,
    ) -> None:
        self.folder, self.block_bytes = WorkFolder(folder, resume), block_bytes
        self.memory = memory
        self._resumed = resume
        with telling(self.folder.path):
            self._spool = Spool(self.folder.part("spool") / "batches")
        self._counts = FeatureCounts()
        self.n_examples = 0
        self._constrained = False

    def add(self, batch: Batch) -> None:
        """Take some more examples.

        Parameters
        ----------
        batch : Batch
            As many examples as fit into memory several times.
        """
        n = len(batch)
        self._check(batch, n)
        if n == 0:
            return
        self._counts.add(batch.rows, n)
        self.n_examples += n
        own = batch.own_constraints
        self._constrained |= own is not None and any(mine is not None for mine in own)
        with telling(self.folder.path):
            self._spool.add(batch)

    def _check(self, batch: Batch, n: int) -> None:
        for what, held in (
            ("labels", batch.gold),
            ("weights", batch.weight),
            ("constraints", batch.own_constraints),
            ("allowed labels", batch.allowed),
        ):
            if held is not None and len(held) != n:
                raise DataError(f"{what} for {len(held)} examples where there are {n}")
        for i, mine in enumerate(batch.allowed or (), self.n_examples):
            if mine is not None:
                raise MismatchError(
                    f"the label of example {i} (counted from 0) is known in part only, which needs "
                    "all examples in memory; train without a folder on disk, or leave out such "
                    "examples"
                )
        for rows in batch.rows:
            rows.check_finite("the features")

    def finish(
        self,
        structure: Structure,
        numbering: Numbering,
        *,
        loss: Loss,
        weights: str | WeightRule = "all",
        constraints: Any = None,
    ) -> Problem:
        """Lay out the problem.

        Parameters
        ----------
        structure, loss, weights, constraints
            As in :func:`partwise.problem.problem.build_problem`.
        numbering : Numbering
            What becomes of the features and the labels of the batches.

        Returns
        -------
        Problem
            A problem whose arrays are mapped files, and whose `room` is a `DiskRoom`.
        """
        if self.n_examples == 0:
            raise DataError("there is no example to train on; check that the data are not empty")
        check_loss(structure, loss)
        rule = WeightRule.of(weights)
        counts = self._counts.settled(numbering, self.n_examples)
        check_size(structure, [len(some) for some in counts], rule)
        batches = _Batches(self._spool, structure, numbering)

        def observe(observed: Observed) -> None:
            for some in batches:
                observed.add(some.encoded.gold_sites, some.encoded.rows)

        with telling(self.folder.path):
            layout, bare = rule.layout(structure, counts, observe)
            storage = Storage.spread(layout)
            blueprint = Blueprint(layout, bare, loss, constraints)
            on_disk, work_size = self._write(batches, blueprint, storage)
            self._spool.remove()
        return self._problem(structure, storage, loss, on_disk, work_size)

    def _write(
        self,
        batches: _Batches,
        blueprint: Blueprint,
        storage: Storage,
    ) -> tuple[ArraysOnDisk, int]:
        """Write the arrays of all batches; return them and the size of the scratch for oracles."""
        work_size = 0
        masked = blueprint.constraints is not None or self._constrained
        writer = ArraysWriter(self.folder.part("problem"), storage, self._counts.valued)
        try:
            for some in batches:
                found = some.laid_out(batches.structure, blueprint, storage, masked)
                writer.append(found, some.weight, some.encoded.topologies, some.own_constraints)
                work_size = max(work_size, most_work(batches.structure, some.encoded.topologies))
        except BaseException:
            writer.close()
            raise
        return writer.mapped(), work_size

    def _problem(
        self,
        structure: Structure,
        storage: Storage,
        loss: Loss,
        on_disk: ArraysOnDisk,
        work_size: int,
    ) -> Problem:
        arrays = on_disk.arrays
        # theta and mu have one number per part each.
        bounds = cut_blocks(on_disk.sizes() + 16 * arrays.part_ptr, self.block_bytes)
        cuts = on_disk.cuts(bounds)
        held = {name: Blocked(on_disk.files[name], cuts[name]) for name in cuts}
        room = DiskRoom(self.folder, bounds, arrays.part_ptr[bounds], held, self.memory)
        problem = assemble(structure, storage, loss, arrays, on_disk.weight, work_size)
        return replace(problem, room=room)

    def abandon(self) -> None:
        """Delete what was written, if the problem is not wanted after all.

        The duals of an earlier fit stay: its checkpoint can still be gone on from.
        """
        with suppress(OSError):
            self._spool.remove()
        if self._resumed:
            with suppress(OSError):
                self.folder.clear("spool", "problem")
        else:
            self.folder.remove()
        self.folder.close()


@dataclass(frozen=True)
class _Batches:
    """The batches of a spool, encoded."""

    spool: Spool
    structure: Structure
    numbering: Numbering

    def __iter__(self) -> Iterator[EncodedBatch]:
        first = 0
        for batch in self.spool:
            rows, gold = self.numbering.rows(batch.rows), self.numbering.gold(batch.gold)
            yield EncodedBatch.of(self.structure, batch, rows, gold, first)
            first += len(batch)
