"""Operations on the tables of a junction tree.

Four functions go over the rows of a table t and a smaller table m along a *link*, which is
described, as is all of topo, in ``topology.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled.jit import FAST, njit
from .topology import (
    FACTOR_FIELDS,
    FACTORS,
    NODE_FACTORS,
    NODE_LOG,
    NODE_MESSAGE,
    NODE_MESSAGE_SIZE,
    NODE_SIZE,
    NODE_TABLE,
    SITE_FIELDS,
    SITES,
    TOPS,
)

# An unsigned index needs no test for a negative one, which would cost short rows dear.
_Index = np.uint64


@njit(fastmath=FAST)
def multiply(topo: Any, link: int, t: Any, m: Any) -> None:
    """Compute t *= m."""
    place = topo[topo[link + 3] : topo[link + 3] + topo[link]]
    n_in, p = _Index(topo[link + 1]), _Index(0)
    if topo[link + 2]:
        for o in range(place.size):
            k = _Index(place[o]) * n_in
            for i in range(n_in):
                t[p + i] *= m[k + i]
            p += n_in
    else:
        for o in range(place.size):
            a = m[place[o]]
            for i in range(n_in):
                t[p + i] *= a
            p += n_in


@njit(fastmath=FAST)
def add(topo: Any, link: int, t: Any, m: Any) -> None:
    """Compute t += m."""
    place = topo[topo[link + 3] : topo[link + 3] + topo[link]]
    n_in, p = _Index(topo[link + 1]), _Index(0)
    if topo[link + 2]:
        for o in range(place.size):
            k = _Index(place[o]) * n_in
            for i in range(n_in):
                t[p + i] += m[k + i]
            p += n_in
    else:
        for o in range(place.size):
            a = m[place[o]]
            for i in range(n_in):
                t[p + i] += a
            p += n_in


@njit(fastmath=FAST)
def sum_out(topo: Any, link: int, t: Any, m: Any) -> None:
    """Set m to the sum of t over what m does not hold."""
    place = topo[topo[link + 3] : topo[link + 3] + topo[link]]
    n_in, p = _Index(topo[link + 1]), _Index(0)
    for s in range(m.size):
        m[s] = 0.0
    if topo[link + 2]:
        for o in range(place.size):
            k = _Index(place[o]) * n_in
            for i in range(n_in):
                m[k + i] += t[p + i]
            p += n_in
    else:
        for o in range(place.size):
            a = 0.0
            for i in range(n_in):
                a += t[p + i]
            m[place[o]] += a
            p += n_in


@njit(fastmath=FAST)
def max_out(topo: Any, link: int, t: Any, m: Any) -> None:
    """Set m to the largest of t over what m does not hold."""
    place = topo[topo[link + 3] : topo[link + 3] + topo[link]]
    n_in, p = _Index(topo[link + 1]), _Index(0)
    for s in range(m.size):
        m[s] = -np.inf
    if topo[link + 2]:
        for o in range(place.size):
            k = _Index(place[o]) * n_in
            for i in range(n_in):
                m[k + i] = t[p + i] if t[p + i] > m[k + i] else m[k + i]
            p += n_in
    else:
        for o in range(place.size):
            a = m[place[o]]
            for i in range(n_in):
                a = t[p + i] if t[p + i] > a else a
            m[place[o]] = a
            p += n_in


@njit(fastmath=FAST)
def gather_scores(topo: Any, node: int, theta: Any, t: Any) -> None:
    """Set t to the sum of the scores of the node's own factors."""
    for i in range(t.size):
        t[i] = 0.0
    for q in range(topo[node + NODE_FACTORS], topo[node + NODE_FACTORS + 1]):
        factor = topo[FACTORS] + FACTOR_FIELDS * topo[q]
        part = topo[topo[SITES] + SITE_FIELDS * topo[factor]]
        x = theta[part : part + t.size]
        if topo[factor + 1]:
            place = topo[topo[factor + 1] : topo[factor + 1] + t.size]
            for i in range(t.size):
                t[i] += x[place[i]]
        else:
            for i in range(t.size):
                t[i] += x[i]


@njit(fastmath=FAST)
def gather_exponentials(topo: Any, node: int, work: Any, t: Any) -> Any:
    """Set t to the product of the exponentials of the node's factors; return their log scale."""
    shift = 0.0
    for i in range(t.size):
        t[i] = 1.0
    for q in range(topo[node + NODE_FACTORS], topo[node + NODE_FACTORS + 1]):
        factor = topo[FACTORS] + FACTOR_FIELDS * topo[q]
        site = topo[factor]
        part = topo[topo[SITES] + SITE_FIELDS * site]
        x = work[part : part + t.size]
        if topo[factor + 1]:
            place = topo[topo[factor + 1] : topo[factor + 1] + t.size]
            for i in range(t.size):
                t[i] *= x[place[i]]
        else:
            for i in range(t.size):
                t[i] *= x[i]
        shift += work[topo[TOPS] + site]
    return shift


@njit(fastmath=FAST)
def spread_marginals(topo: Any, node: int, t: Any, mu: Any) -> None:
    """Add the node's marginals to the parts of its own factors."""
    for q in range(topo[node + NODE_FACTORS], topo[node + NODE_FACTORS + 1]):
        factor = topo[FACTORS] + FACTOR_FIELDS * topo[q]
        part = topo[topo[SITES] + SITE_FIELDS * topo[factor]]
        x = mu[part : part + t.size]
        if topo[factor + 1]:
            place = topo[topo[factor + 1] : topo[factor + 1] + t.size]
            for i in range(t.size):
                x[place[i]] += t[i]
        else:
            for i in range(t.size):
                x[i] += t[i]


@njit
def table(topo: Any, node: int, work: Any) -> Any:
    """Return the table of a node."""
    at = topo[node + NODE_TABLE]
    return work[at : at + topo[node + NODE_SIZE]]


@njit
def message(topo: Any, node: int, work: Any) -> Any:
    """Return the message of a node to its parent."""
    at = topo[node + NODE_MESSAGE]
    return work[at : at + topo[node + NODE_MESSAGE_SIZE]]


@njit
def log_message(topo: Any, node: int, work: Any) -> Any:
    """Return the logarithm of that message, where it is in use."""
    at = topo[node + NODE_LOG]
    return work[at : at + topo[node + NODE_MESSAGE_SIZE]]
