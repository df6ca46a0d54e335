"""Fits of an estimator for a range of l2, and the choice of the best one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sklearn.base import clone

from ..errors import DataError
from ..models.model import Model
from ..training.path import Grid
from ..training.path_table import PathRow
from .descent import descend_grid, warn_at_edge
from .estimator import Estimator
from .held_out import held_out_score

__all__ = ["PathResult", "path"]

_Estimator = TypeVar("_Estimator", bound=Estimator)


class PathResult(NamedTuple):
    """The result of :func:`path`.

    Attributes
    ----------
    rows
        One dict per l2, the largest first: ``l2``, ``passes``, ``seconds``, ``relative_gap`` and
        ``score``.
    best
        The estimator with the best score, fitted.
    """

    rows: list[PathRow]
    best: Any


def path(
    estimator: _Estimator,
    X: Any,
    y: Any = None,
    *,
    dev: Any,
    l2_max: float = 1000.0,
    factor: float = 0.7,
    steps: int = 24,
    extend: int = 0,
    warm_start: str = "extrapolated",
    tol: float = 1e-3,
    scoring: Any = None,
    each: Callable[[PathRow, Model], Any] | None = None,
    **fit_arguments: Any,
) -> PathResult:
    """Fit an estimator for a range of l2, each time starting where the last fit ended.

    Every model is certified: its relative duality gap is at most `tol`. The path ends early at a
    model that is not certified, after ``estimator.max_passes`` passes or Ctrl-C, and keeps the
    results so far.

    Parameters
    ----------
    estimator : estimator
        Any estimator of partwise. It is not changed, and its l2, tol and warm_start are not used.
    X, y
        The training data, as the estimator's `fit` takes it.
    dev : tuple
        The data to choose l2 by: ``(X_dev, y_dev)``; ``(X_dev,)`` if `score` needs no y; or
        ``(X_dev, y_dev, more)`` with a dict of further arguments of `score`.
    l2_max, factor, steps : float, float, int
        The values of l2: ``l2_max * factor**k`` for k = 0, ..., steps - 1.
    extend : int
        How many further values there may be at either end, while the best lies there. If it lies at
        an end nevertheless, a `GridEdgeWarning` says so.
    warm_start : {"extrapolated", "plain"}
        Whether a fit starts at what the last two predict, or where the last one ended.
    tol : float
        The relative duality gap at which each fit stops.
    scoring : str, callable or None
        What is scored, as in scikit-learn; None is the `score` of the estimator.
    each : callable or None
        Called with each row and its model as soon as they are known; a true result ends the path.
    **fit_arguments
        Further arguments of `fit`.

    Returns
    -------
    PathResult
        The table, and the estimator with the best score; the one with the largest l2 if several are
        best.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from partwise import LinearClassifier, path
    >>> X, y = load_iris(return_X_y=True)
    >>> X, dev = X / 8, (X[1::2] / 8, y[1::2])
    >>> grid = {"l2_max": 1.0, "factor": 0.1, "steps": 6}
    >>> rows, best = path(LinearClassifier(), X[::2], y[::2], dev=dev, **grid)
    >>> best.certificate_.relative_gap <= 1e-3, len(rows)
    (True, 6)
    """
    if not isinstance(estimator, Estimator) or "l2" not in estimator.get_params(deep=False):
        raise DataError(
            f"the estimator is of type {type(estimator).__name__}; give one of partwise that has l2"
        )
    made = clone(estimator).set_params(tol=tol, warm_start=False)
    score = held_out_score(made, dev, scoring)
    grid = Grid(l2_max, factor, steps, extend, warm_start)
    given = made._given(X, **fit_arguments) if y is None else made._given(X, y, **fit_arguments)
    source, weight = given
    found = descend_grid(made, grid, source, weight, score, each)
    warn_at_edge(found.best.rows, found.edge)
    made.set_params(l2=made.model_.l2)
    return PathResult(found.best.rows, made)
