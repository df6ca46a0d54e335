"""Graphs: a label for every vertex."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...tasks.graph.examples import EDGE, LABEL, NODE
from ...tasks.graph.features import GraphFeatures
from ..faults import Fault
from .base import Exchange, Item
from .numbers import matrix

__all__ = ["GraphExchange"]


class GraphExchange(Exchange):
    """Graphs of nodes and edges, whose vertices all have the same labels."""

    field = "nodes"
    view = "vertices"

    @property
    def _features(self) -> GraphFeatures:
        features = self.model.features
        assert isinstance(features, GraphFeatures)
        return features

    def reads(self) -> dict[str, Any]:
        return {
            "kind": "graph",
            "about": "nodes is a list of features per node; edges a list of pairs of nodes, "
            "counted from 0; edge_features, if the model has any, a list of features per edge. "
            f"Features of a node: {self._form(NODE)}; of an edge: {self._form(EDGE)}",
        }

    def _form(self, kind: str) -> str:
        held = self._features.kinds.get(kind)
        if held is None or held.n_inputs is None:
            return "none"
        if held.vocabulary is not None:
            return 'named, {"colour": "red"} or a list of names'
        return f"{held.n_inputs:,} numbers"

    def labels(self) -> list[Any]:
        return list(self._features.labels.get(LABEL, ()))

    def sample(self) -> dict[str, Any]:
        nodes = [self._some(NODE)] * 3
        edges = [[0, 1], [1, 2]]
        found: dict[str, Any] = {"nodes": nodes, "edges": edges}
        if EDGE in self._features.featured:
            found["edge_features"] = [self._some(EDGE)] * 2
        return found

    def _some(self, kind: str) -> Any:
        held = self._features.kinds.get(kind)
        if held is None or held.n_inputs is None:
            return []
        if held.vocabulary is None:
            return [1.0] * held.n_inputs
        return [] if held.vocabulary.hashed else list(held.vocabulary.names[:1])

    def read_field(self, given: Mapping[str, Any], where: str) -> Item:
        if self._features.labels.keys() != {LABEL}:
            raise Fault(
                422, "wrong_input",
                "the model is for graphs with several kinds of vertices, which cannot be sent; "
                "use it from Python, with partwise.load_model",
                where,
            )  # fmt: skip
        nodes, edges = given["nodes"], given.get("edges", [])
        self.check_length(len(nodes), f"{where}.nodes")
        self.check_length(len(edges), f"{where}.edges")
        for e, edge in enumerate(edges):
            place = f"{where}.edges[{e}]"
            if not (isinstance(edge, list) and len(edge) == 2 and all(
                type(v) is int and 0 <= v < len(nodes) for v in edge
            ) and edge[0] != edge[1]):  # fmt: skip
                raise Fault(
                    422, "wrong_edge", f"{place} is not a pair of different nodes, counted from 0",
                    place,
                )  # fmt: skip
        example = [self._rows(NODE, nodes, f"{where}.nodes"), edges]
        of_edges = given.get("edge_features")
        if (of_edges is not None) != (EDGE in self._features.featured and bool(edges)):
            raise Fault(
                422, "wrong_edges", f"features of an edge: {self._form(EDGE)}",
                f"{where}.edge_features",
            )  # fmt: skip
        if of_edges is not None:
            if len(of_edges) != len(edges):
                raise Fault(
                    422, "wrong_edges", f"{len(of_edges)} features for {len(edges)} edges",
                    f"{where}.edge_features",
                )  # fmt: skip
            example.append(self._rows(EDGE, of_edges, f"{where}.edge_features"))
        words = [f"#{v}" for v in range(len(nodes))]
        return Item(tuple(example), words, len(nodes) + len(edges))

    def _rows(self, kind: str, given: Any, where: str) -> Any:
        held = self._features.kinds.get(kind)
        if held is not None and held.n_inputs is not None and held.vocabulary is None:
            return matrix(given, held.n_inputs, where)
        for v, one in enumerate(given):
            if not isinstance(one, (dict, list)):
                raise Fault(
                    422, "wrong_type", f"{where}[{v}] must be an object or a list of names",
                    f"{where}[{v}]",
                )  # fmt: skip
        return given

    def shown(self, label: Any, item: Item) -> dict[str, Any]:
        return {"labels": label, "edges": item.example[1]}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        index = {name: k for k, name in enumerate(self.labels())}
        return {"probabilities": [min(float(table[v, index[x]]), 1.0) for v, x in enumerate(label)]}

    def marginals(self, table: Any, item: Item) -> Any:
        return table.tolist()
