"""How much memory there is, and how much is taken.

What cannot do is refused with a sentence, in place of a killed process. What can do is counted:
whatever holds arrays is asked for them (`held_bytes`), and a solver says beforehand what it will
take at its peak (:class:`Footprint`).
"""

from __future__ import annotations

import math
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .errors import DataError

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["BYTES_A_FEATURE", "Footprint", "check_memory", "held_bytes", "memory_limit"]

#: What the layout of the weights takes while it is made, for every feature.
BYTES_A_FEATURE: Final = 64
_CGROUPS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_limit() -> float:
    """Give the bytes of memory that this process can have at most; inf if nothing says so."""
    limits = [math.inf]
    # Windows has no sysconf; a system may not know; no group, or one whose limit is "max".
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CGROUPS:
        with suppress(OSError, ValueError):
            limits.append(int(Path(name).read_text(encoding="ascii")))
    return min(limit for limit in limits if limit > 0)


def check_memory(needed: float, what: str) -> None:
    """Refuse what needs more memory than there is.

    Parameters
    ----------
    needed : float
        Bytes, rather too few than too many.
    what : str
        What needs them, the subject of a sentence.
    """
    limit = memory_limit()
    if needed > limit:
        raise DataError(
            f"{what} would need at least {needed / 2**30:,.0f} GiB of memory, and this machine "
            f"has {limit / 2**30:,.0f}; number the features without gaps, or use fewer features or "
            "labels"
        )


@dataclass(frozen=True)
class Footprint:
    """What a solver takes at its peak beside the problem, counted in arrays of 8 bytes a number.

    Attributes
    ----------
    vectors : float
        How many arrays are as long as the stored weights.
    parts : float
        How many have one number for each part of all examples.
    examples : float
        How many have one number for each example.
    other : float
        The bytes of what is as long as none of these.
    """

    vectors: float = 0.0
    parts: float = 0.0
    examples: float = 0.0
    other: float = 0.0

    def nbytes(self, problem: Problem) -> float:
        """Give the bytes for a problem."""
        numbers = self.vectors * problem.storage.n_places + self.parts * problem.n_parts
        return 8.0 * (numbers + self.examples * problem.n_examples) + self.other


def held_bytes(*things: Any) -> int:
    """Count the bytes of the arrays and strings that things hold, each of them once.

    Parameters
    ----------
    *things
        Arrays, strings, tuples, lists, dicts, and objects of the package: whatever they hold is
        counted with them. Of a view, the array that it looks at is counted.
    """
    seen: set[int] = set()
    total, waiting = 0, list(things)
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, np.ndarray):
            while isinstance(thing.base, np.ndarray):
                thing = thing.base
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            total += max(thing.nbytes, sys.getsizeof(thing))
        elif isinstance(thing, str):
            total += sys.getsizeof(thing)
        elif isinstance(thing, (tuple, list)):
            total += sys.getsizeof(thing)
            waiting.extend(thing)
        elif isinstance(thing, dict):
            total += sys.getsizeof(thing)
            waiting.extend((*thing.keys(), *thing.values()))
        elif type(thing).__module__.startswith(__package__):
            waiting.extend(getattr(thing, "__dict__", {}).values())
    return total
