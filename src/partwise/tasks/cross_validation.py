"""The choice of l2 by cross-validation or by held-out data, for every estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from ..errors import DataError
from ..models.training_examples import check_weights
from ..training.path import Grid
from ..training.path_table import RULES, at_edge, choose, pooled
from ..values import one_of
from .descent import descend, descend_grid, grid_tables, warn_at_edge
from .estimator import Estimator
from .held_out import held_out_score
from .source import Source

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["PathEstimator"]

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
    for ``l2``, ``warm_start`` and ``out_of_core``. It fits a range of l2 from large to small. Each
    fit starts where the last one ended and is certified, and each model is scored on held-out data:
    in each fold, on the part of the data that was not used for the features and weights. The model
    for the chosen l2 is then trained on all of the data.

    Parameters
    ----------
    l2_max, factor, steps : float, float, int
        The values of l2: ``l2_max * factor**k`` for k = 0, ..., steps - 1.
    extend : int
        How many further values there may be at an end of the range, if the best lies there: with
        held-out data smaller ones are tried until one is not the best, with folds all of them. If
        the best lies at an end nevertheless, a `GridEdgeWarning` says so.
    cv : int, splitter or iterable
        The folds, as in scikit-learn; not used if `fit` is given held-out data.
    rule : {"best", "one-se"}
        "best" chooses the l2 with the best mean score. "one-se" chooses the largest l2 whose mean
        score is within one standard error of the best.
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

    l2_max: float = 1000.0
    factor: float = 0.7
    steps: int = 24
    extend: int = 0
    cv: Any = 5
    rule: str = "best"
    scoring: Any = None
    tol: float = 0.001
    l2: float = field(default=1.0, init=False)
    warm_start: bool = field(default=False, init=False)
    # Folds take examples in any order, many times.
    out_of_core: Any = field(default=None, init=False)

    @classmethod
    def _plain_class(cls) -> type[Estimator]:
        """Return the class of the estimator with a given l2."""
        after = cls.__mro__[cls.__mro__.index(PathEstimator) + 1 :]
        return next(kind for kind in after if issubclass(kind, Estimator))

    @classmethod
    def from_model(cls, model: Model) -> Any:
        """Make a fitted estimator from a model; it has a given l2, because l2 is now known."""
        return cls._plain_class().from_model(model)

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
        one_of("rule", self.rule, RULES)
        grid = Grid(self.l2_max, self.factor, self.steps, self.extend)
        plain = self._plain()
        plain.check()
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
        own = self.get_params(deep=False)
        kind = self._plain_class()
        return kind(**{name: own[name] for name in kind._get_param_names() if name in own})

    def _take_over(self, fitted: Estimator) -> None:
        """Copy the results of a fit from another estimator."""
        known = {*self.get_params(deep=False), *fitted.get_params(deep=False)}
        for name, value in vars(fitted).items():
            if name not in known:
                setattr(self, name, value)
