"""Examples and duals on disk, in blocks of neighbouring examples.

All arrays that are as long as the data are mapped files (`partwise.files.mapped`). An epoch takes
the blocks in a random order, some at a time: a *window*. The examples of a window are visited in a
random order before the next window is entered. Every epoch has other windows, which matters: if the
same examples follow each other in every epoch, their duals lean on each other, and a fit takes up
to twice as many passes or, with the hinge loss, six times as many. Windows of eight blocks take as
many as orders of all examples do.

While a window is visited a thread reads the next one, and lets the system forget the last one if
memory is scarce.

The duals are changed in place. From the first mark on, the thread also writes what the next window
holds to the journal (`partwise.files.journal`), and a window is entered only when that is done. So
a process may be killed at any moment: the duals of the mark can be brought back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError
from ..files.container import read_container
from ..files.journal import ArrayRun, Journal, write_plainly
from ..files.mapped import MappedFile
from ..files.work_folder import WorkFolder, telling
from ..memory import memory_limit
from .room import Room, RoomBlock

__all__ = ["BLOCK_BYTES", "WINDOW", "Blocked", "DiskRoom", "cut_blocks"]

#: How many bytes of features and duals a block has: enough for a disk to read at full speed.
BLOCK_BYTES: Final = 1 << 22
#: How many blocks a window has.
WINDOW: Final = 8
#: Blocks are forgotten at once if all of them take more than this share of the memory.
_CROWDED: Final = 0.5

_Window = tuple[int, ...]


class Blocked(NamedTuple):
    """A mapped file, and where each block begins in it (one number more than there are blocks)."""

    file: MappedFile
    cuts: Ints


def cut_blocks(sizes: Ints, block_bytes: int) -> Ints:
    """Cut the examples into blocks; return where each begins, and the number of examples.

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
    memory : float or None
        The bytes of memory that there are; None: as many as the system allows.
    """

    on_disk = True

    def __init__(
        self,
        folder: WorkFolder,
        bounds: Ints,
        part_cuts: Ints,
        held: Mapping[str, Blocked],
        memory: float | None = None,
    ) -> None:
        self.folder, self.bounds, self.part_cuts = folder, bounds, part_cuts
        self.memory = memory_limit() if memory is None else memory
        self.held = dict(held)
        self.duals: dict[str, Blocked] = {}
        self.journal = Journal(folder.part("journal"))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="partwise-disk")
        self._coming: tuple[_Window, Future[None]] | None = None
        self._here: _Window = ()
        self._left: _Window = ()
        self._unwritten: set[Path] = set()  # files that may not be on the disk yet
        #: The windows of the present order: where each ends, and its blocks.
        self._plan: list[tuple[int, _Window]] = []

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.bounds) - 1

    @property
    def nbytes(self) -> int:
        """How many bytes the files of the problem take on disk."""
        return sum(blocked.file.nbytes for blocked in self.held.values())

    @property
    def dual_bytes(self) -> int:
        """How many bytes the duals take on disk."""
        return sum(blocked.file.nbytes for blocked in self.duals.values())

    @property
    def _files(self) -> list[Blocked]:
        return [*self.held.values(), *self.duals.values()]

    # The order of visits

    def order(self, rng: np.random.Generator, n: int) -> Ints:
        drawn = rng.permutation(self.n_blocks)
        found = [np.zeros(0, dtype=np.int64)]
        for at in range(0, self.n_blocks, WINDOW):
            found.append(rng.permutation(self._examples(drawn[at : at + WINDOW])))
        return np.concatenate(found)

    def _examples(self, blocks: Ints) -> Ints:
        bounds = self.bounds
        return np.concatenate([np.arange(bounds[b], bounds[b + 1]) for b in blocks])

    def grouped(self, rng: np.random.Generator, drawn: Ints) -> Ints:
        """Visit the blocks in random windows, and what was drawn of each in the order of draws."""
        window = rng.permutation(self.n_blocks) // WINDOW
        return drawn[np.argsort(window[self._blocks_of(drawn)], kind="stable")]

    def drawn(self, rng: np.random.Generator, chances: Floats, n: int) -> Ints:
        """Draw n examples by their chances.

        They come in windows. The blocks of a window are drawn by the chances of their examples
        together, whatever the windows before were, so each draw has the right chances.
        """
        bounds = self.bounds
        of_blocks = np.add.reduceat(chances, bounds[:-1])
        blocks = rng.choice(self.n_blocks, size=self.n_blocks, p=of_blocks / of_blocks.sum())
        sizes = np.diff(np.arange(self.n_blocks + 1) * n // self.n_blocks)
        found = []
        for at in range(0, self.n_blocks, WINDOW):
            window = []
            for b, size in zip(blocks[at : at + WINDOW], sizes[at : at + WINDOW], strict=True):
                own = chances[bounds[b] : bounds[b + 1]]
                window.append(bounds[b] + rng.choice(len(own), size=size, p=own / own.sum()))
            found.append(rng.permutation(np.concatenate(window)))
        return np.concatenate(found)

    def _blocks_of(self, examples: Ints) -> Ints:
        return np.asarray(np.searchsorted(self.bounds, examples, "right") - 1)

    def ends(self, order: Ints) -> Ints:
        """Cut an order before each block that is one too many for a window."""
        blocks = self._blocks_of(order)
        self._plan, begin, size = [], 0, 1024
        while begin < len(order):
            found, firsts = np.unique(blocks[begin : begin + size], return_index=True)
            if len(found) <= WINDOW and begin + size < len(order):
                size *= 2
                continue
            within = np.argsort(firsts)
            end = begin + (size if len(found) <= WINDOW else int(firsts[within[WINDOW]]))
            begin = min(end, len(order))
            self._plan.append((begin, tuple(found[within[:WINDOW]].tolist())))
        return np.array([end for end, _ in self._plan], dtype=np.int64)

    def enter(self, order: Ints, begin: int, end: int) -> None:
        while self._plan and self._plan[0][0] <= begin:
            del self._plan[0]
        window = self._plan[0][1] if self._plan else ()
        blocks = np.unique(self._blocks_of(order[begin:end]))
        if not set(blocks.tolist()) <= set(window):
            self._plan, window = [], tuple(blocks.tolist())
        following = self._plan[1][1] if len(self._plan) > 1 else ()
        self._enter(window, following, True)

    def sweep(self, n: int, changes: bool = False) -> Iterator[tuple[int, int]]:
        windows = [
            tuple(range(at, min(at + WINDOW, self.n_blocks)))
            for at in range(0, self.n_blocks, WINDOW)
        ]
        for window, following in zip(windows, [*windows[1:], ()], strict=True):
            self._enter(window, following, changes)
            yield int(self.bounds[window[0]]), int(self.bounds[window[-1] + 1])

    def window(self, n: int) -> list[RoomBlock]:
        ends = self.bounds.tolist()
        return [RoomBlock(b, ends[b], ends[b + 1]) for b in self._here]

    def _enter(self, window: _Window, following: _Window, changes: bool) -> None:
        """Wait until a window may be visited, and prepare for the one after it."""
        with telling(self.folder.path):
            if window == self._here:
                self._note(window, changes)
                return
            # The thread is never left to itself: it must not note a block that is being changed.
            if self._await() != window:
                self._read(window)
            self._note(window, changes)
        left, self._here = self._here, window
        if following:
            self._coming = following, self._thread.submit(self._prepare, following, changes)
        if self._crowded():
            # The window before the last is forgotten again: what was changed in it is written now.
            old = [*left, *self._left]
            self._thread.submit(self._forget, [b for b in old if b not in {*window, *following}])
            self._left = left

    def _await(self) -> _Window | None:
        """Wait for the window that the thread prepares, and return which one it was."""
        if self._coming is None:
            return None
        (window, future), self._coming = self._coming, None
        future.result()
        return window

    def _crowded(self) -> bool:
        return self.nbytes + self.dual_bytes > _CROWDED * self.memory

    # What the thread does

    def _prepare(self, window: _Window, changes: bool) -> None:
        self._read(window)
        self._note(window, changes)
        for block in window:
            for file, cuts in self.held.values():
                file.populate(cuts[block], cuts[block + 1], False)
            for file, cuts in self.duals.values():
                file.populate(cuts[block], cuts[block + 1], changes)

    def _read(self, window: _Window) -> None:
        for block in window:
            for file, cuts in self._files:
                file.will_need(cuts[block], cuts[block + 1])

    def _note(self, window: _Window, changes: bool) -> None:
        """Write what the duals of a window hold to the journal, if they will be changed."""
        blocks = self.journal.lacking(window) if changes else []
        if not blocks or not self.duals:
            return
        pieces = [
            ArrayRun(name, int(cuts[block]), file.array[cuts[block] : cuts[block + 1]])
            for block in blocks
            for name, (file, cuts) in self.duals.items()
        ]
        self.journal.note(blocks, pieces)

    def _forget(self, blocks: list[int]) -> None:
        for block in blocks:
            for file, cuts in self._files:
                file.forget(cuts[block], cuts[block + 1])

    # The duals

    def parts(self, name: str, n: int) -> Floats:
        """Return the mapped file of this name; it is made when it is first asked for."""
        if n != self.part_cuts[-1]:
            raise ValueError(f"{n} numbers for {self.part_cuts[-1]} parts")
        if name not in self.duals:
            path = self.folder.part("duals") / name
            with telling(self.folder.path):
                # What an earlier process left there is of use only if a mark refers to it.
                known = self.journal.active and path.exists()
                if not known:
                    path.unlink(missing_ok=True)
                file = MappedFile(path, np.float64, n, new=not known)
            self.duals[name] = Blocked(file, self.part_cuts)
        return self.duals[name].file.array

    def keeps(self, array: Any) -> bool:
        return any(array is blocked.file.array for blocked in self.duals.values())

    def put(self, name: str, block: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write arrays of a block to a file of their own, in place of those before."""
        path = self._place(name, block)
        with telling(self.folder.path):
            self.journal.spare(path)
            write_plainly(path, {"block": block}, arrays, sync=False)
            self._unwritten.add(path)

    def take(self, name: str, block: int) -> dict[str, npt.NDArray[Any]] | None:
        path = self._place(name, block)
        if not path.exists():
            return None
        _, held = read_container(path)
        return {name: np.array(array) for name, array in held.items()}

    def _place(self, name: str, block: int) -> Path:
        return self.folder.part("duals") / f"{name}.{block}"

    # Marks

    def mark(self) -> dict[str, Any]:
        with telling(self.folder.path):
            self._await()
            self._flush()
            generation = self.journal.begin()
        return {"folder": self.folder.id, "generation": generation, **self._shape()}

    def _shape(self) -> dict[str, Any]:
        """Describe the arrays that a mark covers, as JSON can hold it."""
        digest = hashlib.sha256(self.bounds.tobytes() + self.part_cuts.tobytes())
        return {"blocks": digest.hexdigest(), "arrays": sorted(self.duals)}

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
            self.journal.undo(generation, self._put_back, files, self._flush)

    def _put_back(self, piece: ArrayRun) -> None:
        end = piece.begin + len(piece.held)
        self.duals[piece.name].file.array[piece.begin : end] = piece.held

    def _flush(self) -> None:
        """Wait until all that is kept is on the disk."""
        for blocked in self.duals.values():
            blocked.file.flush()
        for path in sorted(self._unwritten):
            with suppress(FileNotFoundError), open(path, "rb") as file:
                os.fsync(file.fileno())
        self._unwritten.clear()

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
        for blocked in self._files:
            blocked.file.close()
        if remove:
            self.folder.remove()
        self.folder.close()
