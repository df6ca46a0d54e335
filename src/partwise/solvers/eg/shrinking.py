"""The adjoint of the design where the weights are shrunk: w = shrunk(v, l1).

A weight is 0 unless its v is beyond l1, so w is not v times a factor. It is kept beside v, and
every change of v updates w in the same places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled.jit import FAST, njit
from ...compiled.lanes import (
    LINE,
    add,
    add_product,
    fill,
    larger,
    load,
    multiply,
    repeat,
    store,
    total,
    where,
)
from ...problem.design import any_change, fetch, scatter
from ...problem.storage import filled_width


@njit(inline="always")
def _shrink(x: float, by: float) -> Any:
    return max(x - by, 0.0) + min(x + by, 0.0)


@njit(inline="always")
def _add_lanes(
    design: Any, e: int, end: int, v: Any, w: Any, k: int, change: Any, by: float
) -> Any:
    """Update places k to k + 8 of the dense blocks; return the change of |w|^2."""
    valued, masked = design.value.size > 0, design.live.size > 0
    zero, minus, beyond = fill(0.0), fill(-1.0), fill(-by)
    norm = fill(0.0)
    for f in range(e, end):
        at = np.int64(design.start[f]) + k
        d = where(design.live, at, change) if masked else change
        if valued:
            d = multiply(d, repeat(design.value, f))
        x, old = add(load(v, at), d), load(w, at)
        store(v, at, x)
        # What x is above by, minus what it is below -by.
        above, below = larger(add(x, beyond), zero), larger(add(multiply(x, minus), beyond), zero)
        below = multiply(below, minus)
        new = add(above, below)
        store(w, at, new)
        norm = add_product(norm, add(new, old), add(new, multiply(old, minus)))
    return norm


@njit(fastmath=FAST)
def scatter_shrunk(design: Any, i: int, delta: Any, v: Any, w: Any, by: float) -> Any:
    """Add F_i^T delta to v and set w = shrunk(v, by); return the change of |w|^2.

    Where by is 0, w is v.
    """
    if by == 0.0:
        return scatter(design, i, delta, v)
    valued, masked = design.value.size > 0, design.live.size > 0
    room = np.empty(design.widest)
    norm, norms = 0.0, fill(0.0)
    stop = design.site_ptr[i + 1]
    for s in range(design.site_ptr[i], stop):
        n = design.site_width[s]
        site = delta[design.site_part[s] : design.site_part[s] + n]
        if not any_change(site):
            continue
        fetch(design, s, stop, v)
        fetch(design, s, stop, w)
        width = filled_width(n) if design.filled else n
        change = room[:width]
        for k in range(n):
            change[k] = site[k]
        for k in range(n, width):
            change[k] = 0.0
        begin, end = design.entry_ptr[s], design.sparse_ptr[s]
        for e in range(end, design.entry_ptr[s + 1]):
            at, m = design.start[e], design.size[e]
            block, slot = v[at : at + m], design.slot[at : at + m]
            own = w[at : at + m]
            x = design.value[e] if valued else 1.0
            for j in range(m):
                block[j] += x * change[slot[j]]
                new = _shrink(block[j], by)
                norm += (new - own[j]) * (new + own[j])
                own[j] = new
        if width >= LINE:
            for first in range(0, width, LINE):
                k = min(first, width - LINE)
                norms = add(norms, _add_lanes(design, begin, end, v, w, k, load(change, k), by))
                # What is taken once more has had its change.
                store(change, k, fill(0.0))
            continue
        for e in range(begin, end):
            at = design.start[e]
            block, own = v[at : at + width], w[at : at + width]
            x = design.value[e] if valued else 1.0
            for k in range(width):
                d = x * change[k]
                if masked:
                    d *= design.live[at + k]
                block[k] += d
                new = _shrink(block[k], by)
                norm += (new - own[k]) * (new + own[k])
                own[k] = new
    return norm + total(norms)
