"""Predicted labels of vertices beside the right ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison import Comparison, Odds, Quote, Tallies, columns_of, marginals_of, prints_of
from ..labels import label_scores, spelled

if TYPE_CHECKING:
    from ...models.model import Model
    from .sources import GraphFileSource

__all__ = ["compare_vertices"]


def compare_vertices(
    model: Model, source: GraphFileSource, n_jobs: int | None, probabilities: bool
) -> Comparison:
    """Compare the labels of vertices."""
    found = [spelled(some) for some in model.predict(source, n_jobs=n_jobs)]
    known = [[v for v, label in enumerate(of) if label is not None] for of in source.labels]
    tallies, confusions = Tallies(), Counter[tuple[str, str]]()
    for i, of in enumerate(known):
        gold, guessed = ([side[v] for v in of] for side in (source.labels[i], found[i]))
        tallies.add(i, label_scores([gold], [guessed]).by_type)
        confusions.update(zip(gold, guessed, strict=True))
    right = [
        [source.labels[i][v] == found[i][v] for v in of] for i, of in enumerate(known)
    ]  # fmt: skip
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
    graphs = source.file.graphs

    def quote(i: int) -> Quote:
        pairs = zip(known[i], right[i], strict=True)
        wrong = frozenset((v,) for v, same in pairs if not same)
        return Quote("tags", list(graphs[i].names), source.labels[i], found[i], wrong)

    return Comparison(
        "graph", "vertex", "vertex", np.array([*map(len, source.labels)], dtype=np.int64), measures,
        tallies, confusions, odds, prints_of(map(_print, graphs), map(tuple, source.labels)), quote,
        source.n_positions - sum(map(len, known)),
    )  # fmt: skip


def _print(graph: Any) -> int:
    return hash(tuple(graph.written(["?"] * len(graph.names))))
