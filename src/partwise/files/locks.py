"""Locks on files, which the system releases when a process ends, however it ends."""

from __future__ import annotations

from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["lock"]


def lock(file: BinaryIO) -> bool | None:
    """Lock a file and return True; False if another process has, None if locks do not work."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
