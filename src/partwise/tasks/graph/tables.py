"""Probabilities of the labels of vertices and of factors, cut out of expected counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...arrays import Floats
from .examples import ReadGraph
from .factor_features import FactorFeatures

if TYPE_CHECKING:
    from ...structures.graph.structure import Graph

__all__ = ["factor_tables", "vertex_tables"]


def factor_tables(
    mu: Floats, graph: ReadGraph, structure: Graph, kinds: Mapping[str, FactorFeatures]
) -> dict[str, Floats]:
    """Cut expected counts into one table per factor, by kind; tied kinds are left out."""
    tables = {}
    at = 0
    for (kind, held), width in zip(kinds.items(), structure.widths, strict=True):
        if kind in structure.tied:
            at += width
            continue
        copies = 2 if held.symmetric else 1
        m = copies * len(graph.groups[kind].vertices) if kind in graph.groups else 0
        sizes = [structure.domains[domain] for domain in held.domains]
        # The copy of a symmetric factor has the same probabilities.
        tables[kind] = mu[at : at + m * width].reshape(m, *sizes)[::copies]
        at += m * width
    return tables


def vertex_tables(tables: Mapping[str, Floats], graph: ReadGraph) -> list[Floats]:
    """Sum the tables of factors, small ones first, to the probabilities of each vertex's labels."""
    found: list[Floats | None] = [None] * len(graph.domains)
    for kind, table in sorted(tables.items(), key=lambda item: math.prod(item[1].shape[1:])):
        if not len(table):
            continue
        for place in range(table.ndim - 1):
            others = tuple(axis for axis in range(1, table.ndim) if axis != place + 1)
            sums = table.sum(axis=others)
            for v, row in zip(graph.groups[kind].vertices[:, place].tolist(), sums, strict=True):
                if found[v] is None:
                    found[v] = row
    return [row for row in found if row is not None]
