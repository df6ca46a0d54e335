"""What trains dependency parsers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError
from ...models.training_examples import check_weights
from ...structures.dependency.arcs import ArcStructure
from ...structures.registry import make_structure
from ..prepared import Prepared
from ..trainer import Trainer
from .arc_table import ArcTable
from .features import ArcFeatures, arc_features_of
from .gold import gold_trees, refuse_partial
from .parameters import DependencyParameters
from .partial_trees import possible_arcs
from .templates import ARC_TEMPLATES
from .treebank import Treebank

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure
    from ..preparation import Preparation

__all__ = ["DependencyTrainer", "no_sentences"]


class DependencyTrainer(DependencyParameters, Trainer):
    """Trains dependency parsers."""

    task: ClassVar[str] = "parse"

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        structure, table = model.structure, arc_features_of(model).arc_table
        if model.task != cls.task or not isinstance(structure, ArcStructure):
            raise DataError(
                f"a model of the task {model.task!r} and a {structure.name} does not parse; use "
                "the model as it is"
            )
        return {
            "projective": structure.name == "projective",
            "labelled": bool(model.labels),
            "single_root": structure.single_root,
            "hashing": table.n_hashed or None,
            "templates": table.templates,
        }

    def _prepare(self, source: Treebank, sample_weight: Any, initial: Model | None) -> Prepared:
        weight = check_weights(sample_weight, len(source))
        source = source.with_missing(self.missing_label, self.labelled)
        if self.loss != "log":
            refuse_partial(source, self.loss)
        gold = gold_trees(
            source.sentences,
            source.heads,
            source.relations,
            projective=self.projective,
            single_root=self.single_root,
            nonprojective=self.nonprojective_gold,
        )
        gold.changes.note()
        if not gold.sentences:
            raise no_sentences()
        structure = self._structure(len(gold.relations))
        arcs = [(s, h) for s, of in zip(gold.sentences, gold.heads, strict=True)
                for h in possible_arcs(of)]  # fmt: skip
        table = ArcTable.fit(
            [sentence for sentence, _ in arcs],
            [heads for _, heads in arcs],
            min_count=self.min_count,
            n_hashed=self.hashing or 0,
            templates=self._templates(initial),
        )
        return Prepared(
            structure,
            lambda: [table.rows(gold.sentences)],
            [len(sentence) for sentence in gold.sentences],
            gold.trees,
            ArcFeatures(table),
            gold.relations,
            allowed=gold.allowed,
            weight=weight[gold.kept],
            # A feature has one weight either way, and blocks without slots are faster.
            weights="all" if structure.n_labels == 1 else None,
            meta=gold.changes.meta(),
            key=() if gold.allowed is None else gold.allowed,
            record=gold.changes.record(),
        )

    def _structure(self, n_relations: int) -> Structure:
        # By name: the one that is not wanted need not be compiled.
        return make_structure(
            "projective" if self.projective else "spanning-tree",
            {"n_labels": max(1, n_relations), "single_root": bool(self.single_root)},
        )

    def _streamed(self, initial: Model | None) -> Preparation:
        from .streamed import StreamedTrees

        return StreamedTrees(self, self._templates(initial))

    def _templates(self, initial: Model | None) -> Sequence[str]:
        """Return what features look at: by default the same as those of a model to start from."""
        if self.templates is not None:
            return tuple(self.templates)
        if initial is not None and isinstance(initial.features, ArcFeatures):
            return initial.features.arc_table.templates
        return ARC_TEMPLATES


def no_sentences() -> DataError:
    """Return the error for trees of which none is left."""
    return DataError("there are no sentences to train on; give at least one that is parsed")
