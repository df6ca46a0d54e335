"""Lazy updates: every step moves all weights, but costs only the places where d changes.

Without l1 a step is w <- (1 - a) w - b d with some a and b, and d changes in a few places:

    w = beta (z - s d),    beta <- (1 - a) beta,    s <- s + b / beta,    d += x: z += s x

so there is no need to record when a weight was last updated.

With l1 a step is w <- T(w) = S(rho w - b d, kappa), S(x, kappa) = sign(x) max(|x| - kappa, 0). As
long as d and the constants of T stay the same, the sequence T^k(w) is monotone and T is affine on
either side of 0. So any number of steps consists of some on one side, in closed form, one that
reaches 0 or the other side, and the rest there, in closed form. A block has a stamp at its first
place: the number of steps that it has taken.
"""

from __future__ import annotations

import math
from typing import Any

from ...compiled.jit import FAST, njit
from ...problem.storage import filled_width


@njit(fastmath=FAST)
def settle(z: Any, d: Any, beta: float, s: float) -> None:
    """z = beta (z - s d), so that z holds the weights themselves."""
    for k in range(z.size):
        z[k] = beta * (z[k] - s * d[k])


@njit
def crossing_steps(w: float, pull: float, rest: float, kappa: float, steps: int) -> Any:
    """T^steps(w), T(w) = S(rho w - pull, kappa), rest = 1 - rho, from w >= 0 to the other side.

    T^k(w) = rho^k w - (pull + kappa) (1 - rho^k) / (1 - rho) is positive up to
    k < -log(1 + w (1 - rho) / (pull + kappa)) / log(rho).
    """
    log_rho = math.log1p(-rest)
    down = pull + kappa
    last = math.ceil(-math.log1p(w * rest / down) / log_rho) - 1.0
    last = min(max(last, 0.0), steps - 1.0)
    w = math.exp(last * log_rho) * w + down * math.expm1(last * log_rho) / rest
    w = min((1.0 - rest) * max(w, 0.0) - pull + kappa, 0.0)
    left = (steps - last - 1.0) * log_rho
    return math.exp(left) * w + (pull - kappa) * math.expm1(left) / rest


@njit
def shrink_block(
    w: Any, d: Any, b: float, rest: float, log_rho: float, kappa: float, steps: int
) -> None:
    """w = T^steps(w) with pull = b d, place by place; log_rho = log(1 - rest).

    up and down are the closed forms of T^k(w) above and below 0. The result is the one that lies
    on its own side, or 0 if neither does: a weight that reaches 0 stays there unless the pull
    exceeds kappa.
    """
    lost = -math.expm1(steps * log_rho)
    power, fall = 1.0 - lost, lost / rest
    crossing = 0
    for k in range(w.size):
        pull, start = b * d[k], power * w[k]
        through = (w[k] > 0.0) & (pull > kappa) & (start <= (pull + kappa) * fall)
        crossing += through | ((w[k] < 0.0) & (pull < -kappa) & (start >= (pull - kappa) * fall))
    if crossing == 0:
        for k in range(w.size):
            pull, start = b * d[k], power * w[k]
            up, down = start - (pull + kappa) * fall, start - (pull - kappa) * fall
            w[k] = (up if up > 0.0 else 0.0) + (down if down < 0.0 else 0.0)
        return
    for k in range(w.size):
        pull, start = b * d[k], power * w[k]
        up, down = start - (pull + kappa) * fall, start - (pull - kappa) * fall
        if (w[k] > 0.0 and pull > kappa and up <= 0.0) or (
            w[k] < 0.0 and pull < -kappa and down >= 0.0
        ):
            sign = 1.0 if w[k] > 0.0 else -1.0
            w[k] = sign * crossing_steps(abs(w[k]), sign * pull, rest, kappa, steps)
        else:
            w[k] = (up if up > 0.0 else 0.0) + (down if down < 0.0 else 0.0)


@njit
def catch_up(
    design: Any, i: int, w: Any, d: Any, stamp: Any, now: int, b: float, rest: float, kappa: float
) -> None:
    """Bring the weights of the features of example i to step ``now``."""
    log_rho = math.log1p(-rest)
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        width = filled_width(n) if design.filled else n
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            m = width if e < design.sparse_ptr[s] else design.size[e]
            if m > 0 and stamp[at] < now:
                shrink_block(
                    w[at : at + m], d[at : at + m], b, rest, log_rho, kappa, now - stamp[at]
                )
                stamp[at] = now


@njit
def catch_up_all(
    edges: Any, w: Any, d: Any, stamp: Any, now: int, b: float, rest: float, kappa: float
) -> None:
    """Bring all weights to step ``now`` and count from 0 again; block k begins at edges[k]."""
    log_rho = math.log1p(-rest)
    for k in range(edges.size - 1):
        at, end = edges[k], edges[k + 1]
        if stamp[at] < now:
            shrink_block(w[at:end], d[at:end], b, rest, log_rho, kappa, now - stamp[at])
        stamp[at] = 0


@njit
def clear(design: Any, i: int, x: Any) -> None:
    """Set x to 0 in the places of the features of example i."""
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        width = filled_width(n) if design.filled else n
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            m = width if e < design.sparse_ptr[s] else design.size[e]
            x[at : at + m] = 0.0
