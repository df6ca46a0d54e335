"""What a worker holds of a fit: its blocks, and a copy of the vectors that they start from.

The state of a block is large and stays on its worker between rounds. It is kept in a table of this
module, and the driver sends tasks that are bound to the worker. Dask's actors would do the same,
and save some milliseconds per round, but their calls are not shown on the dashboard, and a lost
actor is only found when it is called. A task that is bound to a worker that is gone waits for ever,
which the driver sees when it looks at the list of workers; and a worker that has come back under
the same address has an empty table, which it says (`Forgotten`).

Dask may run a task twice. So every call has a number, and a call with the number of the last one is
answered from memory.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from ..problem.batches import Blueprint
from ..problem.matrix_evaluation import make_evaluator
from ..problem.storage import Storage
from ..problem.subset import problem_digest
from ..solvers.blocks.ascent import Threads
from ..solvers.blocks.block import Block
from ..solvers.blocks.plan import BlockPlan, Extent, Pass, Round, Update
from ..solvers.blocks.solver import make_block
from ..solvers.blocks.vectors import Vectors
from ..solvers.goal import Goal
from ..solvers.state import capture, restore
from ..tasks.preparation import Preparation
from .pieces import BlockPiece, Measured, PartPiece
from .shard import BlockNumbers, Shard

__all__ = [
    "BlockOrigin", "BlockState", "Built", "Forgotten", "StationAnswer", "StationStep", "answer",
    "build", "built_blocks", "enlist", "forget", "measure", "on_shard", "open_shard", "rebuild",
]  # fmt: skip


class Forgotten(Exception):
    """The worker does not hold what the driver expects of it."""


@dataclass(frozen=True)
class BlockOrigin:
    """Where the examples of a block come from.

    Attributes
    ----------
    number, first, size : int
        The number of the block, how many examples the blocks before have, and how many it has.
    pieces : sequence of BlockPiece
        Its examples.
    weight : ndarray or None
        Their weights, as a user gives them.
    """

    number: int
    first: int
    size: int
    pieces: Sequence[BlockPiece]
    weight: Floats | None = None

    @property
    def parts(self) -> list[int]:
        """The parts of a collection that hold the examples."""
        return [piece.part for piece in self.pieces if isinstance(piece, PartPiece)]

    def filled(self, data: Sequence[Sequence[Any]]) -> BlockOrigin:
        """Return the origin with these parts."""
        given = iter(data)
        pieces = [
            piece.filled(next(given)) if isinstance(piece, PartPiece) else piece
            for piece in self.pieces
        ]
        return replace(self, pieces=pieces)


@dataclass(frozen=True)
class Built:
    """What the driver is told about a block that was laid out."""

    extent: Extent
    digest: str


@dataclass(frozen=True)
class BlockState:
    """The state of a block: plain data as JSON, and arrays with their names."""

    number: int
    tree: str
    names: str
    arrays: list[npt.NDArray[Any]]


@dataclass(frozen=True)
class StationStep:
    """A step that all workers run with their blocks.

    Attributes
    ----------
    kind : {"begin", "round", "settle", "fresh", "losses", "vectors", "capture", "restore"}
        What to do: begin a pass; visit a chunk; end a round; evaluate the duals, or the losses;
        take other vectors; return the states of blocks, or take them.
    what
        What it is done with.
    """

    kind: str
    what: Any = None


@dataclass(frozen=True)
class StationAnswer:
    """What a worker found, by the numbers of its blocks, and the seconds that it computed."""

    found: dict[int, Any]
    seconds: float


class Station:
    """The blocks of one fit on one worker."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.shards: dict[int, Shard] = {}
        self.storage: Storage | None = None
        self.vectors: Vectors | None = None
        self.crew: Threads | None = None
        self.numbers: list[int] = []
        self.sequence, self.last = -1, StationAnswer({}, 0.0)

    def lay_out(self, number: int, blueprint: Blueprint) -> Built:
        with self.lock:
            if self.storage is None:
                self.storage = Storage.spread(blueprint.layout)
        problem = self.shards[number].build(blueprint, self.storage)
        return Built(Extent.of(problem), problem_digest(problem))

    def enlist(
        self, plan: BlockPlan, l2: float, l1: float, weights: Floats | None, sequence: int
    ) -> None:
        """Make the blocks again, at the point from which every fit starts."""
        assert self.storage is not None
        if self.crew is not None:
            self.crew.close()
        self.numbers = sorted(self.shards)
        blocks: list[Block] = []
        for number in self.numbers:
            problem = self.shards[number].problem
            assert problem is not None
            rng = np.random.default_rng(0)  # blocks draw by the seed of a pass
            goal = Goal(
                problem, l2, make_evaluator(problem), rng, l1=l1, initial_weights=weights
            )  # fmt: skip
            blocks.append(make_block(plan.method, goal, number, plan.blocks))
        kind = (self.storage, l1, plan.nearness > 0.0, not plan.smooth)
        threads = min(_threads(), len(blocks))
        self.vectors = Vectors(*kind)
        self.crew = Threads(blocks, self.vectors, [Vectors(*kind) for _ in range(threads - 1)])
        self.sequence = sequence

    def perform(self, step: StationStep) -> list[Any]:
        """Run one step with all blocks, and return one result per block if the step has results."""
        crew, vectors = self.crew, self.vectors
        if crew is None or vectors is None:
            raise Forgotten("the blocks of this worker were not made")
        kind, what = step.kind, step.what
        if kind == "begin":
            assert isinstance(what, Pass)
            vectors.begin(what)
            crew.begin(what)
        elif kind == "round":
            assert isinstance(what, Round)
            return list(crew.round(what))
        elif kind == "settle":
            if isinstance(what, Update):
                vectors.apply(what)
            crew.settle(what)
        elif kind == "fresh":
            return list(crew.fresh())
        elif kind == "losses":
            return list(crew.losses(what))
        elif kind == "vectors":
            tree, arrays = what
            restore(vectors, tree, arrays)
            crew.follow()
        elif kind == "capture":
            return [_captured(block) for block in crew.blocks]
        elif kind == "restore":
            for block in crew.blocks:
                _restored(block, what[block.number])
        else:
            raise ValueError(f"unknown step {kind!r}")
        return []

    def answer(self, sequence: int, steps: Sequence[StationStep]) -> StationAnswer:
        """Run several steps and return the last result."""
        with self.lock:
            if sequence == self.sequence:
                return self.last
            if sequence != self.sequence + 1:
                raise Forgotten(f"call {sequence} where call {self.sequence + 1} was expected")
            began = time.perf_counter()
            for step in steps:
                found = self.perform(step)
            seconds = time.perf_counter() - began
            self.last = StationAnswer(dict(zip(self.numbers, found, strict=False)), seconds)
            self.sequence = sequence
            return self.last


def _captured(block: Block) -> BlockState:
    tree, arrays = capture(block, "block")
    return BlockState(block.number, json.dumps(tree), json.dumps(list(arrays)), [*arrays.values()])


def _restored(block: Block, state: BlockState) -> None:
    names = json.loads(state.names)
    restore(block, json.loads(state.tree), dict(zip(names, state.arrays, strict=True)))


def _threads() -> int:
    """Return how many threads the worker has."""
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except (ValueError, AttributeError):
        return 1


_stations: Final[dict[str, Station]] = {}
_opening: Final = threading.Lock()


def _station(fit: str) -> Station:
    try:
        return _stations[fit]
    except KeyError:
        raise Forgotten("this worker does not know the fit") from None


# The functions that tasks call.


def measure(piece: BlockPiece, *data: Any) -> Measured:
    """Count the examples of a file or of a part of a collection."""
    return (piece.filled(data) if isinstance(piece, PartPiece) else piece).measure()


def open_shard(fit: str, origin: BlockOrigin, data: Sequence[Sequence[Any]]) -> None:
    """Make the shard of a block, before anything is read."""
    with _opening:
        station = _stations.setdefault(fit, Station())
    origin = origin.filled(data)
    station.shards[origin.number] = Shard(origin.number, origin.pieces, origin.first, origin.weight)


def on_shard(fit: str, number: int, method: str, arguments: tuple[Any, ...]) -> Any:
    """Call a method of the shard of a block."""
    station = _station(fit)
    if number not in station.shards:
        raise Forgotten(f"this worker does not hold block {number}")
    return getattr(station.shards[number], method)(*arguments)


def build(fit: str, number: int, blueprint: Blueprint) -> Built:
    """Lay out the problem of a block."""
    station = _station(fit)
    if number not in station.shards:
        raise Forgotten(f"this worker does not hold block {number}")
    return station.lay_out(number, blueprint)


def rebuild(
    fit: str,
    origin: BlockOrigin,
    data: Sequence[Sequence[Any]],
    preparation: Preparation,
    numbering: BlockNumbers,
    blueprint: Blueprint,
) -> Built:
    """Make a block again that was on another worker, from its source."""
    open_shard(fit, origin, data)
    # All blocks of a worker are sent the same object, and reading changes it.
    on_shard(fit, origin.number, "read", (copy.deepcopy(preparation),))
    on_shard(fit, origin.number, "settle", (numbering,))
    return build(fit, origin.number, blueprint)


def enlist(
    fit: str,
    numbers: Sequence[int],
    plan: BlockPlan,
    l2: float,
    l1: float,
    weights: Floats | None,
    sequence: int,
) -> None:
    """Make the blocks of a worker ready for the first round."""
    station = _station(fit)
    for number in set(station.shards) - set(numbers):
        del station.shards[number]
    missing = set(numbers) - set(station.shards)
    if missing:
        raise Forgotten(f"this worker does not hold the blocks {sorted(missing)}")
    with station.lock:
        station.enlist(plan, l2, l1, weights, sequence)


def answer(fit: str, sequence: int, steps: Sequence[StationStep]) -> StationAnswer:
    """Run several steps with the blocks of a worker."""
    return _station(fit).answer(sequence, steps)


def built_blocks(fit: str) -> set[int]:
    """Return the blocks of a fit that this worker has laid out."""
    station = _stations.get(fit)
    if station is None:
        return set()
    return {number for number, shard in station.shards.items() if shard.problem is not None}


def forget(fit: str) -> None:
    """Forget a fit, and free its memory."""
    station = _stations.pop(fit, None)
    if station is not None and station.crew is not None:
        station.crew.close()
