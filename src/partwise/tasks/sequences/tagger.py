"""Taggers of sequences: conditional random fields and max-margin Markov networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...formats.columns import Columns
from ...models.fit import check_weights
from ...models.vocabulary import Vocabulary
from ..cross_validation import PathEstimator
from ..description import documented
from ..estimator import Estimator, has_probabilities
from .features import PositionFeatures
from .sources import ColumnFile, Sequences
from .trainers import TaggerTrainer

__all__ = ["SequenceEstimator", "SequenceTagger", "SequenceTaggerCV"]


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceEstimator(Estimator):
    """Base class of the estimators whose examples are sequences of tokens; not for direct use."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class SequenceTagger(TaggerTrainer, SequenceEstimator):
    """A linear-chain tagger, trained to a certified optimum.

    The objective is ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sequences i. Training stops
    when the relative duality gap is at most `tol`, and ``certificate_`` bounds how far the
    objective is above the optimum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_classes, n_features)
        The weights of features with labels.
    transitions_ : ndarray of shape (n_classes, n_classes)
        The weights of pairs of labels, from row to column.
    triples_ : ndarray of shape (n_classes, n_classes, n_classes)
        The weights of triples of labels, if the order is 2.
    start_, end_ : ndarray of shape (n_classes,)
        The weights of first and last labels, if the tagger has them.
    vocabulary_ : Vocabulary or None
        The names of the features; None if the tagger was fitted on matrices.
    """

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> SequenceTagger:
        """Fit the tagger.

        Parameters
        ----------
        X : iterable of sequences, or a matrix
            Features, in one of these forms:

            - sequences of tokens, where a token is a dict (``{"w": "the", "title": True}``), some
              strings, or one string; see :func:`partwise.models.vocabulary.fit_rows`;
            - matrices, dense or sparse, one per sequence, with one row per token;
            - one matrix, dense or sparse, of all tokens, with `lengths`;
            - what a reader of :mod:`partwise.formats` returns, without y: the features are then
              made as the command makes them.
        y : iterable of sequences of str or int
            The labels of each sequence; with `lengths` also one flat list of all labels.
        sample_weight : array-like of shape (n_sequences,) or None
            The weights c_i; None means 1 for each.
        lengths : array-like of int or None
            The number of tokens of each sequence, if X is one matrix.
        X_transitions : as X, or None
            Features of each pair of neighbouring tokens: ``len(sequence) - 1`` per sequence, where
            the first is for tokens 0 and 1. Transitions also keep a constant feature.

        Returns
        -------
        SequenceTagger
            The estimator itself.
        """
        self._train(*self._given(X, y, sample_weight, lengths, X_transitions))
        return self

    def _given(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> tuple[Sequences | ColumnFile, Any]:
        if isinstance(X, Columns):
            if X.labels is None or y is not None:
                raise DataError("a file that was read has labels of its own; read them, without y")
            return ColumnFile(X), X.weights if sample_weight is None else sample_weight
        return Sequences.of(X, lengths, X_transitions, y), sample_weight

    @property
    def coef_(self) -> Floats:
        """The weights of features with labels."""
        model = self._fitted()
        return np.asarray(model.layout.dense(model.weights, 0).T)

    @property
    def transitions_(self) -> Floats:
        """The weights of pairs of labels, from row to column."""
        model = self._fitted()
        n = len(model.labels)
        return np.asarray(model.layout.dense(model.weights, 1)[-1].reshape(n, n))

    @property
    def triples_(self) -> Floats:
        """The weights of triples of labels."""
        return self._constant("triple", "order=1").reshape([len(self._fitted().labels)] * 3)

    @property
    def start_(self) -> Floats:
        """The weights of first labels."""
        return self._constant("start", "start=False")

    @property
    def end_(self) -> Floats:
        """The weights of last labels."""
        return self._constant("end", "end=False")

    @property
    def vocabulary_(self) -> Vocabulary | None:
        """The names of the features; None if the tagger was fitted on matrices."""
        features = self._fitted().features
        assert isinstance(features, PositionFeatures)
        return features.vocabulary

    def predict(
        self,
        X: Any,
        k: int | None = None,
        fixed: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> list[Any]:
        """Predict the best label sequences, or the k best.

        Parameters
        ----------
        X, lengths, X_transitions
            As in `fit`. Features that were not seen in training are ignored.
        k : int or None
            How many label sequences to return per sequence.
        fixed : sequence or None
            What is known: for each sequence None; or a dict from positions to a label or a list of
            allowed labels; or a list with one item per token: a label, a list of allowed labels, or
            None if nothing is known.

        Returns
        -------
        list of lists
            The labels of each sequence; with k, for each sequence a list of pairs
            ``(labels, score)``, best first, shorter if there are fewer than k sequences.
        """
        more: Any = {"lengths": lengths, "X_transitions": X_transitions}
        return self._model.predict(X, k=k, fixed=fixed, n_jobs=self.n_jobs, **more)

    @available_if(has_probabilities)
    def predict_marginals(
        self, X: Any, lengths: Any = None, X_transitions: Any = None
    ) -> list[Floats]:
        """Compute the probability of every label at every token; not for the hinge loss.

        The most probable label of a token need not be the one in the most probable sequence.
        The parameters are those of `predict`.

        Returns
        -------
        list of ndarray of shape (length, n_classes)
        """
        more: Any = {"lengths": lengths, "X_transitions": X_transitions}
        return self._model.marginals(X, n_jobs=self.n_jobs, **more)

    @available_if(has_probabilities)
    def log_proba(self, X: Any, y: Any, lengths: Any = None, X_transitions: Any = None) -> Floats:
        """Compute the log-probability of given label sequences; not for the hinge loss.

        Parameters
        ----------
        X, y, lengths, X_transitions
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf where a label was not seen in training or the constraints forbid the sequence.
        """
        more: Any = {"lengths": lengths, "X_transitions": X_transitions}
        return self._model.log_proba(X, labels=y, n_jobs=self.n_jobs, **more)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> float:
        """Compute the fraction of tokens whose label is right.

        Parameters
        ----------
        X, y, lengths, X_transitions
            As in `fit`.
        sample_weight : array-like of shape (n_sequences,) or None
            The weights of the sequences.
        """
        model = self._model
        more: Any = {"lengths": lengths, "X_transitions": X_transitions}
        tokens = model.features.read(model.structure, X, **more)
        gold = Sequences(None, y=y).labels(tokens)
        if not gold:
            raise DataError("there are no tokens to score; give at least one")
        found = [label for labels in model.predict(tokens, n_jobs=self.n_jobs) for label in labels]
        right = [predicted == label for predicted, label in zip(found, gold, strict=True)]
        weight = check_weights(sample_weight, len(tokens))
        return float(np.average(right, weights=np.repeat(weight, tokens.lengths)))

    def _constant(self, kind: str, missing: str) -> Floats:
        """Return the weights of the single feature of a kind of site."""
        model = self._fitted()
        kinds, counts = model.structure.kinds, model.layout.n_features
        if kind not in kinds or not counts[kinds.index(kind)]:
            raise AttributeError(f"the tagger was fitted with {missing}")
        return np.asarray(model.layout.dense(model.weights, kinds.index(kind))[0])


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class SequenceTaggerCV(PathEstimator, SequenceTagger):
    """A linear-chain tagger that chooses l2 by cross-validation or by held-out data.

    It is fitted for a range of l2, from large to small, and each fit starts where the last one
    ended. `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.
    """
