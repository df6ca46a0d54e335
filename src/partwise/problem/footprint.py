"""How much memory a problem and its solver take.

Whatever holds arrays is asked for them (`held_bytes`), and a solver says beforehand what it will
take at its peak (:class:`Footprint`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["Footprint", "held_bytes"]


@dataclass(frozen=True)
class Footprint:
    """What a solver needs at its peak besides the problem, in arrays of 8 bytes per number.

    Attributes
    ----------
    vectors : float
        How many arrays are as long as the stored weights.
    parts : float
        How many arrays have one number per part of all examples.
    examples : float
        How many arrays have one number per example.
    other : float
        The bytes of everything else.
    """

    vectors: float = 0.0
    parts: float = 0.0
    examples: float = 0.0
    other: float = 0.0

    def nbytes(self, problem: Problem) -> float:
        """Return the number of bytes for a problem."""
        numbers = self.vectors * problem.storage.n_places + self.parts * problem.n_parts
        return 8.0 * (numbers + self.examples * problem.n_examples) + self.other


def held_bytes(*things: Any) -> int:
    """Count the bytes of the arrays and strings that things hold, each of them once.

    Parameters
    ----------
    *things
        Arrays, strings, tuples, lists, dicts, and objects of the package: whatever they hold is
        counted with them. For a view, the array that it looks at is counted.
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
        elif type(thing).__module__.startswith("partwise."):
            waiting.extend(getattr(thing, "__dict__", {}).values())
    return total
