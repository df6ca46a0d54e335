"""The k best labellings of a graph, and labellings drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ..ranking import Best, lawler_k_best
from ..steps import StepList, Steps
from .oracles import factor_part, maximise, separator_place, take_labels
from .topology import (
    FACTOR_FIELDS,
    FACTORS,
    LABELS,
    N_FACTORS,
    N_NODES,
    N_VERTICES,
    NODE_CHILDREN,
    NODE_CHOICES,
    NODE_FACTORS,
    NODE_FIELDS,
    NODE_MESSAGE_SIZE,
    NODE_PARENT,
    NODE_RESIDUAL,
    NODE_SEPARATOR,
    NODE_SIZE,
    NODE_TABLE,
    NODES,
    SITE_FIELDS,
    SITES,
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


# The steps in which a junction tree builds labellings: the joint labels of each of its nodes.


def graph_steps(topo: Ints) -> Steps:
    """List the steps of a graph; an item is a node with the joint label of its separator."""
    n, found = int(topo[N_NODES]), StepList()
    nodes = topo[topo[NODES] :][: n * NODE_FIELDS].reshape(n, NODE_FIELDS).tolist()
    # Children come before their parents.
    begins = np.cumsum([0, *(node[NODE_MESSAGE_SIZE] for node in nodes)])
    for c, node in enumerate(nodes):
        labels = _labels(topo, node)
        tails = [
            begins[child] + _joint(topo, nodes[child], labels)
            for child in topo[node[NODE_CHILDREN] : node[NODE_CHILDREN + 1]].tolist()
        ]
        parts: list[Any] = []
        for f in topo[node[NODE_FACTORS] : node[NODE_FACTORS + 1]].tolist():
            site, _, entry, end = topo[topo[FACTORS] + FACTOR_FIELDS * f :][:FACTOR_FIELDS]
            scope = topo[entry:end].reshape(-1, 2).tolist()
            first = topo[topo[SITES] + SITE_FIELDS * site]
            parts.append(sum((labels[v] * stride for v, stride in scope), first))
        found.add(begins[c] + _joint(topo, node, labels), tails, parts)
    roots = [begins[c] for c, node in enumerate(nodes) if node[NODE_PARENT] < 0]
    found.add(begins[-1], roots)
    return found.steps(int(begins[-1]) + 1)


def _labels(topo: Ints, node: list[int]) -> dict[int, Ints]:
    """Return the label of each vertex of a node for every entry of its table."""
    held = topo[node[NODE_SEPARATOR] : node[NODE_RESIDUAL + 1]].reshape(-1, 3).tolist()
    entry = np.arange(node[NODE_SIZE])
    return {v: entry // stride % size for v, stride, size in held}


def _joint(topo: Ints, node: list[int], labels: dict[int, Ints]) -> Any:
    """Number the joint labels of a node's separator, for the entries of some table."""
    joint = np.zeros_like(next(iter(labels.values())))
    for v, _, size in topo[node[NODE_SEPARATOR] : node[NODE_RESIDUAL]].reshape(-1, 3).tolist():
        joint = joint * size + labels[v]
    return joint
