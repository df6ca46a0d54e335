"""Taggers with kernels: kernel conditional random fields and max-margin Markov networks."""

from __future__ import annotations

from typing import Any

from ...arrays import Floats
from ...models.model import Model
from ..estimator import chain_parameters
from .kernel_estimator import KernelEstimator, kernel_parameters
from .tagger import SequenceTagger

__all__ = ["KernelTagger"]


class KernelTagger(KernelEstimator, SequenceTagger):
    """A linear-chain tagger with a kernel of tokens, trained to a certified optimum.

    The score of label k at a token x is ``sum_j beta_jk K(x_j, x)`` over tokens x_j of the training
    data; labels that follow each other have ordinary weights. The objective is that of
    :class:`SequenceTagger` in the feature space of the kernel.

    For n tokens training takes up to ``32 n^2`` bytes, and the kernel is computed once for each
    pair of tokens; both are less if the Gram matrix has a lower rank. Prediction computes the
    similarity to each supporting token.

    Parameters
    ----------
    loss, l2, solver, tol, max_passes, order, start, end, constraints, cost_matrix, class_weight
        As in :class:`SequenceTagger`. With ``loss="hinge"`` only some tokens support the model.
    kernel, gamma, degree, coef0, gram_tol, memory_limit
        As in :class:`KernelClassifier`.
    n_jobs, random_state, warm_start, verbose, callbacks, solver_options
        As in :class:`SequenceTagger`.

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
        order: int = 1,
        start: bool = False,
        end: bool = False,
        constraints: Any = None,
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
            order=order,
            start=start,
            end=end,
            constraints=constraints,
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
    def from_model(cls, model: Model) -> KernelTagger:
        """Make a fitted tagger from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.
        """
        held = chain_parameters(model, "KernelClassifier")
        return cls._fitted_by(model, **held, **kernel_parameters(model))

    @property
    def coef_(self) -> Floats:
        """There are none: a kernel tagger has coefficients of tokens."""
        raise AttributeError("a tagger with a kernel has no coef_; see dual_coef_ and support_")
