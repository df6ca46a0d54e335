"""The parameters of dependency parsers."""

from __future__ import annotations

from typing import Annotated, Any, Final

from ...parameters import Flag, OneOf
from ..parameters import FeatureParameters, TrainerParameters

__all__ = ["NONPROJECTIVE", "DependencyParameters"]

#: What a projective parser may do with trees that are not projective.
NONPROJECTIVE: Final = ("lift", "skip", "raise")


# All words count alike, and so do all relations.
class DependencyParameters(FeatureParameters, TrainerParameters, without=("cost_matrix",)):
    """The parameters of dependency parsers.

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
