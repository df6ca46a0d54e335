"""The choice of l2 by cross-validation or by held-out data, for every estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone, is_classifier

from ..errors import DataError
from ..models.model import Model
from ..models.training_examples import check_weights
from ..training.path_table import Grid, GridParameters, PathRow, at_edge, choose, pooled
from .descent import descend, descend_grid, grid_tables, warn_at_edge
from .estimator import Estimator, held_out_score
from .parameters import PathParameters
from .source import Source

__all__ = ["PathEstimator", "PathResult", "path"]

_Estimator = TypeVar("_Estimator", bound=Estimator)


# Folds take examples in any order, many times.
class PathEstimator(PathParameters, Estimator, without=("l2", "warm_start", "out_of_core")):
    """Base class of the estimators that choose l2; not for direct use.

    A derived class also derives from the estimator with a given l2, and has its parameters except
    for ``l2``, ``warm_start`` and ``out_of_core``. It fits a range of l2 from large to small. Each
    fit starts where the last one ended and is certified, and each model is scored on held-out data:
    in each fold, on the part of the data that was not used for the features and weights. The model
    for the chosen l2 is then trained on all of the data.

    Parameters
    ----------
    cv : int, splitter or iterable
        The folds, as in scikit-learn; not used if `fit` is given held-out data.
    scoring : str, callable or None
        What is scored, as in scikit-learn; None is the method `score`.
    memory_limit : float, str or None
        The memory that a fit may take, in MiB or as in "4GB", "512MiB" or "50%". A fit that takes
        more is refused.

    Attributes
    ----------
    l2_ : float
        The chosen l2.
    path_ : list of dict
        One row per l2, the largest first: ``l2``, ``passes``, ``seconds``, ``relative_gap``,
        ``score``. With folds, passes and seconds are sums over the folds, the gap is the largest
        one, the score is the mean of ``scores``, and ``standard_error`` is the standard error of
        this mean.
    edge_ : {"largest", "smallest"} or None
        Whether the best l2 is the largest or the smallest that was tried.
    scores_ : ndarray of shape (n_values, n_folds)
        The scores; with held-out data there is one column.
    """

    cv: Any = 5
    scoring: Any = None
    tol = 1e-3

    @classmethod
    def _plain_class(cls) -> type[Estimator]:
        """Return the class of the estimator with a given l2."""
        after = cls.__mro__[cls.__mro__.index(PathEstimator) + 1 :]
        return next(kind for kind in after if issubclass(kind, Estimator))

    @classmethod
    def from_model(cls, model: Model, *more: Any, **named: Any) -> Any:
        """Make a fitted estimator from a model; it has a given l2, because l2 is now known.

        Parameters are those of `from_model` of the estimator that is given l2.
        """
        return cls._plain_class().from_model(model, *more, **named)

    def __init_subclass__(cls, **more: Any) -> None:
        """Give the class a `fit` with the arguments of the estimator that is given l2."""
        plain = inspect.signature(cls._plain_class().fit)
        own = inspect.signature(PathEstimator._choose)
        extra = [own.parameters[name] for name in ("dev", "groups")]
        signature = plain.replace(parameters=[*plain.parameters.values(), *extra])

        def fit(self: Any, *given: Any, **named: Any) -> Any:
            bound = signature.bind(self, *given, **named).arguments
            choice = {name: bound.pop(name) for name in ("dev", "groups") if name in bound}
            del bound["self"]
            return self._choose(bound, **choice)

        fit.__doc__ = PathEstimator._choose.__doc__
        fit.__signature__ = signature  # type: ignore[attr-defined]
        cls.fit = fit
        super().__init_subclass__(**more)

    def _choose(self, given: Mapping[str, Any], *, dev: Any = None, groups: Any = None) -> Any:
        """Choose l2 and train.

        Parameters are those of `fit` of the estimator that is given l2, and these:

        Parameters
        ----------
        dev : tuple or None
            Data to choose l2 by, instead of folds: ``(X_dev, y_dev)``; ``(X_dev,)`` if `score`
            needs no y; or ``(X_dev, y_dev, more)`` with a dict of further arguments of `score`.
        groups : array-like or None
            The group of each example, for splitters that take groups.

        Returns
        -------
        self
        """
        self.check()
        grid = Grid(**{name: getattr(self, name) for name in GridParameters.names()})
        plain = self._plain()
        source, weight = plain._given(**given)
        source = source.checked()
        if weight is not None:
            weight = check_weights(weight, len(source))
        if dev is not None:
            if self.rule != "best":
                raise DataError(f"rule={self.rule!r} needs folds; with dev, use rule='best'")
            score = held_out_score(plain, dev, self.scoring)
            found = descend_grid(plain, grid, source, weight, score)
            edge = found.edge
            rows: list[dict[str, Any]] = [dict(row) for row in found.best.rows]
            scores = [[row["score"]] for row in found.best.rows]
        else:
            parts = self._parts(plain, source, groups)
            table = pooled(grid_tables(plain, grid, self.rule, source, weight, parts, self._scorer))
            chosen = choose(table, self.rule)
            edge = at_edge(table, chosen)
            descend(plain, [row["l2"] for row in table[: chosen + 1]], source, weight)
            rows = [dict(row) for row in table]
            scores = [row["scores"] for row in table]
        self._take_over(plain)
        self.l2_ = plain.model_.l2
        self.path_ = rows
        self.edge_ = edge
        self.scores_ = np.array(scores)
        warn_at_edge(self.path_, edge)
        return self

    def _parts(
        self, plain: Estimator, source: Source, groups: Any
    ) -> list[tuple[list[int], list[int]]]:
        """Return for each fold the examples to train on and those to score."""
        from sklearn.model_selection import check_cv

        labels = source.given()[1] if is_classifier(plain) else None
        splitter = check_cv(self.cv, labels, classifier=labels is not None)
        split = splitter.split(np.zeros(len(source)), labels, groups)
        return [(train.tolist(), test.tolist()) for train, test in split]

    def _scorer(self, estimator: Any, test: Source, weight: Any) -> Callable[[Model], float]:
        """Return what scores a model on the held-out part of a fold."""
        from sklearn.metrics import check_scoring

        X, y, more = test.given()
        scorer = check_scoring(estimator, self.scoring)
        if weight is not None:
            more["sample_weight"] = weight

        def score(model: Model) -> float:
            estimator._adopt(model)
            return float(scorer(estimator, X, y, **more))

        return score

    def _plain(self) -> Estimator:
        """Make the estimator with a given l2 and the same parameters."""
        kind, own = self._plain_class(), self.as_dict()
        return kind(**{name: own[name] for name in kind.names() if name in own})

    def _take_over(self, fitted: Estimator) -> None:
        """Copy the results of a fit from another estimator."""
        known = {*self.names(), *fitted.names()}
        for name, value in vars(fitted).items():
            if name not in known:
                setattr(self, name, value)


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
    grid = Grid(l2_max=l2_max, factor=factor, steps=steps, extend=extend, warm_start=warm_start)
    given = made._given(X, **fit_arguments) if y is None else made._given(X, y, **fit_arguments)
    source, weight = given
    found = descend_grid(made, grid, source, weight, score, each)
    warn_at_edge(found.best.rows, found.edge)
    made.set_params(l2=made.model_.l2)
    return PathResult(found.best.rows, made)
