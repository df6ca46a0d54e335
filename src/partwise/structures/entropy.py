"""Entropy as a function of marginals, for the structures whose marginals determine it."""

from __future__ import annotations

import math
from typing import Any

from ..compiled.jit import FAST, njit


@njit(fastmath=FAST)
def add_entropy(mu: Any, slope: Any, sign: float) -> Any:
    """Return sign H(mu), and set slope to its derivatives, which are large but finite at 0."""
    total = 0.0
    for r in range(mu.size):
        log = math.log(max(mu[r], 1e-300))
        slope[r] = -sign * (log + 1.0)
        total -= sign * mu[r] * log
    return total
