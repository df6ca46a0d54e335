"""The choice of l2 by cross-validation or by held-out data, for every estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError
from ..models.fit import check_weights
from ..training.path import l2_values
from ..training.path_table import RULES, choose, pooled
from ..values import one_of
from .descent import descend, fold_tables
from .estimator import Estimator
from .path import held_out_score
from .source import Source
from .trainer import Trainer

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["PathEstimator", "folds"]

# For mypy it is an estimator. At run time it is not, because a dataclass takes the fields of its
# first base last, including inherited ones: fields that the second base, the estimator, hides would
# come back.
if TYPE_CHECKING:
    _Base = Estimator
else:
    _Base = object


@dataclass(eq=False, repr=False, kw_only=True)
class PathEstimator(_Base):
    """Base class of the estimators that choose l2; not for direct use.

    A derived class also derives from the estimator with a given l2, and has its parameters except
    for ``l2`` and ``warm_start``. It fits a range of l2 from large to small. Each fit starts where
    the last one ended and is certified, and each model is scored on held-out data: in each fold, on
    the part of the data that was not used for the features and weights. The model for the chosen l2
    is then trained on all of the data.

    Parameters
    ----------
    l2_max, factor, steps : float, float, int
        The values of l2: ``l2_max * factor**k`` for k = 0, ..., steps - 1.
    cv : int, splitter or iterable
        The folds, as in scikit-learn; not used if `fit` gets held-out data.
    rule : {"best", "one-se"}
        "best" chooses the l2 with the best mean score. "one-se" chooses the largest l2 whose mean
        score is within one standard error of the best.
    scoring : str, callable or None
        What is scored, as in scikit-learn; None is the method `score`.

    Attributes
    ----------
    l2_ : float
        The chosen l2.
    path_ : list of dict
        One row per l2, the largest first: ``l2``, ``passes``, ``seconds``, ``relative_gap``,
        ``score``. With folds, passes and seconds are sums over the folds, the gap is the largest
        one, the score is the mean of ``scores``, and ``standard_error`` is the standard error of
        this mean.
    scores_ : ndarray of shape (n_values, n_folds)
        The scores; with held-out data there is one column.
    """

    l2_max: float = 1000.0
    factor: float = 0.7
    steps: int = 24
    cv: Any = 5
    rule: str = "best"
    scoring: Any = None
    tol: float = 0.001
    l2: float = field(default=1.0, init=False)
    warm_start: bool = field(default=False, init=False)

    @classmethod
    def _plain_class(cls) -> type[Estimator]:
        """Return the class of the estimator with a given l2."""
        after = cls.__mro__[cls.__mro__.index(PathEstimator) + 1 :]
        return next(kind for kind in after if issubclass(kind, Estimator))

    @classmethod
    def from_model(cls, model: Model) -> Any:
        """Make a fitted estimator from a model; it has a given l2, because l2 is now known."""
        return cls._plain_class().from_model(model)

    def fit(
        self, X: Any = None, y: Any = None, *more: Any, dev: Any = None, groups: Any = None,
        **named: Any,
    ) -> Any:  # fmt: skip
        """Choose l2 and train.

        Parameters
        ----------
        X, y, *more, **named
            The arguments of `fit` of the estimator with a given l2, under their names.
        dev : tuple or None
            Data to choose l2 by, instead of folds: ``(X_dev, y_dev)``; ``(X_dev,)`` if `score`
            needs no y; or ``(X_dev, y_dev, more)`` with a dict of further arguments of `score`.
        groups : array-like or None
            The group of each example, for splitters that take groups.

        Returns
        -------
        self
        """
        one_of("rule", self.rule, RULES)
        values = l2_values(self.l2_max, self.factor, self.steps)
        plain = self._plain()
        plain.check()
        source, weight = plain._given(*_positional(plain, X, y, more, named), **named)
        source = source.checked()
        if weight is not None:
            weight = check_weights(weight, len(source))
        if dev is not None:
            if self.rule != "best":
                raise DataError(f"rule={self.rule!r} needs folds; with dev, use rule='best'")
            score = held_out_score(plain, dev, self.scoring)
            found = descend(plain, values, source, weight, score)
            rows: list[dict[str, Any]] = [dict(row) for row in found.best.rows]
            scores = [[row["score"]] for row in found.best.rows]
        else:
            parts = folds(plain, source, self.cv, groups)
            table = pooled(list(fold_tables(plain, values, source, weight, parts, self._scorer)))
            chosen = choose(table, self.rule)
            descend(plain, values[: chosen + 1], source, weight)
            rows = [dict(row) for row in table]
            scores = [row["scores"] for row in table]
        self._take_over(plain)
        self.l2_ = plain.model_.l2
        self.path_ = rows
        self.scores_ = np.array(scores)
        return self

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
        own = self.get_params(deep=False)
        kind = self._plain_class()
        return kind(**{name: own[name] for name in kind._get_param_names() if name in own})

    def _take_over(self, fitted: Estimator) -> None:
        """Copy the results of a fit from another estimator."""
        known = {*self.get_params(deep=False), *fitted.get_params(deep=False)}
        for name, value in vars(fitted).items():
            if name not in known:
                setattr(self, name, value)


def _positional(plain: Estimator, X: Any, y: Any, more: Any, named: Any) -> tuple[Any, ...]:
    """Return the positional arguments; `fit` of some estimators does not call them X and y."""
    if more:
        return X, y, *more
    first, second = islice(signature(plain._given).parameters.values(), 2)
    if first.name in named:
        return ()
    return (X,) if y is None and second.default is not second.empty else (X, y)


def folds(
    estimator: Trainer, source: Source, cv: Any, groups: Any = None
) -> list[tuple[list[int], list[int]]]:
    """Return the training examples and the held-out examples of each fold.

    Parameters
    ----------
    estimator : Trainer
        The estimator; the folds of a classifier are stratified by class.
    source : Source
        The examples.
    cv, groups
        As in scikit-learn.
    """
    from sklearn.model_selection import check_cv

    labels = source.given()[1] if estimator.task == "classify" else None
    splitter = check_cv(cv, labels, classifier=labels is not None)
    split = splitter.split(np.zeros(len(source)), labels, groups)
    return [(train.tolist(), test.tolist()) for train, test in split]
