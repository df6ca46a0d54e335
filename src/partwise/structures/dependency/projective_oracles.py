"""The recursions of Eisner (1996) over projective trees, inside and outside.

The n words are numbered 0 .. n-1 here, and the root stands apart, to the left of them. Over spans
of words, with a(h, m) the weight of an arc (its labels summed up, or the best of them):

    C(h, e)   complete: h with all its modifiers on the side of e, and theirs, as far as e
    I(h, m)   incomplete: the arc from h to m, and all between the two; the outer side of m is open
    R(j)      the root with trees over the first j words;   I0(k): the same, k its last modifier

    S(i, j) = sum_{i <= k < j} C(i, k) C(j, k+1)      I(i, j) = a(i, j) S(i, j),  I(j, i) likewise
    C(h, e) = sum_k I(h, k) C(k, e)                   k from next to h to e, on either side
    I0(k)   = a(root, k) sum_{i <= k} R(i) C(k, i)    R(j+1) = sum_{k <= j} I0(k) C(k, j)

and Z = R(n). With a single root R(i) = 0 in between, for 0 < i < n. Every tree has one derivation.
All sums are products of two rows, as C is also held transposed. The outside pass is the same in
reverse: G, the derivative of log Z, for C, I and S from wide spans to narrow ones.

One code serves three semirings: sums of scaled exponentials, sums in log space, and maxima.

*Scaled exponentials.* The arcs to word m are divided by their sum, so the weight of a set of
partial trees, in which each word chooses a head once, is at most 1: all that is inside or outside
of a span is at most 1, and nothing overflows. What underflows changes an entry by at most e^-708,
and Z by at most as much, since it is multiplied by something outside that is at most 1. With
fewer than n^3 sums this leaves Z and all marginals right to n^3 e^-708 / Z. So the results are
kept if Z, the probability that heads chosen word by word form a projective tree, is above e^-650;
otherwise the example is done again in log space.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, cfunc, njit
from ..base import ORACLE

SUM, LOG, MAX = 0, 1, 2
_SMALLEST_Z = math.exp(-650.0)


class Charts(NamedTuple):
    """The arrays for one sentence of n words, cut from one block of scratch."""

    arcs: Any  # n x n, a(h, m) at [m, h]; the outside pass puts its G of S here
    c: Any  # n x n, C(h, e) at [h, e]
    ct: Any  # n x n, C transposed
    i: Any  # n x n, I(h, m) at [h, m]; the outside pass puts the arcs' marginals here
    it: Any  # n x n, I transposed
    gc: Any  # n x n, G of C
    gct: Any  # n x n, G of C transposed
    root: Any  # n, a(root, k)
    i0: Any  # n, I0; the outside pass puts the marginals of arcs from the root here
    r: Any  # n + 1, R
    gr: Any  # n + 1, G of R
    w: Any  # n, G of I0 times a(root, k)
    row: Any  # n, scratch
    exps: Any  # n, scratch
    labels: Any  # n L, scratch for the exponentials of the arcs to one word


@njit
def charts_size(n: int, n_labels: int) -> int:
    """Return how many float64 numbers `cut_charts` needs."""
    return 7 * n * n + 7 * n + 2 + n * n_labels


@njit
def cut_charts(n: int, n_labels: int, work: Any) -> Any:
    """Cut the charts of n words from a block of scratch."""
    nn = n * n
    at = 7 * nn
    return Charts(
        work[:nn].reshape(n, n),
        work[nn : 2 * nn].reshape(n, n),
        work[2 * nn : 3 * nn].reshape(n, n),
        work[3 * nn : 4 * nn].reshape(n, n),
        work[4 * nn : 5 * nn].reshape(n, n),
        work[5 * nn : 6 * nn].reshape(n, n),
        work[6 * nn : at].reshape(n, n),
        work[at : at + n],
        work[at + n : at + 2 * n],
        work[at + 2 * n : at + 3 * n + 1],
        work[at + 3 * n + 1 : at + 4 * n + 2],
        work[at + 4 * n + 2 : at + 5 * n + 2],
        work[at + 5 * n + 2 : at + 6 * n + 2],
        work[at + 6 * n + 2 : at + 7 * n + 2],
        work[at + 7 * n + 2 : at + 7 * n + 2 + n * n_labels],
    )


@njit(fastmath=FAST, inline="always")
def _sum_dot(x: Any, y: Any) -> Any:
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


@njit(fastmath=FAST)
def _log_dot(x: Any, y: Any, row: Any, exps: Any) -> Any:
    n = x.size
    m = -np.inf
    for k in range(n):
        s = x[k] + y[k]
        row[k] = s
        m = s if s > m else m
    if m == -np.inf:
        return m
    exp_into(exps[:n], row[:n], m)
    total = 0.0
    for k in range(n):
        total += exps[k]
    return m + math.log(total)


@njit(fastmath=FAST)
def _max_dot(x: Any, y: Any) -> Any:
    m = -np.inf
    for k in range(x.size):
        s = x[k] + y[k]
        m = s if s > m else m
    return m


@njit(inline="always")
def _dot(semiring: int, x: Any, y: Any, row: Any, exps: Any) -> Any:
    """Compute sum_k x_k y_k in the semiring; row and exps are scratch."""
    if semiring == SUM:
        return _sum_dot(x, y)
    if semiring == LOG:
        return _log_dot(x, y, row, exps)
    return _max_dot(x, y)


@njit
def _times(semiring: int, a: float, b: float) -> Any:
    return a * b if semiring == SUM else a + b


@njit
def _plus(semiring: int, a: float, b: float) -> Any:
    """Add a and b as weights or as logarithms."""
    if semiring == SUM:
        return a + b
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@njit
def log_sum_labels(scores: Any) -> Any:
    """Compute log sum_k exp(scores_k) over the labels of an arc."""
    m = -np.inf
    for k in range(scores.size):
        m = max(m, scores[k])
    if scores.size == 1 or m == -np.inf:
        return m
    total = 0.0
    for k in range(scores.size):
        total += math.exp(scores[k] - m)
    return m + math.log(total)


@njit(fastmath=FAST)
def _all_are_scores(theta: Any) -> Any:
    """Return whether all scores are finite or -inf."""
    bad = 0
    for p in range(theta.size):
        bad += 0 if theta[p] < np.inf else 1
    return bad == 0


@njit(fastmath=FAST)
def _exponentials(theta: Any, exps: Any, high: float, n_labels: int, row: Any) -> Any:
    """Set row(slot) to the sum over labels of exp(theta - high), divided by their total.

    Returns the total. exps receives the exponentials themselves.
    """
    exp_into(exps, theta, high)
    total = 0.0
    if n_labels == 1:
        for s in range(row.size):
            row[s] = exps[s]
            total += exps[s]
    else:
        for s in range(row.size):
            arc = exps[s * n_labels : s * n_labels + n_labels]
            row[s] = 0.0
            for k in range(n_labels):
                row[s] += arc[k]
            total += row[s]
    inverse = 1.0 / total
    for s in range(row.size):
        row[s] *= inverse
    return total


@njit
def weigh_arcs(semiring: int, n: int, n_labels: int, theta: Any, exps: Any, t: Any) -> Any:
    """Fill the weights of the arcs; return the shift that log Z needs.

    Returns nan if a score is nan or +inf, and -inf if a word has no head. exps receives the
    exponentials of all parts for the semiring SUM, unless it is empty.
    """
    if not _all_are_scores(theta):
        return np.nan
    shift = 0.0
    width = n * n_labels
    for m in range(n):
        scores = theta[m * width : (m + 1) * width]
        high = -np.inf
        for p in range(width):
            high = max(high, scores[p])
        if high == -np.inf:
            return high
        row = t.row[:n]
        if semiring == SUM:
            out = exps[m * width : (m + 1) * width] if exps.size > 0 else t.labels
            shift += high + math.log(_exponentials(scores, out, high, n_labels, row))
        elif semiring == LOG:
            shift += high
            for s in range(n):
                row[s] = log_sum_labels(scores[s * n_labels : (s + 1) * n_labels]) - high
        else:
            for s in range(n):
                row[s] = scores[s * n_labels]
                for k in range(1, n_labels):
                    row[s] = max(row[s], scores[s * n_labels + k])
        # Slot 0 is the root, slots 1 .. m are words 0 .. m-1, the rest words m+1 .. n-1.
        t.root[m] = row[0]
        a = t.arcs[m]
        for s in range(m):
            a[s] = row[s + 1]
        for s in range(m + 1, n):
            a[s] = row[s]
    return shift


@njit(fastmath=FAST)
def inside(semiring: int, n: int, single: bool, t: Any) -> Any:
    """Fill C, I, I0 and R; return R(n)."""
    zero, one = (0.0, 1.0) if semiring == SUM else (-np.inf, 0.0)
    c, ct, i_, it, a = t.c, t.ct, t.i, t.it, t.arcs
    row, exps = t.row, t.exps
    for j in range(n):
        c[j, j] = one
        ct[j, j] = one
        for i in range(j - 1, -1, -1):
            s = _dot(semiring, c[i, i:j], c[j, i + 1 : j + 1], row, exps)
            right, left = _times(semiring, a[j, i], s), _times(semiring, a[i, j], s)
            i_[i, j] = right
            it[j, i] = right
            i_[j, i] = left
            it[i, j] = left
            right = _dot(semiring, i_[i, i + 1 : j + 1], ct[j, i + 1 : j + 1], row, exps)
            left = _dot(semiring, i_[j, i:j], ct[i, i:j], row, exps)
            c[i, j] = right
            ct[j, i] = right
            c[j, i] = left
            ct[i, j] = left
    for j in range(n + 1):
        t.r[j] = zero
    t.r[0] = one
    for k in range(n):
        t.i0[k] = _times(
            semiring, t.root[k], _dot(semiring, t.r[: k + 1], c[k, : k + 1], row, exps)
        )
        if k == n - 1 or not single:
            t.r[k + 1] = _dot(semiring, t.i0[: k + 1], ct[k, : k + 1], row, exps)
    return t.r[n]


@njit(fastmath=FAST)
def outside(semiring: int, n: int, single: bool, t: Any) -> None:
    """Turn I and I0 into the marginals of the arcs (their logarithms, for LOG), after `inside`."""
    zero = 0.0 if semiring == SUM else -np.inf
    c, ct, i_, it, gc, gct = t.c, t.ct, t.i, t.it, t.gc, t.gct
    gs, row, exps = t.arcs, t.row, t.exps
    for j in range(n):
        t.gr[j] = zero
    t.gr[n] = 1.0 / t.r[n] if semiring == SUM else -t.r[n]
    for k in range(n - 1, -1, -1):
        g = _dot(semiring, t.gr[k + 1 :], c[k, k:], row, exps)
        t.w[k] = _times(semiring, g, t.root[k])
        if not single:
            t.gr[k] = _dot(semiring, t.w[k:], ct[k, k:], row, exps)
    for j in range(n - 1, -1, -1):
        for i in range(j):
            # G of C(i, j): at the end of trees of i's heads to the left, of i as a modifier of
            # the root, and of S(i, j') split at j.
            g = _dot(semiring, gct[j, :i], it[i, :i], row, exps)
            g = _plus(semiring, g, _times(semiring, t.gr[j + 1], t.i0[i]))
            if j + 1 < n:
                g = _plus(
                    semiring, g, _dot(semiring, gs[i, j + 1 :], ct[j + 1, j + 1 :], row, exps)
                )
            gc[i, j] = g
            gct[j, i] = g
            # G of C(j, i): the mirror image.
            g = _dot(semiring, gct[i, j + 1 :], it[j, j + 1 :], row, exps)
            g = _plus(semiring, g, _times(semiring, t.r[i], t.w[j]))
            if i > 0:
                g = _plus(semiring, g, _dot(semiring, gs[j, :i], ct[i - 1, :i], row, exps))
            gc[j, i] = g
            gct[i, j] = g
            right = _dot(semiring, gc[i, j:], c[j, j:], row, exps)
            left = _dot(semiring, gc[j, : i + 1], c[i, : i + 1], row, exps)
            i_[i, j] = _times(semiring, right, i_[i, j])
            i_[j, i] = _times(semiring, left, i_[j, i])
            g = _plus(
                semiring,
                _times(semiring, right, gs[j, i]),
                _times(semiring, left, gs[i, j]),
            )
            gs[i, j] = g
            gs[j, i] = g
    for k in range(n):
        g = _dot(semiring, t.gr[k + 1 :], c[k, k:], row, exps)
        t.i0[k] = _times(semiring, g, t.i0[k])


@njit(fastmath=FAST)
def _spread(semiring: int, n: int, n_labels: int, theta: Any, mu: Any, t: Any) -> None:
    """Share the marginal of each arc among its labels; for SUM mu holds the exponentials."""
    for m in range(n):
        for s in range(n):
            at = (m * n + s) * n_labels
            arc = mu[at : at + n_labels]
            held = t.i0[m] if s == 0 else t.i[s - 1 if s <= m else s, m]
            if semiring == SUM:
                if n_labels == 1:
                    arc[0] = held
                    continue
                total = 0.0
                for k in range(n_labels):
                    total += arc[k]
                factor = held / total if total > 0.0 else 0.0
                for k in range(n_labels):
                    arc[k] *= factor
            else:
                scores = theta[at : at + n_labels]
                total = log_sum_labels(scores)
                for k in range(n_labels):
                    arc[k] = math.exp(scores[k] - total + held) if held > -np.inf else 0.0


@cfunc(ORACLE)
def projective_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run inside and outside on scaled exponentials, or in log space where they underflow."""
    n_labels, single, n = spec[0], spec[1] != 0, topo[0]
    if n == 0:
        return 0.0
    t = cut_charts(n, n_labels, work)
    for semiring in (SUM, LOG):
        log_z = weigh_arcs(semiring, n, n_labels, theta, mu, t)
        if math.isfinite(log_z):
            z = inside(semiring, n, single, t)
            if semiring == SUM and not z > _SMALLEST_Z:
                continue
            log_z += math.log(z) if semiring == SUM else z
        if not math.isfinite(log_z):
            for p in range(mu.size):
                mu[p] = 0.0
            return log_z
        if mu.size > 0:
            outside(semiring, n, single, t)
            _spread(semiring, n, n_labels, theta, mu, t)
        return log_z
    return np.nan
