"""Classifiers and taggers with kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...arrays import Floats, Ints
from ...compiled.threads import thread_count
from ...errors import DataError
from ...problem.rows import Rows
from ...values import is_number
from ..description import documented
from ..estimator import Estimator
from ..trainer import Prepared
from .classifier import LinearClassifier
from .features import PositionFeatures
from .fit import class_factors
from .gram import factor_gram
from .kernel import make_kernel
from .support import Support
from .tagger import SequenceTagger
from .trainers import PositionTrainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure
    from .sources import Tokens

__all__ = ["KernelClassifier", "KernelTagger"]


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(PositionTrainer, Estimator):
    """Base of the estimators with kernels; not for use on its own.

    A class derived from it also derives from the linear estimator of the same task.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"} or callable
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree`` or ``x.z``; or a function that
        takes two float64 arrays, of n and of m rows, and returns the (n, m) matrix of their
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
    """

    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0
    gram_tol: float = 1e-10
    memory_limit: float = 4096
    l1: float = field(default=0.0, init=False)
    weights: str = field(default="all", init=False)
    min_count: int = field(default=1, init=False)

    def check(self) -> None:
        super().check()
        if not is_number(self.gram_tol) or not 0.0 <= self.gram_tol < 1.0:
            raise DataError(f"gram_tol is {self.gram_tol!r}; give a number from 0, below 1")
        if not is_number(self.memory_limit) or not self.memory_limit > 0.0:
            raise DataError(f"memory_limit is {self.memory_limit!r}; give a positive number of MiB")

    def solver_arguments(self) -> dict[str, Any]:
        given = super().solver_arguments()
        # The duals of the hinge have the weights that go with them: few positions then support.
        if self.loss == "hinge" and self.solver == "auto":
            return {"nearness": 0.0, **given}
        return given

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        kernel = _support(model).kernel
        return {
            **super()._held(model),
            "kernel": kernel.function or kernel.name,
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
        }

    def _positions(
        self,
        source: Any,
        tokens: Tokens,
        structure: Structure,
        labels: Sequence[Any],
        gold: Sequence[Ints],
        weight: Floats,
        initial: Model | None,
    ) -> Prepared:
        from .kernel_fit import kernel_positions

        if tokens.vocabulary is not None:
            raise DataError(
                "X holds tokens with named features; a kernel takes matrices of numbers, such as "
                "scikit-learn's DictVectorizer makes of dicts"
            )
        tokens.rows.check_finite("the features")
        factors = class_factors(self.class_weight, tokens.lengths, gold, weight, labels)
        kept = weight * factors > 0.0
        used = np.repeat(kept, tokens.lengths)
        if not used.any():
            raise DataError("there are no positions to train on; give some of at least two labels")
        inputs = tokens.rows.take(used)
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, inputs)
        limit = float(self.memory_limit) * 2.0**20
        factor = factor_gram(kernel, inputs, tol=float(self.gram_tol), max_bytes=limit)
        made, machine = kernel_positions(
            kernel, tokens, used, tokens.lengths[kept], factor, thread_count(self.n_jobs)
        )
        prepared = super()._positions(source, made, structure, labels, gold, weight, initial)
        first = None if initial is None else machine.begin(initial)
        return replace(prepared, finish=machine.finish, initial=first)

    @property
    def support_(self) -> Ints:
        """The supporting positions, counted through the training data."""
        return _support(self._fitted()).index

    @property
    def n_support_(self) -> int:
        """How many supporting positions there are."""
        return len(_support(self._fitted()))

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients of the supporting positions."""
        coef: Floats = _support(self._fitted()).coef.T
        return coef


def _support(model: Model) -> Support:
    features = model.features
    if not isinstance(features, PositionFeatures) or features.support is None:
        raise DataError("the model has no kernel; use the linear estimator of its task")
    return features.support


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class KernelClassifier(KernelEstimator, LinearClassifier):
    """A classifier with a kernel, trained to a certified optimum.

    The score of class k is ``sum_j beta_jk K(x_j, x)`` over rows x_j of the training data. The
    objective is that of :class:`LinearClassifier` in the feature space of the kernel, where it
    stays as it is but for ``x.z``, which becomes ``K(x, z)``. With ``loss="hinge"`` only some rows
    support the model.

    For n rows training takes up to ``32 n^2`` bytes, and the kernel is computed once for each pair
    of rows; both are less if the Gram matrix has a lower rank. Prediction computes the similarity
    to each supporting row.

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

    def _chosen(self, rows: Rows, label: Ints, weight: Floats) -> tuple[Ints, Floats]:
        # support_ and gamma="scale" count the rows as they are given.
        return np.arange(len(rows)), weight

    def _adopt(self, model: Model) -> None:
        # Not that of the linear classifier: there is no coef_.
        PositionTrainer._adopt(self, model)
        features = model.features
        assert isinstance(features, PositionFeatures)
        self.n_features_in_ = features.n_inputs
        self.intercept_ = np.zeros(len(model.labels))
        if features.intercept:
            self.intercept_ = model.layout.dense(model.weights, 0)[-1] * features.intercept

    def _scores(self, X: Any) -> Floats:
        support = _support(self._model)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        rows = Rows.from_scipy(X) if hasattr(X, "tocsr") else Rows.from_dense(X)
        return support.scores(rows) + self.intercept_


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class KernelTagger(KernelEstimator, SequenceTagger):
    """A linear-chain tagger with a kernel of tokens, trained to a certified optimum.

    The score of label k at a token x is ``sum_j beta_jk K(x_j, x)`` over tokens x_j of the training
    data; labels that follow each other have ordinary weights. The objective is that of
    :class:`SequenceTagger` in the feature space of the kernel. With ``loss="hinge"`` only some
    tokens support the model.

    For n tokens training takes up to ``32 n^2`` bytes, and the kernel is computed once for each
    pair of tokens; both are less if the Gram matrix has a lower rank. Prediction computes the
    similarity to each supporting token.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    support_ : ndarray of shape (n_support_,)
        The tokens that the model is made of, counted through the sequences of the training data.
    n_support_ : int
        Their number.
    dual_coef_ : ndarray of shape (n_classes, n_support_)
        Their coefficients beta.
    transitions_, triples_, start_, end_, certificate_, trace_, n_iter_, model_
        As in :class:`SequenceTagger`.

    Notes
    -----
    `fit` and `predict` take X as :class:`SequenceTagger` does, but for tokens with named features:
    a matrix for each sequence, or one of all tokens along with `lengths`, dense or sparse.
    """

    @property
    def coef_(self) -> Floats:
        """There is none; see ``dual_coef_``."""
        raise AttributeError("a kernel model has no coef_; see dual_coef_ and support_")
