"""Preparation of graphs that are read a batch at a time, twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arrays import Floats
from ...errors import DataError, Place
from ...models.grown_names import GrownNames
from ...problem.batches import Batch
from ...problem.rows import Rows
from ..preparation import Outline, Preparation
from .factor_features import FactorFeatures, check_forms, read_rows
from .features import GraphFeatures, factor_features, in_order, note_kinds
from .labels import GrownDomains, is_certain, label_numbers, numbered_joint
from .sources import GraphFileSource, Graphs
from .trainer import label_names

if TYPE_CHECKING:
    from ...structures.graph.structure import Graph
    from .examples import ReadGraph
    from .trainer import GraphTrainer

__all__ = ["StreamedGraphs"]


class _Found(NamedTuple):
    """What all graphs have in common, once all were looked at."""

    features: GraphFeatures  # without the numbers and names of the features
    structure: Graph


class StreamedGraphs(Preparation):
    """Prepares graphs.

    The kinds of factors and the labels of all graphs are found before the first one is laid out: so
    the graphs are read twice.

    Parameters
    ----------
    how : GraphTrainer
        The parameters.
    """

    looks = 1

    def __init__(self, how: GraphTrainer) -> None:
        self.how = how
        self.labels = GrownDomains(how.domains)
        self.kinds: dict[str, tuple[str, ...]] = {}
        self.forms: dict[str, str] = {}
        self.names: dict[str, GrownNames] = {}
        self.widths: dict[str, int] = {}
        self._made: _Found | None = None

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        graphs: list[ReadGraph] = source.graphs
        for i, labels in enumerate(source.labels):
            for v, label in enumerate(labels):
                if not is_certain(label):
                    raise DataError(
                        "the label is missing or "
                        "uncertain, and such labels need all examples in memory; leave out_of_core "
                        "(--out-of-core) out, or these graphs",
                        place=Place.nth("example", i, "vertex", v),
                    )
        self.labels.add(graphs, source.labels)
        note_kinds(graphs, self.kinds)
        if isinstance(source, GraphFileSource):
            source.file.check_kinds(self.kinds)
            # In a file, factors of a kind have features if one of them has.
            for kind in source.featured:
                self.forms[kind] = "names"
            return
        for kind in self.kinds:
            found = check_forms(kind, graphs, self.forms.get(kind))
            if found is not None:
                self.forms[kind] = found

    def _found(self) -> _Found:
        """Return the kinds of factors and the labels of all graphs, once all were looked at."""
        if self._made is None:
            how = self.how
            labels = self.labels.finish()
            kinds: dict[str, FactorFeatures] = {}
            for kind, names in in_order(self.kinds):
                featured = self.forms.get(kind, "none") != "none"
                made = factor_features(
                    kind, names, featured, bool(how.constant), bool(how.symmetric)
                )
                kinds[kind] = made
                if featured:
                    self.names[kind] = GrownNames(
                        hashing=how.hashing, constant=made.constant, what=f"the kind {kind!r}"
                    )
            features = GraphFeatures(labels, kinds)
            self._made = _Found(features, features.structure(how.max_megabytes))
        return self._made

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        features, _ = self._found()
        if isinstance(source, GraphFileSource):
            source = source.with_features(set(self.names))
        assert isinstance(source, Graphs)
        used = weight > 0.0
        rows = [
            self._rows(kind, held, source.graphs, used) for kind, held in features.kinds.items()
        ]
        chosen = [graph for graph, c in zip(source.graphs, used.tolist(), strict=True) if c]
        labels = [some for some, c in zip(source.labels, used.tolist(), strict=True) if c]
        if chosen:
            gold = label_numbers(labels, chosen, features.labels)
            yield Batch(features.shapes(chosen), rows, gold, weight[used])

    def _rows(self, kind: str, held: FactorFeatures, graphs: list[ReadGraph], used: Any) -> Rows:
        """Return the rows of the factors of a kind, numbered over all batches."""
        if kind not in self.names:
            return held.complete(None)
        rows, vocabulary = read_rows(kind, graphs, None)
        names = self.names[kind]
        if rows is None:
            # No graph has such a factor.
            empty = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, names.n_in_batches)
            return empty
        self.widths[kind] = max(self.widths.get(kind, 0), rows.n_features)
        sizes = [
            len(graph.groups[kind].vertices) if kind in graph.groups else 0 for graph in graphs
        ]
        found = names.add(held.halved(rows), vocabulary, np.repeat(used, sizes))
        return held.doubled(found)

    def finish(self) -> Outline:
        made, structure = self._found()
        n_hashed = self.how.hashing or 0
        kinds: dict[str, FactorFeatures] = {}
        counts: list[int] = []
        keep: list[Any] = []
        for kind, held in made.kinds.items():
            names = self.names.get(kind)
            if names is None:
                kinds[kind] = held
                counts.append(held.count)
                keep.append(None)
                continue
            vocabulary, kept = names.finish()
            n_inputs = self.widths.get(kind, 0) if vocabulary is None else len(vocabulary)
            kinds[kind] = replace(held, n_inputs=n_inputs, vocabulary=vocabulary, n_hashed=n_hashed)
            counts.append(names.n_in_batches)
            keep.append(kept)
        features = GraphFeatures(made.labels, kinds)
        return Outline(
            structure,
            features,
            counts,
            label_names(made.labels, structure.n_labels),
            constraints=numbered_joint(self.how.forbidden, features),
            keep=keep,
        )
