"""Ascent of the dual in blocks on a cluster: the driver, and what it does when workers are lost.

Every so many rounds the driver fetches the states of all blocks and notes its own. When a worker is
lost, its blocks are read again on another one, all blocks return to the last states, and what was
done since is done again. Everything is determined by these states, so that the result is the same
to the last bit, wherever and how often workers are lost.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar, final

import numpy as np

from ..arrays import Floats
from ..errors import ClusterError, DataError
from ..problem.evaluation import DualPoint
from ..problem.storage import Storage
from ..solvers.base import Epoch, Evaluation
from ..solvers.blocks.ascent import BlockAscent
from ..solvers.blocks.plan import BlockPlan
from ..solvers.state import capture, restore
from .connection import WorkerLost
from .crew import ClusterCrew, Costs
from .station import BlockState

__all__ = ["ClusterAscent", "RemoteState", "Snapshots"]

_log = logging.getLogger(__name__)

#: The states are fetched every so many passes.
PASSES: Final = 4
#: So many workers may be lost between two fetches of the states.
LOSSES: Final = 20

_Result = TypeVar("_Result")


@final
class ClusterAscent(BlockAscent):
    """Trains in blocks that are on the workers of a cluster.

    Parameters
    ----------
    plan, storage, n_examples, l2, l1, rng
        As in :class:`BlockAscent`.
    crew : ClusterCrew
        The workers, with blocks that are laid out.
    weights : ndarray or None
        Stored weights to start from.
    """

    name: ClassVar[str] = "blocks"
    needs = frozenset({"whole labels"})
    remade = (
        "snapshots", "noted", "done", "inside", "since", "start", "replayed",
        "lost", "costs", "first_rng", "in_vain",
    )  # fmt: skip

    def __init__(
        self,
        plan: BlockPlan,
        storage: Storage,
        n_examples: int,
        l2: float,
        l1: float,
        rng: np.random.Generator,
        crew: ClusterCrew,
        *,
        weights: Floats | None = None,
    ) -> None:
        super().__init__(plan, storage, n_examples, l2, l1, rng)
        self.crew: ClusterCrew = crew
        self.start = weights
        self.states = [RemoteState() for _ in range(plan.blocks)]
        self.snapshots = Snapshots()
        self.noted: tuple[Any, ...] | None = None  # the state of the driver at the last snapshot
        self.first_rng = rng.bit_generator.state
        self.done: list[str] = []  # what was done since then
        self.inside = False  # whether an epoch runs
        self.since = self.replayed = self.lost = 0  # rounds, rounds done again, lost workers
        self.in_vain = 0  # workers lost since the states were last fetched
        self.costs: list[Costs] = []
        self._surely(self._begin_anew)

    # What the loop calls

    def epoch(self) -> Epoch:
        self.inside = True
        try:
            found = self._surely(super().epoch)
        finally:
            self.inside = False
        self.done.append("epoch")
        costs, self.crew.costs = self.crew.costs, Costs()
        self.costs.append(costs)
        self._tell(costs)
        return found

    def evaluate(self) -> Evaluation:
        found = self._surely(super().evaluate)
        self.done.append("evaluate")
        return found

    def primal(self, weights: Floats) -> float:
        return self._surely(lambda: BlockAscent.primal(self, weights))

    def dual_point(self) -> DualPoint:
        # The dual variables stay where they are: they may be larger than the memory here.
        return DualPoint(np.zeros(0))

    def close(self) -> None:
        super().close()
        self.snapshots.close()

    # States

    def captured(self) -> None:
        """Fetch the states of all blocks, since the state of this solver is asked for."""
        if self.inside:
            self._snapshot()  # a worker that is lost here ends the epoch, which begins again
        else:
            self._surely(self._snapshot)

    def restored(self) -> None:
        super().restored()
        if not all(state.tree for state in self.states):
            raise DataError("the states of the blocks are missing")
        self._note()
        self._surely(self._send)

    def _round(self) -> None:
        super()._round()
        self.since += 1
        if self.since >= PASSES * self.plan.exchanges:
            self._snapshot()

    def _snapshot(self) -> None:
        """Fetch the states of all blocks, and note that of the driver."""
        size = self.snapshots.keep(self.crew.states(), self.states)
        self._note()
        _log.debug("fetched the states of all blocks, %.1f MB", size / 1e6)
        if self.crew.rebalanced():
            self._send()

    def _note(self) -> None:
        held = {name: value for name, value in vars(self).items() if name in _OWN}
        tree, arrays = capture(self.vectors, "vectors")
        copies = {name: array.copy() for name, array in arrays.items()}
        term, more = capture(self.term, "term")
        self.noted = held, (tree, copies), (term, more), self.rng.bit_generator.state
        self.done, self.since, self.in_vain = [], 0, 0

    def _go_back(self) -> None:
        """Return to the last states, here and on all workers."""
        if self.noted is None:
            self._begin_anew()
            return
        held, vectors, term, rng = self.noted
        vars(self).update(held)
        restore(self.vectors, *vectors)
        restore(self.term, *term)
        self.rng.bit_generator.state = rng
        self.since = 0
        self._send()

    def _send(self) -> None:
        self.crew.send_states([state.as_state(b) for b, state in enumerate(self.states)])
        self.crew.send_vectors(*capture(self.vectors, "vectors"))

    def _begin_anew(self) -> None:
        """Return to the start of the fit."""
        plan, storage, n, pause = self.plan, self.storage, self.examples, self.pause
        BlockAscent.__init__(self, plan, storage, n, self.l2, self.l1, self.rng)
        self.pause = pause
        self.rng.bit_generator.state = self.first_rng
        self.crew.enlist(plan, self.l2, self.l1, self.start)
        if self.start is not None:
            self.start_from(*self.fresh(), self.start)
            self.crew.send_vectors(*capture(self.vectors, "vectors"))
        self.since = 0

    # Losses of workers

    def _surely(self, call: Callable[[], _Result]) -> _Result:
        """Call a function. If a worker is lost, return to the last states and call it again."""
        while True:
            try:
                return call()
            except WorkerLost as lost:
                self._recover(lost)

    def _count(self, lost: WorkerLost) -> None:
        """Count a lost worker; raise a ClusterError if there were too many."""
        self.lost += 1
        self.in_vain += 1
        self.replayed += self.since
        if self.in_vain > LOSSES:
            raise ClusterError(
                f"workers were lost {self.in_vain} times since the states of the blocks were last "
                f"fetched ({lost}); they may have too little memory: see their logs"
            ) from lost

    def _recover(self, lost: WorkerLost) -> None:
        self._count(lost)
        _log.warning(
            "worker lost (%s); its blocks are read again, and %d rounds are repeated",
            lost, self.since,
        )  # fmt: skip
        # What is repeated was reported and saved before.
        pause, self.pause = self.pause, lambda: None
        left, self.done = deque(self.done), []
        while True:
            try:
                again = self.crew.replace_lost()
                self._go_back()
                while left:
                    BlockAscent.epoch(self) if left[0] == "epoch" else self._refresh()
                    # If states were fetched meanwhile, what is done counts from there.
                    self.done.append(left.popleft())
                break
            except WorkerLost as another:
                _log.warning("another worker lost: %s", another)
                self._count(another)
                left.extendleft(reversed(self.done))
                self.done = []
        self.pause = pause
        _log.info("%d blocks were read again; the fit goes on", again)

    def _refresh(self) -> None:
        """Repeat the part of an evaluation that changes the state."""
        self.linear = self.fresh()[0]

    def _tell(self, costs: Costs) -> None:
        _log.info("pass %d: %s", self.epochs, costs)
        seconds = costs.computing + costs.waiting
        if self.epochs == 3 and costs.work < seconds:
            _log.info(
                "one machine would be faster: a pass takes %.2f s here, of which %.0f%% are "
                "waiting, and all blocks together compute %.2f s",
                seconds, 100.0 * costs.waiting / seconds, costs.work,
            )  # fmt: skip


#: The plain numbers of the state of the driver.
_OWN: Final = (
    "moves", "epochs", "turn", "begun", "sigma", "undone", "linear", "norm", "visits", "share",
    "pass_l2",
)  # fmt: skip


class RemoteState:
    """The state of a block that is elsewhere, as part of the state of a solver.

    Attributes
    ----------
    tree, names : str
        Plain data, and the names of the arrays, as JSON; empty if the state is not known.
    arrays : list of ndarray
        The arrays.
    """

    grows: ClassVar[tuple[str, ...]] = ("arrays",)

    def __init__(self) -> None:
        self.tree, self.names = "", ""
        self.arrays: list[Any] = []

    def as_state(self, number: int) -> BlockState:
        """Return the state in the form that a worker takes."""
        return BlockState(number, self.tree, self.names, [np.asarray(a) for a in self.arrays])


class Snapshots:
    """A folder with the last states of all blocks.

    The states of all blocks may be larger than the memory of the driver, so they are written to
    files, which are mapped. New states are written beside the old ones, which are deleted when all
    new ones are there.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="partwise-")
        self._number = 0

    def keep(self, states: Sequence[BlockState], into: Sequence[RemoteState]) -> int:
        """Write states to files, and put mapped arrays in the place of those before.

        Returns the number of bytes.
        """
        self._number += 1
        total = 0
        mapped = []
        for state in states:
            arrays = []
            for k, array in enumerate(state.arrays):
                path = Path(self._folder.name) / f"{self._number}-{state.number}-{k}.npy"
                np.save(path, array)
                total += array.nbytes
                arrays.append(np.load(path, mmap_mode="r") if array.size else array)
            mapped.append(arrays)
        for held, state, arrays in zip(into, states, mapped, strict=True):
            held.tree, held.names, held.arrays = state.tree, state.names, arrays
        for name in os.listdir(self._folder.name):
            if not name.startswith(f"{self._number}-"):
                os.unlink(os.path.join(self._folder.name, name))
        return total

    def close(self) -> None:
        """Delete the folder."""
        self._folder.cleanup()
