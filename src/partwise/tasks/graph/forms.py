"""The form of labelled graphs: vertices and factors, names of features, JSON, an example of use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Ints
from ...structures.graph.search import graph_parts
from ...structures.graph.structure import GraphConstraints
from ...structures.graph.topology import FACTOR_FIELDS, FACTORS, N_FACTORS
from ..example_form import ExampleForm, FeatureNames, GivenText, Item, names_in
from ..hashed_text import NamesOfRows, names_of_rows
from ..json_rows import RefusedInput, matrix
from ..label_form import Element, LabelForm, NumberedParts, SlotNames
from .examples import EDGE, LABEL, NODE
from .factor_features import read_rows

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["GraphForm", "VertexForm"]


class VertexForm(LabelForm):
    """The vertices of graphs with their own factors, and the factors of several vertices."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._known_domains: list[str] = []  # of the graph whose elements were asked for last

    def elements(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        domains = self._domains(topo)
        own: list[list[int]] = [[] for _ in domains]
        factors = []
        parts = graph_parts(topo, np.asarray(label, dtype=np.int64)).tolist()
        sites = self.structure.sites(topo)
        mirrored: list[int] | None = None
        for (site, scope), part in zip(_factors(topo), parts, strict=True):
            kind = self.structure.kinds[int(sites.kind[site])]
            if len(scope) == 1:
                own[scope[0]].append(part)
            elif mirrored is not None:
                # The second half of a symmetric factor.
                mirrored.append(part)
                mirrored = None
            else:
                held = [part]
                # The factors of a tied kind share their parts, which then say of none where it is.
                key = [part] if sites.uses[site] == 1 and kind not in self.structure.tied else []
                named = self._joint(scope, label, domains)
                factors.append((kind, scope, named, held, key))
                mirrored = held if self._symmetric(kind) else None
        found = []
        for v, mine in enumerate(own):
            named = self._joint((v,), label, domains)
            text = words[v] if v < len(words) else ""
            own_key = self._key(v, int(label[v]), topo)
            found.append(Element("vertex", (v,), text, named, _array(mine), own_key))
        for kind, scope, named, held, key in factors:
            found.append(Element(kind, scope, "", named, _array(held), _array(key)))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        return self._joint(element.place, label, self._known_domains)

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        sites = self.structure.sites(topo)
        if self.structure.kinds[kind] in self.structure.tied:
            return ""
        wanted = int(np.flatnonzero(sites.kind == kind)[number])
        return next("-".join(map(str, scope)) for site, scope in _factors(topo) if site == wanted)

    def slots(self) -> list[SlotNames]:
        made = []
        for domains in self.structure.factors.values():
            axes: list[Sequence[str]] = []
            for domain in domains:
                size = self.structure.domains[domain]
                named = self._named
                axes.append(NumberedParts(size) if named is None else [*map(str, named[domain])])
            made.append(SlotNames(tuple(axes), ", "))
        return made

    def joins(self) -> list[int]:
        factors = self.structure.factors
        return [k for k, kind in enumerate(self.structure.kinds) if len(factors[kind]) > 1]

    @property
    def _named(self) -> Mapping[str, Sequence[Any]] | None:
        """The labels of each domain, if the features of the model name them."""
        return getattr(self.model.features, "labels", None)

    def _joint(self, scope: Sequence[int], label: Ints, domains: Sequence[str]) -> str:
        named = self._named
        numbers = [int(label[v]) for v in scope]
        if named is None:
            return ", ".join(map(str, numbers))
        return ", ".join(str(named[domains[v]][k]) for v, k in zip(scope, numbers, strict=True))

    def _domains(self, topo: Ints) -> list[str]:
        """Return the domain of each vertex, read off its factors."""
        sites = self.structure.sites(topo)
        found: dict[int, str] = {}
        for site, scope in _factors(topo):
            kind = self.structure.kinds[int(sites.kind[site])]
            found.update(zip(scope, self.structure.factors[kind], strict=True))
        self._known_domains = [found[v] for v in range(len(found))]
        return self._known_domains

    def _symmetric(self, kind: str) -> bool:
        kinds: Any = getattr(self.model.features, "kinds", {})
        return kind in kinds and kinds[kind].symmetric

    def _key(self, v: int, k: int, topo: Ints) -> Ints:
        """Return the parts with label k at vertex v, in the factor that speaks for it."""
        others = [other for other in range(self.structure.n_labels) if other != k]
        mask = self.structure.mask(topo, GraphConstraints(allowed=[(v, others)]))
        return np.flatnonzero(np.isneginf(mask))


def _factors(topo: Ints) -> list[tuple[int, tuple[int, ...]]]:
    """Return the site and the vertices of each factor, in the order of `graph_parts`."""
    begin, n = int(topo[FACTORS]), int(topo[N_FACTORS])
    section = topo[begin : begin + FACTOR_FIELDS * n].reshape(-1, FACTOR_FIELDS)
    return [(site, tuple(topo[first:last:2].tolist())) for site, _, first, last in section.tolist()]


def _array(parts: Sequence[int]) -> Ints:
    return np.array(parts, dtype=np.int64)


class GraphForm(ExampleForm):
    """Graphs of nodes and edges, whose vertices all have the same labels."""

    view = "vertices"
    field = "nodes"

    def explained(self) -> Model:
        apart = replace(self.features, factors=True)
        limit = self.model.structure.constants()["max_megabytes"]
        return replace(self.model, features=apart, structure=apart.structure(limit))

    def names(self, given: Sequence[str] | None = None) -> list[FeatureNames]:
        super().names(given)
        return [self._of_factor(k, held) for k, held in enumerate(self.features.kinds.values())]

    def _of_factor(self, kind: int, held: Any) -> FeatureNames:
        listed = held.count - (held.constant != 0.0)
        if held.support is not None:
            return FeatureNames(held.count, listed, self.scores(kind))
        return names_in(held.vocabulary, listed, held.count, held.n_hashed)

    def given(self, examples: Any, more: Mapping[str, Any]) -> GivenText:
        read = self.features.read(self.model.structure, examples, **more)
        behind: dict[int, Any] = {}
        for kind, (name, held) in enumerate(self.features.kinds.items()):
            if held.n_hashed and held.n_inputs is not None:
                behind[kind] = _behind(name, held, read)
        return GivenText(read, [], behind)

    def reads(self) -> dict[str, Any]:
        return {
            "kind": "graph",
            "about": "nodes is a list of features per node; edges a list of pairs of nodes, "
            "counted from 0; edge_features, if the model has any, a list of features per edge. "
            f"Features of a node: {self._form(NODE)}; of an edge: {self._form(EDGE)}",
        }

    def _form(self, kind: str) -> str:
        held = self.features.kinds.get(kind)
        if held is None or held.n_inputs is None:
            return "none"
        if held.vocabulary is not None:
            return 'named, {"colour": "red"} or a list of names'
        return f"{held.n_inputs:,} numbers"

    def sample(self) -> dict[str, Any]:
        nodes = [self._some(NODE)] * 3
        edges = [[0, 1], [1, 2]]
        found: dict[str, Any] = {"nodes": nodes, "edges": edges}
        if EDGE in self.features.featured:
            found["edge_features"] = [self._some(EDGE)] * 2
        return found

    def _some(self, kind: str) -> Any:
        held = self.features.kinds.get(kind)
        if held is None or held.n_inputs is None:
            return []
        if held.vocabulary is None:
            return [1.0] * held.n_inputs
        return [] if held.vocabulary.hashed else list(held.vocabulary.names[:1])

    def read(self, given: Mapping[str, Any], where: str) -> Item:
        if self.features.labels.keys() != {LABEL}:
            raise RefusedInput(
                "wrong_input",
                "the model is for graphs with several kinds of vertices, which cannot be sent; "
                "use it from Python, with partwise.load_model",
                where,
            )
        nodes, edges = given["nodes"], given.get("edges", [])
        self.check_length(len(nodes), f"{where}.nodes")
        self.check_length(len(edges), f"{where}.edges")
        for e, edge in enumerate(edges):
            place = f"{where}.edges[{e}]"
            if not (isinstance(edge, list) and len(edge) == 2 and all(
                type(v) is int and 0 <= v < len(nodes) for v in edge
            ) and edge[0] != edge[1]):  # fmt: skip
                why = f"{place} is not a pair of different nodes, counted from 0"
                raise RefusedInput("wrong_edge", why, place)
        example = [self._rows(NODE, nodes, f"{where}.nodes"), edges]
        of_edges, place = given.get("edge_features"), f"{where}.edge_features"
        if (of_edges is not None) != (EDGE in self.features.featured and bool(edges)):
            raise RefusedInput("wrong_edges", f"features of an edge: {self._form(EDGE)}", place)
        if of_edges is not None:
            if len(of_edges) != len(edges):
                why = f"{len(of_edges)} features for {len(edges)} edges"
                raise RefusedInput("wrong_edges", why, place)
            example.append(self._rows(EDGE, of_edges, place))
        words = [f"#{v}" for v in range(len(nodes))]
        return Item(tuple(example), words, len(nodes) + len(edges))

    def _rows(self, kind: str, given: Any, where: str) -> Any:
        held = self.features.kinds.get(kind)
        if held is not None and held.n_inputs is not None and held.vocabulary is None:
            return matrix(given, held.n_inputs, where)
        for v, one in enumerate(given):
            if not isinstance(one, (dict, list)):
                place = f"{where}[{v}]"
                why = f"{place} must be an object or a list of names"
                raise RefusedInput("wrong_type", why, place)
        return given

    def classes(self) -> list[Any]:
        return list(self.features.labels.get(LABEL, ()))

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
        return {"labels": label, "edges": item.example[1]}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        index = {name: k for k, name in enumerate(self.classes())}
        return {"probabilities": [min(float(table[v, index[x]]), 1.0) for v, x in enumerate(label)]}

    def file(self) -> tuple[str, list[str]] | None:
        kinds = self.features.kinds.values()
        named = all(held.n_inputs is None or held.vocabulary is not None for held in kinds)
        return ("new.graphs", []) if named else None

    def program(self) -> tuple[list[str], str]:
        imports = ["from partwise.formats.graph_text import read_graph_text"]
        return imports, "examples = read_graph_text('new.graphs', labelled=False)"


def _behind(kind: str, held: Any, graphs: Any) -> NamesOfRows:
    """Return the names of the features of a kind of factor that were hashed."""
    known = held.vocabulary
    rows, names = read_rows(kind, graphs, held if known is None else None)
    assert rows is not None
    copies = 2 if held.symmetric else 1
    return names_of_rows(rows, None if known is None else names, known, held.n_hashed, copies)
