"""The folder of a fit whose examples and duals live on disk.

    partwise.json      what the folder is: {"format", "id", "process"}
    lock               held by the process that uses the folder
    spool, problem, duals, journal
                       folders with the files of the fit

A folder serves one fit. Nothing in it is used again by another one, but for the duals and their
journal, which a fit that goes on from a checkpoint takes over.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ..errors import DataError
from .whole_files import lock, replacing

__all__ = ["WorkFolder", "telling"]

_ABOUT: Final = "partwise.json"
_LOCK: Final = "lock"
_FORMAT: Final = 1
_PARTS: Final = ("spool", "problem", "duals", "journal")


@contextmanager
def telling(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError, while files of a fit are written, into a DataError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = (
            "make room on that disk, or give a folder on another one"
            if full
            else "give a folder that you may write to"
        )
        raise DataError(
            f"the files of this fit cannot be kept in {os.fspath(folder)}: {reason}; {advice}"
        ) from error


class WorkFolder:
    """A folder that this process alone uses.

    Parameters
    ----------
    path : str or path-like
        The folder. It is made if it is not there.
    resume : bool
        Whether to take over the duals of an earlier fit; otherwise the folder must be empty.

    Attributes
    ----------
    path : Path
        The folder.
    id : str
        A name that no other folder has. A checkpoint remembers it.

    Raises
    ------
    DataError
        If the folder cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str], resume: bool = False) -> None:
        self.path = Path(path)
        with telling(self.path):
            self._made = not self.path.exists()
            if not self._made and not self.path.is_dir():
                raise DataError(f"{self.path} is no folder; give a new or an empty one")
            self.path.mkdir(parents=True, exist_ok=True)
            self._check_content(resume)
            self._lock = open(self.path / _LOCK, "ab")  # noqa: SIM115 - held until `close`
            self._closing = weakref.finalize(self, self._lock.close)
            if lock(self._lock) is False:
                self._closing()
                raise DataError(
                    f"{self.path} is in use by another fit; wait until it ends, or give another "
                    "folder"
                )
            try:
                # Another process may have used the folder before it was locked.
                self._check_content(resume)
                self.id = self._known_id() if resume else self._describe()
                for name in _PARTS:
                    (self.path / name).mkdir(exist_ok=True)
                if resume:
                    self.clear("spool", "problem")
            except BaseException:
                self._closing()
                raise

    def _check_content(self, resume: bool) -> None:
        names = set(os.listdir(self.path))
        if _ABOUT in names:
            if not resume:
                raise DataError(
                    f"{self.path} holds the files of an earlier fit that did not end; go on from "
                    "its checkpoint, delete the folder, or give another one"
                )
        elif resume:
            raise DataError(
                f"{self.path} holds no files of an earlier fit to go on from; give the folder "
                "that the fit of the checkpoint used"
            )
        else:
            foreign = sorted(names - {_LOCK})
            if foreign:
                raise DataError(
                    f"{self.path} holds other files, such as {foreign[0]!r}; give a new or an "
                    "empty folder"
                )

    def _known_id(self) -> str:
        try:
            about = json.loads((self.path / _ABOUT).read_text(encoding="utf-8"))
            found, version = about["id"], about["format"]
        except (OSError, ValueError, TypeError, KeyError):
            found, version = None, None
        if not isinstance(found, str) or version != _FORMAT:
            raise DataError(
                f"{self.path / _ABOUT} is damaged or was written by another version of partwise; "
                "delete the folder, and begin anew"
            )
        return found

    def _describe(self) -> str:
        name = secrets.token_hex(16)
        about = {"format": _FORMAT, "id": name, "process": os.getpid()}
        with replacing(self.path / _ABOUT) as file:
            file.write(json.dumps(about).encode())
        return name

    def part(self, name: str) -> Path:
        """Return one of the folders inside."""
        return self.path / name

    def free(self) -> int:
        """Return how many bytes are free on the disk of the folder."""
        with telling(self.path):
            return shutil.disk_usage(self.path).free

    def clear(self, *names: str) -> None:
        """Delete what some of the folders inside hold."""
        for name in names:
            shutil.rmtree(self.part(name))
            self.part(name).mkdir()

    def remove(self) -> None:
        """Delete all files of the fit, and the folder itself if it was made for the fit."""
        for name in _PARTS:
            shutil.rmtree(self.part(name), ignore_errors=True)
        for name in (_ABOUT, _LOCK):
            with suppress(FileNotFoundError):
                (self.path / name).unlink()
        if self._made:
            # Somebody may have put a file there.
            with suppress(OSError):
                self.path.rmdir()

    def close(self) -> None:
        """Let other processes use the folder."""
        self._closing()
