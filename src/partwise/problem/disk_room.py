"""Examples and duals on disk, in blocks of neighbouring examples.

All arrays that are as long as the data are mapped files (`partwise.files.mapped`). An epoch visits
the blocks in a random order, and the examples of a block in a random order before it goes on to the
next. While a block is visited a thread reads the next one and lets the system forget the last one.

The duals are changed in place. From the first mark on, the thread also writes what the next block
holds to the journal (`partwise.files.journal`), and a block is entered only when that is done. So a
process may be killed at any moment: the duals of the mark can be brought back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError
from ..files.container import read_container
from ..files.journal import Journal, write_plainly
from ..files.mapped import MappedFile
from ..files.work_folder import WorkFolder, telling
from .room import Room

__all__ = ["BLOCK_BYTES", "Blocked", "DiskRoom", "cut_blocks"]

#: How many bytes of features and duals a block has: enough for a disk to read at full speed, and so
#: few that some blocks fit into any memory.
BLOCK_BYTES: Final = 1 << 25
#: The last blocks are forgotten once more, as often as this, until what was changed is written.
_FORGOTTEN_AGAIN: Final = 2


class Blocked(NamedTuple):
    """A mapped file, and where each block begins in it (one number more than there are blocks)."""

    file: MappedFile
    cuts: Ints


def cut_blocks(sizes: Ints, block_bytes: int) -> Ints:
    """Cut the examples into blocks; returns where each begins, and the number of examples.

    Parameters
    ----------
    sizes : ndarray of int64
        How many bytes the examples before each example have together, and at last all of them.
    block_bytes : int
        A block ends with the first example that reaches this.
    """
    n = len(sizes) - 1
    bounds = [0]
    while bounds[-1] < n:
        wanted = sizes[bounds[-1]] + block_bytes
        bounds.append(min(n, max(bounds[-1] + 1, int(np.searchsorted(sizes, wanted)))))
    return np.array(bounds, dtype=np.int64)


class DiskRoom(Room):
    """A folder on disk.

    Parameters
    ----------
    folder : WorkFolder
        The folder.
    bounds : ndarray of int64
        Where each block of examples begins, and the number of examples.
    part_cuts : ndarray of int64
        The same for the parts of the examples.
    held : mapping of str to Blocked
        The files of the problem.
    """

    on_disk = True

    def __init__(
        self, folder: WorkFolder, bounds: Ints, part_cuts: Ints, held: Mapping[str, Blocked]
    ) -> None:
        self.folder, self.block_bounds, self.part_cuts = folder, bounds, part_cuts
        self.held = dict(held)
        self.duals: dict[str, Blocked] = {}
        self.journal = Journal(folder.part("journal"))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="partwise-disk")
        self._coming: tuple[int, Future[None]] | None = None
        self._here: int | None = None
        self._left: list[int] = []
        self._plan: list[int] = []

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.block_bounds) - 1

    @property
    def nbytes(self) -> int:
        """How many bytes the files of the problem take on disk."""
        return sum(blocked.file.nbytes for blocked in self.held.values())

    # The order of visits

    def order(self, rng: np.random.Generator, n: int) -> Ints:
        bounds = self.block_bounds
        drawn = [
            bounds[b] + rng.permutation(bounds[b + 1] - bounds[b])
            for b in rng.permutation(self.n_blocks)
        ]
        return np.concatenate([*drawn, np.zeros(0, dtype=np.int64)])

    def grouped(self, rng: np.random.Generator, drawn: Ints) -> Ints:
        """Visit the blocks in a random order, and what was drawn of each in the order of draws."""
        turn = rng.permutation(self.n_blocks)
        return drawn[np.argsort(turn[self._blocks_of(drawn)], kind="stable")]

    def drawn(self, rng: np.random.Generator, chances: Floats, n: int) -> Ints:
        """Draw n examples by their chances.

        They come in windows, each of one block. The block of a window is drawn by the chances of
        its examples together, whatever the windows before were, so each draw has the right chances.
        """
        bounds = self.block_bounds
        of_blocks = np.add.reduceat(chances, bounds[:-1])
        windows = rng.choice(self.n_blocks, size=self.n_blocks, p=of_blocks / of_blocks.sum())
        sizes = np.diff(np.arange(self.n_blocks + 1) * n // self.n_blocks)
        found = []
        for b, size in zip(windows.tolist(), sizes.tolist(), strict=True):
            own = chances[bounds[b] : bounds[b + 1]]
            found.append(bounds[b] + rng.choice(len(own), size=size, p=own / own.sum()))
        return np.concatenate(found)

    def block(self, example: int, n: int) -> tuple[int, int, int]:
        number = int(self._blocks_of(np.array([example]))[0])
        return number, int(self.block_bounds[number]), int(self.block_bounds[number + 1])

    def _blocks_of(self, examples: Ints) -> Ints:
        return np.asarray(np.searchsorted(self.block_bounds, examples, "right") - 1)

    def ends(self, order: Ints) -> Ints:
        blocks = self._blocks_of(order)
        begins = np.flatnonzero(np.diff(blocks, prepend=-1))
        self._plan = blocks[begins].tolist()
        return np.append(begins[1:], len(order)) if len(order) else begins

    def enter(self, order: Ints, begin: int, end: int) -> None:
        self._enter(int(self._blocks_of(order[begin : begin + 1])[0]), True)

    def sweep(self, n: int, changes: bool = False) -> Iterator[tuple[int, int]]:
        bounds = self.block_bounds
        plan, self._plan = self._plan, list(range(self.n_blocks))
        for block in range(self.n_blocks):
            self._enter(block, changes)
            yield int(bounds[block]), int(bounds[block + 1])
        self._plan = plan

    def _enter(self, block: int, changes: bool) -> None:
        """Wait until a block may be visited, and prepare for the one after it."""
        if block == self._here:
            with telling(self.folder.path):
                self._note(block, changes)
            return
        with telling(self.folder.path):
            # The thread is never left to itself: it must not note a block that is being changed.
            if self._await() != block:
                self._read(block)
            self._note(block, changes)
        left, self._here = self._here, block
        following = self._after(block)
        if following is not None:
            self._coming = following, self._thread.submit(self._prepare, following, changes)
        if left is not None:
            self._left = [*self._left[-_FORGOTTEN_AGAIN:], left]
            self._thread.submit(self._forget, [old for old in self._left if old != following])

    def _after(self, block: int) -> int | None:
        """Return the block that is visited after this one, as far as that is known."""
        if block not in self._plan:
            return None
        at = self._plan.index(block)
        del self._plan[:at]
        return self._plan[1] if len(self._plan) > 1 else None

    def _await(self) -> int | None:
        """Wait for the block that the thread prepares, and return which one it was."""
        if self._coming is None:
            return None
        (block, future), self._coming = self._coming, None
        future.result()
        return block

    # What the thread does

    def _prepare(self, block: int, changes: bool) -> None:
        self._read(block)
        self._note(block, changes)

    def _read(self, block: int) -> None:
        for blocked in (*self.held.values(), *self.duals.values()):
            blocked.file.will_need(blocked.cuts[block], blocked.cuts[block + 1])

    def _note(self, block: int, changes: bool) -> None:
        """Write what the duals of a block hold to the journal, if it will be changed."""
        if not changes or not self.journal.lacks(block):
            return
        begins, arrays = {}, {}
        for name, (file, cuts) in self.duals.items():
            begins[name] = int(cuts[block])
            arrays[name] = file.array[cuts[block] : cuts[block + 1]]
        self.journal.write(block, begins, arrays)

    def _forget(self, blocks: list[int]) -> None:
        for block in blocks:
            for blocked in (*self.held.values(), *self.duals.values()):
                blocked.file.forget(blocked.cuts[block], blocked.cuts[block + 1])

    # The duals

    def parts(self, name: str, n: int) -> Floats:
        """Return the mapped file of this name; it is made when it is first asked for."""
        if n != self.part_cuts[-1]:
            raise ValueError(f"{n} numbers for {self.part_cuts[-1]} parts")
        return self.dual(name, np.float64, self.part_cuts)

    def dual(self, name: str, dtype: npt.DTypeLike, cuts: Ints) -> npt.NDArray[Any]:
        """Return an array that the room keeps, with any content.

        Parameters
        ----------
        name : str
            Its name. An array of the same name that was asked for before is the same array.
        dtype : dtype
            What it holds.
        cuts : ndarray of int64
            Where each block begins in it, and how long it is.
        """
        if name not in self.duals:
            path = self.folder.part("duals") / name
            with telling(self.folder.path):
                file = _opened(path, np.dtype(dtype), int(cuts[-1]), self.journal.active)
            self.duals[name] = Blocked(file, cuts)
        return self.duals[name].file.array

    def put(self, name: str, block: int, arrays: Mapping[str, Any]) -> None:
        """Write arrays of a block to a file of their own, in place of those before."""
        path = self._place(name, block)
        with telling(self.folder.path):
            self.journal.spare(path)
            write_plainly(path, {"block": block}, arrays)

    def take(self, name: str, block: int) -> dict[str, Any] | None:
        path = self._place(name, block)
        if not path.exists():
            return None
        _, held = read_container(path)
        return {name: np.array(array) for name, array in held.items()}

    def _place(self, name: str, block: int) -> Path:
        return self.folder.part("duals") / f"{name}.{block}"

    def keeps(self, array: Any) -> bool:
        return any(array is blocked.file.array for blocked in self.duals.values())

    # Marks

    def mark(self) -> dict[str, Any]:
        with telling(self.folder.path):
            self._await()
            for blocked in self.duals.values():
                blocked.file.flush()
            generation = self.journal.begin()
        return {"folder": self.folder.id, "generation": generation, **self._shape()}

    def _shape(self) -> dict[str, Any]:
        """Describe the arrays that a mark covers, as JSON can hold it."""
        digest = hashlib.sha256(self.block_bounds.tobytes() + self.part_cuts.tobytes())
        sizes = {
            name: [blocked.file.dtype.str, int(blocked.cuts[-1])]
            for name, blocked in sorted(self.duals.items())
        }
        return {"blocks": digest.hexdigest(), "arrays": sizes}

    def back_to(self, mark: Mapping[str, Any]) -> None:
        if mark.get("folder") != self.folder.id:
            raise DataError(
                f"{self.folder.path} is not the folder of this checkpoint; give the folder that "
                "the fit used when the checkpoint was written"
            )
        shape = self._shape()
        if any(mark.get(name) != value for name, value in shape.items()):
            raise DataError(
                f"the duals in {self.folder.path} belong to other examples or to another solver; "
                "go on with the data and the options of the fit that wrote the checkpoint"
            )
        with telling(self.folder.path):
            self._await()
            generation, files = str(mark.get("generation")), self.folder.part("duals")
            self.journal.undo(generation, self._put, self._flush, files)

    def _put(self, name: str, begin: int, old: npt.NDArray[Any]) -> None:
        self.duals[name].file.array[begin : begin + len(old)] = old

    def _flush(self) -> None:
        for blocked in self.duals.values():
            blocked.file.flush()

    def release(self, mark: Mapping[str, Any]) -> None:
        self.journal.release(str(mark["generation"]))

    # The end

    def close(self, remove: bool = False) -> None:
        """Let go of the files.

        Parameters
        ----------
        remove : bool
            Whether to delete them; a checkpoint of this fit can then not be gone on from.
        """
        self._thread.shutdown()
        for blocked in (*self.held.values(), *self.duals.values()):
            blocked.file.close()
        if remove:
            self.folder.remove()
        self.folder.close()


def _opened(path: Path, dtype: np.dtype[Any], size: int, known: bool) -> MappedFile:
    """Map the file of an earlier process if it has to be kept, or else make a new one."""
    if known and path.exists():
        return MappedFile(path, dtype, size)
    path.unlink(missing_ok=True)
    return MappedFile(path, dtype, size, new=True)
