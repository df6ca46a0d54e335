"""Taggers of sequences: conditional random fields and max-margin Markov networks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...formats.columns import Columns
from ...models.training_examples import check_weights
from ...models.vocabulary import Vocabulary
from ..cross_validation import PathEstimator
from ..estimator import Estimator, LabelList, has_probabilities
from ..spans import ProbableSpan
from .column_file import ColumnFile, check_file, default_templates
from .features import PositionFeatures
from .partial_labels import is_certain
from .sources import Sequences
from .template_file import DEFAULT, as_templates
from .trainers import TaggerTrainer

__all__ = ["SequenceEstimator", "SequenceTagger", "SequenceTaggerCV"]

_PARTS_OF_X: Final = {"lengths": True, "X_transitions": True}


class SequenceEstimator(Estimator):
    """Base class of the estimators whose examples are sequences of tokens; not for direct use."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    @property
    def n_features_in_(self) -> int:
        """The number of columns of the matrices that the tagger was fitted on."""
        features = self._token_features()
        if features.vocabulary is not None:
            raise AttributeError("the tagger was fitted on tokens with named features")
        return features.n_inputs

    @abstractmethod
    def _token_features(self) -> PositionFeatures:
        """Return how the model reads tokens; raise an AttributeError if there is no model."""


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
    n_features_in_ : int
        The number of columns of the matrices, if the tagger was fitted on matrices.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger(l2=0.1).fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> tagger.predict([[{"word": "the"}, {"word": "dog"}]])
    [['DET', 'NOUN']]
    >>> tagger.certificate_.converged
    True
    """

    _streamed = ("X", "y", "X_transitions")
    # They are a part of X, so that scikit-learn passes them on without being asked to.
    __metadata_request__fit: ClassVar = _PARTS_OF_X
    __metadata_request__predict: ClassVar = _PARTS_OF_X
    __metadata_request__score: ClassVar = _PARTS_OF_X

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
            - with `templates`, sequences of tokens that are columns: lists of strings, or strings;
            - what a reader of ``partwise.formats`` returns, without y: the features are then
              made as the command makes them.
            - with `out_of_core` also an iterator, which is read once and never held in memory: of
              sequences, or of pairs (sequence, labels) if there is no y.
        y : iterable of sequences of str or int
            The labels of each sequence; with `lengths` also one flat list of all labels. None is a
            label that is missing, and a set holds the labels that a token may have.
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
        self._train(*self._examples(X, y, sample_weight, lengths, X_transitions))
        return self

    def _given(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> tuple[Sequences | ColumnFile, Any]:
        check_file(X, y)
        if isinstance(X, Columns):
            # Without templates, a file gets the default ones.
            given = None if self.templates == DEFAULT else self.templates
            templates = None if given is None else as_templates(given)
            weight = X.weights if sample_weight is None else sample_weight
            return ColumnFile(replace(X, weights=None), templates=templates), weight
        found = Sequences.of(X, lengths, X_transitions, y)
        if self.templates is None:
            return found, sample_weight
        if lengths is not None or X_transitions is not None:
            raise DataError(
                "templates make the features of tokens and of transitions, so X must hold columns; "
                "leave out lengths and X_transitions, or templates"
            )
        if self.templates == DEFAULT:
            found = found.checked()
            return replace(found, templates=default_templates(found.X)), sample_weight
        return replace(found, templates=as_templates(self.templates)), sample_weight

    def _labels_in(self, X: Any) -> Any:
        if isinstance(X, Columns) and X.labels is not None:
            return X.split(X.labels)
        return super()._labels_in(X)

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
        if not getattr(model.features, "plain_transition", True):
            raise AttributeError("the tagger was fitted with templates without a line of just B")
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
        return self._token_features().vocabulary

    def _token_features(self) -> PositionFeatures:
        features = self._fitted().features
        assert isinstance(features, PositionFeatures)
        return features

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
        return LabelList(self._model.predict(X, k=k, fixed=fixed, n_jobs=self.n_jobs, **more))

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
    def predict_pair_marginals(
        self, X: Any, fixed: Any = None, lengths: Any = None, X_transitions: Any = None
    ) -> list[Floats]:
        """Compute the probability of every pair of neighbouring labels; not for the hinge loss.

        The parameters are those of `predict`.

        Returns
        -------
        list of ndarray of shape (length - 1, n_classes, n_classes)
            ``[t, a, b]`` is the probability that token t has the label ``classes_[a]`` and token
            t + 1 the label ``classes_[b]``.
        """
        from .tag_spans import pair_marginals

        more: Any = {"lengths": lengths, "X_transitions": X_transitions}
        return pair_marginals(self._model, X, fixed=fixed, **more)

    @available_if(has_probabilities)
    def predict_spans(
        self,
        X: Any,
        threshold: float | None = None,
        scheme: str = "conlleval",
        fixed: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> list[list[ProbableSpan]]:
        """Compute the probabilities of spans, such as names or chunks; not for the hinge loss.

        The probability of a span is the sum of the probabilities of all label sequences that have
        it, with just these tokens and this type. It is computed exactly.

        Parameters
        ----------
        X, fixed, lengths, X_transitions
            As in `predict`.
        threshold : float or None
            If it is not None, all spans whose probability is at least this; they may overlap, if it
            is not above 0.5. If None, the spans of the best label sequence.
        scheme : str
            How labels spell spans, see :func:`partwise.metrics.spans`.

        Returns
        -------
        list of lists of (start, end, label, probability)
            The spans of each sequence, as :class:`partwise.tasks.spans.ProbableSpan`: those that
            start first come first. Tokens count from 0, and `end` is the token after the last one.
        """
        from .tag_spans import span_probabilities

        return span_probabilities(
            self._model, X, threshold=threshold, scheme=scheme, fixed=fixed, lengths=lengths,
            X_transitions=X_transitions,
        )  # fmt: skip

    @available_if(has_probabilities)
    def log_proba(
        self, X: Any, y: Any = None, lengths: Any = None, X_transitions: Any = None
    ) -> Floats:
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
        return self._model.log_proba(
            X, labels=self._labels_in(X) if y is None else y, n_jobs=self.n_jobs, **more
        )

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> float:
        """Compute the fraction of tokens whose label is right, of those whose label is known.

        Parameters
        ----------
        X, y, lengths, X_transitions
            As in `fit`; what a reader of ``partwise.formats`` returns needs no y.
        sample_weight : array-like of shape (n_sequences,) or None
            The weights of the sequences.
        """
        model = self._model
        more: Any = {"lengths": lengths, "X_transitions": X_transitions}
        tokens = model.features.read(model.structure, X, **more)
        y = self._labels_in(X) if y is None else y
        gold = Sequences(None, y=y).labels(tokens, self.missing_label)
        known = np.array([is_certain(label) for label in gold], dtype=np.bool_)
        if not known.any():
            raise DataError("there are no tokens to score; give at least one with a label")
        found = [label for labels in model.predict(tokens, n_jobs=self.n_jobs) for label in labels]
        right = np.array([guess == label for guess, label in zip(found, gold, strict=True)])
        weight = check_weights(sample_weight, len(tokens))
        return float(np.average(right[known], weights=np.repeat(weight, tokens.lengths)[known]))

    def _constant(self, kind: str, missing: str) -> Floats:
        """Return the weights of the single feature of a kind of site."""
        model = self._fitted()
        kinds, counts = model.structure.kinds, model.layout.n_features
        if kind not in kinds or not counts[kinds.index(kind)]:
            raise AttributeError(f"the tagger was fitted with {missing}")
        return np.asarray(model.layout.dense(model.weights, kinds.index(kind))[0])


class SequenceTaggerCV(PathEstimator, SequenceTagger):
    """A linear-chain tagger that chooses l2 by cross-validation or by held-out data.

    It is fitted for a range of l2, from large to small, and each fit starts where the last one
    ended. `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.

    Examples
    --------
    >>> from partwise import SequenceTaggerCV
    >>> from partwise.datasets import tagged_text
    >>> text = tagged_text(20)
    >>> X, y = text.split(text.fields[0]), text.split(text.labels)
    >>> tagger = SequenceTaggerCV(l2_max=1.0, factor=0.1, steps=5, cv=2).fit(X, y)
    >>> tagger.l2_ in [row["l2"] for row in tagger.path_]
    True
    """
