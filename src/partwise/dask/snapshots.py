"""The states of blocks, on the disk of the driver."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .station import BlockState

__all__ = ["RemoteState", "Snapshots"]


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
        """Return it as a worker takes it."""
        return BlockState(number, self.tree, self.names, [np.asarray(a) for a in self.arrays])


class Snapshots:
    """A folder with the last states of all blocks.

    The states of all blocks may be larger than the memory of the driver, so they are written to
    files, which are mapped. New states are written beside the old ones, which are deleted when all
    new ones are there.

    Parameters
    ----------
    folder : str or None
        Where to make the folder; None is where temporary files are.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="partwise-", dir=folder)
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
