"""Vertices and factors: the elements of labelled graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Ints
from ..structures.graph.search import graph_parts
from ..structures.graph.structure import GraphConstraints
from ..structures.graph.topology import FACTOR_FIELDS, FACTORS, N_FACTORS
from .elements import Element, Elements

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["GraphElements", "untied"]


def untied(model: Model) -> Model:
    """Return a labeller of graphs whose factors all have scores of their own."""
    features: Any = model.features
    if features.name != "graphs":
        return model
    apart = replace(features, factors=True)
    limit = model.structure.constants()["max_megabytes"]
    return replace(model, features=apart, structure=apart.structure(limit))


class GraphElements(Elements):
    """The vertices of graphs with their own factors, and the factors of several vertices."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._known_domains: list[str] = []  # of the graph whose elements were asked for last

    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
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

    def _joint(self, scope: Sequence[int], label: Ints, domains: Sequence[str]) -> str:
        named = getattr(self.model.features, "labels", None)
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
