"""What trains dependency parsers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError
from ...structures.dependency.arcs import ArcStructure
from ..trainer import Trainer
from .features import ArcFeatures, arc_features_of
from .parameters import DependencyParameters
from .templates import ARC_TEMPLATES

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["DependencyTrainer"]


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

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .preparation import TreePreparation

        return TreePreparation(self, self._templates(initial), whole)

    def _templates(self, initial: Model | None) -> Sequence[str]:
        """Return what features look at: by default the same as those of a model to start from."""
        if self.templates is not None:
            return tuple(self.templates)
        if initial is not None and isinstance(initial.features, ArcFeatures):
            return initial.features.arc_table.templates
        return ARC_TEMPLATES
