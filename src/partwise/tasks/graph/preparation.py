"""Preparation of graphs and the labels of their vertices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...models.grown_names import GrownNames
from ...models.prepared import Prepared
from ...problem.batches import Batch
from ...problem.numbering import Numbering
from ...problem.rows import Rows
from ..preparation import Preparation
from .factor_features import FactorFeatures, check_forms, read_rows
from .features import GraphFeatures, factor_features, in_order, note_kinds
from .labels import (
    GrownDomains,
    allowed_labels,
    is_certain,
    label_numbers,
    numbered_joint,
    refuse_partial,
)
from .sources import GraphFileSource, Graphs

if TYPE_CHECKING:
    from ...structures.graph.structure import Graph
    from .examples import ReadGraph
    from .trainer import GraphTrainer

__all__ = ["GraphPreparation", "factor_counts"]


class _Found(NamedTuple):
    """What all graphs have in common, once all were looked at."""

    features: GraphFeatures  # without the numbers and names of the features
    structure: Graph


class GraphPreparation(Preparation):
    """Prepares graphs.

    The kinds of factors and the labels of all graphs are found before the first one is laid out: so
    graphs that come in batches are read twice.

    Parameters
    ----------
    how : GraphTrainer
        The parameters.
    whole : bool
        Whether all graphs come at once.
    """

    none: ClassVar[str] = "there are no graphs to train on; give at least one"

    def __init__(self, how: GraphTrainer, whole: bool) -> None:
        self.how, self.whole, self.looks = how, whole, int(not whole)
        self.labels = GrownDomains(how.domains)
        self.kinds: dict[str, tuple[str, ...]] = {}
        self.forms: dict[str, str] = {}
        self.names: dict[str, GrownNames] = {}
        self.widths: dict[str, int] = {}

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        for i, labels in enumerate(source.labels):
            for v, label in enumerate(labels):
                if not is_certain(label):
                    raise DataError(
                        "the label is missing or "
                        "uncertain, and such labels need all examples in memory; leave out_of_core "
                        "(--out-of-core) out, or these graphs",
                        place=Place.nth("example", i, "vertex", v),
                    )
        self._note(source)

    def _note(self, source: Graphs) -> None:
        """Note the labels, the kinds of factors and the forms of their features."""
        graphs = source.graphs
        self.labels.add(graphs, source.labels)
        note_kinds(graphs, self.kinds)
        if isinstance(source, GraphFileSource) and not self.whole:
            source.file.check_kinds(self.kinds)
            # In a file, factors of a kind have features if one of them has.
            for kind in source.featured:
                self.forms[kind] = "names"
            return
        for kind in self.kinds:
            found = check_forms(kind, graphs, self.forms.get(kind))
            if found is not None:
                self.forms[kind] = found

    @cached_property
    def _found(self) -> _Found:
        """The kinds of factors and the labels of all graphs, once all were looked at."""
        how = self.how
        labels = self.labels.finish()
        kinds: dict[str, FactorFeatures] = {}
        for kind, names in in_order(self.kinds):
            featured = self.forms.get(kind, "none") != "none"
            made = factor_features(kind, names, featured, bool(how.constant), bool(how.symmetric))
            kinds[kind] = made
            if featured:
                self.names[kind] = GrownNames(
                    hashing=how.hashing,
                    constant=made.constant,
                    whole=self.whole,
                    what=f"the kind {kind!r}",
                )
        features = GraphFeatures(labels, kinds)
        return _Found(features, features.structure(how.max_megabytes))

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        assert isinstance(source, Graphs)
        if self.whole:
            if self.how.loss != "log":
                refuse_partial(source.labels, self.how.loss)
            self._note(source)
        features, _ = self._found
        if isinstance(source, GraphFileSource) and not self.whole:
            source = source.with_features(set(self.names))
        used = weight > 0.0
        rows = [
            self._rows(kind, held, source.graphs, used) for kind, held in features.kinds.items()
        ]
        some = source if used.all() else source.take(np.flatnonzero(used).tolist())
        if len(some):
            gold = label_numbers(some.labels, some.graphs, features.labels)
            allowed = allowed_labels(some.labels, some.graphs, features.labels)
            shapes = features.shapes(some.graphs)
            yield Batch(shapes, rows, gold, weight[used], allowed=allowed)

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
        counted = np.repeat(used, factor_counts(kind, graphs))
        found = names.add(held.halved(rows), vocabulary, counted)
        return held.doubled(found)

    def finish(self) -> Prepared:
        made, structure = self._found
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
        return Prepared(
            structure,
            features,
            _label_names(made.labels, structure.n_labels),
            numbered_joint(self.how.forbidden, features),
            numbering=Numbering(counts, keep),
            key=made.labels,
        )


def factor_counts(kind: str, graphs: list[ReadGraph]) -> Ints:
    """Return how many factors of a kind each graph has."""
    groups = (graph.groups.get(kind) for graph in graphs)
    return np.array([0 if group is None else len(group.vertices) for group in groups], np.int64)


def _label_names(domains: Mapping[str, tuple[Any, ...]], n_labels: int) -> tuple[Any, ...]:
    """Return the labels that a model names: those of the only domain, or numbers."""
    names = next(iter(domains.values()))
    if len(domains) > 1 or not isinstance(names[0], (str, int, float)):
        # A number has one name per domain, or a name of a type that models do not know: only the
        # features can tell it.
        return tuple(range(n_labels))
    return names
