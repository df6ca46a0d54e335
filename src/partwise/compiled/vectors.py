"""Sums over whole vectors in one thread and one order, which BLAS does not promise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Floats
from .jit import FAST, njit


@njit(fastmath=FAST)
def inner(x: Any, y: Any) -> Any:
    """Compute x.y."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


@njit(fastmath=FAST)
def approach(x: Any, y: Any, g: float) -> None:
    """Compute x += g (y - x)."""
    for k in range(x.size):
        x[k] += g * (y[k] - x[k])


@njit(fastmath=FAST)
def absolute_sum(x: Any) -> Any:
    """Compute |x|_1."""
    total = 0.0
    for k in range(x.size):
        total += abs(x[k])
    return total


@njit(fastmath=FAST)
def shrunk_square(v: Any, by: float) -> Any:
    """Compute |shrunk(v, by)|^2 without making that vector."""
    total = 0.0
    for k in range(v.size):
        rest = max(abs(v[k]) - by, 0.0)
        total += rest * rest
    return total


def shrunk(v: Floats, by: float) -> Floats:
    """Return v with every number moved towards 0 by that much, but not past it."""
    moved: Floats = np.sign(v) * np.maximum(np.abs(v) - by, 0.0)
    return moved
