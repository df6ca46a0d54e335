"""The k best labels of a first-order chain, and labels drawn at random."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.jit import njit
from .oracles import log_forward, log_sum
from .scaled import unary_scores


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
    unary_scores(spec, length, theta, unary, spec[0])
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
    log_forward(spec, length, theta, unary, alpha, np.empty(length), row)
    first = length * n
    for s in range(size):
        after = -1
        for t in range(length - 1, -1, -1):
            step = first if spec[1] else first + t * n * n
            for k in range(n):
                row[k] = alpha[t * n + k]
                if after >= 0:
                    row[k] += theta[step + k * n + after]
            total = log_sum(row, n)
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
