"""Sums of exponentials, and draws from them, for scores of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled.jit import njit


@njit
def any_bad(x: Any) -> bool:
    """Return whether x holds nan or +inf; if not, no sum of its numbers is nan."""
    bad = 0
    for p in range(x.size):
        bad += not x[p] < np.inf
    return bad > 0


@njit
def log_sum(x: Any, n: int) -> Any:
    """Return log sum_{k<n} exp(x_k): nan for nan or +inf, -inf for an empty sum."""
    m = -np.inf
    for k in range(n):
        if math.isnan(x[k]):
            return np.nan
        m = max(m, x[k])
    if not math.isfinite(m):
        return m if m < 0 else np.nan
    total = 0.0
    for k in range(n):
        total += math.exp(x[k] - m)
    return m + math.log(total)


@njit
def draw(row: Any, n: int, uniform: float) -> int:
    """Return a number k < n with probability exp(row[k]) / sum exp(row), by inverting uniform."""
    total = log_sum(row, n)
    mass, drawn = 0.0, -1
    for k in range(n):
        weight = math.exp(row[k] - total)
        mass += weight
        if weight > 0.0:
            drawn = k
            if uniform < mass:
                break
    return drawn
