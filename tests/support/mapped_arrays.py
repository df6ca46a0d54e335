"""Where the numbers of an array are."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt


def is_mapped(array: npt.NDArray[Any]) -> bool:
    """Return whether an array lives in a mapped file."""
    held: Any = array
    while isinstance(held, np.ndarray):
        held = held.base
    return isinstance(held, mmap.mmap) or (
        isinstance(held, memoryview) and isinstance(held.obj, mmap.mmap)
    )
