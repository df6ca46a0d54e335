"""The recursions of a second-order chain in log space: slower, and right for any scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.jit import njit
from ..ends import add_ends, count_ends
from ..logspace import log_sum


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
