"""The oracles of a first-order chain: forward-backward and Viterbi.

Forward-backward runs on scaled exponentials (``chain_scaled.py``), and where these may underflow
in log space, here:

    a_t(k) = theta_t(k) + log sum_j exp(a_{t-1}(j) + theta(j,k)) - log c_t

with c_t such that exp(a_t) adds up to one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..jit import cfunc, njit
from .base import ORACLE
from .chain_scaled import scaled, spread_ends, unary_scores


@njit
def log_sum(x: Any, n: int) -> Any:
    """Log sum exp; nan for nan or +inf, -inf for an empty sum."""
    m = -np.inf
    for k in range(n):
        if math.isnan(x[k]):
            return np.nan
        m = max(m, x[k])
    if not math.isfinite(m):
        return m if m < 0 else np.nan
    total = 0.0
    for k in range(n):
        total += math.exp(x[k] - m)
    return m + math.log(total)


@njit
def log_forward(
    spec: Any, length: int, theta: Any, unary: Any, alpha: Any, log_c: Any, row: Any
) -> Any:
    """Log-space forward pass: fill unary (start and end added), alpha and log c, return logZ.

    alpha is normalised at each position: it stays small, and so do its rounding errors.
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
    """Forward-backward in log space: slower, and right for any scores."""
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
    """Forward-backward: scaled exponentials, redone in log space where they underflow."""
    length = topo[0]
    if length == 0:
        for p in range(mu.size):
            mu[p] = 0.0
        return 0.0
    log_z = scaled(spec, length, theta, mu, work)
    if math.isfinite(log_z):
        return log_z
    return _exact(spec, length, theta, mu, work)


@cfunc(ORACLE)
def chain_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Viterbi; the first of equal labels wins."""
    n = spec[0]
    length = topo[0]
    for p in range(mu.size):
        mu[p] = 0.0
    if length == 0:
        return 0.0
    unary = work[: length * n]
    score = work[length * n : length * n + n]
    best = work[length * n + n : length * n + 2 * n]
    back = work[length * n + 2 * n : 2 * length * n + 2 * n]
    unary_scores(spec, length, theta, unary, n)
    first = length * n
    for k in range(n):
        score[k] = unary[k]
    for t in range(1, length):
        step = first if spec[1] else first + (t - 1) * n * n
        for k in range(n):
            best[k] = -np.inf
            back[t * n + k] = 0.0
        for j in range(n):
            for k in range(n):
                s = score[j] + theta[step + j * n + k]
                # A nan is taken and, as nothing is larger, kept.
                if s > best[k] or math.isnan(s):
                    best[k] = s
                    back[t * n + k] = j
        for k in range(n):
            score[k] = best[k] + unary[t * n + k]
    k = 0
    for j in range(n):
        if math.isnan(score[j]) or score[j] == np.inf:
            return np.nan
        if score[j] > score[k]:
            k = j
    top = score[k]
    if top == -np.inf or mu.size == 0:
        return top
    for t in range(length - 1, -1, -1):
        mu[t * n + k] = 1.0
        if t > 0:
            j = int(back[t * n + k])
            step = first if spec[1] else first + (t - 1) * n * n
            mu[step + j * n + k] += 1.0
            k = j
    spread_ends(spec, length, mu)
    return top
