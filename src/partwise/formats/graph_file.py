"""The graphs of a text file, see :mod:`partwise.formats.graph_text`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from partwise.errors import DataError, Place

__all__ = ["FIELD", "LABEL_PLACE", "Factor", "GraphFile", "TextGraph", "checked_field"]

#: The fields of a line.
FIELD: Final = re.compile(r"[^ \t]+")
#: The place of the label in the lines of vertices, counted from 0.
LABEL_PLACE: Final = {"node": 2, "vertex": 3}


class Factor(NamedTuple):
    """A factor of a graph.

    Attributes
    ----------
    vertices : tuple of int
        The numbers of its vertices in the graph.
    features : dict of str to float
        Its features.
    line : int
        Its line in the file, counted from 1; 0 if it is from no file.
    """

    vertices: tuple[int, ...]
    features: dict[str, float]
    line: int = 0


@dataclass(frozen=True, eq=False)
class TextGraph:
    """One graph of a file.

    Attributes
    ----------
    names : list of str
        The name of every vertex.
    domains : list of str
        The name of the set of labels of every vertex.
    labels : list of str or None
        The label of every vertex; None where it is not known.
    factors : dict of str to list of Factor
        The factors of each kind.
    rows : list of str
        The lines of the graph, with its comments.
    lines : list of int
        The line of every vertex, counted from 1.
    begin : int
        The first line of the graph.
    """

    names: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    factors: dict[str, list[Factor]] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    begin: int = 1

    def written(self, labels: Sequence[str], beside: Sequence[str] | None = None) -> list[str]:
        """Return the lines of the graph with other labels.

        Parameters
        ----------
        labels : sequence of str
            The label of every vertex.
        beside : sequence of str or None
            A comment on every vertex, without its ``#``. Comments that begin with ``# p``, such as
            those of an earlier run, are dropped then.
        """
        rows = []
        vertex = 0
        for row in self.rows:
            fields = [*FIELD.finditer(row)]
            if beside is not None and [one.group() for one in fields[:2]] == ["#", "p"]:
                continue
            place = LABEL_PLACE.get(fields[0].group())
            if place is None:
                rows.append(row)
                continue
            old = fields[place]
            label = checked_field(labels[vertex], "the label")
            rows.append(row[: old.start()] + label + row[old.end() :])
            if beside is not None:
                rows.append(f"# {beside[vertex]}")
            vertex += 1
        return rows


@dataclass(frozen=True, eq=False)
class GraphFile:
    """The graphs of a file.

    Attributes
    ----------
    path : str
        The file, for messages.
    graphs : list of TextGraph
        Its graphs.
    """

    path: str
    graphs: list[TextGraph]

    def __len__(self) -> int:
        """Return the number of graphs."""
        return len(self.graphs)

    @property
    def featured(self) -> set[str]:
        """The kinds of factors of which at least one has features."""
        return {
            kind
            for graph in self.graphs
            for kind, factors in graph.factors.items()
            if any(factor.features for factor in factors)
        }

    def examples(self, featured: set[str] | None = None) -> list[dict[str, object]]:
        """Return the graphs as :class:`partwise.GraphLabeler` takes them.

        Parameters
        ----------
        featured : set of str or None
            The kinds of factors that have features; factors of the others share a constant one. If
            None, those of which one factor in the file has features.
        """
        featured = self.featured if featured is None else featured
        return [
            {
                "domains": list(graph.domains),
                "factors": {
                    kind: (
                        [factor.vertices for factor in factors],
                        [factor.features for factor in factors] if kind in featured else None,
                    )
                    for kind, factors in graph.factors.items()
                },
            }
            for graph in self.graphs
        ]

    def check_vertices(self, featured: set[str]) -> None:
        """Raise a DataError for a vertex whose label only depends on tables that factors share."""
        for graph in self.graphs:
            scored: set[int] = set()
            for kind, factors in graph.factors.items():
                for factor in factors:
                    if kind in featured or len(factor.vertices) == 1:
                        scored.update(factor.vertices)
            for vertex, name in enumerate(graph.names):
                if vertex not in scored:
                    raise DataError(
                        f"the vertex {name!r} is in no factor "
                        "that has features or that is of this vertex alone; add a line "
                        f"`factor KIND {name}`, with its features or none",
                        place=Place(self.path, graph.lines[vertex]),
                    )

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The domains of the vertices of each kind of factor."""
        found: dict[str, tuple[str, ...]] = {}
        for graph in self.graphs:
            for kind, factors in graph.factors.items():
                scope = factors[0].vertices
                found.setdefault(kind, tuple(graph.domains[vertex] for vertex in scope))
        return found

    def check_kinds(self, known: Mapping[str, tuple[str, ...]]) -> None:
        """Raise a DataError for a factor of a kind that is not known, or over other domains.

        Parameters
        ----------
        known : mapping
            The known kinds, and the domains of the vertices of each.
        """
        for graph in self.graphs:
            for kind, factors in graph.factors.items():
                where, scope = Place(self.path, factors[0].line), factors[0].vertices
                if kind not in known:
                    raise DataError(
                        f"a factor of kind {kind!r}, which was not seen in training; the "
                        f"kinds are {', '.join(known)}",
                        place=where,
                    )
                mine = tuple(graph.domains[vertex] for vertex in scope)
                if mine != known[kind]:
                    raise DataError(
                        f"a factor of kind {kind!r} over vertices of {', '.join(mine)}, "
                        f"where those of training are over {', '.join(known[kind])}",
                        place=where,
                    )

    def labels(self) -> list[list[str | None]]:
        """Return the labels of the vertices of every graph; None where they are not known."""
        return [list(graph.labels) for graph in self.graphs]


def checked_field(text: str, what: str) -> str:
    """Return a text that can be written as one field; raise a DataError for others."""
    if not text or re.search(r"[ \t\r\n]", text):
        raise DataError(
            f"{what} {text!r} is empty or holds blanks, which a file of graphs cannot hold; "
            "replace them"
        )
    return text
