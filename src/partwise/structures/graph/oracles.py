"""Sum-product and max-product on a junction tree.

A node c has a table over (r, s): s the labels of the separator, r those of its other vertices.

    T_c(r,s) = prod of its factors exp(theta) . prod of its children's messages
    m_c(s)   = sum_r T_c(r,s)                       upwards, children first
    p_c(r|s) = T_c(r,s) / m_c(s)                    takes the place of T_c
    b_c(r,s) = p_c(r|s) sum_{rest} b_parent         downwards; b_c are the marginals

Every message is scaled so that no entry is above 1, and logZ is the sum of the logarithms of
the scales. Downwards there are only products and sums of numbers in 0..1, so what underflows is
too small to matter. Upwards the exponentials are taken of theta less the largest score of its
site: all that is multiplied is at most 1, and an entry of T_c that was flushed, at any step, is
below 1e-307. So if

    m_c(s) >= 1e-250  for all s,

all flushed entries together change m_c(s) by a part in 1e50, and m_c and p_c are right whatever
the scores are. Otherwise this node alone is done in log space, from theta and the logarithms of
its children's messages, and hands on both its message and the logarithm. A forbidden part makes
entries of a message zero, so it is the nodes around it that are done in log space.

The vector topo is described in ``topology.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, cfunc, njit
from ..base import ORACLE
from .tables import (
    add,
    gather_exponentials,
    gather_scores,
    log_message,
    max_out,
    message,
    multiply,
    spread_marginals,
    sum_out,
    table,
)
from .topology import (
    FACTOR_FIELDS,
    FACTORS,
    FLAGS,
    LABELS,
    N_FACTORS,
    N_NODES,
    N_SITES,
    NODE_CHILDREN,
    NODE_CHOICES,
    NODE_FIELDS,
    NODE_MESSAGE,
    NODE_MESSAGE_SIZE,
    NODE_OWN,
    NODE_PARENT,
    NODE_RESIDUAL,
    NODE_SEPARATOR,
    NODE_TABLE,
    NODE_UP,
    NODES,
    ROOM,
    SITE_FIELDS,
    SITES,
    SPARE,
    TOPS,
)

_SMALLEST = 1e-250


@njit(fastmath=FAST)
def _scores_in_use(topo: Any, theta: Any, work: Any) -> Any:
    """Find the largest score of each site; return nan for a bad score, -inf without any score.

    Sites that no factor uses are skipped, as their scores do not count.
    """
    result = 0.0
    for site in range(topo[N_SITES]):
        entry = topo[SITES] + SITE_FIELDS * site
        x = theta[topo[entry] : topo[entry] + topo[entry + 1]]
        top, good = -np.inf, True
        for i in range(x.size):
            good &= x[i] < np.inf
            top = x[i] if x[i] > top else top
        work[topo[TOPS] + site] = top
        if topo[entry + 3] == 0:
            continue
        if not good:
            return np.nan
        if top == -np.inf:
            result = -np.inf
    return result


@njit(fastmath=FAST)
def _linear(topo: Any, c: int, work: Any, keep: bool) -> Any:
    """Compute message and p_c from exponentials; return the log scale; nan asks for log space."""
    node = topo[NODES] + NODE_FIELDS * c
    t = table(topo, node, work)
    shift = gather_exponentials(topo, node, work, t)
    for q in range(topo[node + NODE_CHILDREN], topo[node + NODE_CHILDREN + 1]):
        child = topo[NODES] + NODE_FIELDS * topo[q]
        multiply(topo, child + NODE_UP, t, message(topo, child, work))
    whole = topo[node + NODE_MESSAGE] == topo[node + NODE_TABLE]
    m = message(topo, node, work)
    if not whole:
        sum_out(topo, node + NODE_OWN, t, m)
    total, small = 0.0, 0
    for s in range(m.size):
        total += m[s]
        small += m[s] < _SMALLEST
    if small > 0:
        return np.nan
    if keep and not whole:
        inverse = work[topo[SPARE] : topo[SPARE] + m.size]
        for s in range(m.size):
            inverse[s] = 1.0 / m[s]
        multiply(topo, node + NODE_OWN, t, inverse)
    scale = 1.0 / total
    for s in range(m.size):
        m[s] *= scale
    work[topo[FLAGS] + c] = 0.0
    return shift + math.log(total)


@njit(fastmath=FAST)
def _logarithmic(topo: Any, c: int, theta: Any, work: Any) -> Any:
    """Compute the same in log space; return the log scale, or -inf if no label is left."""
    node = topo[NODES] + NODE_FIELDS * c
    t = table(topo, node, work)
    x = work[topo[ROOM] : topo[ROOM] + t.size]  # log T; exp_into is faster from there to t
    gather_scores(topo, node, theta, x)
    for q in range(topo[node + NODE_CHILDREN], topo[node + NODE_CHILDREN + 1]):
        child = topo[NODES] + NODE_FIELDS * topo[q]
        below = log_message(topo, child, work)
        if work[topo[FLAGS] + topo[q]] == 0.0:
            plain = message(topo, child, work)
            for s in range(below.size):
                below[s] = math.log(plain[s])
            work[topo[FLAGS] + topo[q]] = 1.0
        add(topo, child + NODE_UP, x, below)
    m = message(topo, node, work)
    log_m = log_message(topo, node, work)
    if topo[node + NODE_MESSAGE] == topo[node + NODE_TABLE]:
        for s in range(m.size):
            log_m[s] = x[s]
    else:
        spare = work[topo[SPARE] : topo[SPARE] + m.size]
        max_out(topo, node + NODE_OWN, x, log_m)
        for s in range(m.size):
            # A row of -inf stays one: nothing is taken off.
            log_m[s] = log_m[s] if log_m[s] > -np.inf else 0.0
            spare[s] = -log_m[s]
        add(topo, node + NODE_OWN, x, spare)
        exp_into(t, x, 0.0)
        sum_out(topo, node + NODE_OWN, t, m)
        for s in range(m.size):
            spare[s] = 1.0 / m[s] if m[s] > 0.0 else 0.0
            log_m[s] += math.log(m[s])
        multiply(topo, node + NODE_OWN, t, spare)
    top = -np.inf
    for s in range(m.size):
        top = log_m[s] if log_m[s] > top else top
    if top == -np.inf:
        return top
    for s in range(m.size):
        log_m[s] -= top
    exp_into(m, log_m, 0.0)
    work[topo[FLAGS] + c] = 1.0
    return top


@njit(fastmath=FAST)
def upwards(topo: Any, theta: Any, work: Any, keep: bool) -> Any:
    """Compute logZ; if `keep`, the tables then hold p_c(r|s)."""
    log_z = _scores_in_use(topo, theta, work)
    if log_z != 0.0:
        return log_z
    for site in range(topo[N_SITES]):
        entry = topo[SITES] + SITE_FIELDS * site
        if topo[entry + 3] > 0:
            begin, end = topo[entry], topo[entry] + topo[entry + 1]
            exp_into(work[begin:end], theta[begin:end], work[topo[TOPS] + site])
    for c in range(topo[N_NODES]):
        shift = _linear(topo, c, work, keep)
        if math.isnan(shift):
            shift = _logarithmic(topo, c, theta, work)
            if shift == -np.inf:
                return shift
        log_z += shift
    return log_z


@cfunc(ORACLE)
def graph_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run sum-product: messages go to the roots, and marginals come back."""
    for p in range(mu.size):
        mu[p] = 0.0
    keep = mu.size > 0
    log_z = upwards(topo, theta, work, keep)
    if not keep or not math.isfinite(log_z):
        return log_z
    for c in range(topo[N_NODES] - 1, -1, -1):
        node = topo[NODES] + NODE_FIELDS * c
        t = table(topo, node, work)
        if topo[node + NODE_PARENT] >= 0:
            above = table(topo, topo[NODES] + NODE_FIELDS * topo[node + NODE_PARENT], work)
            if topo[node + NODE_MESSAGE] == topo[node + NODE_TABLE]:
                sum_out(topo, node + NODE_UP, above, t)
            else:
                b = work[topo[SPARE] : topo[SPARE] + topo[node + NODE_MESSAGE_SIZE]]
                sum_out(topo, node + NODE_UP, above, b)
                multiply(topo, node + NODE_OWN, t, b)
        spread_marginals(topo, node, t, mu)
    return log_z


@njit
def separator_place(topo: Any, node: int, labels: Any) -> Any:
    """Return where in a node's table the labels of its separator begin."""
    place = 0
    for q in range(topo[node + NODE_SEPARATOR], topo[node + NODE_RESIDUAL], 3):
        place += int(labels[topo[q]]) * topo[q + 1]
    return place


@njit
def take_labels(topo: Any, node: int, place: int, labels: Any) -> None:
    """Read the labels of a node's other vertices off a place in its table."""
    for q in range(topo[node + NODE_RESIDUAL], topo[node + NODE_RESIDUAL + 1], 3):
        labels[topo[q]] = place // topo[q + 1] % topo[q + 2]


@njit(fastmath=FAST)
def maximise(topo: Any, theta: Any, work: Any, want: bool) -> Any:
    """Return the best score; if wanted, the labels of the best labelling go to the work vector.

    At every node the first of equal choices is taken, given those of its parent.
    """
    score = _scores_in_use(topo, theta, work)
    if score != 0.0:
        return score
    for c in range(topo[N_NODES]):
        node = topo[NODES] + NODE_FIELDS * c
        t = table(topo, node, work)
        gather_scores(topo, node, theta, t)
        for q in range(topo[node + NODE_CHILDREN], topo[node + NODE_CHILDREN + 1]):
            child = topo[NODES] + NODE_FIELDS * topo[q]
            add(topo, child + NODE_UP, t, message(topo, child, work))
        if topo[node + NODE_MESSAGE] != topo[node + NODE_TABLE]:
            max_out(topo, node + NODE_OWN, t, message(topo, node, work))
        if topo[node + NODE_PARENT] < 0:
            score += work[topo[node + NODE_MESSAGE]]
    if not want or score == -np.inf:
        return score
    labels = work[topo[LABELS] :]
    for c in range(topo[N_NODES] - 1, -1, -1):
        node = topo[NODES] + NODE_FIELDS * c
        t = table(topo, node, work)
        first = separator_place(topo, node, labels)
        choices = topo[topo[node + NODE_CHOICES + 1] :]
        best = first
        for r in range(1, topo[node + NODE_CHOICES]):
            if t[first + choices[r]] > t[best]:
                best = first + choices[r]
        take_labels(topo, node, best, labels)
    return score


@njit
def factor_part(topo: Any, f: int, labels: Any) -> Any:
    """Return the part of a factor that a labelling holds."""
    factor = topo[FACTORS] + FACTOR_FIELDS * f
    part = topo[topo[SITES] + SITE_FIELDS * topo[factor]]
    for q in range(topo[factor + 2], topo[factor + 3], 2):
        part += int(labels[topo[q]]) * topo[q + 1]
    return part


@cfunc(ORACLE)
def graph_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run max-product: messages go to the roots, and labels come back."""
    for p in range(mu.size):
        mu[p] = 0.0
    score = maximise(topo, theta, work, mu.size > 0)
    if mu.size > 0 and math.isfinite(score):
        labels = work[topo[LABELS] :]
        for f in range(topo[N_FACTORS]):
            mu[factor_part(topo, f, labels)] += 1.0
    return score
