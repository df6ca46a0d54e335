"""Linear classifiers: logistic regression, Crammer-Singer machines, softmax-margin."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.fit import check_weights
from ...models.model import Model
from ...problem.rows import Rows
from ...values import is_number
from ..estimator import TrainedEstimator, has_probabilities
from .distinct import distinct_examples
from .labeller import PositionLabeller

__all__ = ["LinearClassifier", "check_one_kind"]


def check_one_kind(y: Any) -> None:
    """Raise a DataError if strings are mixed with other labels.

    An array of both would hold strings only, and the labels that come back would be others.
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


class LinearClassifier(ClassifierMixin, TrainedEstimator):
    """A linear classifier, trained to a certified optimum.

    The objective is ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)``. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` tells how far the weights are at most from
    the best ones. Examples with the same features and label are one with the sum of their weights,
    and the order of the examples does not matter.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is multinomial logistic regression, "hinge" the multiclass machine of Crammer and
        Singer, "softmax-margin" the log loss with a cost for wrong labels.
    l2 : float
        The regulariser. It is 1/C in scikit-learn's LogisticRegression and LinearSVC for
        three classes or more, and 2/C for two, where those have one weight vector.
    l1 : float
        Adds ``l1 |w|_1`` to the objective, which makes weights exactly 0.
    solver : str
        "auto", or the name of one; an unknown name is answered with the list.
    tol : float
        The relative duality gap to stop at.
    max_passes : float
        The number of passes over the data to stop at; a `ConvergenceWarning` then says how far
        the gap is from `tol`.
    fit_intercept : bool
        Whether to add a constant feature. Its weights are regularised like all others.
    intercept_scaling : float
        The value of the constant feature: the larger, the less its weights are regularised.
    cost_matrix : array-like of shape (n_classes, n_classes) or None
        ``cost_matrix[true, predicted]`` in the order of ``classes_``, for the losses with a cost;
        None is 1 for each wrong label.
    class_weight : None, "balanced" or dict
        Factors for the weights of the examples, by class; classes that a dict does not name have
        factor 1.
    n_jobs : int or None
        Threads for training; -1 is one a core. They do not change the result.
    random_state : int, RandomState or None
        Draws the order of the examples. The default, 0, makes every fit of the same data the
        same; None makes each one different.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual point if the rows and labels
        are the same, else from its weights.
    verbose : int
        Above 0, progress is shown on stderr.
    callbacks : callable, sequence of callables or None
        Called after each epoch with a :class:`partwise.training.loop.Progress`; a true result stops
        the fit.
    solver_options : dict or None
        Further arguments of the solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (n_classes, n_features)
        The weights. There is a row for each class, also if there are two.
    intercept_ : ndarray of shape (n_classes,)
        The scores that the constant feature gives.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, an epoch a row.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray
        The names of the features, if X had such.
    """

    def __init__(
        self,
        loss: str = "log",
        l2: float = 1.0,
        l1: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_passes: float = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        cost_matrix: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        solver_options: dict[str, Any] | None = None,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.l1 = l1
        self.solver = solver
        self.tol = tol
        self.max_passes = max_passes
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.cost_matrix = cost_matrix
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.solver_options = solver_options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @classmethod
    def from_model(cls, model: Model) -> LinearClassifier:
        """Make a fitted classifier from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.
        """
        encoder = PositionLabeller(model).encoder
        if model.task != "classify" or encoder.vocabulary is not None:
            raise DataError("the model does not classify rows of numbers; use it as it is")
        if encoder.support is not None:
            raise DataError("the model has a kernel; use KernelClassifier.from_model")
        made = cls._fitted_by(
            model,
            fit_intercept=encoder.intercept != 0.0,
            intercept_scaling=encoder.intercept or 1.0,
        )
        made.n_features_in_ = encoder.n_features
        return made

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearClassifier:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,) or None
            The weights c_i; None is 1 each.

        Returns
        -------
        LinearClassifier
            The estimator itself.
        """
        scaling = self.intercept_scaling
        if self.fit_intercept and not (is_number(scaling) and scaling > 0):
            raise DataError(f"intercept_scaling is {scaling!r}; give a positive number")
        settings = self._settings(intercept=float(scaling) if self.fit_intercept else 0.0)
        check_one_kind(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        rows = Rows.from_scipy(X) if hasattr(X, "tocsr") else Rows.from_dense(X)
        rows, numbers, weight = self._examples(
            rows, numbers, check_weights(sample_weight, len(rows))
        )
        self._train_positions(
            "classify",
            rows,
            np.ones(len(rows), dtype=np.int64),
            list(numbers.reshape(-1, 1)),
            classes.tolist(),
            settings,
            weight,
        )
        self.classes_ = classes
        return self

    def _examples(self, rows: Rows, label: Ints, weight: Floats) -> tuple[Rows, Ints, Floats]:
        """Give the examples in the form that does not depend on their order and repetition."""
        chosen, weight = distinct_examples(rows, label, weight)
        return rows.take(chosen), label[chosen], weight

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        encoder = PositionLabeller(model).encoder
        dense = model.layout.dense(model.weights, 0).T
        self.coef_ = np.ascontiguousarray(dense[:, : encoder.n_features])
        self.intercept_ = np.zeros(len(dense))
        if encoder.intercept:
            self.intercept_ = dense[:, -1] * encoder.intercept

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores: Floats = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores

    def decision_function(self, X: Any) -> Floats:
        """Give the scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) if there are two classes
            For two classes, the score of the second less that of the first.
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
            How many classes to give for each row.

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
            raise DataError(f"{len(y)} labels for {len(table)} rows; give one label a row")
        numbers = self.model_.label_index
        found = np.array([numbers.get(label, -1) for label in y.tolist()], dtype=np.int64)
        chosen: Floats = table[np.arange(len(found)), np.maximum(found, 0)]
        chosen[found < 0] = -np.inf
        return chosen
