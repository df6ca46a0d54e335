"""Classifiers with kernels: machines of Crammer and Singer, kernel logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.model import Model
from ...problem.rows import Rows
from ..estimator import TrainedEstimator
from .classifier import LinearClassifier
from .kernel_estimator import KernelEstimator, kernel_parameters
from .labeller import PositionLabeller

__all__ = ["KernelClassifier"]


class KernelClassifier(KernelEstimator, LinearClassifier):
    """A classifier with a kernel, trained to a certified optimum.

    The score of class k is ``sum_j beta_jk K(x_j, x)`` over rows x_j of the training data. The
    objective is that of :class:`LinearClassifier` in the feature space of the kernel, where it
    stays as it is but for ``x.z``, which becomes ``K(x, z)``.

    For n rows training takes up to ``32 n^2`` bytes, and the kernel is computed once for each pair
    of rows; both are less if the Gram matrix has a lower rank. Prediction computes the similarity
    to each supporting row.

    Parameters
    ----------
    loss, l2, solver, tol, max_passes, fit_intercept, intercept_scaling, cost_matrix, class_weight
        As in :class:`LinearClassifier`. With ``loss="hinge"`` only some rows support the model.
    kernel : {"rbf", "poly", "linear"} or callable
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree`` or ``x.z``; or a function that
        takes two float64 arrays, of n and of m rows, and gives the (n, m) matrix of their
        similarities. It must be positive semidefinite. A model with a function of your own can be
        used and pickled, but not saved: model files hold no code.
    gamma : float, "scale" or "auto"
        "scale" is ``1 / (n_features * X.var())``, "auto" ``1 / n_features``.
    degree : int
        For "poly".
    coef0 : float
        For "poly", from 0.
    gram_tol : float
        The share of the trace of the Gram matrix that may be left out. The default is rounding; a
        larger one saves memory and time, and the certificate is that of the smaller model.
    memory_limit : float
        The MiB that training may take for the Gram matrix.
    n_jobs, random_state, warm_start, verbose, callbacks, solver_options
        As in :class:`LinearClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    support_ : ndarray of shape (n_support_,)
        The rows of the training data that the model is made of.
    n_support_ : int
        Their number.
    dual_coef_ : ndarray of shape (n_classes, n_support_)
        Their coefficients beta.
    intercept_ : ndarray of shape (n_classes,)
        The scores that the constant feature gives.
    certificate_, trace_, n_iter_, model_, n_features_in_, feature_names_in_
        As in :class:`LinearClassifier`.
    """

    def __init__(
        self,
        loss: str = "log",
        l2: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_passes: float = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        cost_matrix: Any = None,
        class_weight: Any = None,
        gram_tol: float = 1e-10,
        memory_limit: float = 4096,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        solver_options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            l2=l2,
            solver=solver,
            tol=tol,
            max_passes=max_passes,
            fit_intercept=fit_intercept,
            intercept_scaling=intercept_scaling,
            cost_matrix=cost_matrix,
            class_weight=class_weight,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callbacks=callbacks,
            solver_options=solver_options,
        )
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram_tol = gram_tol
        self.memory_limit = memory_limit

    @classmethod
    def from_model(cls, model: Model) -> KernelClassifier:
        """Make a fitted classifier from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.
        """
        if model.task != "classify":
            raise DataError(f"a model of the task {model.task!r} does not classify")
        encoder = PositionLabeller(model).encoder
        made = cls._fitted_by(
            model,
            fit_intercept=encoder.intercept != 0.0,
            intercept_scaling=encoder.intercept or 1.0,
            **kernel_parameters(model),
        )
        made.n_features_in_ = encoder.n_inputs
        return made

    def _examples(self, rows: Rows, label: Ints, weight: Floats) -> tuple[Rows, Ints, Floats]:
        # support_ and gamma="scale" count the rows as they are given.
        return rows, label, weight

    def _adopt(self, model: Model) -> None:
        # Not that of the linear classifier: there is no coef_.
        TrainedEstimator._adopt(self, model)
        encoder = PositionLabeller(model).encoder
        self.intercept_ = np.zeros(len(model.labels))
        if encoder.intercept:
            self.intercept_ = model.layout.dense(model.weights, 0)[-1] * encoder.intercept

    def _scores(self, X: Any) -> Floats:
        self._need_fit()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        rows = Rows.from_scipy(X) if hasattr(X, "tocsr") else Rows.from_dense(X)
        return self._support.scores(rows) + self.intercept_
