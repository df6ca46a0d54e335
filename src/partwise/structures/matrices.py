"""Products with the small square matrices of label sequences, in loops that vectorise."""

from __future__ import annotations

from typing import Any

from ..compiled.jit import FAST, njit


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
