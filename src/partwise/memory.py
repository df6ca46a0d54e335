"""The memory limit of the process, which is checked before large arrays are made."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from .errors import DataError

__all__ = ["BYTES_A_FEATURE", "check_memory", "memory_limit"]

#: The bytes per feature that the layout of the weights takes while it is made.
BYTES_A_FEATURE: Final = 64
_CGROUPS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

#: Where the system says which groups a process is in, and where it shows their limits.
_OWN: Final = "/proc/self/cgroup"
_ROOT: Final = "/sys/fs/cgroup"


def memory_limit() -> float:
    """Return the bytes of memory that this process can use at most; inf if no limit is known."""
    limits = [math.inf]
    # Windows has no sysconf, and other systems may not know these values. A cgroup file may be
    # missing or hold "max".
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in (*map(Path, _CGROUPS), *_own_cgroups()):
        with suppress(OSError, ValueError):
            limits.append(int(name.read_text(encoding="ascii")))
    return min(limit for limit in limits if limit > 0)


def _own_cgroups() -> list[Path]:
    """Return the files that may limit this process where it is in a group of its own."""
    found = []
    with suppress(OSError, ValueError):
        for line in Path(_OWN).read_text(encoding="utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            for inner in (Path(group), *Path(group).parents):
                path = inner.relative_to("/") if inner.is_absolute() else inner
                if not controllers:
                    found.append(Path(_ROOT, path, "memory.max"))
                elif "memory" in controllers.split(","):
                    found.append(Path(_ROOT, "memory", path, "memory.limit_in_bytes"))
    return found


def check_memory(needed: float, what: str) -> None:
    """Raise a DataError if something needs more memory than there is.

    Parameters
    ----------
    needed : float
        A lower bound of the bytes that are needed.
    what : str
        What needs them; the subject of the sentence in the message.
    """
    limit = memory_limit()
    if needed > limit:
        raise DataError(
            f"{what} would need at least {needed / 2**30:,.0f} GiB of memory, and this machine "
            f"has {limit / 2**30:,.0f}; number the features without gaps, or use fewer features or "
            "labels"
        )
