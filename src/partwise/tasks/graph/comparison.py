"""Predicted labels of vertices beside the right ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from ...errors import DataError, Place
from ...problem.rows import is_matrix
from ..comparison import Comparison, Odds, Quote, Tallies, columns_of, marginals_of, prints_of
from ..labels import label_scores, spelled
from ..source import named
from .labels import is_certain
from .sources import GraphFileSource

if TYPE_CHECKING:
    from ...models.model import Model
    from .examples import ReadGraph
    from .sources import Graphs

__all__ = ["compare_vertices"]


def compare_vertices(
    model: Model, source: Graphs, n_jobs: int | None, probabilities: bool
) -> Comparison:
    """Compare the labels of vertices."""
    found = [spelled(some) for some in model.predict(source, n_jobs=n_jobs)]
    labels = [
        [spelled([label])[0] if is_certain(label) else None for label in of] for of in source.labels
    ]
    known = [[v for v, label in enumerate(of) if label is not None] for of in labels]
    if not any(known):
        raise DataError("no vertex has a label to compare with", place=Place(named(source)))
    tallies, confusions = Tallies(), Counter[tuple[str, str]]()
    for i, of in enumerate(known):
        gold, guessed = [x for x in labels[i] if x is not None], [found[i][v] for v in of]
        tallies.add(i, label_scores([gold], [guessed]).by_type)
        confusions.update(zip(gold, guessed, strict=True))
    right = [[labels[i][v] == found[i][v] for v in of] for i, of in enumerate(known)]
    measures = {
        "accuracy": columns_of((sum(of), len(of)) for of in right),
        "graph_accuracy": columns_of((float(all(of)), 1.0) if of else (0.0, 0.0) for of in right),
    }
    odds = None
    if probabilities:
        rows = []
        for i, table in marginals_of(model, source, n_jobs):
            best = [float(max(row)) for row in table]
            rows += [(i, best[v], same) for v, same in zip(known[i], right[i], strict=True)]
        odds = Odds.of("vertex", rows)
    names = source.names()

    def quote(i: int) -> Quote:
        pairs = zip(known[i], right[i], strict=True)
        wrong = frozenset((v,) for v, same in pairs if not same)
        return Quote("tags", names[i], labels[i], found[i], wrong)

    return Comparison(
        "graph", "vertex", "vertex", np.array([*map(len, labels)], dtype=np.int64), measures,
        tallies, confusions, odds, prints_of(_prints(source), map(tuple, labels)), quote,
        source.n_positions - sum(map(len, known)),
    )  # fmt: skip


def _prints(source: Graphs) -> list[int]:
    """Return a number for each graph that is the same for equal ones."""
    if isinstance(source, GraphFileSource):
        texts = (graph.written(["?"] * len(graph.names)) for graph in source.file.graphs)
        return [hash(tuple(lines)) for lines in texts]
    return [_graph_print(graph) for graph in source.graphs]


def _graph_print(graph: ReadGraph) -> int:
    parts: list[Any] = [graph.domains]
    for kind, group in sorted(graph.groups.items()):
        features = group.features
        if is_matrix(features):
            rows = csr_array(features)
            rows.sort_indices()
            told = (
                rows.shape,
                *(part.tobytes() for part in (rows.data, rows.indices, rows.indptr)),
            )
            parts.append((kind, group.vertices.tobytes(), told))
        else:
            parts.append((kind, group.vertices.tobytes(), repr(features)))
    return hash(tuple(parts))
