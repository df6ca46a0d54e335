"""Taggers of sequences: conditional random fields and max-margin Markov networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.fit import check_weights
from ...models.model import Model
from ...problem.rows import Rows
from ..estimator import SequenceEstimator, chain_parameters, has_probabilities
from ..tally import Tally, warn_unknown
from ..vocabulary import Vocabulary
from .examples import (
    read_features,
    read_fixed,
    read_labels,
    read_lengths,
    read_transitions,
    refuse_unreadable,
)
from .labeller import PositionLabeller

__all__ = ["SequenceTagger"]


class SequenceTagger(SequenceEstimator):
    """A linear-chain tagger, trained to a certified optimum.

    The objective is ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sequences i. Training stops
    when the relative duality gap is at most `tol`, and ``certificate_`` tells how far the weights
    are at most from the best ones.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a conditional random field, "hinge" a max-margin Markov network (structural
        support vector machine) with a cost of 1 for each wrong label, "softmax-margin" a
        conditional random field with such a cost.
    l2 : float
        The regulariser. It is 2 c2 in CRFsuite and 1/c in CRF++.
    l1 : float
        Adds ``l1 |w|_1`` to the objective, which makes weights exactly 0.
    solver : str
        "auto", or the name of one; an unknown name is answered with the list.
    tol : float
        The relative duality gap to stop at.
    max_passes : float
        The number of passes over the data to stop at; a `ConvergenceWarning` then says how far
        the gap is from `tol`.
    weights : {"all", "observed"}
        Whether a feature has a weight for every label, or only for those that it was seen with in
        training; the same for transitions.
    min_count : int
        Features of fewer tokens are ignored.
    order : {1, 2}
        How many labels before it a label depends on. Time grows with L^2 or L^3 for L labels.
    start, end : bool
        Whether first and last labels have weights of their own.
    constraints : str, callable, iterable of pairs or None
        What no label sequence may hold: a scheme such as "BIO" or "IOBES", pairs of labels
        (from, to) that are forbidden, or a function that tells whether two labels may follow each
        other. See :func:`partwise.tasks.sequences.constraints.make_constraints`. They hold in
        training too.
    cost_matrix : array-like of shape (n_classes, n_classes) or None
        ``cost_matrix[true, predicted]`` in the order of ``classes_``, for the losses with a cost.
    class_weight : None, "balanced" or dict
        Weights of the labels; a sequence is weighted by the mean over its tokens.
    n_jobs : int or None
        Threads for training and prediction; -1 is one a core. They do not change the result.
    random_state : int, RandomState or None
        Draws the order of the sequences. The default, 0, makes every fit of the same data the
        same; None makes each one different.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual point if lengths and labels
        are the same, else from its weights. Features and labels may be new.
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
        The labels, sorted.
    coef_ : ndarray of shape (n_classes, n_features)
        The weights of features with labels.
    transitions_ : ndarray of shape (n_classes, n_classes)
        The weights of pairs of labels, from row to column.
    triples_ : ndarray of shape (n_classes, n_classes, n_classes)
        The weights of triples of labels, if the order is 2.
    start_, end_ : ndarray of shape (n_classes,)
        The weights of first and last labels, where asked for.
    vocabulary_ : Vocabulary or None
        The names of the features; None if the tagger was fitted on matrices.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, an epoch a row.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`.
    """

    def __init__(
        self,
        loss: str = "log",
        l2: float = 1.0,
        l1: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_passes: float = 1000,
        weights: str = "all",
        min_count: int = 1,
        order: int = 1,
        start: bool = False,
        end: bool = False,
        constraints: Any = None,
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
        self.weights = weights
        self.min_count = min_count
        self.order = order
        self.start = start
        self.end = end
        self.constraints = constraints
        self.cost_matrix = cost_matrix
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.solver_options = solver_options

    @classmethod
    def from_model(cls, model: Model) -> SequenceTagger:
        """Make a fitted tagger from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.
        """
        return cls._fitted_by(model, **chain_parameters(model, "LinearClassifier"))

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> SequenceTagger:
        """Train.

        Parameters
        ----------
        X : iterable of sequences, or a matrix
            Features, in one of these shapes:

            - sequences of tokens, a token being a dict (``{"w": "the", "title": True}``), some
              strings, or one string; see :func:`partwise.tasks.vocabulary.fit_rows`;
            - matrices, dense or sparse, one a sequence, with one row a token;
            - one matrix, dense or sparse, of all tokens, along with `lengths`.
        y : iterable of sequences of str or int
            The labels of each sequence; with `lengths` also all labels one after the other.
        sample_weight : array-like of shape (n_sequences,) or None
            The weights c_i; None is 1 each.
        lengths : array-like of int or None
            The number of tokens of each sequence, if X is one matrix.
        X_transitions : as X, or None
            Features for each pair of neighbouring tokens: ``len(sequence) - 1`` a sequence, the
            first being that of tokens 0 and 1. Transitions keep a constant feature besides.

        Returns
        -------
        SequenceTagger
            The estimator itself.
        """
        settings = self._settings(
            weights=self.weights,
            min_count=self.min_count,
            order=self.order,
            start=self.start,
            end=self.end,
            constraints=self.constraints,
        )
        stacked = read_lengths(lengths)
        rows, counts, vocabulary = read_features(X, stacked, "X")
        flat = read_labels(y, counts, stacked is not None)
        labels = sorted(set(flat))
        numbers = {label: number for number, label in enumerate(labels)}
        numbered = np.fromiter(map(numbers.__getitem__, flat), np.int64, len(flat))
        more: dict[str, Any] = {}
        if X_transitions is not None:
            more["transition_rows"], more["transition_vocabulary"] = read_transitions(
                X_transitions, counts, stacked is not None, None, None
            )
        self._train_positions(
            "tag",
            rows,
            counts,
            np.split(numbered, np.cumsum(counts)[:-1])[: len(counts)],
            labels,
            settings,
            sample_weight,
            vocabulary=vocabulary,
            **more,
        )
        return self

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
        return PositionLabeller(self._fitted()).encoder.vocabulary

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
            How many label sequences to give for each sequence.
        fixed : sequence or None
            What is known: for each sequence None, or a dict from positions to a label or a list
            of labels that are allowed there, or a list as long as the sequence of labels, lists
            of labels, and None where nothing is known.

        Returns
        -------
        list of lists
            The labels of each sequence; with k, for each sequence a list of pairs
            ``(labels, score)``, best first, shorter if there are fewer than k sequences.
        """
        labeller, rows, counts, transitions = self._read(X, lengths, X_transitions)
        names = labeller.model.labels
        allowed = read_fixed(fixed, counts, labeller.model.label_index)
        more: Any = {"transition_rows": transitions, "allowed": allowed, "n_jobs": self.n_jobs}

        def named(numbers: Ints) -> list[Any]:
            return [names[number] for number in numbers.tolist()]

        if k is None:
            return [named(labels) for labels in labeller.predict(rows, counts, **more)]
        return [
            [(named(labels), float(score)) for score, labels in zip(scores, ranking, strict=True)]
            for scores, ranking in labeller.k_best(rows, counts, k, **more)
        ]

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
        labeller, rows, counts, transitions = self._read(X, lengths, X_transitions)
        return labeller.marginals(rows, counts, transition_rows=transitions, n_jobs=self.n_jobs)

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
        labeller, rows, counts, transitions = self._read(X, lengths, X_transitions)
        numbers = labeller.model.numbers_of(read_labels(y, counts, lengths is not None))
        gold = np.split(numbers, np.cumsum(counts)[:-1])[: len(counts)]
        more: Any = {"transition_rows": transitions, "n_jobs": self.n_jobs}
        return labeller.log_proba(rows, counts, gold, **more)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        lengths: Any = None,
        X_transitions: Any = None,
    ) -> float:
        """Compute the share of tokens whose label is right.

        Parameters
        ----------
        X, y, lengths, X_transitions
            As in `fit`.
        sample_weight : array-like of shape (n_sequences,) or None
            The weights of the sequences.
        """
        labeller, rows, counts, transitions = self._read(X, lengths, X_transitions)
        flat = read_labels(y, counts, lengths is not None)
        if not flat:
            raise DataError("there are no tokens to score; give at least one")
        numbers = labeller.model.numbers_of(flat)
        found = labeller.predict(rows, counts, transition_rows=transitions, n_jobs=self.n_jobs)
        right = np.concatenate(found) == numbers
        weight = check_weights(sample_weight, len(counts))
        return float(np.average(right, weights=np.repeat(weight, counts)))

    def _constant(self, kind: str, missing: str) -> Floats:
        """The weights of the one feature of a kind of site."""
        model = self._fitted()
        kinds, counts = model.structure.kinds, model.layout.n_features
        if kind not in kinds or not counts[kinds.index(kind)]:
            raise AttributeError(f"the tagger was fitted with {missing}")
        return np.asarray(model.layout.dense(model.weights, kinds.index(kind))[0])

    def _read(
        self, X: Any, lengths: Any, X_transitions: Any
    ) -> tuple[PositionLabeller, Rows, Ints, Rows | None]:
        """Read what is to be predicted."""
        self._need_fit()
        labeller = PositionLabeller(self._fitted())
        encoder = labeller.encoder
        stacked = read_lengths(lengths)
        wanted = encoder.n_inputs if encoder.vocabulary is None else None
        tally = Tally()
        rows, counts, _ = read_features(X, stacked, "X", encoder.vocabulary, wanted, tally)
        refuse_unreadable(encoder, tally)
        if encoder.input_transitions and X_transitions is None:
            raise DataError("the tagger was fitted with X_transitions; give them here too")
        if X_transitions is None:
            warn_unknown(tally, stacklevel=3)
            return labeller, rows, counts, None
        if not encoder.input_transitions:
            raise DataError("the tagger was fitted without X_transitions; leave them out")
        names = encoder.transition_vocabulary
        wanted = encoder.n_transition_features if names is None else None
        transitions, _ = read_transitions(
            X_transitions, counts, stacked is not None, names, wanted, tally
        )
        warn_unknown(tally, stacklevel=3)
        return labeller, rows, counts, transitions
