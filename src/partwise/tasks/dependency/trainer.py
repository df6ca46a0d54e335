"""The trainer of dependency parsers, and its parameters, which are part of the help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from ...errors import DataError
from ...parameters import Flag, OneOf
from ..parameters import FeatureParameters
from ..trainer import Trainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["NONPROJECTIVE", "DependencyTrainer"]

#: What a projective parser may do with trees that are not projective.
NONPROJECTIVE: Final = ("lift", "skip", "raise")


# All words count alike, and so do all relations.
class DependencyTrainer(FeatureParameters, Trainer, without=("cost_matrix",)):
    """Trains dependency parsers.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a log-linear model of trees, "hinge" a max-margin one with a cost of 1 for each
        word with a wrong head (or relation), "softmax-margin" a log-linear one with such a cost.
    weights : {"all", "observed"}
        Whether a feature has a weight for every relation, or only for those that it was seen with
        in training, which takes far less memory. Without relations there is no difference.
    projective : bool
        Whether trees are projective (the arcs of a tree do not cross), or any trees.
    labelled : bool
        Whether arcs have a relation, which is then predicted with the head.
    single_root : bool
        Whether exactly one word hangs from the root; otherwise at least one does.
    nonprojective_gold : {"lift", "skip", "raise"}
        What a projective parser does with trees to be trained on that are not projective: lift
        words to heads further up until they are, leave the sentences out, or raise an error. What
        it did is counted in a warning of the log and in ``n_lifted_`` and ``n_skipped_``.
    min_count : int
        Features of fewer arcs of the trees are ignored.
    hashing : int or None
        None lists the features of the trees. A power of two: all features of all arcs get numbers
        below it by hashing, so that the memory is fixed, and those that share a number share a
        weight.
    templates : sequence of str or None
        What features look at, see ``partwise.tasks.dependency.templates``; None: the
        standard ones.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual variables if the lengths of
        the sentences and their trees are the same, else from its weights. Words may be new,
        relations may not.
    """

    task: ClassVar[str] = "parse"

    labelled: Annotated[
        bool,
        Flag(
            "--labelled",
            "predict relations too; with many of them, --weights observed saves memory",
        ),
    ] = False
    projective: Annotated[
        bool,
        Flag(
            "--trees",
            "whether arcs may cross (default: projective, they may not)",
            words={"projective": True, "any": False},
        ),
    ] = True
    nonprojective_gold: Annotated[
        str,
        OneOf(NONPROJECTIVE),
        Flag(
            "--nonprojective",
            "what --trees projective does with training trees that are not projective: "
            "lift words to heads further up, skip the sentences, or stop (default: {default})",
        ),
    ] = "lift"
    single_root: Annotated[
        bool,
        Flag("--several-roots", "more than one word of a sentence may have head 0", sets=False),
    ] = True
    templates: Any = None

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        from ...structures.dependency.arcs import ArcStructure
        from .features import arc_features_of

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
        from .features import ArcFeatures
        from .preparation import TreePreparation
        from .templates import ARC_TEMPLATES

        templates: Sequence[str] = ARC_TEMPLATES
        if self.templates is not None:
            templates = tuple(self.templates)
        elif initial is not None and isinstance(initial.features, ArcFeatures):
            # By default features look at the same as those of a model to start from.
            templates = initial.features.arc_table.templates
        return TreePreparation(self, templates, whole)
