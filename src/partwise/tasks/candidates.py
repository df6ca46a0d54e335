"""The k best labels of every example, with their scores and probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from partwise.models.model import Model
    from partwise.problem.rows import Rows

__all__ = ["Candidate", "find_candidates", "heading"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One of the k best labels of an example.

    Attributes
    ----------
    label
        As the structure gives it.
    score
        w.f(x, y)
    probability
        nan if not asked for.
    """

    label: NDArray[np.int64]
    score: float
    probability: float


def find_candidates(
    model: Model,
    features: Sequence[Rows],
    shapes: Sequence[Any] | NDArray[np.int64],
    k: int,
    *,
    probabilities: bool,
    n_jobs: int,
    own_constraints: Sequence[Any] | None = None,
) -> list[list[Candidate]]:
    """Find the k best labels of every example, fewer where there are fewer.

    Parameters
    ----------
    model : Model
        What predicts.
    features, shapes, own_constraints
        As in :meth:`partwise.models.model.Model.k_best`; there may be no examples.
    k : int
        How many.
    probabilities : bool
        Whether probabilities are wanted as well.
    n_jobs : int
        Threads.

    Raises
    ------
    MismatchError
        If probabilities are wanted of a model that has none.
    """
    if not len(shapes):
        return []
    best = model.k_best(features, shapes, k, own_constraints=own_constraints, n_jobs=n_jobs)
    first = [math.nan] * len(best)
    if probabilities:
        # Scores differ as log-probabilities do: those of the best labels give all others.
        top = [labels[0] if labels else None for _, labels in best]
        logs = model.log_proba(
            features, shapes, top, own_constraints=own_constraints, n_jobs=n_jobs
        )
        first = logs.tolist()
    return [
        [
            Candidate(label, score, math.exp(log + (score - float(scores[0]))))
            for score, label in zip(scores.tolist(), labels, strict=True)
        ]
        for (scores, labels), log in zip(best, first, strict=True)
    ]


def heading(rank: int, candidate: Candidate, probabilities: bool) -> str:
    """Write the line above a candidate: ``# k=1 score=...``, and ``probability=...`` if wanted."""
    text = f"# k={rank} score={candidate.score:.6f}"
    return text + (f" probability={candidate.probability:.6g}" if probabilities else "")
