"""Labels of vertices as users give them, and labels that are known before prediction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ..labels import by_place
from .examples import ReadGraph

if TYPE_CHECKING:
    from ...structures.graph.structure import GraphConstraints
    from .features import GraphFeatures

__all__ = [
    "GrownDomains",
    "allowed_labels",
    "is_certain",
    "label_numbers",
    "named_joint",
    "numbered_joint",
    "read_fixed",
    "read_labels",
    "refuse_partial",
]


def read_labels(
    y: Any, graphs: Sequence[ReadGraph], partial: bool = False, missing: Any = None
) -> list[list[Any]]:
    """Return the labels of the vertices of each graph as plain Python values.

    Parameters
    ----------
    y, graphs
        The labels, and the graphs that they belong to.
    partial
        Whether labels may be None, and sets of labels, which are returned as frozensets.
    missing
        A label that is returned as None, if labels may be None.
    """
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise DataError(f"y is of type {type(y).__name__}; give a list of labels for each graph")
    items = list(y)
    if len(items) != len(graphs):
        raise DataError(f"y has the labels of {len(items)} graphs where X has {len(graphs)}")
    found = []
    for i, (item, graph) in enumerate(zip(items, graphs, strict=True)):
        if isinstance(item, (str, bytes, Mapping)) or not isinstance(item, Iterable):
            raise DataError(
                f"is {item!r}; give a list of labels, one for each vertex",
                place=Place.item("y", i),
                subject=True,
            )
        labels = [each.item() if isinstance(each, np.generic) else each for each in item]
        if partial:
            labels = [_partial(label, missing) for label in labels]
        if len(labels) != len(graph.domains):
            raise DataError(
                f"has {len(graph.domains)} vertices in X and "
                f"{len(labels)} labels in y; give one label for each vertex",
                place=Place.nth("example", i),
                subject=True,
            )
        for v, label in enumerate(labels):
            for one in _possible(label) if partial else (label,):
                _check_label(one, Place.nth("example", i, "vertex", v))
        found.append(labels)
    return found


def _partial(label: Any, missing: Any) -> Any:
    """Return a label, a frozenset of labels, or None."""
    if isinstance(label, (set, frozenset)):
        return frozenset(label)
    same = type(label) is type(missing) and label == missing
    return None if missing is not None and same else label


def _possible(label: Any) -> Sequence[Any]:
    """Return the labels that an entry of partial labels names."""
    if label is None:
        return ()
    return tuple(label) or (None,) if isinstance(label, frozenset) else (label,)


def is_certain(label: Any) -> bool:
    """Return whether an entry of partial labels is one label."""
    return label is not None and not isinstance(label, frozenset)


def allowed_labels(
    y: Sequence[Sequence[Any]], graphs: Sequence[ReadGraph], domains: Mapping[str, Sequence[Any]]
) -> list[GraphConstraints | None] | None:
    """Return the labels that the vertices of each graph may have.

    The entry of a graph is None if all its labels are certain. The result is None if all labels of
    all graphs are.
    """
    from ...structures.graph.structure import GraphConstraints

    found: list[GraphConstraints | None] = []
    for labels, graph in zip(y, graphs, strict=True):
        if all(map(is_certain, labels)):
            found.append(None)
            continue
        known = [
            (v, [domains[graph.domains[v]].index(one) for one in _possible(label)])
            for v, label in enumerate(labels)
            if label is not None
        ]
        found.append(GraphConstraints(allowed=known))
    return None if all(one is None for one in found) else found


def refuse_partial(y: Sequence[Sequence[Any]], loss: str) -> None:
    """Raise a DataError that names the first vertex whose label is not certain."""
    for i, labels in enumerate(y):
        for v, label in enumerate(labels):
            if not is_certain(label):
                raise DataError(
                    f"the label is missing or uncertain, "
                    f"and the {loss} loss has no cost for a set of labels; use the log loss",
                    place=Place.nth("example", i, "vertex", v),
                )


def _check_label(label: Any, where: Place) -> None:
    try:
        hash(label)
    except TypeError as error:
        raise DataError(
            f"a label of type {type(label).__name__}; use strings or whole numbers", place=where
        ) from error
    if label is None or label != label:
        raise DataError(
            "the label is missing; give one, or None in the labels to train on", place=where
        )


class GrownDomains:
    """The labels of each domain in the graphs so far.

    Parameters
    ----------
    given : mapping of str to sequence, or None
        The labels of some domains.
    """

    def __init__(self, given: Any) -> None:
        self._given = _declared(given)
        self._seen: dict[str, dict[Any, None]] = {}

    def add(self, graphs: Sequence[ReadGraph], y: Sequence[Sequence[Any]]) -> None:
        """Add the labels of the vertices of some graphs."""
        domains = self._given
        for i, (graph, several) in enumerate(zip(graphs, y, strict=True)):
            named = [(v, label) for v, entry in enumerate(several) for label in _possible(entry)]
            for v, label in named:
                domain = graph.domains[v]
                known = self._seen.setdefault(domain, {})
                first = next(iter(domains.get(domain, known)), label)
                where = Place.nth("example", i, "vertex", v)
                if type(label) is not type(first):
                    raise DataError(
                        f"the label {label!r} is of type {type(label).__name__} where {first!r} is "
                        f"of type {type(first).__name__}; use one type for all labels of a domain",
                        place=where,
                    )
                if label not in known and label not in domains.get(domain, (label,)):
                    raise DataError(
                        f"the label {label!r} is none of those given for the domain {domain!r}",
                        place=where,
                    )
                known[label] = None

    def finish(self) -> dict[str, tuple[Any, ...]]:
        """Return the labels of each domain, in the order of their numbers."""
        domains = dict(self._given)
        for domain, found in self._seen.items():
            if domain not in domains:
                try:
                    domains[domain] = tuple(sorted(found))
                except TypeError:  # labels without an order keep the one in which they occur
                    domains[domain] = tuple(found)
        if all(len(labels) < 2 for labels in domains.values()):
            raise DataError(
                "no vertex has a choice of labels; training needs labels of at least two classes, "
                "so add examples of another one"
            )
        return dict(sorted(domains.items()))


def _declared(given: Any) -> dict[str, tuple[Any, ...]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise DataError(f"domains is {given!r}; give None or a dict from names to labels")
    domains = {}
    for name, held in given.items():
        labels = () if isinstance(held, (str, bytes)) else tuple(held)
        labels = tuple(each.item() if isinstance(each, np.generic) else each for each in labels)
        for label in labels:
            _check_label(label, Place(argument=f"the domain {name!r}"))
        if not labels or len(set(labels)) < len(labels) or len(set(map(type, labels))) > 1:
            raise DataError(
                f"the domain {name!r} has the labels {held!r}; give a list of different labels of "
                "one type"
            )
        domains[name] = labels
    return domains


def label_numbers(
    y: Sequence[Sequence[Any]],
    graphs: Sequence[ReadGraph],
    domains: Mapping[str, Sequence[Any]],
) -> list[Ints]:
    """Return the number of every label in its domain; -1 if it is not there or not certain."""
    index = {
        domain: {label: k for k, label in enumerate(labels)} for domain, labels in domains.items()
    }
    nothing: dict[Any, int] = {}
    return [
        np.array(
            [
                index.get(domain, nothing).get(label, -1)
                for domain, label in zip(graph.domains, labels, strict=True)
            ],
            dtype=np.int64,
        )
        for graph, labels in zip(graphs, y, strict=True)
    ]


def read_fixed(
    fixed: Any, graphs: Sequence[ReadGraph], domains: Mapping[str, Sequence[Any]]
) -> list[list[tuple[int, list[int]]]] | None:
    """Return the label numbers that are allowed at some vertices, one list per graph.

    Parameters
    ----------
    fixed
        None, or one item per graph: None, a dict from vertices to a label or a list of labels, or
        a list with one item per vertex, which is a label, a list of labels or None.
    graphs, domains
        The graphs, and the labels of each domain.
    """
    if fixed is None:
        return None
    items = list(fixed)
    if len(items) != len(graphs):
        raise DataError(f"fixed has {len(items)} entries where X has {len(graphs)} graphs")
    return [
        _fixed_vertices(item, i, graph, domains)
        for i, (item, graph) in enumerate(zip(items, graphs, strict=True))
    ]


def _fixed_vertices(
    item: Any, i: int, graph: ReadGraph, domains: Mapping[str, Sequence[Any]]
) -> list[tuple[int, list[int]]]:
    n = len(graph.domains)
    allowed = []
    for v, labels in by_place(item, i, n, "vertices").items():
        if labels is None:
            continue
        if isinstance(v, bool) or not isinstance(v, (int, np.integer)) or not 0 <= v < n:
            raise DataError(
                f"names vertex {v!r}; there are 0 to {n - 1}",
                place=Place.item("fixed", i),
                subject=True,
            )
        names = list(domains.get(graph.domains[v], ()))
        # A tuple may be one label, or several.
        labels = labels.tolist() if isinstance(labels, np.ndarray | np.generic) else labels
        several = [labels]
        if isinstance(labels, (list, tuple, set, frozenset)) and labels not in names:
            several = list(labels)
        if not several:
            raise DataError(
                f"allows no label at vertex {v}; give at least one",
                place=Place.item("fixed", i),
                subject=True,
            )
        unknown = [label for label in several if label not in names]
        if unknown:
            raise DataError(
                f"the label {unknown[0]!r} was not seen in training",
                place=Place.item("fixed", i, "vertex", int(v)),
            )
        allowed.append((int(v), [names.index(label) for label in several]))
    return allowed


def numbered_joint(forbidden: Any, features: GraphFeatures) -> GraphConstraints | None:
    """Return forbidden joint labels as the structure takes them: in numbers."""
    from ...structures.graph.structure import GraphConstraints

    if forbidden is None:
        return None
    if not isinstance(forbidden, Mapping):
        raise DataError(f"forbidden is {forbidden!r}; give a dict from kinds to joint labels")
    assignments = []
    for kind, joints in forbidden.items():
        if kind not in features.kinds:
            raise DataError(
                f"forbidden names the kind of factor {kind!r}; the kinds are "
                f"{', '.join(features.kinds)}"
            )
        domains = features.kinds[kind].domains
        for joint in joints:
            labels = tuple(joint) if isinstance(joint, (tuple, list)) else (joint,)
            names = [features.labels[domain] for domain in domains]
            if len(labels) != len(names) or any(
                label not in held for label, held in zip(labels, names, strict=True)
            ):
                raise DataError(
                    f"forbidden: {joint!r} are no labels of the domains {', '.join(domains)}, "
                    f"which the factors of kind {kind!r} have"
                )
            numbers = [held.index(label) for label, held in zip(labels, names, strict=True)]
            assignments.append((kind, numbers))
    return GraphConstraints(assignments=assignments)


def named_joint(constraints: Any, features: GraphFeatures) -> dict[str, list[Any]] | None:
    """Return the joint labels that the constraints of a model forbid, by kind of factor."""
    from ...structures.graph.structure import GraphConstraints

    if not isinstance(constraints, GraphConstraints):
        return None
    forbidden: dict[str, list[Any]] = {}
    for kind, numbers in constraints.assignments:
        domains = features.kinds[kind].domains
        joint = tuple(features.labels[d][k] for d, k in zip(domains, numbers, strict=True))
        forbidden.setdefault(kind, []).append(joint)
    return forbidden
