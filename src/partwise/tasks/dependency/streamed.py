"""Preparation of dependency trees that are read a batch at a time, twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...arrays import Floats
from ...errors import DataError, Place
from ...problem.batches import Batch
from ..preparation import Joined, Outline, Preparation
from .arc_counts import ArcCounts
from .arc_table import ArcTable
from .features import ArcFeatures
from .gold import Changes, GoldTrees, gold_trees
from .partial_trees import is_certain
from .trainer import no_sentences
from .treebank import no_relations

if TYPE_CHECKING:
    from .trainer import DependencyTrainer
    from .treebank import Treebank

__all__ = ["StreamedTrees"]

#: How many arcs have their features in memory at a time, some 80 features of 4 bytes each.
_ARCS: Final = 1 << 16


class StreamedTrees(Preparation):
    """Prepares sentences and their trees.

    Which features there are is read off the arcs of the trees, and then all arcs are looked at: so
    the sentences are read twice.

    Parameters
    ----------
    how : DependencyTrainer
        The parameters.
    templates : sequence of str
        What features look at.
    """

    looks = 1

    def __init__(self, how: DependencyTrainer, templates: Sequence[str]) -> None:
        self.how = how
        self.counts = ArcCounts(templates, listed=how.hashing is None)
        self.relations: set[str] = set()
        self.changes = Changes()
        self.path: str | None = None
        self._made: tuple[tuple[str, ...], ArcTable] | None = None

    def _gold(self, source: Treebank, names: Sequence[str] | None) -> GoldTrees:
        how = self.how
        source = source.with_missing(how.missing_label, how.labelled)
        relations = source.relations
        for i, heads in enumerate(source.heads):
            if not is_certain(heads, None if relations is None else relations[i]):
                raise DataError(
                    "a head or a relation is missing or uncertain, "
                    "and such trees need all examples in memory; leave out_of_core "
                    "(--out-of-core) out, or these sentences",
                    place=Place.nth("sentence", i),
                )
        return gold_trees(
            source.sentences,
            source.heads,
            relations,
            projective=how.projective,
            single_root=how.single_root,
            nonprojective=how.nonprojective_gold,
            names=names,
        )

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        gold = self._gold(source, None)
        self.relations.update(gold.relations)
        self.changes = self.changes.plus(gold.changes)
        self.path = source.path
        self.counts.add(gold.sentences, gold.heads)

    def join_looks(self, other: Preparation) -> None:
        assert isinstance(other, StreamedTrees)
        self.relations |= other.relations
        self.changes = self.changes.plus(other.changes)
        self.path = self.path or other.path
        self.counts.join(other.counts)

    def ready(self) -> None:
        self._found()

    def join(self, other: Preparation) -> Joined:
        return Joined()  # the numbers were known before

    def _found(self) -> tuple[tuple[str, ...], ArcTable]:
        """Return the relations and the features of all trees, once all were looked at."""
        if self._made is None:
            if self.relations == {"_"} and self.path is not None:
                raise no_relations(self.path)
            self.changes.note()
            table = ArcTable.of(self.counts, self.how.min_count, self.how.hashing or 0)
            self._made = tuple(sorted(self.relations)), table
        return self._made

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        names, table = self._found()
        gold = self._gold(source, names)
        weight = weight[gold.kept]
        used = np.flatnonzero(weight > 0.0)
        lengths = np.array([len(gold.sentences[i]) for i in used], dtype=np.int64)
        bounds = np.flatnonzero(np.diff(np.cumsum(lengths**2) // _ARCS, prepend=-1, append=-1))
        for first, last in pairwise(bounds.tolist()):
            some = used[first:last].tolist()
            yield Batch(
                lengths[first:last].tolist(),
                [table.rows([gold.sentences[i] for i in some])],
                [gold.trees[i] for i in some],
                weight[some],
            )

    def finish(self) -> Outline:
        names, table = self._found()
        if self.changes.trees == self.changes.skipped:
            raise no_sentences()
        structure = self.how._structure(len(names))
        return Outline(
            structure,
            ArcFeatures(table),
            (table.n_features,),
            names,
            # A feature has one weight either way, and blocks without slots are faster.
            weights="all" if structure.n_labels == 1 else None,
            meta=self.changes.meta(),
            record={
                "n_examples": self.changes.trees - self.changes.skipped,
                **self.changes.record(),
            },
        )
