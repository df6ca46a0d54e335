"""The quadratic program over the planes of single examples.

    max  sum_k b_k alpha_k - |v|^2 / (2 l2),    v = sum_k alpha_k a_k

over alpha >= 0 whose sum over the planes of each example is at most 1; the rest of an example is
the weight of its gold label, whose plane is 0. It is solved by ascent over one example after the
other. With the rest of v held fixed, the gradient for its planes is

    g_k = b_k - a_k.v / l2

and weight moves from the plane with the lowest g that has any to the plane with the highest (SMO,
Platt 1998), until the example's share of the gap, max(g, 0) - alpha.g, is small. The time of a
sweep is linear in the entries of the planes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...compiled.jit import njit
from .example_planes import dot

#: An example is left when its share of the gap is this part of what it was at the visit ...
_LEFT: Final = 0.01
#: ... or after so many steps per plane.
_STEPS: Final = 10


@njit
def slacks(planes: Any, begin: int, end: int, v: Any, l2: float) -> Any:
    """Return the largest b - a.w of each example, at least 0, and its mean by alpha."""
    most, mean = np.zeros(end - begin), np.zeros(end - begin)
    for i in range(begin, end):
        k = planes.last[i]
        while k >= 0:
            worth = planes.offset[k] - dot(planes, k, v) / l2
            most[i - begin] = max(most[i - begin], worth)
            mean[i - begin] += planes.alpha[k] * worth
            k = planes.before[k]
    return most, mean


@njit
def _weigh(gram: Any, g: Any, alpha: Any, l2: float) -> Any:
    """Move the weights of the planes of one example; returns its share of the gap before.

    The last of the m planes is that of the gold label. g is kept up to date.
    """
    m, first = g.size, -1.0
    for _ in range(_STEPS * m):
        high, low, mean = 0, -1, 0.0
        for k in range(m):
            mean += alpha[k] * g[k]
            if g[k] > g[high]:
                high = k
            if alpha[k] > 0.0 and (low < 0 or g[k] < g[low]):
                low = k
        gap = g[high] - mean
        if first < 0.0:
            first = max(gap, 0.0)
        rise = g[high] - g[low]
        if gap <= _LEFT * first or rise <= 1e-15 * (abs(g[high]) + abs(g[low])):
            break
        bend = gram[high, high] + gram[low, low] - 2.0 * gram[high, low]
        step = alpha[low]
        if bend > 0.0:
            step = min(step, l2 * rise / bend)
        alpha[high] += step
        alpha[low] = 0.0 if step == alpha[low] else alpha[low] - step
        for k in range(m):
            g[k] -= step * (gram[k, high] - gram[k, low]) / l2
    return first


@njit
def sweep(planes: Any, examples: Any, v: Any, l2: float, share: Any) -> Any:
    """Solve for the weights of each of some examples in turn; v follows.

    share: for each example, set to its part of the gap of the program at its visit. Returns the
    change of sum b alpha.
    """
    widest = 0
    for i in examples:
        m, k = 0, planes.last[i]
        while k >= 0:
            m, k = m + 1, planes.before[k]
        widest = max(widest, m)
    own = np.empty(widest, dtype=np.int64)
    room, grams = np.empty((2, widest + 1)), np.empty((widest + 1) ** 2)
    change = 0.0
    for i in examples:
        m, k = 0, planes.last[i]
        while k >= 0:
            own[m] = k
            m, k = m + 1, planes.before[k]
        gram = grams[: (m + 1) ** 2].reshape(m + 1, m + 1)
        g, alpha = room[0, : m + 1], room[1, : m + 1]
        alpha[m], g[m] = 1.0, 0.0
        for j in range(m):
            k = own[j]
            g[j] = planes.offset[k] - dot(planes, k, v) / l2
            alpha[j] = planes.alpha[k]
            alpha[m] -= alpha[j]
            for t in range(j, m):
                gram[j, t] = gram[t, j] = planes.product[planes.product_ptr[k] + t - j]
            gram[j, m] = gram[m, j] = 0.0
        gram[m, m] = 0.0
        alpha[m] = max(alpha[m], 0.0)
        share[i] = _weigh(gram, g, alpha, l2)
        total = 0.0
        for j in range(m):
            total += alpha[j]
        for j in range(m):
            k = own[j]
            new = alpha[j] / max(total, 1.0)  # rounding may have added up to more than 1
            step = new - planes.alpha[k]
            if step != 0.0:
                planes.alpha[k] = new
                change += step * planes.offset[k]
                for e in range(planes.pointer[k], planes.pointer[k + 1]):
                    v[planes.place[e]] += step * planes.value[e]
    return change
