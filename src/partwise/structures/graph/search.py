"""The k best labellings of a graph, and labellings drawn at random."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...errors import DataError
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


class _Found(NamedTuple):
    """The best labelling of a set of them; sorted by score, then by age."""

    minus_score: float
    age: int
    label: Ints
    free: int  # vertices before this one are fixed
    excluded: tuple[int, ...]  # labels that the set forbids at vertex `free`


def graph_k_best(theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
    """Lawler's partition: without its best labelling y, a set falls into one set a vertex.

    The set of vertex v agrees with y before v and differs from it at v. Each is searched by
    max-product under a mask on the factor that speaks for the vertex.
    """
    n = int(topo[N_VERTICES])
    masked, work = np.empty_like(theta), np.empty(topo[WORK])
    heap: list[_Found] = []
    age = 0

    def look(label: Ints, free: int, excluded: tuple[int, ...]) -> None:
        nonlocal age
        found = np.empty(n, dtype=np.int64)
        banned = np.array(excluded, dtype=np.int64)
        score = _restricted(topo, theta, label, free, banned, masked, work, found)
        if np.isnan(score):
            raise DataError(
                "the scores hold nan or +inf, so labels have no order; give scores that are "
                "finite or -inf"
            )
        if score > -np.inf:
            heapq.heappush(heap, _Found(-score, age, found, free, excluded))
            age += 1

    look(np.zeros(n, dtype=np.int64), 0, ())
    scores: list[float] = []
    labels: list[Ints] = []
    while heap and len(labels) < k:
        best = heapq.heappop(heap)
        scores.append(-best.minus_score)
        labels.append(best.label)
        wanted = k - len(labels)
        if wanted == 0:
            break
        for v in range(best.free, n):
            before = best.excluded if v == best.free else ()
            look(best.label, v, (*before, int(best.label[v])))
        if len(heap) > 4 * wanted:
            heap = heapq.nsmallest(wanted, heap)
    return np.array(scores), labels


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
    topo: Any, theta: Any, label: Any, free: int, banned: Any, masked: Any, work: Any, found: Any
) -> Any:
    """The best labelling that agrees with `label` before `free` and is not `banned` there."""
    for p in range(theta.size):
        masked[p] = theta[p]
    if banned.size > 0 and banned.size == topo[topo[VERTICES] + VERTEX_FIELDS * free]:
        return -np.inf
    for v in range(free):
        _forbid(topo, v, label[v], True, masked)
    for k in banned:
        _forbid(topo, free, k, False, masked)
    score = maximise(topo, masked, work, True)
    for v in range(found.size):
        found[v] = int(work[topo[LABELS] + v]) if score > -np.inf else 0
    return score


@njit
def draw_labels(topo: Any, work: Any, uniform: Any) -> Any:
    """Draw from the roots downwards, when the tables hold p_c(r|s); uniform is size x nodes."""
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
    """The part that each factor holds."""
    parts = np.empty(topo[N_FACTORS], dtype=np.int64)
    for f in range(parts.size):
        parts[f] = factor_part(topo, f, label)
    return parts


@njit
def graph_labels(topo: Any, mu: Any) -> Any:
    """For each vertex its label in the largest count of the factor that speaks for it."""
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
