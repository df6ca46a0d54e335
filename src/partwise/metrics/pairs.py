"""Right and predicted labels side by side, with the weights of the examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DataError, Place

__all__ = ["check_same_length", "pairs", "plain", "weights_of"]


def pairs(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> list[tuple[Sequence[Any], Sequence[Any], float]]:
    """Return the right and the predicted labels of each sequence, of equal length, and a weight."""
    gold, found = [plain(y) for y in y_true], [plain(y) for y in y_pred]
    weights = weights_of(gold, found, sample_weight)
    for i, (a, b) in enumerate(zip(gold, found, strict=True)):
        check_same_length(i, a, b)
    return list(zip(gold, found, weights, strict=True))


def check_same_length(i: int, gold: Any, found: Any) -> None:
    """Raise a DataError unless sequence i has as many predicted labels as right ones."""
    for name, labels in (("y_true", gold), ("y_pred", found)):
        if isinstance(labels, str) or not hasattr(labels, "__len__"):
            raise DataError(
                f"is the single label {labels!r}; give a list of labels for each sequence",
                place=Place.nth("sequence", i, argument=name),
                subject=True,
            )
    if len(gold) != len(found):
        raise DataError(
            f"has {len(gold)} labels in y_true and {len(found)} in "
            "y_pred; give labels of the same tokens",
            place=Place.nth("sequence", i),
            subject=True,
        )


def weights_of(gold: Sequence[Any], found: Sequence[Any], sample_weight: Any) -> list[float]:
    """Return the weight of each example, after checking that all are there."""
    if len(gold) != len(found):
        raise DataError(
            f"y_true has {len(gold)} examples and y_pred has {len(found)}; give labels of the same "
            "examples"
        )
    if sample_weight is None:
        return [1.0] * len(gold)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (len(gold),):
        raise DataError(
            f"sample_weight has the shape {weights.shape} for {len(gold)} examples; give one "
            "number per example"
        )
    given: list[float] = weights.tolist()
    return given


def plain(labels: Any) -> Any:
    """Return labels in one form, so that equal tuples, lists and arrays of labels are equal."""
    if isinstance(labels, np.ndarray):
        labels = labels.tolist()
    if not isinstance(labels, (list, tuple)):
        return labels
    return [tuple(one) if isinstance(one, list) else one for one in labels]
