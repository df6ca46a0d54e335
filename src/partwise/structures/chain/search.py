"""The k best labels of a first-order chain, and labels drawn at random."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.jit import FAST, njit
from ..logspace import draw
from ..sequence import merge_lists
from .oracles import log_forward
from .scaled import spread_ends, unary_scores


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


# The worst label under slack rescaling, by a Viterbi that counts errors.
#
#     loss(w) = max_y e(y) (1 + s(y) - s(gold)),    e(y) = the number of wrong positions
#
# For every e the best score s_e of a label with e errors is enough (Tsochantaridis et al. 2005):
#
#     a_t(e, k) = theta_t(k) + max_j [ a_{t-1}(e - [k is wrong at t], j) + theta(j, k) ]
#     s_e = max_k a_T(e, k),    loss = max(0, max_e e (1 + s_e - s(gold)))
#
# in O(T^2 L^2) steps. A single label out of L is a chain of length 1.


@njit
def count_room(length: int, n: int) -> Any:
    """Return how much work space the search takes."""
    return (length * (length + 1) + length + 1) * n


@njit(fastmath=FAST)
def _best_by_count(
    spec: Any, length: int, theta: Any, cost: Any, best: Any, unary: Any, row: Any
) -> None:
    """Fill best[t, e, k], for t < length and e <= length."""
    n = spec[0]
    unary_scores(spec, length, theta, unary, n)
    best[:] = -np.inf
    for k in range(n):
        best[0, int(cost[k]), k] = unary[k]
    for t in range(1, length):
        step = length * n + (0 if spec[1] else (t - 1) * n * n)
        for e in range(t + 1):
            row[:] = -np.inf
            for j in range(n):
                before = best[t - 1, e, j]
                if before == -np.inf:
                    continue
                pairs = theta[step + j * n : step + j * n + n]
                for k in range(n):
                    row[k] = max(row[k], before + pairs[k])
            # A wrong label comes from e errors to e + 1, a right one stays: no two meet.
            for k in range(n):
                best[t, e + int(cost[t * n + k]), k] = row[k] + unary[t * n + k]


@njit
def _trace_back(spec: Any, length: int, theta: Any, cost: Any, best: Any, e: int, y: Any) -> None:
    """Compute y, the counts of the parts of the best label with e errors."""
    n = spec[0]
    y[:] = 0.0
    k = int(np.argmax(best[length - 1, e]))
    y[(length - 1) * n + k] = 1.0
    for t in range(length - 1, 0, -1):
        step = length * n + (0 if spec[1] else (t - 1) * n * n)
        e -= int(cost[t * n + k])
        before = 0
        top = -np.inf
        for j in range(n):
            value = best[t - 1, e, j] + theta[step + j * n + k]
            if value > top:
                before, top = j, value
        y[(t - 1) * n + before] = 1.0
        y[step + before * n + k] += 1.0
        k = before
    spread_ends(spec, length, y)


@njit
def worst_by_count(
    spec: Any, length: int, theta: Any, cost: Any, gold_score: float, y: Any, work: Any
) -> Any:
    """Return the loss and the number of errors of the worst label; (0, 0) for the gold label.

    theta and cost hold one number per part, with costs of 0 or 1. y gets the counts of the label,
    unless it is the gold label. The loss is nan if a score is.
    """
    n = spec[0]
    for r in range(theta.size):
        if math.isnan(theta[r]) or theta[r] == np.inf:
            return np.nan, 0
    if length == 0:
        return 0.0, 0
    size = length * (length + 1) * n
    best = work[:size].reshape((length, length + 1, n))
    unary = work[size : size + length * n]
    row = work[size + length * n : size + length * n + n]
    _best_by_count(spec, length, theta, cost, best, unary, row)
    loss, errors = 0.0, 0
    for e in range(1, length + 1):
        value = e * (1.0 + best[length - 1, e].max() - gold_score)
        if value > loss:
            loss, errors = value, e
    if errors > 0:
        _trace_back(spec, length, theta, cost, best, errors, y)
    return loss, errors
