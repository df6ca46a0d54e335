"""Probabilities of the segments of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..spans import ProbableSpan, check_threshold
from .segment_features import features_of

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["segment_spans"]


def segment_spans(
    model: Model,
    examples: Any,
    threshold: float | None = None,
    fixed: Any = None,
    n_jobs: int | None = 1,
    **more: Any,
) -> list[list[ProbableSpan]]:
    """Compute the probabilities of segments.

    Parameters
    ----------
    model : Model
        A model of the task "segment".
    examples, fixed, n_jobs, **more
        As in :meth:`partwise.models.model.Model.predict`.
    threshold : float or None
        The least probability. If None, the segments are those of the best segmentation.
    """
    check_threshold(threshold)
    features, outside = features_of(model), model.meta.get("outside")
    found: list[list[ProbableSpan]] = []
    for inputs in model.inputs(examples, fixed=fixed, **more):
        how: Any = {"own_constraints": inputs.constraints, "n_jobs": n_jobs}
        counts = model.marginals(inputs.rows, inputs.shapes, **how)
        best = model.predict(inputs.rows, inputs.shapes, **how) if threshold is None else counts
        for mu, length, label in zip(counts, inputs.examples, best, strict=True):
            table = features.segment_table(model, mu, length)
            if threshold is None:
                start, end, number = label.T
            else:
                start, last, number = np.nonzero(table >= threshold)
                end = start + last + 1
            odds = np.minimum(table[start, end - start - 1, number], 1.0)
            rows = zip(start.tolist(), end.tolist(), number.tolist(), odds.tolist(), strict=True)
            spans = (ProbableSpan(a, b, model.labels[k], p) for a, b, k, p in rows)
            found.append([span for span in spans if span.label != outside])
    return found
