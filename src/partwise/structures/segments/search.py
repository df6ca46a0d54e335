"""The best segmentations of a semi-Markov chain, and segmentations drawn at random.

score_e(k) belongs to prefixes whose last segment ends at e with label k, opening_s(k) to those that
end at s and go on with label k:

    opening_s(k) = max_j score_s(j) + theta(j,k)       score_e(k) = max_s opening_s(k) + w(s,e,k)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled.jit import cfunc, njit
from ..base import ORACLE
from ..logspace import draw
from ..sequence import merge_lists
from .oracles import (
    first_segment,
    segment_scores,
    semi_markov_forward,
    spread_segments,
    transitions,
)


@cfunc(ORACLE)
def semi_markov_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Find the best segmentation by Viterbi's algorithm.

    Of equal ones, the first label and the shortest last segment win. No back-pointers are kept:
    those along the best path are found again.
    """
    n, length = spec[0], topo[0]
    for p in range(mu.size):
        mu[p] = 0.0
    if length == 0:
        return 0.0
    longest = min(spec[1], length)
    w, at = work[: length * longest * n], length * longest * n
    opening, score = work[at : at + length * n], work[at + length * n : at + 2 * length * n]
    row = work[at + 2 * length * n : at + 2 * length * n + n]
    if not segment_scores(spec, length, theta, w, row):
        return np.nan
    pairs = transitions(spec, length, theta)
    for p in range(length * n):
        opening[p] = 0.0 if p < n else -np.inf
        score[p] = -np.inf
    for end in range(1, length + 1):
        now = score[end * n - n : end * n]
        for s in range(max(0, end - longest), end):
            at = (end * longest - (end - s)) * n
            w_s, before = w[at : at + n], opening[s * n : s * n + n]
            for k in range(n):
                v = before[k] + w_s[k]
                now[k] = v if v > now[k] else now[k]
        if end < length:
            best = opening[end * n : end * n + n]
            for j in range(n):
                before_j, pairs_j = now[j], pairs[j * n : j * n + n]
                for k in range(n):
                    v = before_j + pairs_j[k]
                    best[k] = v if v > best[k] else best[k]
    k = 0
    for j in range(n):
        if score[(length - 1) * n + j] > score[(length - 1) * n + k]:
            k = j
    top = score[(length - 1) * n + k]
    if top == -np.inf or mu.size == 0:
        return top
    end = length
    tied = length * n + first_segment(length, length, longest) * n
    while end > 0:
        s, most = end - 1, -np.inf
        for d in range(1, min(longest, end) + 1):
            v = opening[(end - d) * n + k] + w[(end * longest - d) * n + k]
            if v > most:
                s, most = end - d, v
        mu[length * n + (first_segment(s, length, longest) + end - s - 1) * n + k] = 1.0
        if s > 0:
            before, most = 0, -np.inf
            for j in range(n):
                v = score[(s - 1) * n + j] + pairs[j * n + k]
                if v > most:
                    before, most = j, v
            mu[tied + before * n + k] += 1.0
            k = before
        end = s
    spread_segments(spec, length, mu, row)
    return top


@njit
def semi_markov_k_best(spec: Any, topo: Any, theta: Any, n_best: int) -> Any:
    """Find the n_best best segmentations: every state keeps its best n_best prefixes, merged.

    Returns the scores, the segments (start, end, label) of each segmentation, at the end of T rows,
    and how many segments it has; fewer than n_best if fewer segmentations are allowed.
    """
    n, length = spec[0], topo[0]
    if length == 0:
        one = min(1, n_best)
        return np.zeros(one), np.zeros((one, 0, 3), dtype=np.int64), np.zeros(one, dtype=np.int64)
    longest = min(spec[1], length)
    w = np.empty(length * longest * n)
    segment_scores(spec, length, theta, w, np.empty(n))
    pairs = transitions(spec, length, theta)
    # score, source and rank: [boundary, label, rank]; a source is the start of the segment. What
    # is about to open: [label, boundary, rank]; its source is the label before.
    score = np.full((length + 1, n, n_best), -np.inf)
    source = np.zeros((length + 1, n, n_best), dtype=np.int64)
    rank = np.zeros((length + 1, n, n_best), dtype=np.int64)
    opening = np.full((n, length, n_best), -np.inf)
    before = np.zeros((n, length, n_best), dtype=np.int64)
    before_rank = np.zeros((n, length, n_best), dtype=np.int64)
    head = np.zeros(max(n, longest), dtype=np.int64)
    steps = np.zeros(max(n, longest))
    opening[:, 0, 0] = 0.0
    for end in range(1, length + 1):
        low = max(0, end - longest)
        for k in range(n):
            for s in range(low, end):
                steps[s - low] = w[(end * longest - end + s) * n + k]
            out, by, of = score[end, k], source[end, k], rank[end, k]
            merge_lists(opening[k, low:end], steps, head, out, by, of)
            for r in range(n_best):
                by[r] += low
        if end < length:
            for k in range(n):
                for j in range(n):
                    steps[j] = pairs[j * n + k]
                out, by, of = opening[k, end], before[k, end], before_rank[k, end]
                merge_lists(score[end], steps, head, out, by, of)
    scores = np.full(n_best, -np.inf)
    last, last_rank = np.zeros(n_best, dtype=np.int64), np.zeros(n_best, dtype=np.int64)
    steps[:] = 0.0
    merge_lists(score[length], steps, head, scores, last, last_rank)
    found = int((scores > -np.inf).sum())
    segments = np.zeros((found, length, 3), dtype=np.int64)
    sizes = np.zeros(found, dtype=np.int64)
    for f in range(found):
        end, k, r = length, last[f], last_rank[f]
        while end > 0:
            s, r = source[end, k, r], rank[end, k, r]
            sizes[f] += 1
            segments[f, length - sizes[f]] = (s, end, k)
            if s > 0:
                k, r = before[k, s, r], before_rank[k, s, r]
            end = s
    return scores[:found], segments, sizes


@njit
def semi_markov_sample(spec: Any, topo: Any, theta: Any, uniform: Any) -> Any:
    """Filter forwards in log space, then draw backwards: a label, the start of its segment, ...

    uniform[i] has 2T numbers for draw i. Returns segments and sizes as `semi_markov_k_best` does.
    """
    n, length = spec[0], topo[0]
    size = uniform.shape[0]
    segments = np.zeros((size, length, 3), dtype=np.int64)
    sizes = np.zeros(size, dtype=np.int64)
    if length == 0:
        return segments, sizes
    longest = min(spec[1], length)
    w = np.empty(length * longest * n)
    row = np.empty(max(n, longest))
    gamma, alpha = np.empty(length * n), np.empty(length * n)
    segment_scores(spec, length, theta, w, row)
    semi_markov_forward(spec, length, theta, w, gamma, alpha, np.empty(length), row)
    pairs = transitions(spec, length, theta)
    for i in range(size):
        end, k = length, -1
        while end > 0:
            for j in range(n):
                row[j] = alpha[end * n - n + j]
                if k >= 0:
                    row[j] += pairs[j * n + k]
            k = draw(row, n, uniform[i, 2 * end - 1])
            low = max(0, end - longest)
            for s in range(low, end):
                row[s - low] = gamma[s * n + k] + w[(end * longest - end + s) * n + k]
            s = low + draw(row, end - low, uniform[i, 2 * end - 2])
            sizes[i] += 1
            segments[i, length - sizes[i]] = (s, end, k)
            end = s
    return segments, sizes
