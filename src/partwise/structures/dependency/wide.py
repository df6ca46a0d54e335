"""Positive numbers f 2^e with an integer e of their own: products and sums that never underflow.

f is a float64, e an int64; a relative error of a few units in the last place, however large or
small the number is. 0 has the exponent ``NOTHING``, below that of all numbers in use: exponents
of numbers must stay within 2^60 of 0.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...compiled.jit import njit

NOTHING: Final = -(1 << 61)  # the exponent of 0
_LOG2E = 1.4426950408889634
_LOG2_HIGH = 6.93147180369123816490e-01  # 33 bits: k times this is exact for |k| < 2^20
_LOG2_LOW = 1.90821492927058770002e-10


@njit
def normal(f: float, e: int | np.int64) -> Any:
    """Return the same number with f in 1 .. 2."""
    if f == 0.0:
        return 0.0, NOTHING
    g, k = math.frexp(f)
    return 2.0 * g, e + k - 1


@njit
def wide_exp(x: float) -> Any:
    """Compute exp(x) as f 2^e, for finite x or -inf."""
    if x == -np.inf:
        return 0.0, NOTHING
    k = math.floor(x * _LOG2E)
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    return normal(math.exp(r), np.int64(k))


@njit
def add_wide(f: float, e: int, x: float, y: int) -> Any:
    """Compute f 2^e + x 2^y."""
    top = max(e, y)
    return normal(math.ldexp(f, max(e - top, -1100)) + math.ldexp(x, max(y - top, -1100)), top)


@njit
def wide_sum(f: Any, e: Any, n: int) -> Any:
    """Sum n numbers f 2^e."""
    top = NOTHING
    for h in range(n):
        top = max(top, e[h])
    total = 0.0
    for h in range(n):
        total += math.ldexp(f[h], max(e[h] - top, -1100))
    return normal(total, top)


@njit
def add_scaled(f: Any, e: Any, a: float, b: int, x: Any, y: Any, bits: Any) -> None:
    """Add a 2^b (x 2^y) to f 2^e, elementwise; bits is scratch of 2 n numbers.

    If a and all x are in 1 .. 2, an f grows by less than 4. Powers of 2 are made by their bits, and
    each of the two loops goes over few arrays, so that both vectorise.
    """
    n = f.size
    old, new = bits[:n], bits[n : 2 * n]
    for h in range(n):
        shift = b + y[h]
        top = max(e[h], shift)
        old[h] = (max(e[h] - top, -1022) + 1023) << 52
        new[h] = (max(shift - top, -1022) + 1023) << 52
        e[h] = top
    keep, take = old.view(np.float64), new.view(np.float64)
    for h in range(n):
        f[h] = f[h] * keep[h] + (a * x[h]) * take[h]
