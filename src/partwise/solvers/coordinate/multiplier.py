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
from .subproblem import SMALLEST, solve_subproblem

# Algorithm 6 of Yu, Huang and Lin (2011): the block of a context, one pair of labels at a time.
#
# With K_y = |f(x, y)|^2, scores q = F w and Z = alpha + z the gradient of the block's problem (42)
# is, up to a constant,
#
#     G_y = log Z_y + (Z_y - alpha_y) K_y / l2 - q_y
#
# and a pair with G_1 > G_2 is problem (18) with
#
#     c1 = Z_1,  c2 = Z_2,  a = (K_1 + K_2) / l2,
#     b = ((Z_1 - alpha_1) K_1 - (Z_2 - alpha_2) K_2) / l2 - q_1 + q_2,     g'(0) = G_1 - G_2
#
# until all G agree to a tolerance. Labels share no weights, so K is diagonal (property (48)) and a
# step changes two of the G. The pair is the largest and the smallest G, which a scan finds or two
# heaps keep (footnote 9); or it is the next of all pairs.


#: Which pair is next; their positions are what the kernel takes.
PAIRS: Final = ("violating", "heap", "cyclic")
_HEAP: Final = 1
_CYCLIC: Final = 2
#: A block that needs more pairs per label than this continues at its next visit.
_MOST_PAIRS: Final = 1000


@njit
def _settle(heap: Any, place: Any, key: Any, size: int, k: int) -> None:
    """Move the label at position k of a heap, the largest key first, to where it belongs."""
    y = heap[k]
    while k > 0 and key[heap[(k - 1) // 2]] < key[y]:
        heap[k] = heap[(k - 1) // 2]
        place[heap[k]] = k
        k = (k - 1) // 2
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if key[heap[child]] <= key[y]:
            break
        heap[k] = heap[child]
        place[heap[k]] = k
        k = child
    heap[k] = y
    place[y] = k


@njit
def _set_keys(key: Any, y: int, z: float, g: float) -> None:
    """Set the keys of a label; at the smallest number it would be chosen as the first for ever."""
    key[0, y] = g if z > SMALLEST else -math.inf
    key[1, y] = -g


@njit
def _furthest(z: Any, g: Any) -> Any:
    """Return the labels with the largest G, of those that can shrink (or -1), and the smallest."""
    y1, y2 = -1, 0
    for y in range(z.size):
        if z[y] > SMALLEST and (y1 < 0 or g[y] > g[y1]):
            y1 = y
        if g[y] < g[y2]:
            y2 = y
    return y1, y2


@njit
def solve_by_pairs(
    alpha: Any, q: Any, k: Any, l2: float, tol: float, newton: Any, choice: int, z: Any, g: Any,
    key: Any, heap: Any,
) -> Any:  # fmt: skip
    """Algorithm 6, in place: z holds alpha, g holds log alpha - q.

    key (2 x L) and heap (4 x L) are room for two heaps and the places of the labels in them.

    Returns the Newton steps of all pairs.
    """
    n_labels = z.size
    if choice == _HEAP:
        for y in range(n_labels):
            _set_keys(key, y, z[y], g[y])
            for side in range(2):
                heap[side, y] = y
                _settle(heap[side], heap[2 + side], key[side], y + 1, y)
    steps = idle = 0
    first, second = 0, 0
    for _ in range(_MOST_PAIRS * n_labels):
        if choice == _CYCLIC:
            if idle == n_labels * (n_labels - 1) // 2:
                break
            second += 1
            if second >= n_labels:
                first = (first + 1) % (n_labels - 1)
                second = first + 1
            y1, y2 = (first, second) if g[first] >= g[second] else (second, first)
            if g[y1] - g[y2] <= tol or z[y1] <= SMALLEST:
                idle += 1
                continue
        else:
            y1, y2 = (heap[0, 0], heap[1, 0]) if choice == _HEAP else _furthest(z, g)
            if y1 < 0 or z[y1] <= SMALLEST or g[y1] - g[y2] <= tol:
                break
        k1, k2 = (k[y1], k[y2]) if k.size > 1 else (k[0], k[0])
        moved = ((z[y1] - alpha[y1]) * k1 - (z[y2] - alpha[y2]) * k2) / l2
        old1, old2 = z[y1], z[y2]
        z[y1], z[y2], made = solve_subproblem(
            (k1 + k2) / l2, moved - q[y1] + q[y2], old1, old2, g[y1] - g[y2], tol, newton
        )
        steps += made
        if z[y1] == old1 and z[y2] == old2:
            idle += 1
            if choice != _CYCLIC:
                break
            continue
        idle = 0
        g[y1] = math.log(z[y1]) + (z[y1] - alpha[y1]) * k1 / l2 - q[y1]
        g[y2] = math.log(z[y2]) + (z[y2] - alpha[y2]) * k2 / l2 - q[y2]
        if choice == _HEAP:
            for y in (y1, y2):
                _set_keys(key, y, z[y], g[y])
                for side in range(2):
                    _settle(heap[side], heap[2 + side], key[side], n_labels, heap[2 + side, y])
    return steps


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
