"""Graphs as users give them, read into vertices, factors and features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...problem.rows import is_matrix

__all__ = [
    "EDGE",
    "LABEL",
    "NODE",
    "FactorGroup",
    "GraphExample",
    "ReadGraph",
    "read_graphs",
]

#: What the domain and the kinds of factors of a graph of nodes and edges are called.
LABEL: Final = "label"
NODE: Final = "node"
EDGE: Final = "edge"


@dataclass(frozen=True, eq=False)
class GraphExample:
    """A graph whose vertices may have different sets of labels, with factors over any of them.

    Parameters
    ----------
    domains : sequence of str
        For each vertex, the name of its set of labels.
    factors : mapping of str to (vertices, features)
        For each kind of factor, the vertices of its m factors, an array of shape (m, size), and
        their features: an array or sparse matrix of m rows, a list of m tokens as
        :func:`partwise.models.vocabulary.fit_rows` takes them, or None.

    Notes
    -----
    All factors of a kind are over vertices of the same domains, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise import GraphExample, GraphLabeler
    >>> factors = {"word": ([0, 1], [{"w": "sun"}, {"w": "shines"}]), "pair": ([[0, 1]], None)}
    >>> graph = GraphExample(["tag", "tag"], factors)
    >>> GraphLabeler(l2=0.1).fit([graph], [["NOUN", "VERB"]]).predict([graph])
    [['NOUN', 'VERB']]
    """

    domains: Sequence[str]
    factors: Mapping[str, tuple[Any, Any]]


class FactorGroup(NamedTuple):
    """The m factors of one kind in one graph.

    Attributes
    ----------
    vertices : ndarray of shape (m, size)
        The vertices of each factor.
    features
        A matrix of m rows, a list of m tokens, or None.
    """

    vertices: Ints
    features: Any


class ReadGraph(NamedTuple):
    """A graph after checks.

    Attributes
    ----------
    domains : tuple of str
        The domain of each vertex.
    groups : dict of FactorGroup
        The factors of each kind that the graph has.
    """

    domains: tuple[str, ...]
    groups: dict[str, FactorGroup]


def read_graphs(X: Any) -> list[ReadGraph]:
    """Check graphs and return them in one form.

    Parameters
    ----------
    X : iterable
        Tuples ``(node_features, edges)`` or ``(node_features, edges, edge_features)``; or graphs
        as :class:`GraphExample` or a dict of its fields. Graphs that have been read stay as they
        are.
    """
    if is_matrix(X) or isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise DataError(f"X is of type {type(X).__name__}; give a list of graphs")
    return [_graph(item, Place.nth("example", i)) for i, item in enumerate(X)]


def _graph(item: Any, where: Place) -> ReadGraph:
    if isinstance(item, ReadGraph):
        return item
    if isinstance(item, GraphExample):
        return _named(item.domains, item.factors, where)
    if isinstance(item, Mapping):
        if item.keys() != {"domains", "factors"}:
            raise DataError(
                f"is a dict of {', '.join(map(repr, item)) or 'nothing'}; it must hold "
                "'domains' and 'factors', as a GraphExample does",
                place=where,
                subject=True,
            )
        return _named(item["domains"], item["factors"], where)
    if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
        raise DataError(
            f"is of type {type(item).__name__}; give a tuple (node_features, edges) or "
            "(node_features, edges, edge_features), or a GraphExample",
            place=where,
            subject=True,
        )
    features, edges, edge_features = (*item, None)[:3]
    if not hasattr(features, "__len__") and not is_matrix(features):
        raise DataError(
            f"the node features are of type {type(features).__name__}; give an array or a "
            "list, a row for each node",
            place=where,
        )
    n = features.shape[0] if is_matrix(features) else len(features)
    pairs = np.asarray(edges)
    if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
        raise DataError(
            f"edges of shape {pairs.shape}; give pairs of vertices, a row for each edge",
            place=where,
        )
    groups = {NODE: (np.arange(n), features), EDGE: (pairs, edge_features)}
    return _named((LABEL,) * n, groups, where)


def _named(domains: Any, factors: Any, where: Place) -> ReadGraph:
    names = () if isinstance(domains, (str, bytes)) else tuple(domains)
    if isinstance(domains, (str, bytes)) or not all(isinstance(name, str) for name in names):
        raise DataError(f"domains must hold a name for each vertex; it is {domains!r}", place=where)
    if not isinstance(factors, Mapping) or not all(isinstance(kind, str) for kind in factors):
        raise DataError("factors must be a dict from names of kinds to factors", place=where)
    groups = {}
    for kind, held in factors.items():
        if not isinstance(held, (tuple, list)) or len(held) != 2:
            raise DataError(
                f"the factors of kind {kind!r} must be a pair of their vertices and their "
                "features, which may be None",
                place=where,
            )
        inside = where._replace(part=f"kind {kind!r}")
        vertices = _vertices(held[0], len(names), inside)
        if len(vertices):
            features = _table(held[1], len(vertices), inside)
            groups[kind] = FactorGroup(vertices, features)
    return ReadGraph(names, groups)


def _vertices(given: Any, n: int, where: Place) -> Ints:
    """Return the vertices of the factors of a kind, one row per factor."""
    vertices = np.asarray(given)
    if not vertices.size:
        return np.zeros((0, 1), dtype=np.int64)
    if vertices.ndim == 1:
        vertices = vertices[:, None]
    if vertices.ndim != 2 or vertices.dtype.kind not in "iu":
        raise DataError(
            f"the vertices of factors, or edges, have shape {vertices.shape} and type "
            f"{vertices.dtype}; give whole numbers, a row for each factor",
            place=where,
        )
    outside = np.flatnonzero(((vertices < 0) | (vertices >= n)).any(axis=1))
    if len(outside):
        f = int(outside[0])
        raise DataError(
            f"the vertices {vertices[f].tolist()} where there are 0 to {n - 1}",
            place=where._replace(part=f"{where.part}, factor", position=f),
        )
    ordered = np.sort(vertices, axis=1)
    twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(twice):
        f = int(twice[0])
        raise DataError(
            f"the vertices {vertices[f].tolist()}; they must be different, so put what a vertex "
            "has alone into a factor of that vertex",
            place=where._replace(part=f"{where.part}, factor", position=f),
        )
    return vertices.astype(np.int64)


def _table(features: Any, m: int, where: Place) -> Any:
    """Return the features of m factors: None, a matrix, or a list of tokens."""
    if features is None:
        return None
    if not is_matrix(features):
        if isinstance(features, (str, bytes, Mapping)) or not isinstance(features, Iterable):
            raise DataError(
                f"the features are of type {type(features).__name__}; give an array or a "
                "list, a row for each factor",
                place=where,
            )
        features = list(features)
        first = features[0] if features else None
        if isinstance(first, (list, tuple, np.ndarray)) and len(first):
            # Rows of numbers in plain lists are a matrix too.
            if isinstance(first[0], Real):
                features = _numbers(features, where)
        elif isinstance(first, Real):
            raise DataError("features have two dimensions, a row for each factor", place=where)
    size = features.shape[0] if is_matrix(features) else len(features)
    if size != m:
        raise DataError(f"{size} rows of features for {m} factors; give one for each", place=where)
    if hasattr(features, "iloc"):
        return _numbers(features, where)
    return features


def _numbers(rows: Any, where: Place) -> Floats:
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the features are no table of numbers: {error}", place=where) from error
    if array.ndim != 2:
        raise DataError(f"features of shape {array.shape}; give a row for each factor", place=where)
    return array
