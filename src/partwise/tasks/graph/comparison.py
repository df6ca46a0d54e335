"""Predicted labels of vertices beside the right ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_array

from ...problem.rows import is_matrix
from ..comparison import LabelComparison, marginals_of
from ..labels import spelled
from ..source import named
from .labels import is_certain
from .sources import GraphFileSource

if TYPE_CHECKING:
    from ...models.model import Model
    from .examples import ReadGraph
    from .sources import Graphs

__all__ = ["VertexComparison"]


class VertexComparison(LabelComparison):
    """One label per vertex; parameters are those of `Task.compare`."""

    whole = example = "graph"
    position = unit = "vertex"

    def __init__(
        self, model: Model, source: Graphs, given: Any, n_jobs: int | None, probabilities: bool
    ) -> None:
        self.source = source
        found = [spelled(some) for some in model.predict(source, n_jobs=n_jobs)]
        gold = [
            [spelled([label])[0] if is_certain(label) else None for label in of]
            for of in source.labels
        ]
        domains: Any = getattr(model.features, "labels", {})
        names = [name for held in domains.values() for name in spelled(held)]
        super().__init__(gold, found, named(source), names)
        if probabilities:
            tables = marginals_of(model, source, n_jobs)
            self.odds = self.odds_of("vertex", ([float(max(row)) for row in t] for _, t in tables))

    @cached_property
    def words(self) -> Sequence[list[str]]:
        return self.source.names()

    def inputs(self) -> Iterable[Hashable]:
        if isinstance(self.source, GraphFileSource):
            texts = (graph.written(["?"] * len(graph.names)) for graph in self.source.file.graphs)
            return [tuple(lines) for lines in texts]
        return [_graph_print(graph) for graph in self.source.graphs]


def _graph_print(graph: ReadGraph) -> Hashable:
    parts: list[Any] = [tuple(graph.domains)]
    for kind, group in sorted(graph.groups.items()):
        features = group.features
        if is_matrix(features):
            rows = csr_array(features)
            rows.sort_indices()
            told: Any = (
                rows.shape,
                *(part.tobytes() for part in (rows.data, rows.indices, rows.indptr)),
            )
        else:
            told = repr(features)
        parts.append((kind, group.vertices.tobytes(), told))
    return tuple(parts)
