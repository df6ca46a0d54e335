"""The oracles of a first-order chain: forward-backward and Viterbi.

Forward-backward runs on scaled exponentials (``scaled.py``). Where these may underflow, it runs in
log space, which is done here:

    a_t(k) = theta_t(k) + log sum_j exp(a_{t-1}(j) + theta(j,k)) - log c_t

with c_t such that exp(a_t) adds up to one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.jit import FAST, cfunc, njit
from ...compiled.lanes import LINE, add, fill, larger, load, repeat, store
from ..base import ORACLE
from ..logspace import add_entropy, any_bad, log_sum
from .scaled import scaled, spread_ends, unary_scores

# The entropy of a chain as a function of its marginals, if every pair of neighbours has its own.
#
# H = sum_t H(mu[t-1, t]) - sum over inner t of H(mu[t]),    -dH/dmu = log mu + 1, with that sign


@cfunc(ORACLE, fastmath=FAST)
def chain_entropy(spec: Any, topo: Any, mu: Any, slope: Any, work: Any) -> Any:
    """Return H and fill in its derivatives; mu holds the unary parts, then the pairs."""
    n, length = spec[0], topo[0]
    for r in range(slope.size):
        slope[r] = 0.0
    if length == 1:
        return add_entropy(mu[:n], slope[:n], 1.0)
    unary, pairs = length * n, (length - 1) * n * n
    inner = max(unary - n, n)
    total = add_entropy(mu[n:inner], slope[n:inner], -1.0)
    return total + add_entropy(mu[unary : unary + pairs], slope[unary : unary + pairs], 1.0)


@njit
def log_forward(
    spec: Any, length: int, theta: Any, unary: Any, alpha: Any, log_c: Any, row: Any
) -> Any:
    """Run the forward pass in log space and return logZ.

    Fills unary (with the start and end scores), alpha and log c. alpha is normalised at each
    position, so it stays small, and so do its rounding errors.
    """
    n = spec[0]
    unary_scores(spec, length, theta, unary, n)
    first = length * n
    log_z = 0.0
    for t in range(length):
        step = first if spec[1] else first + (t - 1) * n * n
        now = alpha[t * n : t * n + n]
        for k in range(n):
            now[k] = unary[t * n + k]
            if t > 0:
                for j in range(n):
                    row[j] = alpha[(t - 1) * n + j] + theta[step + j * n + k]
                now[k] += log_sum(row, n)
        log_c[t] = log_sum(now, n)
        log_z += log_c[t]
        if log_c[t] > -np.inf:
            for k in range(n):
                now[k] -= log_c[t]
    return log_z


@njit
def _exact(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward in log space, which is slower and right for any scores."""
    n = spec[0]
    nn = n * n
    unary = work[: length * n]
    alpha = work[length * n : 2 * length * n]
    at = 2 * length * n
    row, beta, after = work[at : at + n], work[at + n : at + 2 * n], work[at + 2 * n : at + 3 * n]
    log_c = work[at + 3 * n : at + 3 * n + length]
    log_z = log_forward(spec, length, theta, unary, alpha, log_c, row)
    if mu.size == 0:
        return log_z
    for p in range(mu.size):
        mu[p] = 0.0
    if not math.isfinite(log_z):
        return log_z
    first = length * n
    for k in range(n):
        beta[k] = 0.0
    for t in range(length - 1, -1, -1):
        for k in range(n):
            mu[t * n + k] = math.exp(alpha[t * n + k] + beta[k])
        if t == 0:
            break
        step = first if spec[1] else first + (t - 1) * nn
        for k in range(n):
            after[k] = unary[t * n + k] + beta[k] - log_c[t]
        for j in range(n):
            for k in range(n):
                row[k] = theta[step + j * n + k] + after[k]
                mu[step + j * n + k] += math.exp(alpha[(t - 1) * n + j] + row[k])
            beta[j] = log_sum(row, n)
    spread_ends(spec, length, mu)
    return log_z


@cfunc(ORACLE)
def chain_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward on scaled exponentials, or in log space where they underflow."""
    length = topo[0]
    if length == 0:
        for p in range(mu.size):
            mu[p] = 0.0
        return 0.0
    log_z = scaled(spec, length, theta, mu, work)
    if math.isfinite(log_z):
        return log_z
    return _exact(spec, length, theta, mu, work)


@njit(fastmath=FAST)
def _step_maximum(score: Any, at: int, theta: Any, step: int, n: int, out: Any) -> None:
    """Compute out_k = max_j score[at + j] + theta[step + j n + k]."""
    whole = n if n >= LINE else 0
    for first in range(0, whole, LINE):
        k = min(first, n - LINE)
        even = odd = fill(-np.inf)
        for j in range(0, n - 1, 2):
            even = larger(add(repeat(score, at + j), load(theta, step + j * n + k)), even)
            odd = larger(add(repeat(score, at + j + 1), load(theta, step + j * n + n + k)), odd)
        if n % 2:
            j = n - 1
            even = larger(add(repeat(score, at + j), load(theta, step + j * n + k)), even)
        store(out, k, larger(even, odd))
    for k in range(whole, n):
        if whole == 0:
            best = -np.inf
            for j in range(n):
                best = max(best, score[at + j] + theta[step + j * n + k])
            out[k] = best


@cfunc(ORACLE)
def chain_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Find the best labels by Viterbi's algorithm; the first of equal labels wins.

    Only the scores of the best prefixes are kept on the way forward; the way back finds their
    labels.
    """
    n = spec[0]
    length = topo[0]
    for p in range(mu.size):
        mu[p] = 0.0
    if length == 0:
        return 0.0
    if any_bad(theta):
        return np.nan
    score = work[: length * n]
    best = work[length * n : length * n + n]
    unary_scores(spec, length, theta, score, n)
    first = length * n
    for t in range(1, length):
        step = first if spec[1] else first + (t - 1) * n * n
        _step_maximum(score, t * n - n, theta, step, n, best)
        for k in range(n):
            score[t * n + k] += best[k]
    k = 0
    last = score[(length - 1) * n : length * n]
    for j in range(1, n):
        if last[j] > last[k]:
            k = j
    top = last[k]
    if top == -np.inf or mu.size == 0:
        return top
    mu[(length - 1) * n + k] = 1.0
    for t in range(length - 1, 0, -1):
        step = first if spec[1] else first + (t - 1) * n * n
        before, after = 0, k
        for j in range(n):
            at = t * n - n
            if (
                score[at + j] + theta[step + j * n + after]
                > score[at + before] + theta[step + before * n + after]
            ):
                before = j
        k = before
        mu[t * n - n + k] = 1.0
        mu[step + k * n + after] += 1.0
    spread_ends(spec, length, mu)
    return top
