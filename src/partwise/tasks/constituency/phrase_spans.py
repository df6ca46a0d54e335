"""Probabilities of the phrases of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..spans import ProbableSpan, check_threshold
from .bracketing import Bracketing

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["phrase_spans"]


def phrase_spans(
    model: Model, sentences: Any, threshold: float | None = None, n_jobs: int | None = 1
) -> list[list[ProbableSpan]]:
    """Compute the probabilities of phrases.

    Parameters
    ----------
    model : Model
        A model of the task "brackets".
    sentences, n_jobs
        As in :meth:`partwise.models.model.Model.predict`.
    threshold : float or None
        The least probability. If None, the phrases are those of the best tree.
    """
    check_threshold(threshold)
    labels = Bracketing.of(model).labels
    index = {label: number for number, label in enumerate(labels)}
    read = model.features.read(model.structure, sentences)
    tables = model.marginals(read, n_jobs=n_jobs)
    if threshold is not None:
        return [
            [
                ProbableSpan(int(a), int(b), labels[k], min(float(table[a, b, k]), 1.0))
                for a, b, k in np.argwhere(table >= threshold)
            ]
            for table in tables
        ]
    found = []
    for tree, table in zip(model.predict(read, n_jobs=n_jobs), tables, strict=True):
        # A flat tree may have a root that no phrase has.
        known = [(a, b, label) for label, a, b in tree.brackets() if label in index]
        found.append(
            [
                ProbableSpan(a, b, label, min(float(table[a, b, index[label]]), 1.0))
                for a, b, label in known
            ]
        )
    return found
