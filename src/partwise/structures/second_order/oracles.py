"""The recursions of a second-order chain: first-order ones over pairs of neighbouring labels.

Shapes: L labels, T positions; psi T x L; E L x L; H L x L x L.

    psi_t(k) = exp(theta_t(k) - m_t)              E(j,k) = exp(theta(j,k) - M)
                                                  H(i,j,k) = exp(theta(i,j,k) + theta(j,k) - N)
    alpha_0(k) = psi_0(k) / c_0                   alpha_1(j,k) = alpha_0(j) E(j,k) psi_1(k) / c_1
    alpha_t(j,k) = psi_t(k) sum_i alpha_{t-1}(i,j) H(i,j,k) / c_t
    beta_{T-1} = 1                                g_t(j,k) = psi_t(k) beta_t(j,k) / c_t
    beta_{t-1}(i,j) = sum_k H(i,j,k) g_t(j,k)
    logZ = sum_t (m_t + log c_t) + M + (T-2) N    mu_t(j,k) = alpha_t(j,k) beta_t(j,k)
    mu(i,j,k) = H(i,j,k) sum_t alpha_{t-1}(i,j) g_t(j,k)

with c_t the sum that makes alpha_t add up to one. A pair (j, k) is stored at [k, j], so that all
that the sum over i reads for one j lies side by side; H likewise at [j, i, k].

These *scaled exponentials* may underflow: of each term that alpha_t(j,k) is a sum of, up to e^-708
is flushed to zero before the division by c_t. As a share of Z that is at most
e^-708 beta_t(j,k) / c_t, and the result is right if these shares are small. They are in two cases.

(1) No pair or triple is forbidden, and neither E nor H spreads over more than S = 200 nats. The
largest psi_t(k) is 1 and alpha_{t-1} adds up to one, so c_t >= e^-S. Two pairs differ in what comes
after them by two factors of H at most, so beta_t differs by at most e^2S between them; as
alpha_t . beta_t = 1, it is at most e^2S. Together: at most e^(3S-708) = e^-108.

(2) Otherwise the shares are added up. F_t(j,k) = (1 + psi_t(k) sum_i F_{t-1}(i,j) H(i,j,k)) / c_t
carries a loss of 1 before each division on to the end, so sum F_{T-1} is the sum of all
beta_t(j,k) / c_t. It must be below e^650, which also bounds beta.

Where neither holds the example is done again in log space, exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, cfunc, njit
from ..base import ORACLE
from ..logspace import log_sum, times_matrix
from ..sequence import add_ends, count_ends

# The recursions of a second-order chain in log space: slower, and right for any scores.


@njit
def second_order_unary(spec: Any, length: int, theta: Any, out: Any) -> None:
    """Copy the unary scores, and add the start and end scores."""
    n = spec[0]
    for p in range(length * n):
        out[p] = theta[p]
    at = length * n + n * n + n * n * n
    add_ends(theta, n, length, at, spec[1], spec[2], out, n)


@njit
def spread_ends(spec: Any, length: int, mu: Any) -> None:
    """Fill in the expected start and end labels: those of the first and last position."""
    n = spec[0]
    at = length * n + n * n + n * n * n
    count_ends(mu, n, length, at, spec[1], spec[2])


@njit
def second_order_forward(
    spec: Any, length: int, theta: Any, unary: Any, alpha: Any, log_c: Any, row: Any
) -> Any:
    """Run the forward pass in log space and return logZ.

    Fills unary (with the start and end scores), alpha and log c. alpha is normalised at each
    position, so it stays small, and so do its rounding errors. The pair (j, k) is at [j, k]; at
    position 0, where there is no j, only j = 0 is used.
    """
    n = spec[0]
    nn = n * n
    second_order_unary(spec, length, theta, unary)
    pairs = theta[length * n : length * n + nn]
    triples = theta[length * n + nn : length * n + nn + nn * n]
    log_z = 0.0
    for t in range(length):
        now = alpha[t * nn : t * nn + nn]
        for j in range(n):
            for k in range(n):
                p = j * n + k
                if t == 0:
                    now[p] = unary[k] if j == 0 else -np.inf
                elif t == 1:
                    now[p] = alpha[j] + pairs[p] + unary[n + k]
                else:
                    for i in range(n):
                        row[i] = alpha[(t - 1) * nn + i * n + j] + triples[i * nn + p]
                    now[p] = log_sum(row, n) + pairs[p] + unary[t * n + k]
        log_c[t] = log_sum(now, nn)
        log_z += log_c[t]
        if log_c[t] > -np.inf:
            for p in range(nn):
                now[p] -= log_c[t]
    return log_z


@njit
def second_order_exact(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward in log space."""
    n = spec[0]
    nn = n * n
    unary, at = work[: length * n], length * n
    alpha = work[at : at + length * nn]
    at += length * nn
    beta, after = work[at : at + nn], work[at + nn : at + 2 * nn]
    at += 2 * nn
    row, log_c = work[at : at + n], work[at + n : at + n + length]
    log_z = second_order_forward(spec, length, theta, unary, alpha, log_c, row)
    if mu.size == 0:
        return log_z
    for p in range(mu.size):
        mu[p] = 0.0
    if not math.isfinite(log_z):
        return log_z
    pairs, first = theta[length * n : length * n + nn], length * n + nn
    for p in range(nn):
        beta[p] = 0.0
    for t in range(length - 1, -1, -1):
        for j in range(n if t > 0 else 1):
            for k in range(n):
                p = j * n + k
                m = math.exp(alpha[t * nn + p] + beta[p])
                mu[t * n + k] += m
                if t > 0:
                    mu[length * n + p] += m
                after[p] = unary[t * n + k] + pairs[p] + beta[p] - log_c[t]
        if t == 0:
            break
        for i in range(n if t > 1 else 1):
            for j in range(n):
                for k in range(n):
                    row[k] = after[j * n + k]
                    if t > 1:
                        at = first + i * nn + j * n + k
                        row[k] += theta[at]
                        mu[at] += math.exp(alpha[(t - 1) * nn + i * n + j] + row[k])
                beta[i * n + j] = log_sum(row, n)
    spread_ends(spec, length, mu)
    return log_z


_SPREAD = 200.0
_REGAINED = 1e282  # e^650


@njit
def _range(x: Any, n: int, high: Any, low: Any) -> Any:
    """Return the largest and the smallest number of x, in rows of n, without regard to nan."""
    for k in range(n):
        high[k] = -np.inf
        low[k] = np.inf
    for at in range(0, x.size, n):
        row = x[at : at + n]
        for k in range(n):
            high[k] = row[k] if row[k] > high[k] else high[k]
            low[k] = row[k] if row[k] < low[k] else low[k]
    top, bottom = high[0], low[0]
    for k in range(1, n):
        top = max(top, high[k])
        bottom = min(bottom, low[k])
    return top, bottom


@njit(fastmath=FAST)
def _exponentials(
    spec: Any, length: int, theta: Any, psi: Any, e: Any, h: Any, scratch: Any, rows: Any
) -> Any:
    """Fill psi, E and H; return the sum of the shifts, and whether E and H spread little.

    The sum is not finite if a position, E or H has no finite largest score. A nan appears as a nan
    in the exponentials, and so in the first total that it enters.
    """
    n = spec[0]
    nn = n * n
    high, low = rows[:n], rows[n : 2 * n]
    unary = scratch[: length * n]
    second_order_unary(spec, length, theta, unary)
    shift = 0.0
    for t in range(length):
        row = unary[t * n : t * n + n]
        m, _ = _range(row, n, high, low)
        shift += m
        for k in range(n):
            row[k] -= m
    if not math.isfinite(shift):
        return shift, False
    exp_into(psi, unary, 0.0)
    trusted = True
    pairs = theta[length * n : length * n + nn]
    if length > 1:
        m, least = _range(pairs, n, high, low)
        trusted = m - least <= _SPREAD
        shift += m
        if math.isfinite(m):
            exp_into(e, pairs, m)
    if length > 2:
        sums = scratch[: nn * n]
        for i in range(n):
            for j in range(n):
                at = length * n + nn + i * nn + j * n
                triple, pair = theta[at : at + n], pairs[j * n : j * n + n]
                row = sums[j * nn + i * n : j * nn + i * n + n]
                for k in range(n):
                    row[k] = triple[k] + pair[k]
        m, least = _range(sums, n, high, low)
        trusted &= m - least <= _SPREAD
        shift += (length - 2) * m
        if math.isfinite(m):
            exp_into(h, sums, m)
    return shift, trusted


@njit(fastmath=FAST)
def _advance(x: Any, h: Any, n: int, out: Any) -> None:
    """Compute out(j, k) = sum_i x(j, i) H(j, i, k)."""
    nn = n * n
    for j in range(n):
        times_matrix(x[j * n : j * n + n], h[j * nn : j * nn + nn], n, out[j * n : j * n + n])


@njit(fastmath=FAST)
def _forward(length: int, n: int, psi: Any, e: Any, h: Any, alpha: Any, c: Any, step: Any) -> Any:
    """Fill alpha, with pairs at [k, j], and 1 / c_t; return sum_t log c_t, or nan if one is 0."""
    nn = n * n
    log_c, product = 0.0, 1.0
    for t in range(length):
        psi_t, now = psi[t * n : t * n + n], alpha[t * nn : t * nn + nn]
        total = 0.0
        if t == 0:
            for k in range(n):
                total += psi_t[k]
        else:
            before = alpha[t * nn - nn : t * nn]
            if t > 1:
                _advance(before, h, n, step)
            for j in range(n):
                row = step[j * n : j * n + n]
                if t == 1:
                    a, e_j = before[j], e[j * n : j * n + n]
                    for k in range(n):
                        row[k] = a * e_j[k]
                for k in range(n):
                    row[k] *= psi_t[k]
                    total += row[k]
        if not total > 1e-290:
            return np.nan
        inverse = 1.0 / total
        if t == 0:
            for k in range(n):
                now[k] = psi_t[k] * inverse
        else:
            for k in range(n):
                for j in range(n):
                    now[k * n + j] = step[j * n + k] * inverse
        c[t] = inverse
        product *= total
        if not 1e-10 < product < 1e100:
            # One logarithm for many positions.
            log_c += math.log(product)
            product = 1.0
    return log_c + math.log(product)


@njit(fastmath=FAST)
def _carried(length: int, n: int, psi: Any, e: Any, h: Any, c: Any, f: Any, step: Any) -> Any:
    """Return sum F_{T-1}: what a loss of 1 at every pair of every position amounts to in the end.

    F is kept as alpha is, with pairs at [k, j].
    """
    total = 0.0
    for t in range(length):
        psi_t = psi[t * n : t * n + n]
        if t == 0:
            for k in range(n):
                f[k] = c[0]
                total += c[0]
            continue
        if t > 1:
            _advance(f, h, n, step)
        else:
            for j in range(n):
                for k in range(n):
                    step[j * n + k] = f[j] * e[j * n + k]
        total = 0.0
        for k in range(n):
            for j in range(n):
                f[k * n + j] = (1.0 + psi_t[k] * step[j * n + k]) * c[t]
                total += f[k * n + j]
    return total


@njit(fastmath=FAST)
def _triples(alpha: Any, g: Any, h: Any, length: int, n: int, counts: Any) -> None:
    """Compute the counts of triples, four t at a time.

    counts(i, j, k) = H(i, j, k) sum_{t>1} alpha_{t-1}(i, j) g_t(j, k)
    """
    nn = n * n
    first4 = length - (length - 2) % 4
    for j in range(n):
        for i in range(n):
            row = counts[i * nn + j * n : i * nn + j * n + n]
            for k in range(n):
                row[k] = 0.0
            at = j * n + i
            for t in range(2, first4, 4):
                a, b = alpha[(t - 1) * nn + at], alpha[t * nn + at]
                c, d = alpha[(t + 1) * nn + at], alpha[(t + 2) * nn + at]
                low = t * nn + j * n
                g0, g1 = g[low : low + n], g[low + nn : low + nn + n]
                g2, g3 = g[low + 2 * nn : low + 2 * nn + n], g[low + 3 * nn : low + 3 * nn + n]
                for k in range(n):
                    row[k] += (a * g0[k] + b * g1[k]) + (c * g2[k] + d * g3[k])
            for t in range(first4, length):
                a, low = alpha[(t - 1) * nn + at], t * nn + j * n
                g0 = g[low : low + n]
                for k in range(n):
                    row[k] += a * g0[k]
            h_i = h[j * nn + i * n : j * nn + i * n + n]
            for k in range(n):
                row[k] *= h_i[k]


@njit(fastmath=FAST)
def _backward(
    length: int, n: int, psi: Any, h: Any, ht: Any, alpha: Any, c: Any, g: Any, beta: Any, mu: Any
) -> None:
    """Fill the expected counts of labels, pairs and triples; beta has its pairs at [k, j]."""
    nn = n * n
    pairs = mu[length * n : length * n + nn]
    for j in range(n):
        for i in range(n):
            for k in range(n):
                ht[j * nn + k * n + i] = h[j * nn + i * n + k]
    for p in range(nn):
        beta[p] = 1.0
    for t in range(length - 1, 0, -1):
        now, mu_t, psi_t = (
            alpha[t * nn : t * nn + nn],
            mu[t * n : t * n + n],
            psi[t * n : t * n + n],
        )
        for k in range(n):
            total = 0.0
            for j in range(n):
                total += now[k * n + j] * beta[k * n + j]
            mu_t[k] = total
        if t == 1:
            break
        g_t = g[t * nn : t * nn + nn]
        for j in range(n):
            for k in range(n):
                g_t[j * n + k] = psi_t[k] * c[t] * beta[k * n + j]
        _advance(g_t, ht, n, beta)
    triples = mu[length * n + nn : length * n + nn + nn * n]
    _triples(alpha, g, h, length, n, triples)
    for j in range(n):
        row = pairs[j * n : j * n + n]
        total = 0.0
        for k in range(n):
            row[k] = alpha[nn + k * n + j] * beta[k * n + j]
            total += row[k]
        mu[j] = total
        for i in range(n):
            counts = triples[i * nn + j * n : i * nn + j * n + n]
            for k in range(n):
                row[k] += counts[k]


@njit
def _scaled(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward on scaled exponentials; nan asks for log space."""
    n = spec[0]
    nn = n * n
    psi, at = work[: length * n], length * n
    e = work[at : at + nn]
    at += nn
    h = work[at : at + nn * n]
    at += nn * n
    alpha = work[at : at + length * nn]
    at += length * nn
    step, beta = work[at : at + nn], work[at + nn : at + 2 * nn]
    at += 2 * nn
    c = work[at : at + length]
    at += length
    # The transposed H, and before it is needed the scores before they are exponentiated.
    ht = work[at : at + max(nn * n, length * n)]
    at += max(nn * n, length * n)
    g = work[at : at + length * nn]
    log_z, trusted = _exponentials(spec, length, theta, psi, e, h, ht, work[at : at + 2 * n])
    if not math.isfinite(log_z):
        return np.nan
    log_z += _forward(length, n, psi, e, h, alpha, c, step)
    if not trusted and not _carried(length, n, psi, e, h, c, beta, step) < _REGAINED:
        return np.nan
    if mu.size == 0 or not math.isfinite(log_z):
        return log_z
    if length < 3:
        for p in range(length * n, mu.size):
            mu[p] = 0.0
    if length == 1:
        for k in range(n):
            mu[k] = alpha[k]
    elif length == 2:
        for j in range(n):
            mu[j] = 0.0
            mu[n + j] = 0.0
        for k in range(n):
            for j in range(n):
                a = alpha[nn + k * n + j]
                mu[j] += a
                mu[n + k] += a
                mu[2 * n + j * n + k] = a
    else:
        _backward(length, n, psi, h, ht, alpha, c, g, beta, mu)
    spread_ends(spec, length, mu)
    return log_z


@cfunc(ORACLE)
def second_order_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward on scaled exponentials, or in log space where they underflow."""
    length = topo[0]
    if length == 0:
        for p in range(mu.size):
            mu[p] = 0.0
        return 0.0
    log_z = _scaled(spec, length, theta, mu, work)
    if math.isfinite(log_z):
        return log_z
    return second_order_exact(spec, length, theta, mu, work)
