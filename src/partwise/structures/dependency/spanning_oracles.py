"""Sums over the spanning trees of a sentence: the matrix-tree theorem, without one subtraction.

Shapes: T words m, T + 1 heads h (the words, then the root), w_m(h) the weight of an arc, its
labels summed. ``elimination.py`` gives Z and q_h(m), the probability that a walk from h towards
the root does not pass m. A tree holds the arc (h, m) if the way up from h does not pass m
(Wilson's algorithm), so

    mu_m(h) = w_m(h) q_h(m) / D_m,      D_m = w_m(root) + sum_h w_m(h) q_h(m).

*One word at the root.* Let the root's weights be multiplied by epsilon -> 0: trees with one root
arc are all that is left of Z / epsilon. In the leading order w_k(root) drops out of S_k as
long as another head is left, and nothing else changes (q_h(m) is then in units of epsilon).

*When float64 holds it.* Weights are divided by the sum of their column, so that Z is the
probability that heads drawn one by one form a tree; with one root the columns are those of the
heads that are words, and the root's weights are divided by their largest. Columns stay at sums
of 1 or less, and Z only grows as words are eliminated (S_k <= 1). A number lost to
underflow is an arc of a weight below e^-708 in one of these graphs. All choices of heads that
hold such an arc weigh less than that (with one root: times T^2, as the root's weights times the
product of the S_k stay below T). So what is lost over all T^3 steps is less than 1e-20 of Z if

    Z > 1e-270.

With one root a word that can hardly hang from the root may still underflow to S_k = 0 or overflow;
that shows. In these cases all is done again in numbers f 2^e with an integer e of its own, where
nothing overflows, and epsilon is 2^-(2^58).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, cfunc, njit
from ..base import ORACLE
from .elimination import NOTHING, add_wide, escapes, normal, wide_exp, wide_sum

LEAST = 1e-270
_EPSILON = 1 << 58
_WIDEST = float(1 << 38)  # T scores of this size stay well below epsilon
_LOG2 = 0.6931471805599453


@njit
def _scores_are_bad(theta: Any) -> Any:
    """Return whether a score is nan or +inf, or finite and too large for wide numbers."""
    bad = False
    for p in range(theta.size):
        bad |= not (abs(theta[p]) <= _WIDEST or theta[p] == -np.inf)
    return bad


@njit
def fill(
    n_labels: int, single: bool, length: int, theta: Any, f: Any, scale: Any, exps: Any
) -> Any:
    """Fill the graph f, T x (T + 1) with the root last; return the log of its scales.

    exps receives the exponentials of all parts, or those of one word if it has no more room; times
    scale(m), or for the root times scale(T + m), they are the weights. Returns -inf where float64
    cannot hold the weights.
    """
    n, width = length, length * n_labels
    keep = exps.size > width
    first = n_labels if single else 0
    shift, top = 0.0, -np.inf
    for m in range(n):
        block = theta[m * width : m * width + width]
        e = exps[m * width : m * width + width] if keep else exps[:width]
        high = -np.inf
        for p in range(first, width):
            high = max(high, block[p])
        if high == -np.inf:
            return high
        exp_into(e[first:], block[first:], high)
        root = 0.0
        if single:
            high_root = -np.inf
            for p in range(first):
                high_root = max(high_root, block[p])
            if high_root > -np.inf:
                exp_into(e[:first], block[:first], high_root)
                for p in range(first):
                    root += e[p]
                scale[n + m] = 1.0 / root
                root = math.log(root) + high_root
            else:
                for p in range(first):
                    e[p] = 0.0
                scale[n + m], root = 0.0, -np.inf
        total = 0.0
        for slot in range(n):
            w = 0.0
            for k in range(n_labels):
                w += e[slot * n_labels + k]
            h = n if slot == 0 else slot - 1 if slot <= m else slot
            f[m * (n + 1) + h] = w
            if not (single and slot == 0):
                total += w
        f[m * (n + 1) + m] = 0.0
        scale[m] = 1.0 / total
        for h in range(n + 1):
            f[m * (n + 1) + h] *= scale[m]
        own = high + math.log(total)
        shift += own
        if single:
            f[m * (n + 1) + n] = root - own
            top = max(top, root - own)
        else:
            scale[n + m] = scale[m]
    if not single:
        return shift
    if top == -np.inf:
        return top
    for m in range(n):
        root = math.exp(f[m * (n + 1) + n] - top)
        f[m * (n + 1) + n] = root
        scale[n + m] *= root
    return shift + top


@njit(fastmath=FAST)
def _scaled(
    n_labels: int, single: bool, length: int, theta: Any, mu: Any, f: Any, e: Any, wide: bool
) -> Any:
    """Sum over trees in float64.

    Returns logZ, which is nan if it needs wide numbers, and whether mu could be computed.
    """
    n = length
    q_at, scale_at, exps_at = n * (n + 1), n * (2 * n + 1), n * (2 * n + 3) + 2
    spare = exps_at + n * n_labels
    scale = f[scale_at:exps_at]
    full = mu.size > 0
    exps = mu if full else f[exps_at:spare]
    log_z = fill(n_labels, single, n, theta, f, scale, exps)
    if log_z == -np.inf:
        return np.nan, False
    good, whole, z, _ = escapes(f, e, n, spare, not single, wide, full)
    if not (good and LEAST < z < np.inf):
        return np.nan, False
    log_z += math.log(z)
    if not (whole and full):
        return log_z, whole
    for m in range(n):
        w = f[m * (n + 1) : (m + 1) * (n + 1)]
        d = w[n]
        for h in range(n):
            d += w[h] * f[q_at + h * n + m]
        if not 0.0 < d < np.inf:
            return log_z, False
        for slot in range(n):
            h = slot - 1 if slot <= m else slot
            c = scale[n + m] / d if slot == 0 else scale[m] * (f[q_at + h * n + m] / d)
            at = (m * n + slot) * n_labels
            for k in range(n_labels):
                mu[at + k] *= c
    return log_z, True


@njit
def fill_wide(n_labels: int, single: bool, length: int, theta: Any, f: Any, e: Any) -> None:
    """Fill the graph with numbers f 2^e; a single root's weights are multiplied by epsilon."""
    n = length
    for m in range(n):
        for slot in range(n):
            w, w_e = 0.0, NOTHING
            for k in range(n_labels):
                x, x_e = wide_exp(theta[(m * n + slot) * n_labels + k])
                w, w_e = add_wide(w, w_e, x, x_e)
            h = n if slot == 0 else slot - 1 if slot <= m else slot
            f[m * (n + 1) + h] = w
            e[m * (n + 1) + h] = w_e - _EPSILON if single and slot == 0 else w_e
        f[m * (n + 1) + m], e[m * (n + 1) + m] = 0.0, NOTHING


@njit
def _exact(
    n_labels: int, single: bool, length: int, theta: Any, mu: Any, f: Any, e: Any, wide: bool
) -> Any:
    """Sum over trees in numbers f 2^e, which is slower and right for any scores."""
    n = length
    q_at, spare = n * (n + 1), n * (2 * n + 3) + 2
    for p in range(mu.size):
        mu[p] = 0.0
    fill_wide(n_labels, single, n, theta, f, e)
    good, _, z, z_e = escapes(f, e, n, spare, wide, wide, mu.size > 0)
    if single:
        # Without a tree of one root arc the leading order is epsilon^2.
        good = good and z_e > -_EPSILON - _EPSILON // 2
        z_e += _EPSILON
    if not good or z == 0.0:
        return -np.inf
    log_z = math.log(z) + z_e * _LOG2
    if mu.size == 0:
        return log_z
    row, row_e = f[spare : spare + n + 1], e[spare : spare + n + 1]
    for m in range(n):
        for h in range(n + 1):
            w, w_e = f[m * (n + 1) + h], e[m * (n + 1) + h]
            q, q_e = (f[q_at + h * n + m], e[q_at + h * n + m]) if h < n else (1.0, 0)
            row[h], row_e[h] = normal(w * q, w_e + q_e)
        d, d_e = wide_sum(row, row_e, n + 1)
        for slot in range(n):
            h = slot - 1 if slot <= m else slot
            q, q_e = (1.0, 0) if slot == 0 else (f[q_at + h * n + m], e[q_at + h * n + m])
            if slot == 0 and single:
                q_e -= _EPSILON
            at = (m * n + slot) * n_labels
            for k in range(n_labels):
                x, x_e = wide_exp(theta[at + k])
                mu[at + k] = math.ldexp(x * q / d, max(x_e + q_e - d_e, -1100))
    return log_z


@cfunc(ORACLE)
def spanning_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Sum over trees in float64, or in wide numbers where that underflows."""
    n_labels, length = spec[0], topo[0]
    if length == 0:
        return 0.0
    if _scores_are_bad(theta):
        return np.nan
    single = spec[1] != 0 and length > 1
    f = work[: work.size // 2]
    e = work[work.size // 2 :].view(np.int64)
    # False, but no constant: numba would compile the elimination twice.
    wide = theta.size == 0
    log_z, whole = _scaled(n_labels, single, length, theta, mu, f, e, wide)
    if math.isfinite(log_z) and (whole or mu.size == 0):
        return log_z
    again = _exact(n_labels, single, length, theta, mu, f, e, not wide)
    # The value must not depend on whether mu was asked for.
    return log_z if math.isfinite(log_z) else again
