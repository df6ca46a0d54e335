"""Scores and scatters of two weight vectors at once: the blocks of both are fetched together.

score_both:    p = F_i x,  q = F_i y
scatter_both:  x += F_i^T delta,  y += k F_i^T delta
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled.jit import FAST, njit
from ...problem.storage import filled_width


@njit(fastmath=FAST)
def score_both(design: Any, i: int, x: Any, y: Any, p: Any, q: Any) -> None:
    """Compute p = F_i x and q = F_i y."""
    valued = design.value.size > 0
    room = np.empty((2, design.widest))
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n, first = design.site_width[s], design.site_part[s]
        width = filled_width(n) if design.filled else n
        if n == 1:
            a0 = b0 = 0.0
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                v0 = design.value[e] if valued else 1.0
                a0 += v0 * x[design.start[e]]
                b0 += v0 * y[design.start[e]]
            p[first], q[first] = a0, b0
            continue
        a, b = room[0, :width], room[1, :width]
        for k in range(width):
            a[k] = 0.0
            b[k] = 0.0
        e, end = design.entry_ptr[s], design.sparse_ptr[s]
        while e + 2 <= end:
            at = design.start[e : e + 2]
            x0, x1 = x[at[0] : at[0] + width], x[at[1] : at[1] + width]
            y0, y1 = y[at[0] : at[0] + width], y[at[1] : at[1] + width]
            if valued:
                v = design.value[e : e + 2]
                v0, v1 = v[0], v[1]
                for k in range(width):
                    a[k] += v0 * x0[k] + v1 * x1[k]
                    b[k] += v0 * y0[k] + v1 * y1[k]
            else:
                for k in range(width):
                    a[k] += x0[k] + x1[k]
                    b[k] += y0[k] + y1[k]
            e += 2
        if e < end:
            begin = design.start[e]
            x0, y0 = x[begin : begin + width], y[begin : begin + width]
            v0 = design.value[e] if valued else 1.0
            for k in range(width):
                a[k] += v0 * x0[k]
                b[k] += v0 * y0[k]
        for e in range(end, design.entry_ptr[s + 1]):
            begin, m = design.start[e], design.size[e]
            x0, y0 = x[begin : begin + m], y[begin : begin + m]
            slot = design.slot[begin : begin + m]
            v0 = design.value[e] if valued else 1.0
            for j in range(m):
                a[slot[j]] += v0 * x0[j]
                b[slot[j]] += v0 * y0[j]
        into, other = p[first : first + n], q[first : first + n]
        for k in range(n):
            into[k] = a[k]
            other[k] = b[k]


@njit(fastmath=FAST)
def scatter_both(design: Any, i: int, delta: Any, x: Any, y: Any, times: float) -> Any:
    """Add F_i^T delta to x and times F_i^T delta to y; return the change of |x|^2."""
    valued, masked = design.value.size > 0, design.live.size > 0
    room = np.empty(design.widest)
    norm = 0.0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        width = filled_width(n) if design.filled else n
        site = delta[design.site_part[s] : design.site_part[s] + n]
        if n == 1:
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                step = site[0] * design.value[e] if valued else site[0]
                norm += (2.0 * x[design.start[e]] + step) * step
                x[design.start[e]] += step
                y[design.start[e]] += times * step
            continue
        change = room[:width]
        for k in range(n):
            change[k] = site[k]
        for k in range(n, width):
            change[k] = 0.0
        end = design.sparse_ptr[s]
        for e in range(design.entry_ptr[s], end):
            at = design.start[e]
            block, other = x[at : at + width], y[at : at + width]
            v = design.value[e] if valued else 1.0
            if masked:
                live = design.live[at : at + width]
                for k in range(width):
                    step = v * change[k] * live[k]
                    norm += (2.0 * block[k] + step) * step
                    block[k] += step
                    other[k] += times * step
            else:
                for k in range(width):
                    step = v * change[k]
                    norm += (2.0 * block[k] + step) * step
                    block[k] += step
                    other[k] += times * step
        for e in range(end, design.entry_ptr[s + 1]):
            at, m = design.start[e], design.size[e]
            block, other = x[at : at + m], y[at : at + m]
            slot = design.slot[at : at + m]
            v = design.value[e] if valued else 1.0
            for j in range(m):
                step = v * change[slot[j]]
                norm += (2.0 * block[j] + step) * step
                block[j] += step
                other[j] += times * step
    return norm
