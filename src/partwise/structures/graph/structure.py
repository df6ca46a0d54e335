"""Labellings of the vertices of a graph of low tree width, with factors over any of its cliques.

A *domain* is a set of labels, and every vertex has one. A *kind* of factor is a tuple of domains;
a factor is a kind and the vertices that it scores, and its parts are their joint labels, the last
vertex fastest. Parts, in the order of the kinds:

    a kind      one table per factor, in the order in which the shape gives them
    tied kind   one table that all its factors share

The junction tree is built by ``junction.py``; the recursions are in ``oracles.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...memory import memory_limit
from ..base import Constraints, Sites, Structure
from ..steps import Steps
from .oracles import graph_marginals, graph_maximum, upwards
from .search import draw_labels, graph_k_best, graph_labels, graph_parts, graph_steps
from .topology import (
    N_NODES,
    N_PARTS,
    N_SITES,
    N_VERTICES,
    SITE_FIELDS,
    SITES,
    VERTEX_FIELDS,
    VERTICES,
    WORK,
    Factor,
    Site,
    flat_topology,
)

#: More vertices than these in one factor of two labels each have too many joint labels.
_MAX_SCOPE: Final = 32


@dataclass(frozen=True)
class GraphShape:
    """The graph of one example.

    Parameters
    ----------
    domains : tuple of str
        The domain of each vertex.
    factors : tuple of (str, tuple of int)
        The kind of each factor, and its vertices in the order of the kind's domains.
    """

    domains: tuple[str, ...]
    factors: tuple[tuple[str, tuple[int, ...]], ...]


class GraphConstraints(NamedTuple):
    """Hard constraints on labellings, in label numbers.

    ``labels`` are forbidden at all vertices that have them. ``allowed`` holds, for some vertices,
    the only labels allowed there. ``assignments`` holds forbidden joint labels of the factors of a
    kind.
    """

    labels: Sequence[int] = ()
    allowed: Sequence[tuple[int, Sequence[int]]] = ()
    assignments: Sequence[tuple[str, Sequence[int]]] = ()


@final
class Graph(Structure):
    """Labellings of graphs; each example has a graph of its own.

    Parameters
    ----------
    domains : mapping of str to int
        The number of labels in each domain.
    factors : mapping of str to sequence of str
        The domains of each kind of factor.
    tied : sequence of str
        The kinds whose factors share one table of scores per example.
    max_megabytes : int
        Graphs whose tables take more than this are refused.

    Notes
    -----
    Every vertex must be in a factor that is not tied: the smallest such factor, the first of
    equals, speaks for the vertex where a label is read off counts, where costs are spread, and
    where labels are forbidden.
    """

    name: ClassVar[str] = "graph"
    marginals: ClassVar[Any] = graph_marginals
    maximum: ClassVar[Any] = graph_maximum

    def __init__(
        self,
        domains: Mapping[str, int],
        factors: Mapping[str, Sequence[str]],
        tied: Sequence[str] = (),
        max_megabytes: int = 256,
    ) -> None:
        self.domains = dict(domains)
        self.factors = {kind: tuple(names) for kind, names in factors.items()}
        self.tied = tuple(tied)
        self.max_megabytes = max_megabytes
        for domain, size in self.domains.items():
            if size < 1:
                raise DataError(f"domain {domain!r} has {size} labels; give it at least one")
        for kind, names in self.factors.items():
            if not names or any(name not in self.domains for name in names):
                raise DataError(
                    f"factors of kind {kind!r} are over the domains {list(names)}; give one or "
                    f"more of {sorted(self.domains)}"
                )
        for kind in self.tied:
            if kind not in self.factors:
                raise DataError(
                    f"there is no kind of factor {kind!r} to tie; the kinds are {list(factors)}"
                )
        self.kinds = tuple(self.factors)
        self.n_labels = max(self.domains.values(), default=0)

    def constants(self) -> dict[str, Any]:
        return {
            "domains": self.domains,
            "factors": {kind: list(names) for kind, names in self.factors.items()},
            "tied": list(self.tied),
            "max_megabytes": self.max_megabytes,
        }

    @classmethod
    def check_constants(cls, constants: dict[str, Any]) -> None:
        super().check_constants(constants)
        domains, factors, tied = (constants[name] for name in ("domains", "factors", "tied"))
        if not isinstance(domains, dict) or not all(
            type(size) is int and 1 <= size < 2**31 for size in domains.values()
        ):
            raise DataError("the domains of a graph must be numbers of labels, each 1 or more")
        if not isinstance(factors, dict) or not all(
            isinstance(names, list)
            and 1 <= len(names) <= _MAX_SCOPE
            and all(isinstance(name, str) and name in domains for name in names)
            for names in factors.values()
        ):
            raise DataError(
                f"the factors of a graph must be lists of 1 to {_MAX_SCOPE} of its domains"
            )
        if not isinstance(tied, list) or not all(
            isinstance(kind, str) and kind in factors for kind in tied
        ):
            raise DataError("what is tied in a graph must be a list of kinds of its factors")
        megabytes = constants["max_megabytes"]
        if megabytes * 2**20 > memory_limit():
            raise DataError(
                f"max_megabytes of a graph is {megabytes}, and this machine has "
                f"{memory_limit() / 2**20:.0f}; use it on a larger one"
            )

    def constraints_to_json(self, constraints: Any) -> Any:
        """Return forbidden labels and joint labels; what is allowed belongs to single examples."""
        if not isinstance(constraints, GraphConstraints):
            return super().constraints_to_json(constraints)
        return {
            "labels": [int(k) for k in constraints.labels],
            "assignments": [
                [kind, [int(k) for k in joint]] for kind, joint in constraints.assignments
            ],
        }

    def constraints_from_json(self, data: Any) -> Any:
        if not isinstance(data, dict) or data.keys() != {"labels", "assignments"}:
            return super().constraints_from_json(data)
        labels, assignments = data["labels"], data["assignments"]
        if not isinstance(labels, list) or not all(
            type(k) is int and 0 <= k < self.n_labels for k in labels
        ):
            raise DataError(f"the forbidden labels are not labels of the graph: {labels!r}")
        if not isinstance(assignments, list):
            raise DataError(f"forbidden joint labels must be a list, not {assignments!r}")
        joint_labels = []
        for item in assignments:
            if not isinstance(item, list) or len(item) != 2 or not isinstance(item[1], list):
                raise DataError(f"expected a kind with joint labels, not {item!r}")
            self._place(*item)
            joint_labels.append((item[0], tuple(item[1])))
        return GraphConstraints(labels=labels, assignments=joint_labels)

    @property
    def spec(self) -> Ints:
        """The sizes of the domains; for each kind whether it is tied, and its domains.

        The oracles read nothing but the topology.
        """
        number = {name: i for i, name in enumerate(self.domains)}
        spec = [len(number), *self.domains.values()]
        for kind, names in self.factors.items():
            spec += [kind in self.tied, len(names), *(number[name] for name in names)]
        return np.array(spec, dtype=np.int64)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(
            math.prod(self.domains[name] for name in names) for names in self.factors.values()
        )

    def topology(self, shape: GraphShape) -> Ints:
        """Build the junction tree of the graph; equal graphs share one."""
        by_kind: dict[str, list[tuple[int, ...]]] = {kind: [] for kind in self.kinds}
        self._check(shape)
        for kind, scope in shape.factors:
            by_kind[kind].append(tuple(scope))
        sites: list[Site] = []
        factors: list[Factor] = []
        homes: dict[int, int] = {}
        part = 0
        for number, (kind, width) in enumerate(zip(self.kinds, self.widths, strict=True)):
            scopes = by_kind[kind]
            if kind in self.tied:
                sites.append(Site(part, width, number, len(scopes)))
                factors += [Factor(len(sites) - 1, scope) for scope in scopes]
                part += width
                continue
            for scope in scopes:
                for v in scope:
                    if v not in homes or width < sites[factors[homes[v]].site].width:
                        homes[v] = len(factors)
                factors.append(Factor(len(sites), scope))
                sites.append(Site(part, width, number, 1))
                part += width
        for v in range(len(shape.domains)):
            if v not in homes:
                raise DataError(
                    f"vertex {v} is in no factor of a kind that is not tied, so its label cannot "
                    "be read off the parts; give it a factor of its own"
                )
        topo: Ints = flat_topology(
            tuple(self.domains[name] for name in shape.domains),
            tuple(sites),
            tuple(factors),
            tuple(homes[v] for v in range(len(shape.domains))),
            self.max_megabytes,
        )
        return np.array(topo, dtype=np.int64)  # the caller's own: the shared one stays as it is

    def _check(self, shape: GraphShape) -> None:
        """Raise a DataError for vertices or factors that do not fit the domains and kinds."""
        for v, domain in enumerate(shape.domains):
            if domain not in self.domains:
                raise DataError(
                    f"vertex {v} has the domain {domain!r}; give one of {sorted(self.domains)}"
                )
        n = len(shape.domains)
        for f, (kind, scope) in enumerate(shape.factors):
            where = f"factor {f} ({kind!r} over the vertices {tuple(scope)})"
            if kind not in self.factors:
                raise DataError(f"{where} is of no known kind; give one of {list(self.kinds)}")
            if len(set(scope)) < len(scope) or not all(0 <= v < n for v in scope):
                raise DataError(f"{where} must hold different vertices, numbered 0 to {n - 1}")
            found = tuple(shape.domains[v] for v in scope)
            if found != self.factors[kind]:
                raise DataError(
                    f"{where} holds vertices of the domains {list(found)}; its kind takes "
                    f"{list(self.factors[kind])}"
                )

    def n_parts(self, topo: Ints) -> int:
        return int(topo[N_PARTS])

    def work_size(self, topo: Ints) -> int:
        return int(topo[WORK])

    def sites(self, topo: Ints) -> Sites:
        """List one site per factor, and one per tied kind."""
        begin, n = topo[SITES], topo[N_SITES]
        part, width, kind, uses = topo[begin : begin + SITE_FIELDS * n].reshape(-1, SITE_FIELDS).T
        return Sites(*(np.ascontiguousarray(column) for column in (part, width, kind, uses)))

    def steps(self, topo: Ints) -> Steps:
        return graph_steps(topo)

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        parts = graph_parts(topo, np.asarray(label, dtype=np.int64))
        if not self.tied:
            return parts, np.ones(len(parts))
        parts, counts = np.unique(parts, return_counts=True)
        return parts, counts.astype(np.float64)

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        """Read every vertex off the factor that speaks for it."""
        return np.asarray(graph_labels(topo, mu))

    def _vertices(self, topo: Ints) -> Ints:
        """Return for each vertex its number of labels, and part, width and stride of its factor."""
        begin, n = topo[VERTICES], topo[N_VERTICES]
        return topo[begin : begin + VERTEX_FIELDS * n].reshape(-1, VERTEX_FIELDS)

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        """Charge the cost of a vertex to the factor that speaks for it, so that it counts once."""
        if matrix is not None and len(set(self.domains.values())) > 1:
            raise DataError(
                f"the domains have {self.domains} labels, so one cost matrix does not fit them "
                "all; leave it out, or give all domains the same number of labels"
            )
        spread = np.zeros(self.n_parts(topo))
        for gold, (size, part, width, stride) in zip(label, self._vertices(topo), strict=True):
            cost = (np.arange(size) != gold).astype(float) if matrix is None else matrix[gold]
            spread[part : part + width] += cost[np.arange(width) // stride % size]
        return spread

    def mask(self, topo: Ints, constraints: Constraints | GraphConstraints) -> Floats:
        """Forbid labels in the factors that speak for the vertices, and joint labels in all."""
        mask = np.zeros(self.n_parts(topo))
        if isinstance(constraints, Constraints) and (
            constraints.transitions or constraints.starts or constraints.ends
        ):
            raise DataError(
                "a graph has no first, last or next position; forbid joint labels of its factors "
                "by GraphConstraints(assignments=...)"
            )
        vertices = self._vertices(topo)
        allowed = [np.ones(size, dtype=bool) for size in vertices[:, 0]]
        for only in allowed:
            only[[k for k in constraints.labels if k < len(only)]] = False
        for v, labels in constraints.allowed:
            if not 0 <= v < len(allowed):
                raise DataError(
                    f"labels are allowed at vertex {v}; the vertices are numbered 0 to "
                    f"{len(allowed) - 1}"
                )
            allowed[v] &= np.isin(np.arange(len(allowed[v])), list(labels))
        for only, (size, part, width, stride) in zip(allowed, vertices, strict=True):
            mask[part : part + width][~only[np.arange(width) // stride % size]] = -np.inf
        if isinstance(constraints, GraphConstraints):
            sites = self.sites(topo)
            for kind, joint in constraints.assignments:
                place = self._place(kind, joint)
                mask[sites.part[sites.kind == self.kinds.index(kind)] + place] = -np.inf
        return mask

    def _place(self, kind: Any, joint: Sequence[Any]) -> int:
        """Return the place of joint labels in the table of a kind; a DataError if there is none."""
        if not isinstance(kind, str) or kind not in self.factors:
            raise DataError(
                f"there is no kind of factor {kind!r} to forbid {tuple(joint)} in; the kinds are "
                f"{list(self.kinds)}"
            )
        shape = tuple(self.domains[name] for name in self.factors[kind])
        if len(joint) != len(shape) or not all(
            isinstance(k, int | np.integer) and 0 <= k < n
            for k, n in zip(joint, shape, strict=True)
        ):
            raise DataError(
                f"factors of kind {kind!r} have joint labels of the sizes {shape}, and "
                f"{tuple(joint)} is none of them"
            )
        return int(np.ravel_multi_index(tuple(joint), shape))

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        return graph_k_best(np.ascontiguousarray(theta, dtype=np.float64), topo, k)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Draw each clique given its separator, from the roots downwards."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        work = np.empty(self.work_size(topo))
        self._check_drawable(upwards(topo, theta, work, True))
        return list(draw_labels(topo, work, rng.random((size, int(topo[N_NODES])))))
