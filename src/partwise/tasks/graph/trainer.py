"""What trains labellers of the vertices of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError
from ..trainer import Trainer
from .features import GraphFeatures
from .labels import (
    named_joint,
)
from .parameters import GraphParameters

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["GraphTrainer"]


class GraphTrainer(GraphParameters, Trainer):
    """Trains labellers of the vertices of graphs."""

    task: ClassVar[str] = "label-graph"

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        features, structure = model.features, model.structure
        if not isinstance(features, GraphFeatures) or structure.name != "graph":
            raise DataError(
                f"the model of the task {model.task!r} does not label the vertices of graphs that "
                "it reads itself; use it as it is"
            )
        kernel = any(held.support is not None for held in features.kinds.values())
        if kernel and not hasattr(cls, "kernel"):
            raise DataError("the model has a kernel; use KernelGraphLabeler.from_model")
        several = [held for held in features.kinds.values() if len(held.domains) > 1]
        return {
            "domains": dict(features.labels),
            "symmetric": any(held.symmetric for held in several),
            "constant": all(held.constant for held in several),
            "forbidden": named_joint(model.constraints, features),
            "max_megabytes": structure.constants()["max_megabytes"],
            "hashing": max((held.n_hashed for held in features.kinds.values()), default=0) or None,
        }

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .preparation import GraphPreparation

        return GraphPreparation(self, whole)
