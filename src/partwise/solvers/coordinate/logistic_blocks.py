"""Algorithm 5 of Yu, Huang and Lin (2011): dual coordinate descent for two classes.

A problem of two classes has two weight vectors here, and w_1 = -w_0 at the optimum, whatever the
duals: v(u) has that form, since u_i and the gold label both add up to 1. With w = w_1 - w_0

    l2/2 (|w_0|^2 + |w_1|^2) = l2/4 |w|^2,      w_y.x - w_{1-y}.x = +-w.x

which is logistic regression with one vector and half the l2: C = 2 c_i / l2 in the paper's
notation. A context holds alpha_0 + alpha_1 = s; moving z from label 1 to label 0 is problem (18)
with

    c1 = alpha_0,  c2 = alpha_1,  a = 2 |x|^2 / l2,  b = w.x,      w <- w + (2 / l2) z x

For an example of label 1 alone alpha_0 is the paper's alpha / C (times c_i), for label 0 alpha_1
is. A visit costs one inner product and one sum with the row, half of what two vectors would.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiled.exponential import exp
from ...compiled.jit import FAST, njit
from ...compiled.lanes import LINE, prefetch
from ...compiled.vectors import inner
from ...problem.problem import Problem
from .subproblem import Contexts, Newton, solve_subproblem

#: How many visits ahead the memory is prefetched.
_AHEAD: Final = 4


class _Rows(NamedTuple):
    """The features of the contexts."""

    ptr: Ints  # X + 1
    feature: npt.NDArray[np.uint32]  # one per entry
    value: Floats  # one per entry; empty if all are 1


@njit
def _copy_rows(design: Any, first: Any, ptr: Any, feature: Any, value: Any) -> Any:
    """Copy the rows of some examples, one after the other; return |x|^2 of each.

    A block holds two weights, so the number of its feature is half of where it begins.
    """
    squares = np.zeros(first.size)
    at = 0
    for k in range(first.size):
        for e in range(design.entry_ptr[first[k]], design.entry_ptr[first[k] + 1]):
            feature[at] = design.start[e] // 2
            if value.size > 0:
                value[at] = design.value[e]
                squares[k] += value[at] * value[at]
            else:
                squares[k] += 1.0
            at += 1
        ptr[k + 1] = at
    return squares


@njit
def divergence(p: float, q: float, d: float) -> Any:
    """Return KL(u, u') for u = (p, q) and a u' whose log-odds are lower by d.

    KL = p d + log(p exp(-d) + q); where that would cancel, its expansion in cumulants is used. For
    d < 0 the two outcomes are swapped.
    """
    if abs(d) < 0.1:
        # Up to d^4; the next term is below 1e-4 of the first.
        spread = p * q
        return spread * d * d * (0.5 - d * ((q - p) / 6.0 - d * (1.0 - 6.0 * spread) / 24.0))
    if d < 0.0:
        p, q, d = q, p, -d
    return p * d + math.log(p * exp(-d) + q)


@njit(fastmath=FAST)
def logistic_epoch(
    rows: Any, state: Any, w: Any, scale: float, order: Any, tol: float, newton: Any
) -> Any:
    """Visit the contexts in order.

    state: X x 8, one cache line per context: alpha_0, alpha_1, s, a, 1/s, and the share of the
    context in the gap at its last visit, s KL(u, p(.|x; w)). Contexts with |g'(0)| <= tol stay as
    they are.

    Returns (the first context without a finite score or -1, Newton steps).
    """
    valued = rows.value.size > 0
    steps = 0
    for k in range(order.size):
        i, soon = order[k], order[min(k + _AHEAD, order.size - 1)]
        prefetch(state, LINE * soon)
        # Two lines of 16 features; a row may begin anywhere in the first.
        prefetch(rows.feature, rows.ptr[soon])
        prefetch(rows.feature, rows.ptr[soon] + 15)
        if valued:
            prefetch(rows.value, rows.ptr[soon])
        lo, hi = rows.ptr[i], rows.ptr[i + 1]
        feature = rows.feature[lo:hi]
        b = 0.0
        if valued:
            x = rows.value[lo:hi]
            for e in range(feature.size):
                b += x[e] * w[feature[e]]
        else:
            for e in range(feature.size):
                b += w[feature[e]]
        # Not isfinite, which is a subtraction that reassociation may fold.
        if not abs(b) < np.inf:
            return i, steps
        mine = state[i]
        c1, c2, s, a = mine[0], mine[1], mine[2], mine[3]
        slope = b + math.log(c1 / c2)
        mine[5] = s * divergence(c1 * mine[4], c2 * mine[4], slope)
        if abs(slope) <= tol:
            continue
        z1, z2, made = solve_subproblem(a, b, c1, c2, slope, tol, newton)
        steps += made
        mine[0], mine[1] = z1, z2
        # The smaller of the two has all its digits.
        z = scale * (z1 - c1 if z1 < z2 else c2 - z2)
        if valued:
            x = rows.value[lo:hi]
            for e in range(feature.size):
                w[feature[e]] += z * x[e]
        else:
            for e in range(feature.size):
                w[feature[e]] += z
    return -1, steps


@njit(fastmath=FAST)
def _rebuild(rows: Any, state: Any, counts: Any, scale: float, w: Any) -> None:
    """Compute w = scale sum_x (alpha_0 - counts_0) x; counts_0 - alpha_0 = alpha_1 - counts_1."""
    for i in range(counts.shape[0]):
        z = state[i, 0] - counts[i, 0] if counts[i, 1] > 0.0 else -state[i, 1]
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            w[rows.feature[e]] += scale * z * (rows.value[e] if rows.value.size > 0 else 1.0)


class LogisticBlocks:
    """The contexts of a problem with two classes, all of whose features have both weights."""

    remade: ClassVar[tuple[str, ...]] = ("rows", "l2", "contexts", "newton")

    def __init__(
        self, problem: Problem, l2: float, contexts: Contexts, start: Floats, newton: Newton
    ) -> None:
        design = problem.arrays.design
        self.l2 = l2
        self.newton = newton
        self.contexts = contexts
        sizes = design.entry_ptr[contexts.first + 1] - design.entry_ptr[contexts.first]
        n_entries = int(sizes.sum())
        self.rows = _Rows(
            np.zeros(len(sizes) + 1, dtype=np.int64),
            np.empty(n_entries, dtype=np.uint32),
            np.empty(n_entries if design.value.size else 0),
        )
        squares = _copy_rows(design, contexts.first, *self.rows)
        room = np.empty(LINE * (len(sizes) + 1))
        skipped = -(room.ctypes.data // room.itemsize) % LINE
        self.state = room[skipped : skipped + LINE * len(sizes)].reshape(-1, LINE)
        self.state[:, :2] = start
        self.state[:, 2] = contexts.total
        self.state[:, 3] = 2.0 * squares / l2
        self.state[:, 4] = 1.0 / contexts.total
        self.share[:] = np.inf
        self.w = np.zeros(problem.storage.n_places // 2)

    @property
    def alpha(self) -> Floats:
        """The duals, X x 2."""
        return self.state[:, :2]

    @property
    def share(self) -> Floats:
        """The share of each context in the gap at its last visit."""
        return self.state[:, 5]

    def rebuild(self) -> None:
        """Compute the weights from the duals alone, since the running ones drift."""
        self.w[:] = 0.0
        _rebuild(self.rows, self.state, self.contexts.counts, 2.0 / self.l2, self.w)

    def weights(self) -> Floats:
        """Return the two vectors, as stored."""
        return np.column_stack([-0.5 * self.w, 0.5 * self.w]).ravel()

    def penalty(self) -> float:
        """Return l2/2 |w|^2 of both vectors."""
        return 0.25 * self.l2 * float(inner(self.w, self.w))

    def epoch(self, order: Ints, tol: float) -> tuple[int, int]:
        """Visit the contexts in order."""
        return logistic_epoch(  # type: ignore[no-any-return]
            self.rows, self.state, self.w, 2.0 / self.l2, order, tol, self.newton
        )
