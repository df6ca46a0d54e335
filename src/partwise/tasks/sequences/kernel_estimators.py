"""Classifiers and taggers with kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...arrays import Floats, Ints
from ...compiled.threads import thread_count
from ...errors import DataError
from ...memory import byte_count
from ...problem.rows import Rows
from ...training.settings import as_json
from ...values import is_number
from ..description import documented
from ..estimator import Estimator
from ..parameter_names import named_parameters
from ..prepared import Prepared
from .classifier import LinearClassifier
from .features import PositionFeatures
from .fit import class_factors
from .gram import factor_gram
from .kernel import make_kernel
from .partial_labels import NumberedLabels
from .support import Support
from .tagger import SequenceTagger
from .trainers import PositionTrainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure
    from .tokens import Tokens

__all__ = ["KernelClassifier", "KernelTagger"]


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(PositionTrainer, Estimator):
    """Base class of the estimators with kernels; not for direct use.

    A derived class also derives from the linear estimator of the same task.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"} or callable
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree`` or ``x.z``; or a function that
        takes two float64 arrays, of n and of m rows, and returns the (n, m) matrix of their
        similarities. It must be positive semidefinite. A model with your own function can be used
        and pickled, but not saved, because model files hold no code.
    gamma : float, "scale" or "auto"
        "scale" is ``1 / (n_features * X.var())``, "auto" ``1 / n_features``.
    degree : int
        The degree of "poly".
    coef0 : float
        The constant of "poly", at least 0.
    gram_tol : float
        The share of the trace of the Gram matrix that may be left out. The default only leaves out
        rounding errors; a larger value saves memory and time, and the certificate then holds for
        the approximated Gram matrix.
    memory_limit : float or str
        The memory that training may take for the Gram matrix, in MiB or as in "4GB"; None is 4096.
    """

    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0
    gram_tol: float = 1e-10
    memory_limit: float | str | None = 4096
    out_of_core: Any = field(default=None, init=False)
    hashing: int | None = field(default=None, init=False)
    l1: float = field(default=0.0, init=False)
    weights: str = field(default="all", init=False)
    min_count: int = field(default=1, init=False)

    def check(self) -> None:
        super().check()
        if not is_number(self.gram_tol) or not 0.0 <= self.gram_tol < 1.0:
            raise DataError(f"gram_tol is {self.gram_tol!r}; give a number from 0, below 1")

    @property
    def memory_bytes(self) -> int | None:
        # The limit is one of the Gram matrix, which is made before all else.
        return None

    def solver_arguments(self) -> dict[str, Any]:
        given = super().solver_arguments()
        # With nearness 0 the weights belong to the duals of the hinge loss, so that few positions
        # support the model.
        if self.loss == "hinge" and self.solver == "auto":
            return {"nearness": 0.0, **given}
        return given

    def noted(self) -> dict[str, Any]:
        return {**super().noted(), **as_json({"memory_limit": self.memory_limit})}

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
        numbered: NumberedLabels,
        weight: Floats,
        initial: Model | None,
    ) -> Prepared:
        from .kernel_fit import kernel_positions

        labels, gold, allowed = numbered
        if allowed is not None:
            raise DataError(
                "some labels are missing or uncertain; a kernel needs labels that are known: leave "
                "these examples out, or use the estimator without a kernel"
            )
        tokens.rows.check_finite("the features")
        factors = class_factors(self.class_weight, tokens.lengths, gold, weight, labels)
        kept = weight * factors > 0.0
        used = np.repeat(kept, tokens.lengths)
        if not used.any():
            raise DataError("there are no positions to train on; give some of at least two labels")
        inputs = tokens.rows.take(used)
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, inputs)
        limit = byte_count(4096 if self.memory_limit is None else self.memory_limit)
        factor = factor_gram(kernel, inputs, tol=float(self.gram_tol), max_bytes=limit)
        made, machine = kernel_positions(
            kernel, tokens, used, tokens.lengths[kept], factor, thread_count(self.n_jobs)
        )
        prepared = super()._positions(source, made, structure, numbered, weight, initial)
        first = None if initial is None else machine.begin(initial)
        return replace(prepared, finish=machine.finish, initial=first)

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


@documented
@named_parameters
@dataclass(eq=False, repr=False, kw_only=True)
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

    def _chosen(self, rows: Rows, label: Ints, weight: Floats) -> tuple[Ints, Floats]:
        # support_ and gamma="scale" refer to the rows as they are given.
        return np.arange(len(rows)), weight

    def _adopt(self, model: Model) -> None:
        # Not the method of the linear classifier, because there is no coef_.
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
@named_parameters
@dataclass(eq=False, repr=False, kw_only=True)
class KernelTagger(KernelEstimator, SequenceTagger):
    """A linear-chain tagger with a kernel of tokens, trained to a certified optimum.

    The score of label k at a token x is ``sum_j beta_jk K(x_j, x)`` over tokens x_j of the training
    data; transitions between labels have ordinary weights. The objective is the one of
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

    transition_weights: str | None = field(default=None, init=False)
    min_frequency: float | None = field(default=None, init=False)

    @property
    def coef_(self) -> Floats:
        """A kernel model has none; see ``dual_coef_``."""
        raise AttributeError("a kernel model has no coef_; see dual_coef_ and support_")
