"""The steps in which a junction tree builds labellings: the joint labels of each of its nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Ints
from ..steps import StepList, Steps
from .topology import (
    FACTOR_FIELDS,
    FACTORS,
    N_NODES,
    NODE_CHILDREN,
    NODE_FACTORS,
    NODE_FIELDS,
    NODE_MESSAGE_SIZE,
    NODE_PARENT,
    NODE_RESIDUAL,
    NODE_SEPARATOR,
    NODE_SIZE,
    NODES,
    SITE_FIELDS,
    SITES,
)


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
