"""Graphs with the labels of their vertices, as a fit takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...formats.graph_text import GraphFile
from ..source import Source
from .examples import ReadGraph, read_graphs
from .labels import read_labels

__all__ = ["GraphFileSource", "Graphs"]


@dataclass(frozen=True, eq=False)
class Graphs(Source):
    """Graphs and the labels of their vertices.

    Attributes
    ----------
    X : list
        The graphs as a user gives them.
    graphs : list of ReadGraph
        The same graphs after checks.
    labels : list of lists
        The labels of the vertices of each graph; None for one that is missing, and a frozenset of
        possible ones.
    """

    X: list[Any]
    graphs: list[ReadGraph]
    labels: list[list[Any]]

    @classmethod
    def of(cls, X: Any, y: Any, missing: Any = None) -> Graphs:
        """Read and check what a user gives; `missing` is a label that stands for a missing one."""
        # An iterator can be read only once.
        X = list(X) if isinstance(X, Iterator) else X
        graphs = read_graphs(X)
        return cls(list(X), graphs, read_labels(y, graphs, True, missing))

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def n_positions(self) -> int:
        return sum(map(len, self.labels))

    def given(self) -> tuple[Any, Any, dict[str, Any]]:
        return self.X, self.labels, {}

    def names(self) -> list[list[str]]:
        """Return a name for every vertex of each graph: here its number, from 0."""
        return [[f"vertex {v}" for v in range(len(graph.domains))] for graph in self.graphs]

    def take(self, which: Sequence[int]) -> Graphs:
        return Graphs(
            [self.X[i] for i in which],
            [self.graphs[i] for i in which],
            [self.labels[i] for i in which],
        )


@dataclass(frozen=True, eq=False)
class GraphFileSource(Graphs):
    """The graphs of a file.

    Attributes
    ----------
    file : GraphFile
        The file.
    featured : frozenset of str
        The kinds of factors that have features.
    """

    file: GraphFile
    featured: frozenset[str]

    @classmethod
    def read(
        cls, file: GraphFile, featured: set[str] | frozenset[str], missing: str | None = None
    ) -> GraphFileSource:
        """Make the source of a file; labels that are not known, or a mark for them, are None."""
        examples = file.examples(set(featured))
        graphs = read_graphs(examples)
        labels = [[None if label == missing else label for label in some] for some in file.labels()]
        return cls(list(examples), graphs, labels, file, frozenset(featured))

    @property
    def path(self) -> str:  # type: ignore[override]
        """The file that they were read from."""
        return self.file.path

    def names(self) -> list[list[str]]:
        return [list(graph.names) for graph in self.file.graphs]

    def take(self, which: Sequence[int]) -> GraphFileSource:
        some = super().take(which)
        file = GraphFile(self.file.path, [self.file.graphs[i] for i in which])
        return GraphFileSource(some.X, some.graphs, some.labels, file, self.featured)

    def with_features(self, featured: set[str]) -> GraphFileSource:
        """Return the graphs, where just these kinds of factors have features.

        A vertex whose label then only depends on tables that factors share raises a DataError.
        """
        self.file.check_vertices(featured)
        examples = self.file.examples(featured)
        graphs = read_graphs(examples)
        return GraphFileSource(list(examples), graphs, self.labels, self.file, frozenset(featured))
