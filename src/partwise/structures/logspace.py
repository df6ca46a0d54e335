"""Sums of exponentials, and draws from them, for scores of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled.jit import FAST, njit

# Products with the small square matrices of label sequences, in loops that vectorise.


@njit(fastmath=FAST)
def times_matrix(x: Any, e: Any, n: int, out: Any) -> None:
    """Compute out = x E for an n x n matrix, four rows at a time so that out stays in registers."""
    for k in range(n):
        out[k] = 0.0
    n4 = n - n % 4
    for j in range(0, n4, 4):
        a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
        for k in range(n):
            out[k] += (a * e[j * n + k] + b * e[(j + 1) * n + k]) + (
                c * e[(j + 2) * n + k] + d * e[(j + 3) * n + k]
            )
    for j in range(n4, n):
        a = x[j]
        for k in range(n):
            out[k] += a * e[j * n + k]


@njit(fastmath=FAST)
def outer_sums(x: Any, y: Any, rows: int, n: int, out: Any) -> None:
    """Compute out(j, k) = sum_{t<rows} x_t(j) y_t(k), four t at a time."""
    rows4 = rows - rows % 4
    for j in range(n):
        row = out[j * n : j * n + n]
        for k in range(n):
            row[k] = 0.0
        for t in range(0, rows4, 4):
            a, b = x[t * n + j], x[(t + 1) * n + j]
            c, d = x[(t + 2) * n + j], x[(t + 3) * n + j]
            block = y[t * n : (t + 4) * n]
            for k in range(n):
                row[k] += (a * block[k] + b * block[n + k]) + (
                    c * block[2 * n + k] + d * block[3 * n + k]
                )
        for t in range(rows4, rows):
            a, block = x[t * n + j], y[t * n : (t + 1) * n]
            for k in range(n):
                row[k] += a * block[k]


# Entropy as a function of marginals, for the structures whose marginals determine it.


@njit(fastmath=FAST)
def add_entropy(mu: Any, slope: Any, sign: float) -> Any:
    """Return sign H(mu), and set slope to its derivatives, which are large but finite at 0."""
    total = 0.0
    for r in range(mu.size):
        log = math.log(max(mu[r], 1e-300))
        slope[r] = -sign * (log + 1.0)
        total -= sign * mu[r] * log
    return total


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
