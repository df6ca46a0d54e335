"""The scores of the first and the last label of a sequence, in compiled loops.

They stand behind all other parts, from part `at` on: n for the first label if `start` is not 0,
then n for the last label if `end` is not 0.
"""

from __future__ import annotations

from typing import Any

from ..compiled.jit import njit


@njit
def add_ends(
    theta: Any, n: int, length: int, at: int, start: int, end: int, out: Any, p: int
) -> None:
    """Add them to the scores of the first and the last position in out, which has rows of p."""
    if start:
        for k in range(n):
            out[k] += theta[at + k]
        at += n
    if end:
        last = out[(length - 1) * p : length * p]
        for k in range(n):
            last[k] += theta[at + k]


@njit
def count_ends(mu: Any, n: int, length: int, at: int, start: int, end: int) -> None:
    """Fill their expected counts, which are those of the labels at these two positions."""
    if start:
        for k in range(n):
            mu[at + k] = mu[k]
        at += n
    if end:
        for k in range(n):
            mu[at + k] = mu[(length - 1) * n + k]
