"""The blocks of a fit on the workers of a cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from ..arrays import Floats
from ..errors import ClusterError, DataError
from ..problem.storage import Storage
from ..solvers.blocks.ascent import Crew
from ..solvers.blocks.plan import BlockPlan, Change, Fresh, Pass, Round, Update
from .connection import BoundTask, Cluster, WorkerLost
from .shard import Assembly, assemble_blocks
from .station import (
    BlockOrigin,
    BlockState,
    Built,
    StationAnswer,
    StationStep,
    answer,
    build,
    built_blocks,
    enlist,
    forget,
    on_shard,
    open_shard,
    rebuild,
)

__all__ = ["ClusterCrew", "Costs"]

_log = logging.getLogger(__name__)

#: What is larger is sent to the workers straight, and not through the scheduler.
_LARGE: Final = 1 << 18
#: How often blocks are read again because a worker was lost.
_TIMES: Final = 10


@dataclass
class Costs:
    """What the rounds of a pass cost.

    Attributes
    ----------
    calls : int
        How often all workers were called.
    computing : float
        The seconds that the slowest worker computed, summed over the calls.
    work : float
        The seconds that all workers together computed.
    waiting : float
        The seconds that went by beside `computing`, while the driver waited.
    sent, received : int
        The bytes that the driver sent and received.
    """

    calls: int = 0
    computing: float = 0.0
    work: float = 0.0
    waiting: float = 0.0
    sent: int = 0
    received: int = 0

    def __str__(self) -> str:
        """Return the costs in words."""
        return (
            f"{self.calls} calls, {self.computing:.2f} s computing, {self.waiting:.2f} s waiting, "
            f"{self.sent / 1e6:.1f} MB sent, {self.received / 1e6:.1f} MB received"
        )


@dataclass
class Placement:
    """Which worker has which blocks."""

    worker_of: list[str] = field(default_factory=list)

    def of(self, worker: str) -> list[int]:
        """Return the blocks of a worker."""
        return [k for k, address in enumerate(self.worker_of) if address == worker]

    @property
    def workers(self) -> list[str]:
        """The workers that have blocks."""
        return sorted(set(self.worker_of))


class ClusterCrew(Crew):
    """Gives orders to the workers that have the blocks, and replaces those that are lost.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    fit : str
        A name of the fit that no other one has.
    origins : sequence of BlockOrigin
        Where the examples of each block come from.
    parts : callable or None
        Returns the futures of a part of a collection, by its number.
    """

    remade: ClassVar[tuple[str, ...]] = (
        "cluster", "fit", "origins", "placement", "assembly", "built", "waiting", "sequence",
        "number", "costs", "how", "parts",
    )  # fmt: skip

    def __init__(
        self,
        cluster: Cluster,
        fit: str,
        origins: Sequence[BlockOrigin],
        parts: Callable[[int], list[Any]] | None = None,
    ) -> None:
        self.cluster, self.fit, self.origins, self.parts = cluster, fit, list(origins), parts
        self.placement = Placement()
        self.assembly: Assembly | None = None
        self.built: list[Built] = []
        self.waiting: list[StationStep] = []
        self.sequence = self.number = 0
        self.costs = Costs()
        self.how: tuple[BlockPlan, float, float, Floats | None] | None = None

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.origins)

    def _name(self, what: str, detail: str = "") -> str:
        self.number += 1
        return f"partwise-{what}-{self.fit}-{self.number}{detail}"

    # The data

    def prepare(self, how: Any, initial: Any = None) -> Assembly:
        """Read, number and lay out all blocks; a worker that is lost meanwhile costs a new start.

        Parameters
        ----------
        how : Trainer
            The parameters.
        initial : Model or None
            A model to start from.
        """
        for _ in range(_TIMES):
            try:
                return self._prepare(how, initial)
            except WorkerLost as error:
                _log.warning("worker lost while blocks were read, they are read again: %s", error)
                lost = error
        raise ClusterError(
            f"workers were lost {_TIMES} times while blocks were read ({lost}); they may have too "
            "little memory: see their logs"
        ) from lost

    def _prepare(self, how: Any, initial: Any) -> Assembly:
        workers = list(self.cluster.some_workers())
        n, k = len(workers), self.blocks
        self.placement = Placement([workers[b * n // k] for b in range(k)])
        self._each("open", lambda b: (open_shard, (self.fit, self.origins[b], self._data(b))))

        def call(method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
            name = {"look": "count", "settle": "number"}.get(method, method)
            return self._each(name, lambda b: (on_shard, (self.fit, b, method, arguments[b])))

        self.assembly = assemble_blocks(call, k, how, initial)
        blueprint = self.cluster.share(self.assembly.blueprint, self.placement.workers)
        self.built = self._each(
            "build", lambda b: (build, (self.fit, b, blueprint[self.placement.worker_of[b]]))
        )
        return self.assembly

    def _data(self, b: int) -> list[list[Any]]:
        """Return the parts of a collection that a block needs."""
        if self.parts is None:
            return []
        return [self.parts(part) for part in self.origins[b].parts]

    def _each(
        self,
        name: str,
        what: Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]],
        blocks: Sequence[int] | None = None,
    ) -> list[Any]:
        """Call a function for each block on the worker that has it, and return the results."""
        tasks = []
        for b in range(self.blocks) if blocks is None else blocks:
            function, arguments = what(b)
            worker = self.placement.worker_of[b]
            tasks.append(
                self.cluster.submit(worker, self._name(name, f"-{b}"), function, *arguments)
            )
        return self.cluster.collect(tasks)

    def storage(self) -> Storage:
        """Return the places of the weights."""
        assert self.assembly is not None
        return Storage.spread(self.assembly.blueprint.layout)

    def enlist(self, plan: BlockPlan, l2: float, l1: float, weights: Floats | None) -> None:
        """Make all blocks anew, at the point that the fit starts from."""
        self.how = (plan, l2, l1, weights)
        self._enlist()

    def _enlist(self) -> None:
        assert self.how is not None
        plan, l2, l1, weights = self.how
        self.waiting = []
        workers = self.placement.workers
        sent = {} if weights is None else self.cluster.share(weights, workers)
        tasks = []
        for worker in workers:
            first, blocks = sent.get(worker), self.placement.of(worker)
            mine = (self.fit, blocks, plan, l2, l1, first, self.sequence)
            tasks.append(self.cluster.submit(worker, self._name("enlist"), enlist, *mine))
        self.cluster.collect(tasks)

    def replace_lost(self) -> int:
        """Give the blocks of lost workers to others, and make all blocks anew.

        Returns how many blocks were read again.
        """
        assert self.assembly is not None
        alive = self.cluster.some_workers()
        lost = [b for b, worker in enumerate(self.placement.worker_of) if worker not in alive]
        for b in lost:
            # A worker without blocks, as a new one is, comes first.
            loads = {worker: len(self.placement.of(worker)) for worker in alive}
            self.placement.worker_of[b] = min(alive, key=lambda worker: (loads[worker], worker))
        holds = self._who_holds()
        again = [b for b, worker in enumerate(self.placement.worker_of) if b not in holds[worker]]
        made = self.assembly
        if again:
            workers = sorted({self.placement.worker_of[b] for b in again})
            blueprint = self.cluster.share(made.blueprint, workers)
            preparation = self.cluster.share(made.preparation, workers)

            def order(b: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
                worker, numbering = self.placement.worker_of[b], made.numberings[b]
                source = (self.fit, self.origins[b], self._data(b))
                return rebuild, (*source, preparation[worker], numbering, blueprint[worker])

            built = self._each("rebuild", order, again)
            for b, one in zip(again, built, strict=True):
                if one.digest != self.built[b].digest:
                    raise DataError(
                        f"block {b} (counted from 0) was read again because a worker was lost, and "
                        "its examples are others now; give data that stay as they are"
                    )
        self._enlist()
        return len(again)

    def rebalanced(self) -> bool:
        """Give blocks to new workers, and return whether any block was moved.

        All blocks are then made anew, and need their states.
        """
        alive = self.cluster.some_workers()
        loads = {worker: len(self.placement.of(worker)) for worker in alive}
        moved = False
        while loads and max(loads.values()) - min(loads.values()) >= 2 and 0 in loads.values():
            least, most = min(loads, key=loads.__getitem__), max(loads, key=loads.__getitem__)
            self.placement.worker_of[self.placement.of(most)[-1]] = least
            loads[least] += 1
            loads[most] -= 1
            moved = True
        if moved:
            again = self.replace_lost()
            _log.info("new workers: %d blocks were moved to them", again)
        return moved

    def _who_holds(self) -> dict[str, set[int]]:
        """Return the blocks that each worker holds."""
        workers = self.placement.workers
        tasks = [
            self.cluster.submit(worker, self._name("holds"), built_blocks, self.fit)
            for worker in workers
        ]
        return dict(zip(workers, self.cluster.collect(tasks), strict=True))

    # The rounds

    def _ask(self, step: StationStep, name: str) -> dict[int, Any]:
        """Run the waiting steps and one more on all workers, and return the results by block."""
        steps, self.waiting = [*self.waiting, step], []
        self.sequence += 1
        workers, began = self.placement.workers, time.perf_counter()
        size = _bytes(steps)
        sent = (
            self.cluster.share(steps, workers) if size > _LARGE else dict.fromkeys(workers, steps)
        )
        tasks: list[BoundTask] = [
            self.cluster.submit(
                worker, self._name(name), answer, self.fit, self.sequence, sent[worker]
            )
            for worker in workers
        ]
        answers: list[StationAnswer] = self.cluster.collect(tasks)
        costs, slowest = self.costs, max(one.seconds for one in answers)
        costs.calls += 1
        costs.computing += slowest
        costs.work += sum(one.seconds for one in answers)
        costs.waiting += max(time.perf_counter() - began - slowest, 0.0)
        costs.sent += size * len(workers)
        found = {b: value for one in answers for b, value in one.found.items()}
        costs.received += _bytes(list(found.values()))
        return found

    def _in_order(self, step: StationStep, name: str) -> list[Any]:
        found = self._ask(step, name)
        return [found[b] for b in range(self.blocks)]

    def begin(self, coming: Pass) -> None:
        self.waiting.append(StationStep("begin", coming))

    def round(self, message: Round) -> list[Change]:
        return self._in_order(StationStep("round", message), "round")

    def settle(self, update: Update | None) -> None:
        self.waiting.append(StationStep("settle", update))

    def fresh(self) -> list[Fresh]:
        return self._in_order(StationStep("fresh"), "evaluate")

    def losses(self, weights: Floats | str) -> list[float]:
        return self._in_order(StationStep("losses", weights), "evaluate")

    # The states

    def states(self) -> list[BlockState]:
        """Return the states of all blocks."""
        return self._in_order(StationStep("capture"), "save")

    def send_states(self, states: Sequence[BlockState]) -> None:
        """Put states into all blocks, which were just made."""
        for worker in self.placement.workers:
            mine = {b: states[b] for b in self.placement.of(worker)}
            steps = self.cluster.share([StationStep("restore", mine)], [worker])[worker]
            name = self._name("restore")
            task = self.cluster.submit(worker, name, answer, self.fit, self.sequence + 1, steps)
            self.cluster.collect([task])
        self.sequence += 1

    def send_vectors(self, tree: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Put vectors in the place of those that all workers have."""
        self._ask(StationStep("vectors", (tree, arrays)), "restore")

    def close(self) -> None:
        self.cluster.forget(forget, self.fit)


def _bytes(thing: Any) -> int:
    """Count the bytes of the arrays in messages."""
    if hasattr(thing, "nbytes"):
        return int(thing.nbytes)
    if isinstance(thing, dict):
        return sum(_bytes(value) for value in thing.values())
    if isinstance(thing, (list, tuple)):
        return sum(_bytes(value) for value in thing)
    held = getattr(thing, "__dict__", None)
    return 0 if held is None else sum(_bytes(value) for value in held.values())
