"""The forward-backward recursions of a chain on scaled exponentials.

Shapes: L labels, T positions; psi, alpha T x L; E L x L (tied) or (T-1) x L x L. In the scratch
rows have a *pitch* of p >= L numbers, a multiple of 8, the rest of them zeros.

    psi_t(k) = exp(theta_t(k) - m_t)          E(j,k) = exp(theta(j,k) - M)
    alpha_0 = psi_0 / c_0                     alpha_t = psi_t . (alpha_{t-1} E) / c_t
    beta_{T-1} = 1                            beta_{t-1} = E g_t,   g_t = psi_t . beta_t / c_t
    logZ = sum_t (m_t + log c_t) + (T-1) M    mu_t = alpha_t . beta_t
                                              mu(j,k) = E(j,k) sum_t alpha_{t-1}(j) g_t(k)

with c_t the sum that makes alpha_t add up to one. They need one exp per part and no logarithm per
transition, but may underflow. Forward, the division by c_t is made one position later, when c_t
is known without a wait. So what is flushed to zero at position t is at most e^-708 before it is
divided by c_{t-1} and c_t. It can matter in the end only if it gains that much on the kept paths.
With E <= 1 the mass of all paths that leave a state grows at position s by at most a factor
p_s / c_s, where p_s = sum_k psi_s(k): 1 / c_s is a path's own gain, and p_s the paths it splits
into. So the result is right, and beta stays below e^650, if

    sum_s max(0, log(p_s / c_s)) < 650,

or, whatever the unary scores are, if no transition is forbidden and their scores spread over at
most 300 nats: then c_t >= e^-300, the labels of a position differ by at most e^300 in what comes
before them and by as much in what comes after, and a flushed label or step has at most e^-108 of
the mass. Otherwise the example is to be done again in log space.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, njit
from ...compiled.lanes import (
    LINE,
    add,
    add_product,
    fill,
    larger,
    largest,
    load,
    multiply,
    repeat,
    store,
    total,
)
from ..sequence import add_ends, count_ends

_SPREAD = 300.0
_REGAINED = 650.0


@njit
def pitch(n: int) -> Any:
    """Return how far apart rows of n numbers are in the scratch."""
    return (n + LINE - 1) // LINE * LINE


@njit
def pitched_rows(n: int) -> Any:
    """Return how many rows a matrix has in the scratch, which are taken two at a time."""
    return n + n % 2


@njit
def unary_scores(spec: Any, length: int, theta: Any, out: Any, p: int) -> None:
    """Copy the unary scores into rows of p, and add the start and end scores.

    What is left of a row becomes -inf.
    """
    n = spec[0]
    for t in range(length):
        row, copy = theta[t * n : t * n + n], out[t * p : t * p + p]
        for k in range(n):
            copy[k] = row[k]
        for k in range(n, p):
            copy[k] = -np.inf
    at = length * n + (1 if spec[1] else length - 1) * n * n
    add_ends(theta, n, length, at, spec[2], spec[3], out, p)


@njit
def spread_ends(spec: Any, length: int, mu: Any) -> None:
    """Fill in the expected start and end labels: those of the first and last position."""
    n = spec[0]
    at = length * n + (1 if spec[1] else length - 1) * n * n
    count_ends(mu, n, length, at, spec[2], spec[3])


@njit
def _range(x: Any) -> Any:
    """Return the largest and the smallest number in x, without regard to nan."""
    whole = x.size - x.size % LINE
    high = low = fill(-np.inf)
    for at in range(0, whole, LINE):
        line = load(x, at)
        high = larger(line, high)
        low = larger(multiply(line, fill(-1.0)), low)
    most, least = largest(high), -largest(low)
    for y in x[whole:]:
        most = y if y > most else most
        least = y if y < least else least
    return most, least


@njit
def _centre(x: Any, at: int, p: int) -> Any:
    """Subtract its largest number from the row of p that begins at `at`; return that number."""
    high = fill(-np.inf)
    for k in range(at, at + p, LINE):
        high = larger(load(x, k), high)
    m = largest(high)
    for k in range(at, at + p, LINE):
        store(x, k, add(load(x, k), fill(-m)))
    return m


@njit
def _pitched(matrix: Any, n: int, p: int, out: Any, first: int) -> None:
    """Copy an n x n matrix into rows of p, from `first` on; matrix has room for p more numbers.

    The rest of a row becomes what the next one begins with: it is only ever multiplied by zeros,
    and must be finite.
    """
    for k in range(n * n, n * n + p):
        matrix[k] = 0.0
    for j in range(pitched_rows(n)):
        for k in range(0, p, LINE):
            store(out, first + j * p + k, load(matrix, j * n + k))


@njit(fastmath=FAST)
def _exponentials(
    spec: Any, length: int, theta: Any, psi: Any, e: Any, unary: Any, scores: Any
) -> Any:
    """Fill psi and E; return the sum of the shifts, and whether transitions can be trusted.

    The sum is not finite if a position or a matrix has no finite largest score. A nan appears as a
    nan in psi or E, and so in the first total that it enters. unary and scores are scratch, as
    exp_into is not vectorised if it writes over its input.
    """
    n = spec[0]
    p, rows = pitch(n), pitched_rows(n)
    unary_scores(spec, length, theta, unary, p)
    shift = 0.0
    for t in range(length):
        shift += _centre(unary, t * p, p)
    trusted = True
    if length > 1:
        at = length * n
        for matrix in range(1 if spec[1] else length - 1):
            given = theta[at : at + n * n]
            high, low = _range(given)
            trusted &= high - low <= _SPREAD
            shift += high * (length - 1) if spec[1] else high
            if math.isfinite(high):
                exp_into(scores[: n * n], given, high)
                _pitched(scores, n, p, e, matrix * rows * p)
            at += n * n
    if math.isfinite(shift):
        exp_into(psi, unary, 0.0)
    return shift, trusted


@njit(inline="always")
def _times(x: Any, at: int, e: Any, first: int, p: int, rows: int) -> Any:
    """Return eight columns of x E: x begins at `at`, and the columns begin at `first`."""
    even = odd = fill(0.0)
    for j in range(0, rows, 2):
        even = add_product(even, repeat(x, at + j), load(e, first + j * p))
        odd = add_product(odd, repeat(x, at + j + 1), load(e, first + j * p + p))
    return add(even, odd)


@njit
def _outer_sums(x: Any, y: Any, length: int, p: int, rows: int, out: Any) -> None:
    """Compute out(j, k) = sum_{t<length} x_t(j) y_{t+1}(k)."""
    for k in range(0, p, LINE):
        for j in range(0, rows, 2):
            even = odd = fill(0.0)
            for t in range(length):
                line = load(y, t * p + p + k)
                even = add_product(even, repeat(x, t * p + j), line)
                odd = add_product(odd, repeat(x, t * p + j + 1), line)
            store(out, j * p + k, even)
            store(out, j * p + p + k, odd)


@njit(fastmath=FAST)
def _forward(spec: Any, length: int, psi: Any, e: Any, alpha: Any, c: Any, trusted: bool) -> Any:
    """Fill alpha_t c_t and 1 / c_t; return sum_t log c_t, or nan if something may be lost."""
    n = spec[0]
    p, rows = pitch(n), pitched_rows(n)
    step = 0 if spec[1] else rows * p
    log_z, regained, product, inverse = 0.0, 0.0, 1.0, 1.0
    for t in range(length):
        sums = fill(0.0)
        for k in range(0, p, LINE):
            line = load(psi, t * p + k)
            if t > 0:
                flow = _times(alpha, t * p - p, e, (t - 1) * step + k, p, rows)
                line = multiply(multiply(flow, fill(inverse)), line)
            store(alpha, t * p + k, line)
            sums = add(sums, line)
        c_t = total(sums)
        if not c_t > 1e-290:
            return np.nan
        inverse = 1.0 / c_t
        c[t] = inverse
        product *= c_t
        if not 1e-10 < product < 1e100:
            # One logarithm for many positions.
            log_z += math.log(product)
            product = 1.0
        if not trusted:
            width = fill(0.0)
            for k in range(0, p, LINE):
                width = add(width, load(psi, t * p + k))
            regained += max(math.log(total(width) * inverse), 0.0)
    return log_z + math.log(product) if regained <= _REGAINED else np.nan


@njit(fastmath=FAST)
def _backward(
    spec: Any, length: int, psi: Any, e: Any, alpha: Any, c: Any, mu: Any, beta: Any, et: Any
) -> None:
    """Divide alpha by c, replace psi by g, and fill mu except for tied transitions."""
    n = spec[0]
    p, rows = pitch(n), pitched_rows(n)
    for k in range(p):
        beta[k] = 1.0
    for t in range(length - 1, -1, -1):
        inverse = fill(c[t])
        for k in range(0, p, LINE):
            at = t * p + k
            store(psi, at, multiply(load(psi, at), multiply(load(beta, k), inverse)))
            store(alpha, at, multiply(load(alpha, at), inverse))
        mu_t, alpha_t = mu[t * n : t * n + n], alpha[t * p : t * p + n]
        for k in range(n):
            mu_t[k] = alpha_t[k] * beta[k]
        if t == 0:
            break
        if spec[1]:
            for k in range(0, p, LINE):
                store(beta, k, _times(psi, t * p, et, k, p, rows))
            continue
        first, g = length * n + (t - 1) * n * n, psi[t * p : t * p + n]
        for j in range(n):
            e_j = e[(t - 1) * rows * p + j * p : (t - 1) * rows * p + j * p + n]
            mu_j = mu[first + j * n : first + j * n + n]
            before, sum_j = alpha[t * p - p + j] * c[t - 1], 0.0
            for k in range(n):
                flow = e_j[k] * g[k]
                sum_j += flow
                mu_j[k] = flow * before
            beta[j] = sum_j


@njit
def _transpose(e: Any, n: int, p: int, out: Any) -> None:
    """Set out(k, j) = E(j, k), and the rest to 0."""
    for k in range(n):
        row = out[k * p : k * p + p]
        for j in range(n):
            row[j] = e[j * p + k]
        for j in range(n, p):
            row[j] = 0.0
    for k in range(n * p, pitched_rows(n) * p):
        out[k] = 0.0


@njit(fastmath=FAST)
def scaled(spec: Any, length: int, theta: Any, mu: Any, work: Any) -> Any:
    """Run forward-backward on scaled exponentials; nan asks for log space."""
    n = spec[0]
    p, rows = pitch(n), pitched_rows(n)
    matrices = 1 if spec[1] else length - 1
    psi, alpha = work[: length * p], work[length * p : 2 * length * p]
    at = 2 * length * p
    e = work[at : at + matrices * rows * p]
    at += matrices * rows * p
    et = work[at : at + rows * p + p]
    at += rows * p + p
    beta, c = work[at : at + p], work[at + p : at + p + length]
    shift, trusted = _exponentials(spec, length, theta, psi, e, alpha, et)
    if not math.isfinite(shift):
        return np.nan
    log_z = shift + _forward(spec, length, psi, e, alpha, c, trusted)
    if math.isnan(log_z) or mu.size == 0:
        return log_z
    if spec[1]:
        _transpose(e, n, p, et)
    _backward(spec, length, psi, e, alpha, c, mu, beta, et)
    if spec[1]:
        _outer_sums(alpha, psi, length - 1, p, rows, et)
        for j in range(n):
            counts = mu[length * n + j * n : length * n + j * n + n]
            e_j, flow = e[j * p : j * p + n], et[j * p : j * p + n]
            for k in range(n):
                counts[k] = flow[k] * e_j[k] if length > 1 else 0.0
    spread_ends(spec, length, mu)
    return log_z
