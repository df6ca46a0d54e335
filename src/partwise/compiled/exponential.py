"""The exponential function, written so that LLVM turns it into vector instructions.

``math.exp`` is a call into the C library, and a loop around it stays scalar. The functions here are
plain arithmetic:

    k = round(x / log 2),   r = x - k log 2  (|r| <= log 2 / 2),   exp(x) = 2^k exp(r)

with log 2 split in two (Cody and Waite), so that the reduction loses nothing, and exp(r) as

    1 + r + r^2 q(r),   q(r) = 1/2! + r/3! + ... + r^11/13!

whose remainder is below 5e-18. The power 2^k is made by putting k into the exponent bits.

Below x = -708, where the results leave the normal numbers, they are exactly 0.0, for -inf too;
above 709.78 they are inf; nan stays nan. The relative error is at most 4e-16.
For the logarithm use ``math.log``: it is called once per sum, not once per term.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from .jit import njit

_LOG2E = 1.4426950408889634
_LOG2_HIGH = 6.93147180369123816490e-01  # 33 bits: k times this is exact for |k| < 2^20
_LOG2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest integer in the low bits
_ROUND_BITS = 0x4338000000000000  # the bits of _ROUND
_LOWEST = -708.0  # the smallest normal number is exp(-708.396)
_HIGHEST = 709.782712893384  # log of the largest number

_C2, _C3, _C4 = 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0
_C5, _C6, _C7 = 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0
_C8, _C9, _C10 = 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0
_C11, _C12, _C13 = 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0


@intrinsic
def _bits_of(typing_context: Any, number: Any) -> Any:
    """Read the 64 bits of a float64 as an int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def _float_of(typing_context: Any, bits: Any) -> Any:
    """Read the 64 bits of an int64 as a float64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@njit(fastmath={"contract"}, inline="always")
def _exp(x: float) -> float:
    # What is out of range is done as 0, so that the bits below stay in range and no product is
    # subnormal, which is slow. A nan fails both comparisons, passes through the polynomial and
    # comes out as nan.
    z = 0.0 if x < _LOWEST else x
    z = 0.0 if x > _HIGHEST else z
    shifted = z * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = (z - k * _LOG2_HIGH) - k * _LOG2_LOW
    # Estrin's scheme: a short chain of dependent operations, so vectors overlap.
    r2 = r * r
    r4 = r2 * r2
    r8 = r4 * r4
    low = (_C2 + r * _C3) + r2 * (_C4 + r * _C5)
    middle = (_C6 + r * _C7) + r2 * (_C8 + r * _C9)
    high = (_C10 + r * _C11) + r2 * (_C12 + r * _C13)
    p = 1.0 + (r + r2 * ((low + r4 * middle) + r8 * high))
    # k is in -1021..1024, and 1024 is more than an exponent holds: times 2^(k-1), then 2.
    scale = _float_of((_bits_of(shifted) - _ROUND_BITS + 1022) << 52)
    y = (p * scale) * 2.0
    y = 0.0 if x < _LOWEST else y
    return np.inf if x > _HIGHEST else y


@njit(fastmath={"contract"})
def exp(x: float) -> float:
    """Compute exp(x) for one float64.

    Parameters
    ----------
    x : float
        Any float64, infinities and nan included.

    Returns
    -------
    float
        exp(x) to within 4e-16 of its size; exactly 0.0 below -708, inf above 709.78.
    """
    return _exp(x)


@njit(fastmath={"contract"})
def exp_into(out: npt.NDArray[np.float64], x: npt.NDArray[np.float64], shift: float) -> None:
    """Compute ``out[:] = exp(x - shift)``.

    Parameters
    ----------
    out : ndarray of float64
        Where the result goes; it may be ``x`` itself.
    x : ndarray of float64
        As long as ``out``.
    shift : float
        Taken from every element first, to keep the largest at zero. It must be finite.
    """
    for i in range(x.shape[0]):
        out[i] = _exp(x[i] - shift)
