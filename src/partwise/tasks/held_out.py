"""Scores of models on held-out data that users give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import DataError

if TYPE_CHECKING:
    from ..models.model import Model
    from .estimator import Estimator

__all__ = ["held_out_score"]


def held_out_score(estimator: Estimator, dev: Any, scoring: Any) -> Callable[[Model], float]:
    """Return a function that scores a model on held-out data.

    Parameters
    ----------
    estimator : Estimator
        The estimator, which adopts each model that is scored.
    dev, scoring
        As in :func:`partwise.tasks.path.path`.
    """
    sound = isinstance(dev, tuple) and 1 <= len(dev) <= 3
    if not sound or (len(dev) == 3 and not isinstance(dev[2], Mapping)):
        raise DataError(
            "dev does not say what to score on; give a tuple: (X_dev, y_dev), (X_dev,) for data "
            "that hold their labels, such as a file that was read, or (X_dev, y_dev, more) with a "
            "dict of what else score takes"
        )
    from sklearn.metrics import check_scoring

    X, y, more = (*dev, None, None)[:3]
    scorer = check_scoring(estimator, scoring)

    def score(model: Model) -> float:
        estimator._adopt(model)
        return float(scorer(estimator, X, y, **(more or {})))

    return score
