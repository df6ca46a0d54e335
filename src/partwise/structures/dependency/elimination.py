"""Elimination of the words of a graph, without one subtraction.

Shapes: T words m, T + 1 heads h (the words, then the root), w_m(h) >= 0 the weight of an arc. A
tree is a choice of a head for each word without a cycle, so the heads of m may be seen as the
moves of a walk that ends at the root. To *eliminate* a word k is to let the walk jump over it:

    S_k = sum_h w_k(h)      p_k(h) = w_k(h) / S_k      w_m(h) += w_m(k) p_k(h),  h != m

with h among the nodes that are left. The sum over the trees of the graph is S_k times that of
the smaller graph, so Z is the product of the S_k. This is the matrix-tree theorem with the
determinant computed as Grassmann, Taksar and Heyman do it: pivots are sums of the other entries,
never differences, and every number has a small *relative* error. Jumping does not change where a
walk arrives, so q_h(m), the probability that the walk from h comes to the root before m, is the
same in all these graphs, and for an eliminated word

    q_k(m) = p_k(root) + sum_h p_k(h) q_h(m),       q_m(m) = 0.

For q_h(m) the word m must be eliminated last. Halves do it for all m in O(T^3): eliminate the
first half, solve the second by recursion, substitute back for the heads in the first; then
the other way round. One full elimination is among these steps, the same with and without q.

Numbers are float64, or f 2^e where `wide`. The leading order of weights
w_k(root) epsilon, epsilon -> 0, is had by leaving the root out of S_k (not `keep_root`), as long
as another head is left; q_h(m) and the last pivot are then in units of epsilon.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...compiled.jit import FAST, njit

# Positive numbers f 2^e with an integer e of their own: products and sums that never underflow.
#
# f is a float64, e an int64; a relative error of a few units in the last place, however large or
# small the number is. 0 has the exponent ``NOTHING``, below that of all numbers in use: exponents
# of numbers must stay within 2^60 of 0.


NOTHING: Final = -(1 << 61)  # the exponent of 0
_LOG2E = 1.4426950408889634
_LOG2_HIGH = 6.93147180369123816490e-01  # 33 bits: k times this is exact for |k| < 2^20
_LOG2_LOW = 1.90821492927058770002e-10


@njit
def normal(f: float, e: int | np.int64) -> Any:
    """Return the same number with f in 1 .. 2."""
    if f == 0.0:
        return 0.0, NOTHING
    g, k = math.frexp(f)
    return 2.0 * g, e + k - 1


@njit
def wide_exp(x: float) -> Any:
    """Compute exp(x) as f 2^e, for finite x or -inf."""
    if x == -np.inf:
        return 0.0, NOTHING
    k = math.floor(x * _LOG2E)
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    return normal(math.exp(r), np.int64(k))


@njit
def add_wide(f: float, e: int, x: float, y: int) -> Any:
    """Compute f 2^e + x 2^y."""
    top = max(e, y)
    return normal(math.ldexp(f, max(e - top, -1100)) + math.ldexp(x, max(y - top, -1100)), top)


@njit
def wide_sum(f: Any, e: Any, n: int) -> Any:
    """Sum n numbers f 2^e."""
    top = NOTHING
    for h in range(n):
        top = max(top, e[h])
    total = 0.0
    for h in range(n):
        total += math.ldexp(f[h], max(e[h] - top, -1100))
    return normal(total, top)


@njit
def add_scaled(f: Any, e: Any, a: float, b: int, x: Any, y: Any, bits: Any) -> None:
    """Add a 2^b (x 2^y) to f 2^e, elementwise; bits is scratch of 2 n numbers.

    If a and all x are in 1 .. 2, an f grows by less than 4. Powers of 2 are made by their bits, and
    each of the two loops goes over few arrays, so that both vectorise.
    """
    n = f.size
    old, new = bits[:n], bits[n : 2 * n]
    for h in range(n):
        shift = b + y[h]
        top = max(e[h], shift)
        old[h] = (max(e[h] - top, -1022) + 1023) << 52
        new[h] = (max(shift - top, -1022) + 1023) << 52
        e[h] = top
    keep, take = old.view(np.float64), new.view(np.float64)
    for h in range(n):
        f[h] = f[h] * keep[h] + (a * x[h]) * take[h]


_SMALLEST_PIVOT = 1e-290
_DEPTH = 40  # more than the halvings of any sentence


def room(length: int) -> int:
    """Count the numbers that `escapes` needs behind the graph, q and the bits."""
    count, n = 6 * _DEPTH, length
    while n > 1:
        count += n * (n + 1)
        n = (n + 1) // 2
    return count


@njit(fastmath=FAST)
def _jump(f: Any, n: int, m: int, count: int) -> None:
    """Add w_m(k) p_k(h) to w_m(h) for the first `count` words k, two at a time.

    f is n x (n + 1).
    """
    stride = n + 1
    row = f[m * stride : m * stride + stride]
    for k in range(0, count - 1, 2):
        c = row[k]
        d = row[k + 1] + c * f[k * stride + k + 1]
        out, p = row[k + 2 :], f[k * stride + k + 2 : k * stride + stride]
        q = f[(k + 1) * stride + k + 2 : (k + 1) * stride + stride]
        for h in range(out.size):
            out[h] += c * p[h] + d * q[h]
    if count % 2:
        c = row[count - 1]
        out, p = row[count:], f[(count - 1) * stride + count : count * stride]
        for h in range(out.size):
            out[h] += c * p[h]
    row[m] = 0.0


@njit
def _jump_wide(f: Any, e: Any, n: int, m: int, count: int, bits: Any) -> None:
    """Do the same as `_jump` in wide numbers."""
    stride = n + 1
    for k in range(count):
        c, c_e = normal(f[m * stride + k], e[m * stride + k])
        if c > 0.0:
            out, out_end = m * stride + k + 1, m * stride + stride
            p, p_end = k * stride + k + 1, k * stride + stride
            add_scaled(f[out:out_end], e[out:out_end], c, c_e, f[p:p_end], e[p:p_end], bits)
    f[m * stride + m], e[m * stride + m] = 0.0, NOTHING


@njit(fastmath=FAST)
def eliminate(f: Any, e: Any, n: int, count: int, keep_root: bool, wide: bool, bits: Any) -> Any:
    """Eliminate the first `count` of n words; their rows receive p.

    f is n x (n + 1), with the root last. Returns whether it could be done, and the product of the
    pivots as f and e. Pivots include the root if `keep_root`. The rows are done one after the
    other, as what a row needs of the rows above is final.
    """
    stride = n + 1
    z, z_e = 1.0, 0
    for m in range(n):
        if wide:
            _jump_wide(f, e, n, m, min(m, count), bits)
        else:
            _jump(f, n, m, min(m, count))
        if m >= count:
            continue
        p = f[m * stride + m + 1 : m * stride + stride]
        left = p.size if keep_root else p.size - 1
        if wide:
            p_e = e[m * stride + m + 1 : m * stride + stride]
            pivot, pivot_e = wide_sum(p, p_e, left)
            if pivot == 0.0:
                return False, 0.0, NOTHING
            z, z_e = normal(z * pivot, z_e + pivot_e)
            for h in range(p.size):
                p[h], p_e[h] = normal(p[h] / pivot, p_e[h] - pivot_e)
            continue
        pivot = 0.0
        for h in range(left):
            pivot += p[h]
        z *= pivot
        if not (pivot > _SMALLEST_PIVOT and z > _SMALLEST_PIVOT):
            return False, z, z_e
        inverse = 1.0 / pivot
        for h in range(p.size):
            p[h] *= inverse
    return True, z, z_e


@njit(fastmath=FAST)
def _substitute(
    f: Any, e: Any, at: int, n: int, count: int, first: int, then: int,
    length: int, wide: bool, bits: Any,
) -> None:  # fmt: skip
    """Compute q_k(m) for the `count` eliminated words k and the n - count words m that are left.

    Their numbers in the sentence start at `first` and `then`; the rows of p start at `at`.
    """
    q_at = length * (length + 1) + then
    size = n - count
    for k in range(count - 1, -1, -1):
        row = at + k * (n + 1)
        out = q_at + (first + k) * length
        q, q_e = f[out : out + size], e[out : out + size]
        for m in range(size):
            q[m] = f[row + n]
        if wide:
            for m in range(size):
                q_e[m] = e[row + n]
            for h in range(k + 1, n):
                x = q_at + (first + h if h < count else then + h - count) * length
                if f[row + h] > 0.0:
                    add_scaled(
                        q, q_e, f[row + h], e[row + h], f[x : x + size], e[x : x + size], bits
                    )
            for m in range(size):
                q[m], q_e[m] = normal(q[m], q_e[m])
            continue
        for start, end in ((k + 1, count), (count, n)):
            # Two heads at a time; an odd one goes with itself, at weight 0.
            for h in range(start, end, 2):
                x = q_at + (first + h if h < count else then + h - count) * length
                pair = h + 1 < end
                y = x + length if pair else x
                a, b = f[row + h], f[row + h + 1] if pair else 0.0
                x_row, y_row = f[x : x + size], f[y : y + size]
                for m in range(size):
                    q[m] += a * x_row[m] + b * y_row[m]


@njit
def _copy_rotated(x: Any, at: int, stride: int, n: int, turn: int, to: int) -> None:
    """Copy a graph of n words, with the words from `turn` on first."""
    for k in range(n):
        row = at + (k + turn if k < n - turn else k + turn - n) * stride
        out = to + k * (n + 1)
        for h in range(n):
            x[out + h] = x[row + (h + turn if h < n - turn else h + turn - n)]
        x[out + n] = x[row + n]


@njit
def escapes(
    f: Any, e: Any, length: int, spare: int, keep_root: bool, wide: bool, full: bool
) -> Any:
    """Fill q for all pairs of words; the graph stands at 0 in f and e, and q behind it.

    Returns whether the sum could be computed, whether q could, and the sum as f and e. Without
    `full`, only the sum is computed.
    """
    q_at = length * (length + 1)
    bits = e[q_at + length * length : q_at + length * length + 2 * length + 2]
    # numba cannot keep functions that call themselves in its cache, so the levels are listed: where
    # the graph of a level stands, its stride, its words (two numbers), the stage, its own space.
    levels = e[spare : spare + 6 * _DEPTH]
    levels[0], levels[1], levels[2], levels[3], levels[4] = 0, length + 1, 0, length, 0
    levels[5] = spare + 6 * _DEPTH
    depth = 0
    descending, z, z_e = True, 1.0, 0
    while depth >= 0:
        level = levels[6 * depth : 6 * depth + 6]
        at, stride, low, high, stage, space = (
            level[0], level[1], level[2], level[3], level[4], level[5]
        )  # fmt: skip
        n = high - low
        if n == 1:
            f[q_at + low * length + low], e[q_at + low * length + low] = 0.0, NOTHING
            if descending:
                descending = False
                z *= f[at + 1]
                if wide:
                    z, z_e = normal(z, z_e + e[at + 1])
                if not full:
                    return True, True, z, z_e
            depth -= 1
            continue
        half = n // 2
        if stage == 1:
            _substitute(f, e, space, n, half, low, low + half, length, wide, bits)
        elif stage == 2:
            _substitute(f, e, space, n, n - half, low + half, low, length, wide, bits)
            depth -= 1
            continue
        turn = 0 if stage == 0 else half
        count = half if stage == 0 else n - half
        after = space + n * (n + 1)
        _copy_rotated(f, at, stride, n, turn, space)
        if wide:
            _copy_rotated(e, at, stride, n, turn, space)
        good, pivots, pivots_e = eliminate(
            f[space:after], e[space:after], n, count, keep_root, wide, bits
        )
        if descending:
            z *= pivots
            if wide:
                z, z_e = normal(z, z_e + pivots_e)
        if not good:
            return not descending, False, z, z_e
        level[4] = stage + 1
        depth += 1
        child = levels[6 * depth : 6 * depth + 6]
        child[0], child[1] = space + count * (n + 1) + count, n + 1
        child[2], child[3] = (low + half, high) if stage == 0 else (low, low + half)
        child[4], child[5] = 0, after
    return True, True, z, z_e
