"""Preparation of sentences and their trees, for dependency parsers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from ...arrays import Floats
from ...errors import DataError, Place
from ...models.prepared import Prepared
from ...problem.batches import Batch
from ...problem.numbering import Numbering
from ...structures.registry import make_structure
from ..preparation import Joined, Preparation
from ..source import runs
from .arc_counts import ArcCounts
from .arc_table import ArcTable
from .features import ArcFeatures
from .gold import Changes, GoldTrees, gold_trees, refuse_partial
from .partial_trees import is_certain, possible_arcs
from .treebank import no_relations

if TYPE_CHECKING:
    from .trainer import DependencyTrainer
    from .treebank import Treebank

__all__ = ["TreePreparation"]

#: How many arcs have their features in memory at a time, some 80 features of 4 bytes each.
_ARCS: Final = 1 << 16


class TreePreparation(Preparation):
    """Prepares sentences and their trees.

    Which features there are is read off the arcs of the trees, and then all arcs are looked at: so
    sentences that come in batches are read twice.

    Parameters
    ----------
    how : DependencyTrainer
        The parameters.
    templates : sequence of str
        What features look at.
    whole : bool
        Whether all sentences come at once.
    """

    none: ClassVar[str] = "there are no sentences to train on; give at least one that is parsed"

    def __init__(self, how: DependencyTrainer, templates: Sequence[str], whole: bool) -> None:
        self.how, self.whole, self.looks = how, whole, int(not whole)
        self.counts = ArcCounts(templates, listed=how.hashing is None)
        self.relations: set[str] = set()
        self.changes = Changes()
        self.path: str | None = None

    def _gold(self, source: Treebank, names: Sequence[str] | None = None) -> GoldTrees:
        how = self.how
        source = source.with_missing(how.missing_label, how.labelled)
        if self.whole and how.loss != "log":
            refuse_partial(source, how.loss)
        relations = [None] * len(source) if source.relations is None else source.relations
        for i, tree in enumerate(() if self.whole else zip(source.heads, relations, strict=True)):
            if not is_certain(*tree):
                raise DataError(
                    "a head or a relation is missing or uncertain, "
                    "and such trees need all examples in memory; leave out_of_core "
                    "(--out-of-core) out, or these sentences",
                    place=Place.nth("sentence", i),
                )
        return gold_trees(
            source.sentences,
            source.heads,
            source.relations,
            projective=how.projective,
            single_root=how.single_root,
            nonprojective=how.nonprojective_gold,
            names=names,
        )

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        self._note(self._gold(source), source.path)

    def _note(self, gold: GoldTrees, path: str | None) -> None:
        self.relations.update(gold.relations)
        self.changes = self.changes.plus(gold.changes)
        self.path = path
        pairs = zip(gold.sentences, gold.heads, strict=True)
        arcs = [(sentence, heads) for sentence, of in pairs for heads in possible_arcs(of)]
        self.counts.add([sentence for sentence, _ in arcs], [heads for _, heads in arcs])

    def join_looks(self, other: TreePreparation) -> None:
        self.relations |= other.relations
        self.changes = self.changes.plus(other.changes)
        self.path = self.path or other.path
        self.counts.join(other.counts)

    def ready(self) -> None:
        _ = self._found

    def join(self, other: TreePreparation) -> Joined:
        return Joined()  # the numbers were known before

    @cached_property
    def _found(self) -> tuple[tuple[str, ...], ArcTable]:
        """The relations and the features of all trees, once all were looked at."""
        if self.relations == {"_"} and self.path is not None:
            raise no_relations(self.path)
        self.changes.note()
        if self.changes.trees == self.changes.skipped:
            raise DataError(self.none)
        table = ArcTable.of(self.counts, self.how.min_count, self.how.hashing or 0)
        return tuple(sorted(self.relations)), table

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        if self.whole:
            gold = self._gold(source)
            self._note(gold, source.path)
            _, table = self._found
        else:
            names, table = self._found
            gold = self._gold(source, names)
        weight = weight[gold.kept]
        used = np.flatnonzero(weight > 0.0)
        lengths = np.array([len(gold.sentences[i]) for i in used], dtype=np.int64)
        for first, last in runs(lengths**2, None if self.whole else _ARCS):
            some = used[first:last].tolist()
            yield Batch(
                lengths[first:last].tolist(),
                [table.rows([gold.sentences[i] for i in some])],
                [gold.trees[i] for i in some],
                weight[some],
                allowed=None if gold.allowed is None else [gold.allowed[i] for i in some],
            )

    def finish(self) -> Prepared:
        names, table = self._found
        how, changes = self.how, self.changes
        # By name: the structure that is not wanted need not be compiled.
        structure = make_structure(
            "projective" if how.projective else "spanning-tree",
            {"n_labels": max(1, len(names)), "single_root": bool(how.single_root)},
        )
        return Prepared(
            structure,
            ArcFeatures(table),
            names,
            # A feature has one weight either way, and blocks without slots are faster.
            weights="all" if structure.n_labels == 1 else None,
            numbering=Numbering((table.n_features,)),
            meta=changes.meta(),
            record={"n_examples": changes.trees - changes.skipped, **changes.record()},
        )
