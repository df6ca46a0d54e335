"""The recursions of a first-order chain.

Shapes: L labels, T positions; psi, alpha T x L; E L x L (tied) or (T-1) x L x L. In the scratch
of the scaled recursions rows have a *pitch* of p >= L numbers, the rest of them zeros: vector
instructions take 8 at a time, and 24 are done sooner than 22.

    psi_t(k) = exp(theta_t(k) - m_t)          E(j,k) = exp(theta(j,k) - M)
    alpha_0 = psi_0 / c_0                     alpha_t = psi_t . (alpha_{t-1} E) / c_t
    beta_{T-1} = 1                            beta_{t-1} = E g_t,   g_t = psi_t . beta_t / c_t
    logZ = sum_t (m_t + log c_t) + (T-1) M    mu_t = alpha_t . beta_t
                                              mu(j,k) = E(j,k) sum_t alpha_{t-1}(j) g_t(k)

with c_t the sum that makes alpha_t add up to one. These *scaled exponentials* need one exp a part
and no logarithm a transition, but may underflow. What is flushed to zero at position t is at most
e^-708 before it is divided by c_t. It can matter in the end only if it gains that much on the kept
paths. With E <= 1 the mass of all paths that leave a state grows at position s by at most a factor
p_s / c_s, where p_s = sum_k psi_s(k): 1 / c_s is a path's own gain, and p_s the paths it splits
into. So the result is right, and beta stays below e^650, if

    sum_s max(0, log(p_s / c_s)) < 650,

or, whatever the unary scores are, if no transition is forbidden and their scores spread over at
most 300 nats: then the labels of a position differ by at most e^300 in what comes before them and
by as much in what comes after, and a flushed label has at most e^-108 of the mass.
Otherwise the example is done again in log space, exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..exponential import exp_into
from ..jit import FAST, cfunc, njit
from ..storage import filled_width
from .base import ORACLE
from .matrices import outer_sums, times_matrix

_SPREAD = 300.0
_REGAINED = 650.0


@njit
def unary_scores(spec: Any, length: int, theta: Any, out: Any) -> None:
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
def _largest(x: Any) -> Any:
    """The largest number in x, nan passed over."""
    high = -np.inf
    for p in range(x.size):
        high = x[p] if x[p] > high else high
    return high


@njit
def _smallest(x: Any) -> Any:
    """The smallest number in x, nan passed over."""
    low = np.inf
    for p in range(x.size):
        low = x[p] if x[p] < low else low
    return low


@njit
def _pitched(rows: Any, n: int, p: int, shift: float, out: Any) -> None:
    """Copy rows of n numbers, less the shift, into rows of p; the rest becomes 0."""
    for at in range(0, rows.size // n):
        row, copy = rows[at * n : at * n + n], out[at * p : at * p + p]
        for k in range(n):
            copy[k] = row[k] - shift
        for k in range(n, p):
            copy[k] = 0.0


@njit
def _clear_rest(x: Any, n: int, p: int) -> None:
    """Zero what follows the first n numbers of every row of p."""
    if p > n:
        for at in range(n, x.size, p):
            for k in range(at, at + p - n):
                x[k] = 0.0


@njit(fastmath=FAST)
def _exponentials(
    spec: Any, length: int, p: int, theta: Any, psi: Any, e: Any, unary: Any, scores: Any
) -> Any:
    """Fill psi and E; return (the shifts' sum, whether transitions can be trusted).

    The sum is not finite if a position or a matrix has no finite largest score. A nan comes
    through as a nan in psi or E, and so in the first total that it enters. unary and scores are
    scratch: exp_into is scalar if it writes over its input.
    """
    n = spec[0]
    nn = n * n
    unary_scores(spec, length, theta, psi)
    shift = 0.0
    for t in range(length):
        row, copy = psi[t * n : t * n + n], unary[t * p : t * p + p]
        m = _largest(row)
        shift += m
        for k in range(n):
            copy[k] = row[k] - m
        for k in range(n, p):
            copy[k] = 0.0
    trusted = True
    if length > 1:
        at = length * n
        for matrix in range(1 if spec[1] else length - 1):
            given = theta[at : at + nn]
            m = _largest(given)
            trusted &= m - _smallest(given) <= _SPREAD
            shift += m * (length - 1) if spec[1] else m
            if math.isfinite(m):
                e_t = e[matrix * p * p : (matrix + 1) * p * p]
                for k in range(n * p, p * p):
                    e_t[k] = 0.0
                if p == n:
                    exp_into(e_t, given, m)
                else:
                    _pitched(given, n, p, m, scores)
                    exp_into(e_t[: n * p], scores[: n * p], 0.0)
                    _clear_rest(e_t[: n * p], n, p)
            at += nn
    if math.isfinite(shift):
        exp_into(psi, unary, 0.0)
        _clear_rest(psi, n, p)
    return shift, trusted


@njit(fastmath=FAST)
def _scaled(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Scaled forward-backward; nan asks for the redo in log space."""
    n = spec[0]
    p = filled_width(n)
    nn, pp = n * n, p * p
    tied = spec[1] != 0
    matrices = 1 if tied else length - 1
    psi = work[: length * p]
    at = length * p
    e = work[at : at + matrices * pp]
    at += matrices * pp
    alpha = work[at : at + length * p]
    at += length * p
    c = work[at : at + length]
    at += length
    beta = work[at : at + p]
    et = work[at + p : at + p + pp]
    log_z, trusted = _exponentials(spec, length, p, theta, psi, e, alpha, et)
    if not math.isfinite(log_z):
        return np.nan

    regained, product = 0.0, 1.0
    for t in range(length):
        now, psi_t = alpha[t * p : t * p + p], psi[t * p : t * p + p]
        if t == 0:
            for k in range(p):
                now[k] = 1.0
        else:
            step = 0 if tied else (t - 1) * pp
            times_matrix(alpha[t * p - p : t * p], e[step : step + pp], p, now)
        total = 0.0
        for k in range(p):
            now[k] *= psi_t[k]
            total += now[k]
        if not total > 1e-290:
            return np.nan
        inverse = 1.0 / total
        for k in range(p):
            now[k] *= inverse
        c[t] = inverse
        product *= total
        if not 1e-10 < product < 1e100:
            # One logarithm for many positions.
            log_z += math.log(product)
            product = 1.0
        if not trusted:
            width = 0.0
            for k in range(p):
                width += psi_t[k]
            regained += max(math.log(width * inverse), 0.0)
    log_z += math.log(product)
    if regained > _REGAINED:
        return np.nan
    if mu.size == 0:
        return log_z

    first = length * n
    if tied:
        for j in range(p):
            for k in range(p):
                et[k * p + j] = e[j * p + k]
    for k in range(p):
        beta[k] = 1.0
    for t in range(length - 1, -1, -1):
        mu_t, alpha_t = mu[t * n : t * n + n], alpha[t * p : t * p + p]
        for k in range(n):
            mu_t[k] = alpha_t[k] * beta[k]
        if t == 0:
            break
        g = psi[t * p : t * p + p]  # takes the place of psi_t, which is not needed again
        for k in range(p):
            g[k] *= beta[k] * c[t]
        if tied:
            times_matrix(g, et, p, beta)
            continue
        step = (t - 1) * nn
        for j in range(n):
            e_j = e[(t - 1) * pp + j * p : (t - 1) * pp + j * p + n]
            mu_j = mu[first + step + j * n : first + step + j * n + n]
            before, total = alpha[t * p - p + j], 0.0
            for k in range(n):
                flow = e_j[k] * g[k]
                total += flow
                mu_j[k] = flow * before
            beta[j] = total
    if tied:
        outer_sums(alpha, psi[p:], length - 1, p, et)
        if length > 1:
            for j in range(n):
                counts = mu[first + j * n : first + j * n + n]
                e_j, flow = e[j * p : j * p + n], et[j * p : j * p + n]
                for k in range(n):
                    counts[k] = flow[k] * e_j[k]
        else:
            for j in range(nn):
                mu[first + j] = 0.0
    _spread_ends(spec, length, mu)
    return log_z


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
    unary_scores(spec, length, theta, unary)
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
    unary_scores(spec, length, theta, unary)
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
    _spread_ends(spec, length, mu)
    return top
