"""Classifiers of single examples: multinomial logistic regression and Crammer-Singer machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ...arrays import Floats
from ...errors import DataError
from ...models.hashed_names import hashed_indices
from ..cross_validation import PathEstimator
from ..estimator import Estimator, has_probabilities
from ..source import Source
from ..stream import IteratorStream, Stream, is_iterator, parts
from .examples import read_labels, read_matrix, without_marks
from .features import PositionFeatures
from .partial_labels import holds_partial, is_certain
from .sources import Table
from .trainers import ClassifierTrainer

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["LinearClassifier", "LinearClassifierCV", "check_no_dicts", "check_one_kind"]

#: How many numbers of a matrix are read at a time, if it is not held in memory.
_BATCH_VALUES: Final = 1 << 20


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


def check_no_dicts(X: Any) -> None:
    """Raise a DataError if rows are dicts of features; only taggers take these."""
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise DataError(
            "X holds dicts where a matrix is expected; make one of them with scikit-learn's "
            "DictVectorizer: make_pipeline(DictVectorizer(), LinearClassifier())"
        )


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
        The weights. There is one row per class, even for two classes. With `hashing`, there is one
        column per hash.
    intercept_ : ndarray of shape (n_classes,)
        The scores of the constant feature.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray
        The names of the features, if X has feature names.

    Examples
    --------
    >>> from partwise import LinearClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["a", "b", "b"]
    >>> classifier = LinearClassifier(l2=0.1).fit(X, y)
    >>> classifier.predict([[0.0, 0.9]])
    array(['a'], dtype='<U1')
    >>> classifier.predict_proba([[0.0, 0.9]]).shape
    (1, 2)
    >>> classifier.certificate_.relative_gap <= classifier.tol
    True
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.sparse = True
        tags.no_validation = False
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features. With `out_of_core` also an iterator of pairs (X, y), each of some rows,
            which is read once and never held in memory; and an array that is mapped from a file is
            read some rows at a time.
        y : array-like of shape (n_samples,)
            The labels; None with an iterator of pairs.
        sample_weight : array-like of shape (n_samples,) or None
            The weights c_i; None means 1 for each.

        Returns
        -------
        LinearClassifier
            The estimator itself.
        """
        self._train(*self._examples(X, y, sample_weight))
        return self

    def _given(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Table, Any]:
        check_no_dicts(X)
        if holds_partial(y):
            return self._given_partial(X, y), sample_weight
        check_one_kind(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return Table(X, y), sample_weight

    def _in_batches(self, X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Stream, Any]:
        """Read some rows at a time, so that a mapped array is never in memory as a whole."""
        first = True

        def make(some: Any, labels: Any) -> Table:
            nonlocal first
            if labels is None or holds_partial(labels):
                raise DataError(
                    "a label is missing or uncertain, and such labels need all examples in memory; "
                    "leave out_of_core out, or these examples"
                )
            check_one_kind(labels)
            some, labels = validate_data(
                self, some, labels, accept_sparse="csr", dtype=np.float64, reset=first
            )
            first = False
            labels = column_or_1d(labels, warn=True)
            check_classification_targets(labels)
            return Table(some, labels)

        if is_iterator(X):
            if y is not None:
                raise DataError("X is an iterator, so it must give pairs (X, y); leave y out")
            return IteratorStream(lambda: _tables(X, make)), sample_weight
        if hasattr(X, "tocsr"):
            X = X.tocsr()
        if not hasattr(X, "shape") or len(X.shape) != 2 or hasattr(X, "iloc"):
            # What is in memory as lists or as a table is checked as a whole.
            return parts(self._given(X, y)[0]), sample_weight
        labels = column_or_1d(y, warn=True)
        if len(labels) != X.shape[0]:
            raise DataError(f"{len(labels)} labels for {X.shape[0]} rows; give one label per row")
        step = max(1, _BATCH_VALUES // max(1, X.shape[1]))

        def batches() -> Iterator[Source]:
            for at in range(0, X.shape[0], step):
                yield make(X[at : at + step], labels[at : at + step])

        return IteratorStream(batches, again=True), sample_weight

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
        if features.support is None:
            self.coef_ = np.ascontiguousarray(dense[:, : features.n_features])
        self.intercept_ = np.zeros(len(dense))
        if features.intercept:
            self.intercept_ = dense[:, -1] * features.intercept

    def _scores(self, X: Any) -> Floats:
        X = self._readable(X)
        features = self._model.features
        assert isinstance(features, PositionFeatures)
        if features.n_hashed:
            X = hashed_indices(read_matrix(X, "X"), features.n_hashed).to_scipy()
        scores: Floats = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores

    def _readable(self, X: Any) -> Any:
        check_is_fitted(self)
        check_no_dicts(X)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _column_names(self) -> dict[str, Any]:
        features = self._model.features
        assert isinstance(features, PositionFeatures)
        listed = not features.n_hashed and features.support is None
        names = self.__dict__.get("feature_names_in_")
        return {"feature_names": list(names)} if names is not None and listed else {}

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


class LinearClassifierCV(PathEstimator, LinearClassifier):
    """A linear classifier that chooses l2 by cross-validation or by held-out data.

    It is fitted for a range of l2, from large to small, and each fit starts where the last one
    ended. `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from partwise import LinearClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = LinearClassifierCV(l2_max=1.0, factor=0.1, steps=6, cv=3).fit(X / 8, y)
    >>> len(classifier.path_), classifier.score(X / 8, y) > 0.9
    (6, True)
    """


def _tables(pairs: Iterator[Any], make: Callable[[Any, Any], Table]) -> Iterator[Source]:
    """Yield the rows of one pair (X, y) after the other."""
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DataError(
                f"batch {i} (counted from 0) is a {type(pair).__name__}; give an iterator of pairs "
                "(X, y), each of some rows and their labels"
            )
        yield make(*pair)
