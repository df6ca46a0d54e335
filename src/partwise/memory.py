"""The memory limit of the process, which is checked before large arrays are made."""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any, Final

from .errors import NOWHERE, DataError, Place

__all__ = ["BYTES_A_FEATURE", "byte_count", "check_memory", "in_bytes", "memory_limit"]

#: The bytes per feature that the layout of the weights takes while it is made.
BYTES_A_FEATURE: Final = 64
_CGROUPS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

#: Where the system says which groups a process is in, and where it shows their limits.
_OWN: Final = "/proc/self/cgroup"
_ROOT: Final = "/sys/fs/cgroup"


_MOST_MIB: Final = 2**24
#: What needs less is not checked: asking the system takes longer than a small fit should.
_LITTLE: Final = 2.0**24
#: The units of sizes, and how many bytes they are.
_UNITS: Final = {
    "": 1024**2,
    "b": 1,
    **{f"{letter}{end}": 1024 ** (power + 1)
       for power, letter in enumerate("kmgt") for end in ("", "ib")},
    **{f"{letter}b": 1000 ** (power + 1) for power, letter in enumerate("kmgt")},
}  # fmt: skip
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*|%)\s*", re.ASCII | re.IGNORECASE)


def byte_count(given: Any, what: str = "memory_limit") -> int:
    """Read a size in bytes.

    Parameters
    ----------
    given : float or str
        A number of MiB; or a number and a unit, such as "4GB" (10^9), "512MiB" or "4G" (powers of
        1024); or a share of the memory that this process can use, such as "50%".
    what : str
        What it is the size of, for the message.
    """
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    size = math.nan
    if found is not None and found[2] == "%":
        size = memory_limit() * float(found[1]) / 100.0
    elif found is not None and found[2].lower() in _UNITS:
        size = float(found[1]) * _UNITS[found[2].lower()]
    elif isinstance(given, Real) and not isinstance(given, bool):
        # What is larger is more likely a number of bytes.
        size = float(given) * 2.0**20 if float(given) <= _MOST_MIB else math.nan
    if not 1.0 <= size < math.inf:
        raise DataError(
            f"{what} is {given!r}; give a size such as 4GB, 512MiB or 50% (of the memory of the "
            "machine), or a number of MiB"
        )
    return round(size)


def in_bytes(size: float) -> str:
    """Return a size for people: ``1.5 GiB``."""
    unit, power = next(
        (unit, power) for unit, power in (("GiB", 3), ("MiB", 2), ("KiB", 1))
        if size >= 1024**power or unit == "KiB"
    )  # fmt: skip
    number = size / 1024**power
    return f"{number:,.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"


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


def check_memory(needed: float, what: str, place: Place = NOWHERE) -> None:
    """Raise a DataError if something needs more memory than there is.

    Parameters
    ----------
    needed : float
        A lower bound of the bytes that are needed.
    what : str
        What needs them; the subject of the sentence in the message.
    place : Place
        Where it was found.
    """
    if needed > _LITTLE and needed > (limit := memory_limit()):
        raise DataError(
            f"{what} would need at least {needed / 2**30:,.0f} GiB of memory, and this machine "
            f"has {limit / 2**30:,.0f}; number the features without gaps, or use fewer features or "
            "labels",
            place=place,
        )
