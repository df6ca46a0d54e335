"""Files that are written completely or not at all, and advice for when that fails."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["abandon", "lock", "remedy", "replacing"]

_TEMPORARY: Final = re.compile(r"\.partwise-\d+-[0-9a-f]{16}\.tmp", re.ASCII)

#: The files that this process is writing.
_unfinished: set[Path] = set()

_REMEDIES: Final = {
    errno.ENOSPC: "make room on that disk, or choose a file on another one",
    errno.EDQUOT: "delete files of yours on that disk, or choose a file on another one",
    errno.EFBIG: "choose a file on a disk that takes larger files, or raise the limit (ulimit -f)",
    errno.EROFS: "choose a file on a disk that can be written to",
    errno.EACCES: "choose a file in a folder that you may write to",
    errno.EPERM: "choose a file in a folder that you may write to",
    errno.ENOENT: "choose a file in a folder that exists",
    errno.ENOTDIR: "choose a file in a folder that exists",
    errno.EISDIR: "choose the name of a file and not of a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "mend the symbolic link, which leads back to itself, or choose another file",
    errno.EIO: "check the disk, or choose a file on another one",
}


def lock(file: BinaryIO) -> bool | None:
    """Lock a file and return True; False if another process has, None if locks do not work.

    The system releases the lock when the process ends, however it ends.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def remedy(error: OSError) -> str:
    """Return advice on a file that could not be written."""
    return _REMEDIES.get(error.errno or 0, "check space and permissions, or choose another file")


@contextmanager
def replacing(path: str | os.PathLike[str], sync: bool = True) -> Iterator[BinaryIO]:
    """Write to a temporary file, flush it to disk, then rename it to the target.

    Parameters
    ----------
    path
        The file. If it is a symbolic link, the file behind it is replaced and the link is kept.
    sync
        Whether to wait until the file is on the disk, so that it survives a loss of power.

    Yields
    ------
    BinaryIO
        The stream to write to. The file gets its name when the block ends; if the block raises, an
        earlier file of that name is not changed.
    """
    target = Path(os.path.realpath(path))
    _sweep(target.parent)
    temporary, file = _begin(target.parent)
    try:
        # On Windows an open file cannot be renamed; elsewhere the lock must be held until it is.
        with file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
            if fcntl is not None:
                os.replace(temporary, target)
        if fcntl is None:
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        _unfinished.discard(temporary)


def abandon() -> None:
    """Remove incomplete files, for a process that is about to end."""
    for path in [*_unfinished]:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _begin(folder: Path) -> tuple[Path, BinaryIO]:
    """Open a new file in the folder, and lock it for as long as it is open."""
    while True:
        # Not tempfile, whose files only their owner may read, although others may use them.
        path = folder / f".partwise-{os.getpid()}-{secrets.token_hex(8)}.tmp"
        file = open(path, "xb")  # noqa: SIM115
        _unfinished.add(path)
        if lock(file) is not False and _is_at(file, path):
            return path, file
        # Another process removed it before it was locked.
        _unfinished.discard(path)
        file.close()


def _sweep(folder: Path) -> None:
    """Remove the files that killed processes have left in a folder.

    A file is removed only if it has a name that `_begin` gives, is a plain file of this user, and
    is not locked. Its writer holds the lock until the file has its final name, and the system
    releases the lock when the process ends, however it ends. The lock is more reliable than the
    process id in the name, which may be in use again or belong to another machine that shares the
    folder. If files cannot be locked, nothing is removed. An error in here must not prevent a file
    from being written.
    """
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not _TEMPORARY.fullmatch(entry.name):
                continue
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                    continue
                with open(entry.path, "r+b") as file:
                    if lock(file) and _is_at(file, Path(entry.path)):
                        os.unlink(entry.path)


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
