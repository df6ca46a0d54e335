"""Estimators along a path of l2: models for a range of it, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from sklearn.base import clone
from sklearn.metrics import check_scoring

from ..errors import DataError
from ..models.model import Model
from ..training.path import Descent, l2_values
from ..training.path_table import BestModel, PathRow
from .estimator import TrainedEstimator

__all__ = ["Estimator", "HeldOut", "PathResult", "descend", "path", "read_held_out"]

Estimator = TypeVar("Estimator", bound=TrainedEstimator)


class PathResult(NamedTuple):
    """What :func:`path` gives.

    Attributes
    ----------
    rows
        A dict for each l2, the largest first: ``l2``, ``passes``, ``seconds``, ``relative_gap``
        and ``score``.
    best
        The estimator with the best score, fitted.
    """

    rows: list[PathRow]
    best: Any


class HeldOut(NamedTuple):
    """Data to score models on: what `score` takes."""

    X: Any
    y: Any
    more: dict[str, Any]


def path(
    estimator: Estimator,
    X: Any,
    y: Any = None,
    *,
    dev: Any,
    l2_max: float = 1000.0,
    factor: float = 0.7,
    steps: int = 24,
    tol: float = 1e-3,
    scoring: Any = None,
    each: Callable[[PathRow, Model], Any] | None = None,
    **fit_arguments: Any,
) -> PathResult:
    """Fit an estimator for a range of l2, each from where the last one ended.

    Every model is certified: its relative duality gap is at most `tol`. The path ends early at one
    that is not, after ``estimator.max_passes`` passes or Ctrl-C, and keeps what is done.

    Parameters
    ----------
    estimator : estimator
        Any estimator of partwise. It is not changed, and its l2, tol and warm_start are not used.
    X, y
        The training data, as the estimator's `fit` takes it.
    dev : tuple
        The data to choose l2 by: ``(X_dev, y_dev)``; ``(X_dev,)`` where `score` needs no y; or
        ``(X_dev, y_dev, more)`` with a dict of what else `score` takes.
    l2_max, factor, steps : float, float, int
        The values of l2: ``l2_max * factor**k`` for k below `steps`.
    tol : float
        The relative duality gap to stop at.
    scoring : str, callable or None
        What is scored, as in scikit-learn; None: the estimator's own `score`.
    each : callable or None
        Called with each row and its model as soon as they are there; a true result ends the path.
    **fit_arguments
        What else `fit` takes.

    Returns
    -------
    PathResult
        The table, and the estimator with the best score; the one of larger l2 if there are several.

    Examples
    --------
    >>> rows, best = path(LinearClassifier(), X, y, dev=(X_dev, y_dev))  # doctest: +SKIP
    >>> best.l2, best.certificate_.relative_gap  # doctest: +SKIP
    """
    if not isinstance(estimator, TrainedEstimator) or not hasattr(estimator, "l2"):
        raise DataError(
            f"the estimator is of type {type(estimator).__name__}; give one of partwise that has l2"
        )
    held_out = read_held_out(dev)
    values = l2_values(l2_max, factor, steps)
    made = clone(estimator).set_params(tol=tol, warm_start=False)
    found, _ = descend(made, values, {"X": X, "y": y, **fit_arguments}, held_out, scoring, each)
    made.set_params(l2=made.model_.l2)
    return PathResult(found.rows, made)


def read_held_out(dev: Any) -> HeldOut:
    """Read data to score on as users give it."""
    sound = isinstance(dev, tuple) and 1 <= len(dev) <= 3
    if not sound or (len(dev) == 3 and not isinstance(dev[2], Mapping)):
        raise DataError(
            "dev does not say what to score on; give a tuple, (X_dev, y_dev), or (X_dev, y_dev, "
            "more) with a dict of what else score takes"
        )
    X, y, more = (*dev, None, None)[:3]
    return HeldOut(X, y, dict(more or {}))


def descend(
    estimator: TrainedEstimator,
    values: Sequence[float],
    data: Mapping[str, Any],
    held_out: HeldOut | None = None,
    scoring: Any = None,
    each: Callable[[PathRow, Model], Any] | None = None,
) -> tuple[BestModel, bool]:
    """Fit an estimator along a path, and leave it with the best model.

    Parameters
    ----------
    estimator : TrainedEstimator
        The estimator; it is changed.
    values : sequence of float
        The values of l2, the largest first.
    data : mapping
        What `fit` takes, X and y first.
    held_out : HeldOut or None
        The data to score on; None: there are no scores, and the last model is the best.
    scoring, each
        As in :func:`path`.

    Returns
    -------
    found, interrupted
        The table, and whether Ctrl-C ended the path.
    """
    score = None
    if held_out is not None:
        scorer = check_scoring(estimator, scoring)

        def score(model: Model) -> float:
            estimator._adopt(model)
            return float(scorer(estimator, held_out.X, held_out.y, **held_out.more))

    found = BestModel(score, each)
    estimator._descent = Descent(values, found)
    first, second, *rest = data.values()
    try:
        # By position: not all estimators call them X and y.
        estimator.fit(first, second, **dict(zip(list(data)[2:], rest, strict=True)))
        interrupted = estimator._descent.interrupted
    finally:
        del estimator._descent
    assert found.model is not None
    classes = estimator.classes_
    estimator._adopt(found.model)
    # As y had them: a model knows plain values only.
    estimator.classes_ = classes
    estimator.trace_ = found.trace
    return found, interrupted
