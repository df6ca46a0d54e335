"""Classifiers of single examples: multinomial logistic regression and Crammer-Singer machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ...arrays import Floats
from ...errors import DataError
from ..cross_validation import PathEstimator
from ..description import documented
from ..estimator import Estimator, has_probabilities
from .examples import read_labels
from .features import PositionFeatures
from .partial_labels import holds_partial, is_certain
from .sources import Table, without_marks
from .trainers import ClassifierTrainer

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["LinearClassifier", "LinearClassifierCV", "check_one_kind"]


def check_one_kind(y: Any) -> None:
    """Raise a DataError if strings are mixed with other labels.

    An array of both would only hold strings, so that other labels would be returned.
    """
    if not isinstance(y, (list, tuple)) and getattr(y, "dtype", None) != np.dtype(object):
        return
    labels = np.asarray(y, dtype=object).ravel().tolist()
    text = [isinstance(label, str) for label in labels]
    if any(text) and not all(text):
        first, other = text.index(True), text.index(False)
        raise DataError(
            f"y mixes strings with other labels: label {first} (counted from 0) is "
            f"{labels[first]!r} and label {other} is {labels[other]!r}; use one type for all labels"
        )


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class LinearClassifier(ClassifierMixin, ClassifierTrainer, Estimator):
    """A linear classifier, trained to a certified optimum.

    The objective is ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)``. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` bounds how far the objective is above the
    optimum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (n_classes, n_features)
        The weights. There is one row per class, even for two classes.
    intercept_ : ndarray of shape (n_classes,)
        The scores of the constant feature.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray
        The names of the features, if X has feature names.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,) or None
            The weights c_i; None means 1 for each.

        Returns
        -------
        LinearClassifier
            The estimator itself.
        """
        self.check()
        self._train(*self._given(X, y, sample_weight))
        return self

    def _given(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Table, Any]:
        if holds_partial(y):
            return self._given_partial(X, y), sample_weight
        check_one_kind(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return Table(X, y), sample_weight

    def _given_partial(self, X: Any, y: Any) -> Table:
        """Check examples of which some have no label, or a set of labels."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        labels = read_labels([list(y)], np.array([len(y)]), False, True, self.missing_label)
        if len(labels) != X.shape[0]:
            raise DataError(f"{len(labels)} labels for {X.shape[0]} rows; give one label per row")
        found = np.empty(len(labels), dtype=object)
        found[:] = labels
        return Table(X, found)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of examples whose label is right, of those whose label is known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The labels. Examples whose label is None, `missing_label` or a set are not counted.
        sample_weight : array-like of shape (n_samples,) or None
            The weights of the examples.
        """
        if self.missing_label is None and not holds_partial(y):
            return float(super().score(X, y, sample_weight))
        labels = without_marks(list(y), self.missing_label)
        known = np.flatnonzero([is_certain(label) for label in labels])
        if not len(known):
            raise DataError("there are no examples to score; give at least one with a label")
        right = [guess == labels[i] for i, guess in zip(known, self.predict(X)[known], strict=True)]
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right, weights=weight))

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        features = model.features
        assert isinstance(features, PositionFeatures)
        self.n_features_in_ = features.n_inputs
        dense = model.layout.dense(model.weights, 0).T
        self.coef_ = np.ascontiguousarray(dense[:, : features.n_features])
        self.intercept_ = np.zeros(len(dense))
        if features.intercept:
            self.intercept_ = dense[:, -1] * features.intercept

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores: Floats = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores

    def decision_function(self, X: Any) -> Floats:
        """Compute the scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) if there are two classes
            For two classes, the score of the second class minus the score of the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any, k: int | None = None) -> Any:
        """Predict the best class, or the k best.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.
        k : int or None
            How many classes to return per row.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes; with k, a pair of arrays of shape (n_samples, k): the classes, best
            first, and their scores. There are never more than n_classes columns.
        """
        scores = self._scores(X)
        if k is None:
            return self.classes_[np.argmax(scores, axis=1)]
        if k < 1:
            raise DataError(f"k is {k}; ask for at least 1 class")
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.classes_[order], np.take_along_axis(scores, order, axis=1)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Compute the log-probabilities of the classes; not for the hinge loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Compute the probabilities of the classes; not for the hinge loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        table: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
        table /= table.sum(axis=1, keepdims=True)
        return table

    @available_if(has_probabilities)
    def log_proba(self, X: Any, y: Any) -> Floats:
        """Compute the log-probability of given labels; not for the hinge loss.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            -inf for labels that were not seen in training.
        """
        table = self.predict_log_proba(X)
        y = column_or_1d(y)
        if len(y) != len(table):
            raise DataError(f"{len(y)} labels for {len(table)} rows; give one label per row")
        numbers = self.model_.label_index
        found = np.array([numbers.get(label, -1) for label in y.tolist()], dtype=np.int64)
        chosen: Floats = table[np.arange(len(found)), np.maximum(found, 0)]
        chosen[found < 0] = -np.inf
        return chosen


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class LinearClassifierCV(PathEstimator, LinearClassifier):
    """A linear classifier that chooses l2 by cross-validation or by held-out data.

    It is fitted for a range of l2, from large to small, and each fit starts where the last one
    ended. `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.
    """
