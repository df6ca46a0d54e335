"""The k best labels of a first-order chain, and labels drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled.jit import njit
from ..best_lists import merge_lists
from ..logspace import draw
from .oracles import log_forward
from .scaled import unary_scores


@njit
def chain_k_best(spec: Any, topo: Any, theta: Any, n_best: int) -> Any:
    """Find the n_best best labels: each state keeps its best n_best prefixes, merged from L lists.

    Returns the scores, and the labels as rows; fewer than n_best if fewer labels are allowed.
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
    steps = np.zeros(n)
    score[0, :, 0] = unary[:n]
    for t in range(1, length):
        step = first if spec[1] else first + (t - 1) * n * n
        for k in range(n):
            for j in range(n):
                steps[j] = theta[step + j * n + k]
            merge_lists(score[t - 1], steps, head, score[t, k], state[t, k], rank[t, k])
            score[t, k] += unary[t * n + k]
    scores = np.full(n_best, -np.inf)
    last, last_rank = np.zeros(n_best, dtype=np.int64), np.zeros(n_best, dtype=np.int64)
    steps[:] = 0.0
    merge_lists(score[length - 1], steps, head, scores, last, last_rank)
    found = int((scores > -np.inf).sum())
    labels = np.empty((found, length), dtype=np.int64)
    for f in range(found):
        k, r = last[f], last_rank[f]
        for t in range(length - 1, -1, -1):
            labels[f, t] = k
            k, r = state[t, k, r], rank[t, k, r]
    return scores[:found], labels


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
            after = draw(row, n, uniform[s, t])
            labels[s, t] = after
    return labels
