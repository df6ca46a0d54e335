"""Algorithm 6 of Yu, Huang and Lin (2011): the block of a context, one pair of labels at a time.

With K_y = |f(x, y)|^2, scores q = F w and Z = alpha + z the gradient of the block's problem (42)
is, up to a constant,

    G_y = log Z_y + (Z_y - alpha_y) K_y / l2 - q_y

and a pair with G_1 > G_2 is problem (18) with

    c1 = Z_1,  c2 = Z_2,  a = (K_1 + K_2) / l2,
    b = ((Z_1 - alpha_1) K_1 - (Z_2 - alpha_2) K_2) / l2 - q_1 + q_2,     g'(0) = G_1 - G_2

until all G agree to a tolerance. Labels share no weights, so K is diagonal (property (48)) and a
step changes two of the G. The pair is the largest and the smallest G, which a scan finds or two
heaps keep (footnote 9); or it is the next of all pairs.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ...compiled.jit import njit
from .subproblem import SMALLEST, solve_subproblem

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
