"""The recursions of a semi-Markov chain: forward-backward over the boundaries of segments.

Shapes: L labels, T positions, segments of 1 .. M positions; boundaries 0 .. T. A segment from s to
e (exclusive) of label k has the score

    w(s,e,k) = sum_{s<=u<e} theta_u(k) + theta(s, e-s, k) + theta(e-s, k)

(its positions, the segment itself, its length), and E(j,k) = exp(theta(j,k) - N). alpha_e(k) is the
mass of all ways to cover 0 .. e-1 that end with label k, as a share: it adds up to one. V_e is the
logarithm of what it was before. gamma collects the transitions, so that their L^2 terms cost time
once per boundary and not once per segment:

    gamma_0(k) = 1                     gamma_s(k) = sum_j alpha_s(j) E(j,k)
    x(s,e,k) = V_s + [s>0] N + w(s,e,k)        m_e = max_{s,k} x(s,e,k)
    W(s,e,k) = exp(x(s,e,k) - m_e)     alpha_e(k) = sum_s gamma_s(k) W(s,e,k) / c_e
    V_e = m_e + log c_e                logZ = V_T
    beta_T = 1                         b_e(k) = beta_e(k) / c_e
    q_s(k) = sum_e W(s,e,k) b_e(k)     beta_s(j) = sum_k E(j,k) q_s(k)
    mu(s,e,k) = gamma_s(k) W(s,e,k) b_e(k)     mu(j,k) = E(j,k) sum_{s>0} alpha_s(j) q_s(k)

V_s is kept as its distance from the newest boundary, so that it stays small, and so do its rounding
errors. Where no segment may end, alpha is 0 and V_e is -inf.

These *scaled exponentials* may underflow: of each term that alpha_e(k) is a sum of, up to e^-708 is
flushed to zero before the division by c_e. As a share of Z that is at most e^-708 b_e(k), and the
result is right if these shares are small. They are in two cases.

(1) No transition is forbidden and their scores spread over at most S = 300 nats. Some W(s,e,k) is 1
and gamma_s(k) >= e^-S, so c_e >= e^-S. The labels of a boundary differ by at most e^S in what comes
after them, and alpha_e . beta_e <= 1, so beta_e <= e^S. Together: at most e^(2S-708) = e^-108.

(2) Otherwise the shares are added up. F_e(k) = (1 + sum_s G_s(k) W(s,e,k)) / c_e with
G_s(k) = sum_j F_s(j) E(j,k), G_0 = 0 carries a loss of 1 before each division on to the end, so
sum_k F_T(k) is the sum of all b_e(k). It must be below e^650, which also bounds b.

Where neither holds the example is done again in log space, exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, cfunc, njit
from ..base import ORACLE
from ..logspace import any_bad, log_sum, outer_sums, times_matrix
from ..sequence import count_ends

# The scores of segments, and the recursions of a semi-Markov chain in log space.
#
# These are slower than the recursions in ``oracles.py``, where the formulas are, and right for any
# scores.


@njit
def first_segment(s: int, length: int, longest: int) -> int:
    """Return how many segments begin before s; longest is at most length."""
    cut = max(s - (length - longest), 0)
    return s * longest - cut * (cut - 1) // 2


@njit
def segment_scores(spec: Any, length: int, theta: Any, w: Any, row: Any) -> bool:
    """Fill w[e-1, M-(e-s), k] with w(s,e,k); return False if a score is nan or +inf.

    The segments that end at e are in the order of their starts, as gamma is, so that one product of
    two runs of numbers gives alpha. M is at most T. What is before the first position is not set.
    """
    n, longest = spec[0], min(spec[1], length)
    seg, at = length * n, length * n + first_segment(length, length, longest) * n
    if any_bad(theta[:at]) or any_bad(theta[at + (0 if length > 1 else n * n) :]):
        return False
    lengths = theta[at + n * n : at + n * n + spec[1] * n]
    at += n * n + spec[1] * n
    shortest = longest
    for k in range(n):
        shortest = min(shortest, spec[4 + k])
    for s in range(length):
        for k in range(n):
            row[k] = theta[at + k] if s == 0 and spec[2] else 0.0
        for d in range(1, min(longest, length - s) + 1):
            e = s + d
            unary, own = theta[e * n - n : e * n], theta[seg : seg + n]
            own_length = lengths[d * n - n : d * n]
            to = ((e - 1) * longest + longest - d) * n
            out = w[to : to + n]
            for k in range(n):
                row[k] += unary[k]
                out[k] = row[k] + (own[k] + own_length[k])
            if e == length and spec[3]:
                end = theta[theta.size - n :]
                for k in range(n):
                    out[k] += end[k]
            if d > shortest:
                for k in range(n):
                    out[k] = -np.inf if d > spec[4 + k] else out[k]
            seg += n
    return True


@njit
def transitions(spec: Any, length: int, theta: Any) -> Any:
    """Return the scores of neighbouring labels, L x L."""
    n = spec[0]
    at = length * n + first_segment(length, length, min(spec[1], length)) * n
    return theta[at : at + n * n]


@njit
def spread_segments(spec: Any, length: int, mu: Any, row: Any) -> None:
    """Fill the counts of positions, lengths, first and last labels from those of segments."""
    n, longest = spec[0], min(spec[1], length)
    at = length * n + (first_segment(length, length, longest) + n) * n
    lengths = mu[at : at + spec[1] * n]
    at += spec[1] * n
    for p in range(length * n):
        mu[p] = 0.0
    for p in range(lengths.size):
        lengths[p] = 0.0
    for s in range(length):
        first = length * n + first_segment(s, length, longest) * n
        for k in range(n):
            row[k] = 0.0
        # A position is inside the segments that end after it: sum them up, the longest first.
        for d in range(min(longest, length - s), 0, -1):
            own, here = mu[first + d * n - n : first + d * n], mu[(s + d) * n - n : (s + d) * n]
            own_length = lengths[d * n - n : d * n]
            for k in range(n):
                own_length[k] += own[k]
                row[k] += own[k]
                here[k] += row[k]
    count_ends(mu, n, length, at, spec[2], spec[3])


@njit
def semi_markov_forward(
    spec: Any, length: int, theta: Any, w: Any, gamma: Any, alpha: Any, log_c: Any, row: Any
) -> Any:
    """Run the forward pass in log space and return logZ.

    Adds V_s to w, and fills gamma, alpha (in row e-1) and log c. alpha is normalised at each
    boundary, and V_s is counted from the boundary before the end of the segment: they stay small,
    and so do their rounding errors.
    """
    n, longest = spec[0], min(spec[1], length)
    pairs = transitions(spec, length, theta)
    log_z = 0.0
    for k in range(n):
        gamma[k] = 0.0
    for end in range(1, length + 1):
        low = max(0, end - longest)
        block = w[(end - 1) * longest * n : end * longest * n]
        now = alpha[end * n - n : end * n]
        offset = 0.0
        for s in range(end - 1, low - 1, -1):
            for k in range(n):
                block[(longest - end + s) * n + k] += offset
            # A boundary that nothing reaches adds nothing, as its gamma is -inf.
            if s > 0 and log_c[s - 1] > -np.inf:
                offset -= log_c[s - 1]
        for k in range(n):
            for s in range(low, end):
                row[s - low] = gamma[s * n + k] + block[(longest - end + s) * n + k]
            now[k] = log_sum(row, end - low)
        log_c[end - 1] = log_sum(now, n)
        if log_c[end - 1] > -np.inf:
            log_z += log_c[end - 1]
            for k in range(n):
                now[k] -= log_c[end - 1]
        if end < length:
            for k in range(n):
                for j in range(n):
                    row[j] = now[j] + pairs[j * n + k]
                gamma[end * n + k] = log_sum(row, n)
    return log_z if log_c[length - 1] > -np.inf else -np.inf


@njit
def semi_markov_exact(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward in log space."""
    n, longest = spec[0], min(spec[1], length)
    w, at = work[: length * longest * n], length * longest * n
    gamma, alpha = work[at : at + length * n], work[at + length * n : at + 2 * length * n]
    at += 2 * length * n
    after = work[at : at + length * n]  # beta_e / c_e, in the row e-1
    at += length * n
    log_c, q = work[at : at + length], work[at + length : at + length + n]
    row = work[at + length + n : at + length + n + max(n, longest)]
    if not segment_scores(spec, length, theta, w, row):
        return np.nan
    log_z = semi_markov_forward(spec, length, theta, w, gamma, alpha, log_c, row)
    if mu.size == 0:
        return log_z
    for p in range(mu.size):
        mu[p] = 0.0
    if not math.isfinite(log_z):
        return log_z
    pairs = transitions(spec, length, theta)
    tied = length * n + first_segment(length, length, longest) * n
    for k in range(n):
        after[(length - 1) * n + k] = -log_c[length - 1]
    for s in range(length - 1, -1, -1):
        first = length * n + first_segment(s, length, longest) * n
        reach = min(longest, length - s)
        for k in range(n):
            for d in range(1, reach + 1):
                end = s + d
                x = w[(end * longest - d) * n + k]
                row[d - 1] = x + after[(end - 1) * n + k]
                mu[first + (d - 1) * n + k] = math.exp(gamma[s * n + k] + row[d - 1])
            q[k] = log_sum(row, reach)
        if s == 0:
            break
        for j in range(n):
            for k in range(n):
                row[k] = pairs[j * n + k] + q[k]
                mu[tied + j * n + k] += math.exp(alpha[(s - 1) * n + j] + row[k])
            reached = log_c[s - 1] > -np.inf
            after[(s - 1) * n + j] = log_sum(row, n) - log_c[s - 1] if reached else -np.inf
    spread_segments(spec, length, mu, row)
    return log_z


_SPREAD = 300.0
_REGAINED = 1e282  # e^650


@njit(fastmath=FAST)
def _weights(block: Any, x: Any, n: int, offset: Any, more: Any, first: bool, high: Any) -> Any:
    """Replace w by W for the segments that end at one boundary; return their shift m_e.

    offset holds V_s of their starts, and first says whether the first of them begins at 0. Without
    any allowed segment, W is 0 and the shift is -inf.
    """
    for k in range(n):
        high[k] = -np.inf
    for r in range(offset.size):
        shift = offset[r] if first and r == 0 else offset[r] + more
        w_r, x_r = block[r * n : r * n + n], x[r * n : r * n + n]
        for k in range(n):
            v = w_r[k] + shift
            x_r[k] = v
            high[k] = v if v > high[k] else high[k]
    m = high[0]
    for k in range(1, n):
        m = max(m, high[k])
    if m == -np.inf:
        for p in range(block.size):
            block[p] = 0.0
    else:
        exp_into(block, x[: block.size], m)
    return m


@njit(fastmath=FAST)
def _forward(
    length: int, n: int, w: Any, e: Any, more: Any, gamma: Any, alpha: Any, c: Any, scratch: Any
) -> Any:
    """Replace w by W, fill gamma, alpha and 1 / c_e; return logZ, or nan where c_e is 0."""
    longest = w.size // (length * n)
    offset, high = scratch[: length + 1], scratch[length + 1 : length + 1 + n]
    x = scratch[length + 1 + n : length + 1 + n + longest * n]
    offset[0] = 0.0
    log_z = 0.0
    for k in range(n):
        gamma[k] = 1.0
    for end in range(1, length + 1):
        low = max(0, end - longest)
        block = w[(end * longest - (end - low)) * n : end * longest * n]
        m = _weights(block, x, n, offset[low:end], more, low == 0, high)
        now = alpha[end * n - n : end * n]
        for k in range(n):
            now[k] = 0.0
        if m == -np.inf:
            if end == length:
                return np.nan
            for k in range(n):
                gamma[end * n + k] = 0.0
            c[end - 1] = 0.0
            offset[end] = -np.inf
            continue
        for r in range(end - low):
            w_r, gamma_s = block[r * n : r * n + n], gamma[(low + r) * n : (low + r) * n + n]
            for k in range(n):
                now[k] += gamma_s[k] * w_r[k]
        total = 0.0
        for k in range(n):
            total += now[k]
        if not total > 1e-290:
            return np.nan
        inverse = 1.0 / total
        for k in range(n):
            now[k] *= inverse
        c[end - 1] = inverse
        step = m + math.log(total)
        log_z += step
        for s in range(low, end):
            offset[s] -= step
        offset[end] = 0.0
        if end < length:
            times_matrix(now, e, n, gamma[end * n : end * n + n])
    return log_z


@njit(fastmath=FAST)
def _carried(length: int, n: int, w: Any, e: Any, c: Any, g: Any, f: Any) -> Any:
    """Return sum_k F_T(k): what a loss of 1 at every label of every boundary amounts to."""
    longest = w.size // (length * n)
    for k in range(n):
        g[k] = 0.0
    for end in range(1, length + 1):
        low = max(0, end - longest)
        block = w[(end * longest - (end - low)) * n : end * longest * n]
        for k in range(n):
            f[k] = 1.0
        for r in range(end - low):
            w_r, g_s = block[r * n : r * n + n], g[(low + r) * n : (low + r) * n + n]
            for k in range(n):
                f[k] += g_s[k] * w_r[k]
        for k in range(n):
            f[k] *= c[end - 1]
        if end < length:
            times_matrix(f, e, n, g[end * n : end * n + n])
    total = 0.0
    for k in range(n):
        total += f[k]
    return total


@njit(fastmath=FAST)
def _backward(
    length: int, n: int, w: Any, e: Any, et: Any, gamma: Any, alpha: Any, c: Any, q: Any,
    beta: Any, mu: Any,
) -> None:  # fmt: skip
    """Fill the expected counts of segments and transitions."""
    longest = w.size // (length * n)
    for j in range(n):
        for k in range(n):
            et[k * n + j] = e[j * n + k]
    for p in range(length * n):
        q[p] = 0.0
    for end in range(length, 0, -1):
        if end == length:
            for k in range(n):
                beta[k] = 1.0
        else:
            times_matrix(q[end * n : end * n + n], et, n, beta)
        for k in range(n):
            beta[k] *= c[end - 1]
        low = max(0, end - longest)
        block = w[(end * longest - (end - low)) * n : end * longest * n]
        for r in range(end - low):
            s = low + r
            to = length * n + (first_segment(s, length, longest) + end - s - 1) * n
            out, w_r = mu[to : to + n], block[r * n : r * n + n]
            gamma_s, q_s = gamma[s * n : s * n + n], q[s * n : s * n + n]
            for k in range(n):
                flow = w_r[k] * beta[k]
                q_s[k] += flow
                out[k] = gamma_s[k] * flow
    at = length * n + first_segment(length, length, longest) * n
    counts = mu[at : at + n * n]
    outer_sums(alpha, q[n:], length - 1, n, counts)
    if length > 1:
        for p in range(n * n):
            counts[p] *= e[p]


@njit
def _scaled(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward on scaled exponentials; nan asks for log space."""
    n, longest = spec[0], min(spec[1], length)
    nn = n * n
    w, at = work[: length * longest * n], length * longest * n
    gamma, alpha = work[at : at + length * n], work[at + length * n : at + 2 * length * n]
    at += 2 * length * n
    q = work[at : at + length * n]
    at += length * n
    e, et, c = work[at : at + nn], work[at + nn : at + 2 * nn], work[at + 2 * nn :][:length]
    at += 2 * nn + length
    row = work[at : at + n]
    if not segment_scores(spec, length, theta, w, row):
        return np.nan
    more, trusted = 0.0, True
    if length > 1:
        pairs = transitions(spec, length, theta)
        more, least = -np.inf, np.inf
        for p in range(nn):
            more = max(more, pairs[p])
            least = min(least, pairs[p])
        trusted = more - least <= _SPREAD
        more = more if more > -np.inf else 0.0
        exp_into(e, pairs, more)
    log_z = _forward(length, n, w, e, more, gamma, alpha, c, work[at + n :])
    if not trusted and not _carried(length, n, w, e, c, q, row) < _REGAINED:
        return np.nan
    if mu.size == 0 or not math.isfinite(log_z):
        return log_z
    _backward(length, n, w, e, et, gamma, alpha, c, q, row, mu)
    spread_segments(spec, length, mu, row)
    return log_z


@cfunc(ORACLE)
def semi_markov_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward on scaled exponentials, or in log space where they underflow."""
    length = topo[0]
    if length == 0:
        for p in range(mu.size):
            mu[p] = 0.0
        return 0.0
    log_z = _scaled(spec, length, theta, mu, work)
    if math.isfinite(log_z):
        return log_z
    return semi_markov_exact(spec, length, theta, mu, work)
