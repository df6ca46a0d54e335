"""The best dual point between the gold labels and a given one.

    u_i(s) = (1 - s) gold_i + s u_i,    v(u(s)) = s v(u),    0 <= s <= 1
    D(u(s)) = linear(s) - |shrunk(s v, l1)|^2 / (2 l2)

With l1 > 0 this is how a dual point is scaled into |v| <= l1, where the norm vanishes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Floats
from ..compiled.vectors import inner, shrunk_square


def search_dual_line(
    linear: Callable[[float], float], v: Floats, l2: float, l1: float
) -> tuple[float, float]:
    """Return the largest D(u(s)), and the s where it is reached.

    Parameters
    ----------
    linear : callable
        The terms of D(u(s)) other than the norm, or a lower bound on them; concave.
    v : ndarray
        v(u).
    l2, l1 : float
        The regulariser.
    """
    from scipy.optimize import minimize_scalar  # slow to import

    # A v within l1 stays within it, so only the others are looked at for every s.
    far = v[np.abs(v) > l1] if l1 else v[:0]
    square = 0.0 if l1 else float(inner(v, v))

    def lost(s: float) -> float:
        norm = float(shrunk_square(s * far, l1)) if l1 else s * s * square
        return norm / (2.0 * l2) - linear(s)

    # Huge scores give values that are not finite; s = 1 is then as good as any.
    with np.errstate(over="ignore", invalid="ignore"):
        found = minimize_scalar(lost, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    return max((-lost(1.0), 1.0), (-float(found.fun), float(found.x)))
