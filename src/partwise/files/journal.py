"""A journal of what arrays on disk held before they were changed.

The arrays are cut into blocks and changed in place. A *generation* begins at a moment whose content
must not be lost; from then on the old content of a block is written to the journal before the block
is first changed. Undoing a generation, and those after it, brings that moment back.

    journal/000003-5f0c2a91/17.undo     the third generation: what block 17 held when it began

A record is a file of named arrays (`container.py`) that gets its name only when it is complete on
disk, and its checksum is tested before it is used. So whenever the process is killed, either the
record of a block is there, or the block was not changed. Undoing can be killed and done again:
records are deleted only when everything is back in its place, those of the latest generation first.

Files that are only replaced as a whole need no copy: the old one is kept by a second name.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from ..errors import DataError, ModelFileError
from .container import read_container, write_container

__all__ = ["Journal", "Put", "write_plainly"]

_SUFFIX: Final = ".undo"
#: A file as it was when the generation began, and the mark of one that was not there.
_KEPT: Final = ".kept"
_ABSENT: Final = ".absent"
#: Puts an array back: its name, where the block begins in it, and what it held.
Put = Callable[[str, int, npt.NDArray[Any]], None]


class Journal:
    """The generations of undo records in a folder.

    Parameters
    ----------
    folder : Path
        The folder, which may hold generations of an earlier process.

    Attributes
    ----------
    generations : list of str
        The generations in their order; records go to the last one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generations = sorted(path.name for path in folder.iterdir() if path.is_dir())
        self._written: set[int] = set()
        if self.generations:
            self._written = set(self._records(self.generations[-1]))

    def _records(self, generation: str) -> dict[int, Path]:
        found = (self.folder / generation).glob(f"*{_SUFFIX}")
        return {int(path.stem): path for path in found if path.stem.isdecimal()}

    @property
    def active(self) -> bool:
        """Whether there is a moment whose content must not be lost."""
        return bool(self.generations)

    def begin(self) -> str:
        """Begin a generation, and return its name."""
        number = int(self.generations[-1].partition("-")[0]) + 1 if self.generations else 1
        # Numbers may come again when the journal went back; names do not.
        name = f"{number:06d}-{secrets.token_hex(4)}"
        (self.folder / name).mkdir()
        self.generations.append(name)
        self._written.clear()
        return name

    def lacks(self, block: int) -> bool:
        """Return whether the old content of a block has to be written before it is changed."""
        return self.active and block not in self._written

    def write(
        self, block: int, begins: Mapping[str, int], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> None:
        """Write what a block holds, unless that was done in this generation.

        Parameters
        ----------
        block : int
            The number of the block.
        begins : mapping of str to int
            Where it begins in each array.
        arrays : mapping of str to ndarray
            What it holds of each array.
        """
        if not self.lacks(block):
            return
        path = self.folder / self.generations[-1] / f"{block}{_SUFFIX}"
        write_plainly(path, {"begins": dict(begins)}, arrays)
        self._written.add(block)

    def spare(self, path: Path) -> None:
        """Keep a file that is about to be replaced, or the fact that there was none.

        Parameters
        ----------
        path : Path
            The file, which is always replaced as a whole.
        """
        if not self.active:
            return
        kept = self.folder / self.generations[-1] / (path.name + _KEPT)
        absent = kept.with_name(path.name + _ABSENT)
        if kept.exists() or absent.exists():
            return
        if path.exists():
            _link(path, kept)
        else:
            absent.touch()

    def undo(self, generation: str, put: Put, finish: Callable[[], None], files: Path) -> None:
        """Go back to the moment when a generation began; it is then the last one, and empty.

        Parameters
        ----------
        generation : str
            Its name.
        put : callable
            Puts what a block held back into an array.
        finish : callable
            Called when all arrays are as they were, before the records are deleted.
        files : Path
            The folder of the files that were spared.
        """
        if generation not in self.generations:
            raise DataError(
                f"{self.folder.parent} has gone on since this checkpoint was written, or belongs "
                "to another one; go on from the latest checkpoint of the fit that used the folder"
            )
        at = self.generations.index(generation)
        for name in reversed(self.generations[at:]):
            for path in self._records(name).values():
                header, arrays = _checked(path)
                for key, array in arrays.items():
                    put(key, int(header["begins"][key]), array)
            for path in (self.folder / name).glob(f"*{_KEPT}"):
                _link(path, files / path.name.removesuffix(_KEPT))
            for path in (self.folder / name).glob(f"*{_ABSENT}"):
                (files / path.name.removesuffix(_ABSENT)).unlink(missing_ok=True)
        finish()
        for name in reversed(self.generations[at + 1 :]):
            shutil.rmtree(self.folder / name)
        for path in (self.folder / generation).iterdir():
            path.unlink()
        del self.generations[at + 1 :]
        self._written.clear()
        self.release(generation)

    def release(self, generation: str) -> None:
        """Delete the generations before one, to whose beginnings nobody will go back."""
        at = self.generations.index(generation)
        for name in self.generations[:at]:
            shutil.rmtree(self.folder / name)
        del self.generations[:at]


def write_plainly(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a container; what fails is told by an error of the system, such as a full disk."""
    try:
        write_container(path, header, arrays)
    except ModelFileError as error:
        raise error.__cause__ if isinstance(error.__cause__, OSError) else error from None


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, at once and in place of whatever had that name."""
    new = target.with_name(target.name + ".new")
    new.unlink(missing_ok=True)
    try:
        os.link(source, new)
    except OSError:  # not every disk has second names
        shutil.copyfile(source, new)
    os.replace(new, target)


def _checked(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    try:
        return read_container(path)
    except ModelFileError as error:
        raise DataError(
            f"the journal of the duals is damaged, so the checkpoint cannot be gone on from: "
            f"{error}; begin anew in another folder"
        ) from error
