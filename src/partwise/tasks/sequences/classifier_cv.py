"""Linear classifiers that choose l2 themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from ...models.fit import check_weights
from ..cross_validation import PathEstimator
from .classifier import LinearClassifier, check_one_kind

__all__ = ["LinearClassifierCV"]


class LinearClassifierCV(PathEstimator, LinearClassifier):
    """A linear classifier that chooses l2 by cross-validation or by data held out.

    It goes through a range of l2 from large to small, each fit from where the last one ended and
    each certified, and scores every model on data held out: in each fold, on the part of the data
    that the features and weights were not made from. The model of the l2 that is chosen is then
    trained on all of the data.

    Parameters
    ----------
    l2_max, factor, steps : float, float, int
        The values of l2: ``l2_max * factor**k`` for k below `steps`.
    cv : int, splitter or iterable
        The folds, as in scikit-learn; not used if `fit` gets data held out.
    rule : {"best", "one-se"}
        The l2 with the best mean score; or the largest whose mean score is within one standard
        error of it.
    scoring : str, callable or None
        What is scored, as in scikit-learn; None: `score`.
    loss, l1, solver, tol, max_passes, fit_intercept, intercept_scaling, cost_matrix,
    class_weight, n_jobs, random_state, verbose, callbacks, solver_options :
        As in :class:`LinearClassifier`. `tol` and `max_passes` are those of the fit of one l2.

    Attributes
    ----------
    l2_ : float
        The l2 that was chosen.
    path_ : list of dict
        A row for each l2, the largest first: ``l2``, ``passes``, ``seconds``, ``relative_gap``,
        ``score``. With folds, passes and seconds are sums over them, the gap is the largest, the
        score the mean of ``scores``, and ``standard_error`` that of this mean.
    scores_ : ndarray of shape (n_values, n_folds)
        The scores; with data held out there is one column.

    Notes
    -----
    What else a :class:`LinearClassifier` has when it is fitted, this has too; ``certificate_``,
    ``trace_`` and ``n_iter_`` are those of the last fit, at ``l2_``.
    """

    _given_l2 = LinearClassifier

    def __init__(
        self,
        l2_max: float = 1000.0,
        factor: float = 0.7,
        steps: int = 24,
        cv: Any = 5,
        rule: str = "best",
        scoring: Any = None,
        loss: str = "log",
        l1: float = 0.0,
        solver: str = "auto",
        tol: float = 0.001,
        max_passes: float = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        cost_matrix: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        callbacks: Any = None,
        solver_options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            l1=l1,
            solver=solver,
            tol=tol,
            max_passes=max_passes,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            cost_matrix=cost_matrix,
            class_weight=class_weight,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callbacks=callbacks,
            solver_options=solver_options,
        )
        self.l2_max = l2_max
        self.factor = factor
        self.steps = steps
        self.cv = cv
        self.rule = rule
        self.scoring = scoring

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, dev: Any = None, groups: Any = None
    ) -> LinearClassifierCV:
        """Choose l2 and train.

        Parameters
        ----------
        X, y, sample_weight
            As in :class:`LinearClassifier`.
        dev : tuple or None
            Data held out to choose l2 by, instead of folds: ``(X_dev, y_dev)``, or ``(X_dev,
            y_dev, more)`` with a dict of what else `score` takes. The model is then trained on X
            alone.
        groups : array-like or None
            The group of each example, for splitters that keep groups together.

        Returns
        -------
        LinearClassifierCV
            The estimator itself.
        """
        check_one_kind(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        n = len(y)
        weight = None if sample_weight is None else check_weights(sample_weight, n)
        if dev is not None:
            X_dev, *rest = dev
            X_dev = validate_data(self, X_dev, accept_sparse="csr", dtype=np.float64, reset=False)
            dev = (X_dev, *rest)
        self._fit_path({"X": X, "y": y, "sample_weight": weight}, n, dev, groups)
        return self
