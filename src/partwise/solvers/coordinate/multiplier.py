"""The block of a context in one go: a Newton method for the multiplier of its sum.

The problem (42) of Yu, Huang and Lin (2011) with a diagonal K (property (48)),

    min_Z  sum_y Z_y log Z_y - q_y Z_y + kappa_y (Z_y - alpha_y)^2 / 2,     sum_y Z_y = s

with kappa_y = K_y / l2, has its minimum where for one multiplier lambda and all labels

    log Z_y + kappa_y Z_y = c_y + lambda,     c_y = q_y + kappa_y alpha_y

so kappa_y Z_y = omega(c_y + lambda + log kappa_y) with Wright's function, omega + log omega = x.
Every Z_y rises with lambda, and with G_y = log alpha_y - q_y the sum is at most s at min_y G_y and
at least s at max_y G_y. In this bracket the logarithm of the sum is solved for by Newton steps:

    d log Z_y / d lambda = 1 / (1 + kappa_y Z_y)

The unknowns are the t_y = log Z_y, so nothing cancels, and each step for them is one exponential.
It is that of Fritsch, Shafer and Crowley, of fourth order; a t_y that is far out starts again from
the estimate of Lawrence, Corless and Jeffrey, "Algorithm 917: complex double-precision evaluation
of the Wright omega function", ACM TOMS 38 (2012), as in scipy.special.wrightomega.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, njit
from .subproblem import SMALLEST

#: A t with a larger residual starts again. The steps are safe up to about 0.7.
_FAR: Final = 0.5
#: Halving a bracket leads from any number to the next in about 1,100 steps.
_MOST_STEPS: Final = 1200
#: What is smaller, beside the terms of a gradient, is rounding.
_ROUNDING: Final = 8e-16


@njit
def first_log(c: float, kappa: float) -> float:
    """Return t with t + kappa exp(t) = c, to a residual of less than 0.2."""
    if kappa == 0.0:
        return c
    log_kappa = math.log(kappa)
    x = c + log_kappa
    if x < -2.0:
        return c
    if x < 1.0:
        return 2.0 / 3.0 * (x - 1.0) - log_kappa
    log_x = math.log(x)
    return math.log(x - log_x + log_x / x) - log_kappa


@njit(fastmath=FAST)
def solve_by_multiplier(
    k: Any, l2: float, s: float, tol: float, q: Any, z: Any, g: Any, room: Any
) -> Any:
    """Solve the block, in place: z holds alpha, g holds log alpha - q.

    room: 3 x L.

    Returns the Newton steps for the multiplier; 0 if all g agree already.
    """
    n = z.size
    kappa, c, t = room[0], room[1], room[2]
    shared = k.size == 1
    low, high, top = math.inf, -math.inf, -math.inf
    mean = rates = size = 0.0
    for y in range(n):
        kappa[y] = (k[0] if shared else k[y]) / l2
        c[y] = q[y] + kappa[y] * z[y]
        t[y] = g[y] + q[y]
        rate = z[y] / (1.0 + kappa[y] * z[y])
        rates += rate
        mean += rate * g[y]
        low, high = min(low, g[y]), max(high, g[y])
        size = max(size, abs(c[y]))
        if z[y] > SMALLEST:  # at the smallest number a label cannot shrink
            top = max(top, g[y])
    if top - low <= tol:
        return 0
    level = mean / rates  # the Newton step from alpha
    steps = 0
    while steps < _MOST_STEPS:
        steps += 1
        worst = 0.0
        for y in range(n):
            worst = max(worst, abs(c[y] + level - t[y] - kappa[y] * z[y]))
        if worst > _FAR:
            for y in range(n):
                if abs(c[y] + level - t[y] - kappa[y] * z[y]) > _FAR:
                    t[y] = first_log(c[y] + level, kappa[y])
            exp_into(z, t, 0.0)
        for y in range(n):
            r = c[y] + level - t[y] - kappa[y] * z[y]
            p = 1.0 + kappa[y] * z[y]
            a = 2.0 * p * (p + 2.0 / 3.0 * r)
            e = r * (a - r) / (p * (a - 2.0 * r))
            t[y] += e * (6.0 + e) / (6.0 + 4.0 * e)  # log(1 + e)
        exp_into(z, t, 0.0)
        total = ahead = rate = most = 0.0
        over, under = -math.inf, math.inf
        for y in range(n):
            w = kappa[y] * z[y]
            r = c[y] + level - t[y] - w
            total += z[y]
            ahead += z[y] * r / (1.0 + w)  # what the next step for t will add
            rate += z[y] / (1.0 + w)
            over, under, most = max(over, r), min(under, r), max(most, w)
        if not total < math.inf:  # far too high
            high = level
            level = 0.5 * (low + high)
            for y in range(n):
                t[y] = first_log(c[y] + level, kappa[y])
            exp_into(z, t, 0.0)
            continue
        # Scaled to the sum, kappa Z changes by this, and so does the residual.
        scaled = abs(math.log(s / total)) * most if total > 0.0 else math.inf
        noise = _ROUNDING * (size + abs(level))
        if over - under + scaled <= max(tol, noise):
            break
        total += ahead
        sure = over * over + under * under + noise  # what the residuals may hide, and more
        if total > s * (1.0 + sure):
            high = level
        elif total < s * (1.0 - sure):
            low = level
        new = level + math.log(s / total) * total / rate if total > 0.0 else math.inf
        if not low < new < high:
            new = 0.5 * (low + high)
        if new == level:
            break
        level = new
    total = 0.0
    for y in range(n):
        total += z[y]
    for y in range(n):
        z[y] = max(z[y] * (s / total), SMALLEST)
    return steps
