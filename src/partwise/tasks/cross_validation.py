"""Estimators that choose l2 themselves: by cross-validation, or by data held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from ..errors import DataError
from ..models.model import Model
from ..training.path import l2_values
from ..training.path_table import RULES, choose, pooled
from ..values import one_of
from .estimator import TrainedEstimator
from .path import HeldOut, descend, read_held_out

__all__ = ["PathEstimator"]


class PathEstimator(TrainedEstimator):
    """Base of the estimators that choose l2; not for use on its own.

    A class derived from it also derives from the estimator that is given l2, whose parameters it
    has but for ``l2`` and ``warm_start``, and has the parameters ``l2_max``, ``factor``, ``steps``,
    ``cv``, ``rule`` and ``scoring``.
    """

    #: The estimator that is given l2.
    _given_l2: ClassVar[type[TrainedEstimator]]

    @classmethod
    def from_model(cls, model: Model) -> Any:
        """Make a fitted estimator from a model; one with a given l2, since l2 is now known."""
        return cls._given_l2.from_model(model)

    def _fit_path(self, data: Mapping[str, Any], n: int, dev: Any, groups: Any) -> None:
        """Choose l2 and take the model over.

        Parameters
        ----------
        data : mapping
            What the fit of the estimator with a given l2 takes, X and y first: None, or with an
            entry for each example.
        n : int
            The number of examples.
        dev, groups
            As users give them.
        """
        one_of("rule", self.rule, RULES)
        values = l2_values(self.l2_max, self.factor, self.steps)
        plain = self._plain()
        if dev is not None:
            if self.rule != "best":
                raise DataError(f"rule={self.rule!r} needs folds; with dev, use rule='best'")
            found, _ = descend(plain, values, data, read_held_out(dev), self.scoring)
            rows: list[dict[str, Any]] = [dict(row) for row in found.rows]
            scores = [[row["score"]] for row in found.rows]
        else:
            table = pooled(self._folds(plain, values, data, n, groups))
            chosen = choose(table, self.rule)
            descend(plain, values[: chosen + 1], data)
            rows = [dict(row) for row in table]
            scores = [row["scores"] for row in table]
        self._take_over(plain)
        self.l2_ = plain.model_.l2
        self.path_ = rows
        self.scores_ = np.array(scores)

    def _plain(self) -> TrainedEstimator:
        """Make the estimator that is given l2, with the same parameters."""
        own = self.get_params(deep=False)
        names = self._given_l2._get_param_names()
        return self._given_l2(**{name: own[name] for name in names if name in own})

    def _folds(
        self, plain: TrainedEstimator, values: Any, data: Mapping[str, Any], n: int, groups: Any
    ) -> list[Any]:
        """Give the table of each fold."""
        _, y, *_ = data.values()
        stratified = is_classifier(self)
        splitter = check_cv(self.cv, y if stratified else None, classifier=stratified)
        tables = []
        folds = splitter.split(np.zeros(n), y if stratified else None, groups)
        for number, (train, test) in enumerate(folds):
            (_, X_test), (_, y_test), *rest = _some(data, test).items()
            held_out = HeldOut(X_test, y_test, {k: v for k, v in rest if v is not None})
            try:
                found, interrupted = descend(
                    clone(plain), values, _some(data, train), held_out, self.scoring
                )
            except DataError as error:
                where = f"fold {number} (counted from 0, and so are its examples)"
                raise DataError(f"{where}: {error}") from error
            if interrupted:
                # There is no model of all examples yet, and so nothing to keep.
                raise KeyboardInterrupt
            tables.append(found.rows)
        return tables

    def _take_over(self, fitted: TrainedEstimator) -> None:
        """Take what a fit found from another estimator."""
        known = {*self.get_params(deep=False), *fitted.get_params(deep=False)}
        for name, value in vars(fitted).items():
            if name not in known:
                setattr(self, name, value)


def _some(data: Mapping[str, Any], which: Any) -> dict[str, Any]:
    return {
        name: None if values is None else _safe_indexing(values, which)
        for name, values in data.items()
    }
