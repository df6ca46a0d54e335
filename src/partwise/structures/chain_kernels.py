"""The recursions of a first-order chain.

Shapes: L labels, T positions; psi, alpha T x L; E L x L (tied) or (T-1) x L x L.

    psi_t(k) = exp(theta_t(k) - m_t)          E(j,k) = exp(theta(j,k) - M)
    alpha_0 = psi_0 / c_0                     alpha_t = psi_t . (alpha_{t-1} E) / c_t
    beta_{T-1} = 1                            beta_{t-1} = E g_t,   g_t = psi_t . beta_t / c_t
    logZ = sum_t (m_t + log c_t) + (T-1) M    mu_t = alpha_t . beta_t
                                              mu(j,k) = E(j,k) sum_t alpha_{t-1}(j) g_t(k)

with c_t the sum that makes alpha_t add up to one. These *scaled exponentials* need one exp a part
and no logarithm a transition, but may underflow. A path that was flushed to zero had at most
e^-708 of the mass at some position t. It can matter in the end only if it gains that much on the
kept paths afterwards, and it gains at most a factor 1/c_s at position s. So the result is right if

    sum_s max(0, -log c_s) < 650,

or, whatever the unary scores are, if no transition is forbidden and their scores spread over at
most 300 nats: then every label feeds every next label, and a flushed path stays below e^-400.
Otherwise the example is done again in log space, exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..exponential import exp_into
from ..jit import FAST, cfunc, njit
from .base import ORACLE

_SPREAD = 300.0
_REGAINED = 650.0


@njit(fastmath=FAST)
def _times_matrix(x: Any, e: Any, n: int, out: Any) -> None:
    """out = x E for an n x n matrix, four rows at a time so that out stays in registers longer."""
    for k in range(n):
        out[k] = 0.0
    n4 = n - n % 4
    for j in range(0, n4, 4):
        a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
        for k in range(n):
            out[k] += (a * e[j * n + k] + b * e[(j + 1) * n + k]) + (
                c * e[(j + 2) * n + k] + d * e[(j + 3) * n + k]
            )
    for j in range(n4, n):
        a = x[j]
        for k in range(n):
            out[k] += a * e[j * n + k]


@njit(fastmath=FAST)
def _add_outer(x: Any, g: Any, n: int, out: Any) -> None:
    """out += x g^T for an n x n matrix."""
    for j in range(n):
        a = x[j]
        for k in range(n):
            out[j * n + k] += a * g[k]


@njit
def _unary(spec: Any, length: int, theta: Any, out: Any) -> None:
    """Copy the unary scores, the start and end scores added to their positions."""
    n = spec[0]
    for p in range(length * n):
        out[p] = theta[p]
    at = length * n + (1 if spec[1] else length - 1) * n * n
    if spec[2]:
        for k in range(n):
            out[k] += theta[at + k]
        at += n
    if spec[3]:
        for k in range(n):
            out[(length - 1) * n + k] += theta[at + k]


@njit
def _spread_ends(spec: Any, length: int, mu: Any) -> None:
    """The expected start and end labels are the unary ones of the first and last position."""
    n = spec[0]
    at = length * n + (1 if spec[1] else length - 1) * n * n
    if spec[2]:
        for k in range(n):
            mu[at + k] = mu[k]
        at += n
    if spec[3]:
        for k in range(n):
            mu[at + k] = mu[(length - 1) * n + k]


@njit
def _range(x: Any, lo: int, hi: int) -> Any:
    """The smallest and the largest of x[lo:hi]; nan for both if any is nan."""
    low, high, bad = np.inf, -np.inf, False
    for p in range(lo, hi):
        bad |= math.isnan(x[p])
        low = min(low, x[p])
        high = max(high, x[p])
    return (np.nan, np.nan) if bad else (low, high)


@njit(fastmath=FAST)
def _exponentials(spec: Any, length: int, theta: Any, work: Any) -> Any:
    """Fill psi and E; return (the shifts' sum, whether transitions can be trusted).

    The shift is -inf if a position has no label, nan if a score is nan or +inf.
    """
    n = spec[0]
    nn = n * n
    psi = work[: length * n]
    _unary(spec, length, theta, psi)
    shift = 0.0
    for t in range(length):
        _, m = _range(psi, t * n, t * n + n)
        if not math.isfinite(m):
            return (m if m < 0 else np.nan), False
        exp_into(psi[t * n : t * n + n], psi[t * n : t * n + n], m)
        shift += m
    at = length * n
    matrices = 1 if spec[1] else length - 1
    trusted = True
    if length > 1:
        for s in range(matrices):
            low, m = _range(theta, at + s * nn, at + s * nn + nn)
            if not math.isfinite(m):
                return (m if m < 0 else np.nan), False
            trusted &= m - low <= _SPREAD
            exp_into(work[at + s * nn : at + s * nn + nn], theta[at + s * nn : at + s * nn + nn], m)
            shift += m * (length - 1) if spec[1] else m
    return shift, trusted


@njit(fastmath=FAST)
def _scaled(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Scaled forward-backward; nan asks for the redo in log space."""
    n = spec[0]
    nn = n * n
    tied = spec[1] != 0
    log_z, trusted = _exponentials(spec, length, theta, work)
    if not math.isfinite(log_z):
        return log_z
    matrices = 1 if tied else length - 1
    psi = work[: length * n]
    at = length * n
    e = work[at : at + matrices * nn]
    at += matrices * nn
    alpha = work[at : at + length * n]
    at += length * n
    c = work[at : at + length]
    at += length

    regained = 0.0
    for t in range(length):
        now, psi_t = alpha[t * n : t * n + n], psi[t * n : t * n + n]
        if t == 0:
            for k in range(n):
                now[k] = 1.0
        else:
            step = 0 if tied else (t - 1) * nn
            _times_matrix(alpha[t * n - n : t * n], e[step : step + nn], n, now)
        total = 0.0
        for k in range(n):
            now[k] *= psi_t[k]
            total += now[k]
        if not total > 1e-290:
            return np.nan
        inverse = 1.0 / total
        for k in range(n):
            now[k] *= inverse
        c[t] = inverse
        log_c = math.log(total)
        log_z += log_c
        regained -= min(log_c, 0.0)
    if not trusted and regained > _REGAINED:
        return np.nan
    if mu.size == 0:
        return log_z

    beta = work[at : at + n]
    g = work[at + n : at + 2 * n]
    et = work[at + 2 * n : at + 2 * n + nn]
    counts = work[at + 2 * n + nn : at + 2 * n + 2 * nn]
    for j in range(nn):
        counts[j] = 0.0
    if tied:
        for j in range(n):
            for k in range(n):
                et[k * n + j] = e[j * n + k]
    for k in range(n):
        beta[k] = 1.0
    first = length * n
    for t in range(length - 1, -1, -1):
        mu_t, alpha_t = mu[t * n : t * n + n], alpha[t * n : t * n + n]
        for k in range(n):
            mu_t[k] = alpha_t[k] * beta[k]
        if t == 0:
            break
        before, psi_t = alpha[t * n - n : t * n], psi[t * n : t * n + n]
        for k in range(n):
            g[k] = psi_t[k] * beta[k] * c[t]
        if tied:
            _add_outer(before, g, n, counts)
            _times_matrix(g, et, n, beta)
        else:
            step = (t - 1) * nn
            for j in range(n):
                e_j = e[step + j * n : step + j * n + n]
                mu_j = mu[first + step + j * n : first + step + j * n + n]
                total = 0.0
                for k in range(n):
                    flow = e_j[k] * g[k]
                    total += flow
                    mu_j[k] = flow * before[j]
                beta[j] = total
    if tied:
        if length > 1:
            for j in range(nn):
                mu[first + j] = counts[j] * e[j]
        else:
            for j in range(nn):
                mu[first + j] = 0.0
    _spread_ends(spec, length, mu)
    return log_z


@njit
def _log_sum(x: Any, n: int) -> Any:
    """Log sum exp; nan for nan or +inf, -inf for an empty sum."""
    _, m = _range(x, 0, n)
    if not math.isfinite(m):
        return m if m < 0 else np.nan
    total = 0.0
    for k in range(n):
        total += math.exp(x[k] - m)
    return m + math.log(total)


@njit
def _log_forward(spec: Any, length: int, theta: Any, unary: Any, alpha: Any, row: Any) -> Any:
    """Log-space forward pass: fill unary (start and end added) and alpha, return logZ."""
    n = spec[0]
    _unary(spec, length, theta, unary)
    first = length * n
    for k in range(n):
        alpha[k] = unary[k]
    for t in range(1, length):
        step = first if spec[1] else first + (t - 1) * n * n
        for k in range(n):
            for j in range(n):
                row[j] = alpha[(t - 1) * n + j] + theta[step + j * n + k]
            alpha[t * n + k] = _log_sum(row, n) + unary[t * n + k]
    return _log_sum(alpha[(length - 1) * n :], n)


@njit
def _exact(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Forward-backward in log space: slower, and right for any scores."""
    n = spec[0]
    nn = n * n
    unary = work[: length * n]
    alpha = work[length * n : 2 * length * n]
    at = 2 * length * n
    row, beta, after = work[at : at + n], work[at + n : at + 2 * n], work[at + 2 * n : at + 3 * n]
    log_z = _log_forward(spec, length, theta, unary, alpha, row)
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
            mu[t * n + k] = math.exp(alpha[t * n + k] + beta[k] - log_z)
        if t == 0:
            break
        step = first if spec[1] else first + (t - 1) * nn
        for k in range(n):
            after[k] = unary[t * n + k] + beta[k]
        for j in range(n):
            for k in range(n):
                row[k] = theta[step + j * n + k] + after[k]
                mu[step + j * n + k] += math.exp(alpha[(t - 1) * n + j] + row[k] - log_z)
            beta[j] = _log_sum(row, n)
    _spread_ends(spec, length, mu)
    return log_z


@cfunc(ORACLE)
def chain_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Forward-backward: scaled exponentials, redone in log space where they underflow."""
    length = topo[0]
    if length == 0:
        for p in range(mu.size):
            mu[p] = 0.0
        return 0.0
    log_z = _scaled(spec, length, theta, mu, work)
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
    _unary(spec, length, theta, unary)
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
                # Written so that a nan is taken and kept.
                if not s <= best[k]:
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
    _spread_ends(spec, length, mu)
    return top


@njit
def chain_k_best(spec: Any, topo: Any, theta: Any, n_best: int) -> Any:
    """The n_best best labels: each state keeps its best n_best prefixes, merged from L lists.

    Returns the scores and the labels as rows; fewer than n_best where fewer labels are allowed.
    """
    n = spec[0]
    length = topo[0]
    if length == 0:
        return np.zeros(min(1, n_best)), np.zeros((min(1, n_best), 0), dtype=np.int64)
    unary = np.empty(length * n)
    _unary(spec, length, theta, unary)
    first = length * n
    # score, and the state and rank before it, of the r-th best prefix that ends in k at t
    score = np.full((length, n, n_best), -np.inf)
    state = np.zeros((length, n, n_best), dtype=np.int64)
    rank = np.zeros((length, n, n_best), dtype=np.int64)
    head = np.zeros(n, dtype=np.int64)
    score[0, :, 0] = unary[:n]
    for t in range(1, length):
        step = first if spec[1] else first + (t - 1) * n * n
        for k in range(n):
            head[:] = 0
            for r in range(n_best):
                top, j_top = -np.inf, -1
                for j in range(n):
                    if head[j] < n_best:
                        s = score[t - 1, j, head[j]] + theta[step + j * n + k]
                        if s > top:
                            top, j_top = s, j
                if j_top < 0:
                    break
                score[t, k, r] = top + unary[t * n + k]
                state[t, k, r] = j_top
                rank[t, k, r] = head[j_top]
                head[j_top] += 1
    head[:] = 0
    scores = np.empty(n_best)
    labels = np.empty((n_best, length), dtype=np.int64)
    found = 0
    while found < n_best:
        top, k = -np.inf, -1
        for j in range(n):
            if head[j] < n_best and score[length - 1, j, head[j]] > top:
                top, k = score[length - 1, j, head[j]], j
        if k < 0:
            break
        scores[found] = top
        r = head[k]
        head[k] += 1
        for t in range(length - 1, -1, -1):
            labels[found, t] = k
            k, r = state[t, k, r], rank[t, k, r]
        found += 1
    return scores[:found], labels[:found]


@njit
def chain_sample(spec: Any, topo: Any, theta: Any, uniform: Any) -> Any:
    """Filter forwards in log space, then draw y_{T-1}, ..., y_0 by inverting uniform[s, t]."""
    n = spec[0]
    length = topo[0]
    size = uniform.shape[0]
    labels = np.zeros((size, length), dtype=np.int64)
    if length == 0:
        return labels
    unary = np.empty(length * n)
    alpha = np.empty(length * n)
    row = np.empty(n)
    _log_forward(spec, length, theta, unary, alpha, row)
    first = length * n
    for s in range(size):
        after = -1
        for t in range(length - 1, -1, -1):
            step = first if spec[1] else first + t * n * n
            for k in range(n):
                row[k] = alpha[t * n + k]
                if after >= 0:
                    row[k] += theta[step + k * n + after]
            total = _log_sum(row, n)
            mass = 0.0
            after = -1
            for k in range(n):
                weight = math.exp(row[k] - total)
                mass += weight
                if weight > 0.0:
                    after = k
                    if uniform[s, t] < mass:
                        break
            labels[s, t] = after
    return labels
