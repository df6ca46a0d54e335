"""The scores of segments, and the recursions of a semi-Markov chain in log space.

These are slower than the recursions in ``oracles.py``, where the formulas are, and right for any
scores.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.jit import njit
from ..ends import count_ends
from ..logspace import any_bad, log_sum


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
