"""A journal of what arrays on disk held before they were changed.

The arrays are cut into blocks and changed in place. A *generation* begins at a moment whose content
must not be lost; from then on the old content of a block is written to the journal before the block
is first changed. Undoing a generation, and those after it, brings that moment back.

    journal/000003-5f0c2a91/000017.undo     the third generation, its record number 17

A record is a file of named arrays (`container.py`) that gets its name only when it is complete on
disk, and its checksum is tested before it is used. So whenever the process is killed, either the
record of a block is there, or the block was not changed. A process that goes on where another was
killed may note a block again; as records are undone from the last to the first, the first one of a
block counts.

Undoing can be killed and done again: records are deleted only when everything is back in its place,
the last one first. A generation that is not needed any more gets another name before it is deleted,
so that no half of it is ever undone.

Files that are only replaced as a whole need no copy: the old one is kept by a second name.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy.typing as npt

from ..errors import DataError, ModelFileError
from .container import read_container, write_container

__all__ = ["ArrayRun", "Journal", "write_plainly"]

_SUFFIX: Final = ".undo"
#: A file as it was when the generation began, and the mark of one that was not there.
_KEPT: Final = ".kept"
_ABSENT: Final = ".absent"
#: How the names of generations begin that are being deleted.
_GONE: Final = "gone-"


class ArrayRun(NamedTuple):
    """A run of an array: the name of the array, where the run begins, and what it holds."""

    name: str
    begin: int
    held: npt.NDArray[Any]


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
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        for name in names:
            if name.startswith(_GONE):
                shutil.rmtree(folder / name)
        self.generations = [name for name in names if not name.startswith(_GONE)]
        self._noted: set[int] = set()
        self._records = len(self._undone(self.generations[-1])) if self.generations else 0

    def _undone(self, generation: str) -> list[Path]:
        """Return the records of a generation, the last one first."""
        return sorted((self.folder / generation).glob(f"*{_SUFFIX}"), reverse=True)

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
        self._noted.clear()
        self._records = 0
        return name

    def lacking(self, blocks: Iterable[int]) -> list[int]:
        """Return the blocks whose content has to be noted before they are changed."""
        return [block for block in blocks if block not in self._noted] if self.active else []

    def note(self, blocks: Sequence[int], pieces: Sequence[ArrayRun]) -> None:
        """Write what blocks hold, before they are changed.

        Parameters
        ----------
        blocks : sequence of int
            The numbers of the blocks.
        pieces : sequence of ArrayRun
            What they hold.
        """
        path = self.folder / self.generations[-1] / f"{self._records:06d}{_SUFFIX}"
        header = {"pieces": [[piece.name, piece.begin] for piece in pieces]}
        write_plainly(path, header, {str(k): piece.held for k, piece in enumerate(pieces)})
        self._records += 1
        self._noted.update(blocks)

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

    def undo(
        self,
        generation: str,
        put: Callable[[ArrayRun], None],
        files: Path,
        finish: Callable[[], None],
    ) -> None:
        """Go back to the moment when a generation began; it is then the last one, and empty.

        Parameters
        ----------
        generation : str
            Its name.
        put : callable
            Puts what a run of an array held back into the array.
        files : Path
            The folder of the files that were spared.
        finish : callable
            Called when all is as it was, before the records are deleted.
        """
        if generation not in self.generations:
            raise DataError(
                f"{self.folder.parent} has gone on since this checkpoint was written, or belongs "
                "to another one; go on from the latest checkpoint of the fit that used the folder"
            )
        at = self.generations.index(generation)
        for name in reversed(self.generations[at:]):
            for record in self._undone(name):
                for piece in _pieces(record):
                    put(piece)
            for path in (self.folder / name).glob(f"*{_KEPT}"):
                _link(path, files / path.name.removesuffix(_KEPT))
            for path in (self.folder / name).glob(f"*{_ABSENT}"):
                (files / path.name.removesuffix(_ABSENT)).unlink(missing_ok=True)
        finish()
        for name in reversed(self.generations[at:]):
            for record in self._undone(name):
                record.unlink()
            for path in (self.folder / name).iterdir():
                path.unlink()
            if name != generation:
                (self.folder / name).rmdir()
        del self.generations[at + 1 :]
        self._noted.clear()
        self._records = 0
        self.release(generation)

    def release(self, generation: str) -> None:
        """Delete the generations before one, to whose beginnings nobody will go back."""
        at = self.generations.index(generation)
        for name in self.generations[:at]:
            gone = self.folder / (_GONE + name)
            os.replace(self.folder / name, gone)
            shutil.rmtree(gone)
        del self.generations[:at]


def write_plainly(
    path: Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    sync: bool = True,
) -> None:
    """Write a container; where the system refuses it, as on a full disk, raise its OSError."""
    try:
        write_container(path, header, arrays, sync)
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


def _pieces(record: Path) -> list[ArrayRun]:
    try:
        header, arrays = read_container(record)
    except ModelFileError as error:
        raise DataError(
            f"the journal of the duals is damaged, so the checkpoint cannot be gone on from: "
            f"{error}; begin anew in another folder"
        ) from error
    return [
        ArrayRun(name, int(begin), arrays[str(k)])
        for k, (name, begin) in enumerate(header["pieces"])
    ]
