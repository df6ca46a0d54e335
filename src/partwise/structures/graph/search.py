"""The k best labellings of a graph, and labellings drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ..ranking import Best, lawler_k_best
from .oracles import factor_part, maximise, separator_place, take_labels
from .topology import (
    LABELS,
    N_FACTORS,
    N_NODES,
    N_VERTICES,
    NODE_CHOICES,
    NODE_FIELDS,
    NODE_TABLE,
    NODES,
    VERTEX_FIELDS,
    VERTICES,
    WORK,
)


def graph_k_best(theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
    """Return the k best labellings, by Lawler's partition at the vertices.

    Each set is searched by max-product under a mask on the factors that speak for the vertices.
    """
    n = int(topo[N_VERTICES])
    masked, work = np.empty_like(theta), np.empty(topo[WORK])

    def find(fixed: Ints, excluded: tuple[int, ...]) -> Best:
        found = np.empty(n, dtype=np.int64)
        banned = np.array(excluded, dtype=np.int64)
        score = _restricted(topo, theta, fixed, banned, masked, work, found)
        return Best(score, found, found)

    return lawler_k_best(find, n, k)


@njit
def _forbid(topo: Any, v: int, k: int, others: bool, theta: Any) -> None:
    """Forbid label k at vertex v, or all others, in the factor that speaks for it."""
    entry = topo[VERTICES] + VERTEX_FIELDS * v
    size, part, stride = topo[entry], topo[entry + 1], topo[entry + 3]
    for i in range(topo[entry + 2]):
        if (i // stride % size == k) != others:
            theta[part + i] = -np.inf


@njit
def _restricted(
    topo: Any, theta: Any, fixed: Any, banned: Any, masked: Any, work: Any, found: Any
) -> Any:
    """Find the best labelling that begins with `fixed` and has no label of `banned` next."""
    free = fixed.size
    for p in range(theta.size):
        masked[p] = theta[p]
    if banned.size > 0 and banned.size == topo[topo[VERTICES] + VERTEX_FIELDS * free]:
        return -np.inf
    for v in range(free):
        _forbid(topo, v, fixed[v], True, masked)
    for k in banned:
        _forbid(topo, free, k, False, masked)
    score = maximise(topo, masked, work, True)
    for v in range(found.size):
        found[v] = int(work[topo[LABELS] + v]) if score > -np.inf else 0
    return score


@njit
def draw_labels(topo: Any, work: Any, uniform: Any) -> Any:
    """Draw labellings from the roots downwards; the tables hold p_c(r|s).

    uniform has one row per labelling and one number per node.
    """
    size = uniform.shape[0]
    labels = np.zeros((size, topo[N_VERTICES]), dtype=np.int64)
    for s in range(size):
        for c in range(topo[N_NODES] - 1, -1, -1):
            node = topo[NODES] + NODE_FIELDS * c
            n_choices = topo[node + NODE_CHOICES]
            choices = topo[topo[node + NODE_CHOICES + 1] :]
            first = topo[node + NODE_TABLE] + separator_place(topo, node, labels[s])
            mass, taken = 0.0, 0
            for r in range(n_choices):
                weight = work[first + choices[r]]
                mass += weight
                if weight > 0.0:
                    taken = r
                    if uniform[s, c] < mass:
                        break
            take_labels(topo, node, first - topo[node + NODE_TABLE] + choices[taken], labels[s])
    return labels


@njit
def graph_parts(topo: Any, label: Any) -> Any:
    """Return the part that each factor holds."""
    parts = np.empty(topo[N_FACTORS], dtype=np.int64)
    for f in range(parts.size):
        parts[f] = factor_part(topo, f, label)
    return parts


@njit
def graph_labels(topo: Any, mu: Any) -> Any:
    """Return the label of each vertex, read off the counts of the factor that speaks for it."""
    labels = np.empty(topo[N_VERTICES], dtype=np.int64)
    for v in range(labels.size):
        entry = topo[VERTICES] + VERTEX_FIELDS * v
        counts = mu[topo[entry + 1] : topo[entry + 1] + topo[entry + 2]]
        best = 0
        for i in range(counts.size):
            if counts[i] > counts[best]:
                best = i
        labels[v] = best // topo[entry + 3] % topo[entry]
    return labels
