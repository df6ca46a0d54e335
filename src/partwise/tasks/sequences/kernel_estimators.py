"""Classifiers and taggers with kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...arrays import Floats, Ints
from ...errors import DataError
from ...problem.rows import Rows
from ..estimator import Estimator
from ..kernels.support import Support
from ..kernels.trainer import KernelTrainer, kernel_parameters
from .classifier import LinearClassifier
from .features import PositionFeatures
from .tag_task import TagTask
from .tagger import SequenceTagger
from .trainers import PositionTrainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ..preparation import Preparation

__all__ = ["KernelClassifier", "KernelTagger"]


class KernelEstimator(KernelTrainer, PositionTrainer, Estimator):
    """Base class of the estimators with kernels; not for direct use.

    A derived class also derives from the linear estimator of the same task.
    """

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        return {**super()._held(model), **kernel_parameters(_support(model).kernel)}

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .kernel_fit import KernelPreparation, KernelTablePreparation

        kind = KernelTablePreparation if self.task == "classify" else KernelPreparation
        return kind(self, initial)

    @property
    def support_(self) -> Ints:
        """The numbers of the supporting positions in the training data."""
        return _support(self._fitted()).index

    @property
    def n_support_(self) -> int:
        """The number of supporting positions."""
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


class KernelClassifier(KernelEstimator, LinearClassifier):
    """A classifier with a kernel, trained to a certified optimum.

    The score of class k is ``sum_j beta_jk K(x_j, x)`` over rows x_j of the training data. The
    objective is the one of :class:`LinearClassifier` in the feature space of the kernel, with
    ``K(x, z)`` instead of ``x.z``. With ``loss="hinge"`` only some rows support the model.

    For n rows, training takes up to ``32 n^2`` bytes, and the kernel is computed once per pair of
    rows. Both are less if the Gram matrix has a lower rank. Prediction computes the similarity to
    each supporting row.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    support_ : ndarray of shape ``(n_support_,)``
        The rows of the training data that support the model.
    n_support_ : int
        Their number.
    dual_coef_ : ndarray of shape ``(n_classes, n_support_)``
        Their coefficients beta.
    intercept_ : ndarray of shape (n_classes,)
        The scores of the constant feature.
    certificate_, trace_, n_iter_, model_, n_features_in_, feature_names_in_
        As in :class:`LinearClassifier`.

    Examples
    --------
    >>> from partwise import KernelClassifier
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["a", "a", "b", "b"]
    >>> classifier = KernelClassifier(kernel="rbf", gamma=2.0, l2=0.1).fit(X, y)
    >>> classifier.predict([[0.1, 0.0], [0.9, 0.1]])
    array(['a', 'b'], dtype='<U1')
    """

    def _scores(self, X: Any) -> Floats:
        support = _support(self._model)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        rows = Rows.from_scipy(X) if hasattr(X, "tocsr") else Rows.from_dense(X)
        return support.scores(rows) + self.intercept_


class KernelTagger(KernelEstimator, SequenceTagger, without=TagTask.without_kernel):
    """A linear-chain tagger with a kernel of tokens, trained to a certified optimum.

    The score of label k at a token x is ``sum_j beta_jk K(x_j, x)`` over tokens x_j of the training
    data. Transitions between labels have ordinary weights, and if they have features
    (``X_transitions``, or templates of bigrams) also a kernel of these. The objective is the one of
    :class:`SequenceTagger` in the feature space of the kernel. With ``loss="hinge"`` only some
    tokens support the model.

    For n tokens, training takes up to ``32 n^2`` bytes, and the kernel is computed once per pair of
    tokens. Both are less if the Gram matrix has a lower rank. Prediction computes the similarity to
    each supporting token.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    support_ : ndarray of shape ``(n_support_,)``
        The tokens that support the model, numbered across the sequences of the training data.
        ``model_.features.transition_support`` has the same of transitions with features.
    n_support_ : int
        Their number.
    dual_coef_ : ndarray of shape ``(n_classes, n_support_)``
        Their coefficients beta.
    transitions_, triples_, start_, end_, certificate_, trace_, n_iter_, model_
        As in :class:`SequenceTagger`.

    Notes
    -----
    `fit` and `predict` take X as :class:`SequenceTagger` does. Named features are numbered; the
    kernel sees the numbers, and the model keeps the names.

    Examples
    --------
    >>> from partwise import KernelTagger
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> tagger = KernelTagger(kernel="poly", degree=2, l2=0.1).fit(X, y)
    >>> tagger.predict([["the", "cat"]])
    [['DET', 'NOUN']]
    """

    @property
    def coef_(self) -> Floats:
        """A kernel model has none; see ``dual_coef_``."""
        raise AttributeError("a kernel model has no coef_; see dual_coef_ and support_")
