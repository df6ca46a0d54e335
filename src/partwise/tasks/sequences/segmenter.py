"""Segment taggers: semi-Markov conditional random fields and max-margin segmentations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.fit import check_weights
from ...models.model import Model
from ...models.tally import Tally, warn_unknown
from ...problem.rows import Rows
from ...values import is_integer
from ..estimator import SequenceEstimator, fingerprint, has_probabilities
from .examples import read_features, read_lengths, refuse_unreadable
from .segment_fit import fit_segmenter, number_segments, segment_labels
from .segment_functions import name_of, words_of
from .segment_labeller import SegmentLabeller
from .segment_tags import Segment
from .segmentations import read_fixed_segments, read_segmentations, read_tokens

__all__ = ["SegmentTagger"]


class SegmentTagger(SequenceEstimator):
    """A semi-Markov tagger, trained to a certified optimum.

    It cuts sequences into segments with a label each (names, phrases, words) and scores labels of
    tokens, labels of neighbouring segments, lengths and, where asked for, features of whole
    segments. The objective is ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sequences i.
    Training stops when the relative duality gap is at most `tol`, and ``certificate_`` tells how
    far the weights are at most from the best ones.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a semi-Markov conditional random field; "hinge" a max-margin model with a cost of
        1 for each token in a segment of a wrong label, "softmax-margin" a conditional random field
        with such a cost. The cost does not see where segments begin and end.
    l2 : float
        The regulariser.
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
        training; the same for transitions and lengths.
    min_count : int
        Features of fewer tokens, and features of fewer segments of the training labels, are
        ignored.
    max_length : int or None
        How many tokens a segment has at most; None: as many as the longest one in training. Time
        and memory grow with it.
    outside : str, int or None
        The label of tokens outside of all segments. Each of them is a segment of length 1. None:
        segments cover all tokens.
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BILOU"}
        How tags spell segments, if y holds tags; "auto": one of the last three, by their letters.
    segment_features : None, "text" or callable
        Features of whole segments: "text" (the text in lower case, the first and the last word,
        the words before and after, the shape of every word) of tokens that are words or dicts
        with a key such as "w" or "word"; or a function ``(tokens, start, end)`` of the tokens of a
        sequence as they are in X that gives features as tokens have them, a dict or strings.
        Features that no segment of the training labels has are ignored. Model files hold no
        functions: see `from_model`.
    start, end : bool
        Whether the labels of first and last segments have weights of their own.
    constraints : callable, iterable of pairs or None
        Labels of segments (from, to) that must not follow each other, or a function that tells
        whether two may; see :func:`partwise.tasks.sequences.constraints.make_constraints`.
    cost_matrix : array-like of shape (n_classes, n_classes) or None
        ``cost_matrix[true, predicted]`` in the order of ``classes_``, for the losses with a cost.
    class_weight : None, "balanced" or dict
        Weights of the labels; a sequence is weighted by the mean over its tokens.
    n_jobs, random_state, warm_start, verbose, callbacks, solver_options
        As in :class:`partwise.SequenceTagger`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels of segments, `outside` included, sorted.
    max_length_ : int
        How many tokens a segment has at most.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, an epoch a row.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`.

    Notes
    -----
    y holds for each sequence either tags such as ``["B-NP", "I-NP", "O"]``, or segments such as
    ``[(0, 2, "NP")]``, end exclusive; tokens in none of them are outside. Predictions have the form
    that the tagger was fitted with, without the segments of the label `outside`.
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
        max_length: int | None = None,
        outside: Any = "O",
        scheme: str = "auto",
        segment_features: Any = None,
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
        self.max_length = max_length
        self.outside = outside
        self.scheme = scheme
        self.segment_features = segment_features
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
    def from_model(cls, model: Model, segment_features: Any = None) -> SegmentTagger:
        """Make a fitted tagger from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.

        Parameters
        ----------
        model : Model
            The model.
        segment_features : callable or None
            The function that the model was trained with, if it was trained with one.
        """
        labeller = SegmentLabeller(model)
        structure, named = labeller.structure, labeller.encoder.segment_features
        if (named == "function") != callable(segment_features):
            what = "leave segment_features out"
            if named == "function":
                what = "give the function that it was trained with: segment_features=..."
            raise DataError(f"the model has segment features of the kind {named!r}; {what}")
        made = cls._fitted_by(
            model,
            max_length=structure.max_length,
            outside=labeller.outside,
            scheme=labeller.scheme or "auto",
            segment_features=None if named == "none" else named,
            start=structure.start,
            end=structure.end,
            constraints=model.constraints,
        )
        if segment_features is not None:
            made.segment_features = segment_features
        return made

    def fit(self, X: Any, y: Any, sample_weight: Any = None, lengths: Any = None) -> SegmentTagger:
        """Train.

        Parameters
        ----------
        X, lengths
            As in :meth:`partwise.SequenceTagger.fit`: sequences of tokens, a token being a dict,
            some strings or one string; or matrices; or one matrix along with `lengths`.
        y : iterable of sequences
            The tags or the segments of each sequence (see above).
        sample_weight : array-like of shape (n_sequences,) or None
            The weights c_i; None is 1 each.

        Returns
        -------
        SegmentTagger
            The estimator itself.
        """
        settings = self._settings(
            weights=self.weights,
            min_count=self.min_count,
            start=self.start,
            end=self.end,
            constraints=self.constraints,
        )
        longest = self.max_length
        if longest is not None and not (is_integer(longest) and longest >= 1):
            raise DataError(f"max_length is {longest!r}; give a whole number from 1, or None")
        name_of(self.segment_features)
        stacked = read_lengths(lengths)
        X, tokens = self._tokens(X, stacked)
        rows, counts, vocabulary = read_features(X, stacked, "X")
        gold, scheme = read_segmentations(y, counts, stacked is not None, self.outside, self.scheme)
        self._train(
            partial(
                fit_segmenter, rows, counts, gold, settings,
                max_length=None if longest is None else int(longest), outside=self.outside,
                scheme=scheme, segment_features=self.segment_features, tokens=tokens,
                vocabulary=vocabulary, sample_weight=sample_weight,
            ),
            partial(self._fingerprint, counts, gold, sample_weight),
        )  # fmt: skip
        return self

    def predict(
        self, X: Any, k: int | None = None, fixed: Any = None, lengths: Any = None
    ) -> list[Any]:
        """Predict the best segmentations, or the k best.

        Parameters
        ----------
        X, lengths
            As in `fit`. Features that were not seen in training are ignored.
        k : int or None
            How many segmentations to give for each sequence.
        fixed : sequence or None
            What is known: for each sequence None, or a list of segments (start, end, label) that
            must be there.

        Returns
        -------
        list of lists
            The tags or the segments of each sequence; with k, for each sequence a list of pairs
            ``(tags or segments, score)``, best first, shorter if there are fewer than k.
        """
        labeller, features, counts = self._read(X, lengths)
        model, spelled = labeller.model, labeller.spelled
        rules = read_fixed_segments(fixed, counts, model.label_index)
        more: dict[str, Any] = {"own_constraints": rules, "n_jobs": self.n_jobs}
        if k is None:
            return [spelled(one) for one in model.predict(features, counts, **more)]
        return [
            [(spelled(one), float(score)) for score, one in zip(*ranking, strict=True)]
            for ranking in model.k_best(features, counts, k, **more)
        ]

    @available_if(has_probabilities)
    def predict_marginals(
        self, X: Any, lengths: Any = None, segments: bool = False
    ) -> list[Floats]:
        """Compute the probability of every label at every token; not for the hinge loss.

        Parameters
        ----------
        X, lengths
            As in `fit`.
        segments : bool
            Whether to give the probabilities of segments in place of those of tokens.

        Returns
        -------
        list of ndarray of shape (length, n_classes), or (length, max_length_, n_classes)
            ``[t, c]`` is the probability that token t is in a segment of label c; of segments,
            ``[t, d, c]`` the probability that one of label c and d + 1 tokens begins at t.
        """
        labeller, features, counts = self._read(X, lengths)
        found = labeller.model.marginals(features, counts, n_jobs=self.n_jobs)
        table = labeller.segments if segments else labeller.positions
        return [table(mu, length) for mu, length in zip(found, counts.tolist(), strict=True)]

    @available_if(has_probabilities)
    def log_proba(self, X: Any, y: Any, lengths: Any = None) -> Floats:
        """Compute the log-probability of given segmentations; not for the hinge loss.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf for what the tagger never gives: labels that were not seen in training, segments
            that are too long, what the constraints forbid.
        """
        labeller, features, counts = self._read(X, lengths)
        model = labeller.model
        # The last is the length of segments whose label is unknown, number -1.
        most = np.array([*labeller.structure.label_lengths, -1])
        gold = self._gold(labeller, y, counts, lengths)
        numbered = [number_segments(segments, model.labels) for segments in gold]
        known = [y if (y[:, 1] - y[:, 0] <= most[y[:, 2]]).all() else None for y in numbered]
        return model.log_proba(features, counts, known, n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any, sample_weight: Any = None, lengths: Any = None) -> float:
        """Compute the F1 of segments: start, end and label must be right.

        Segments of the label `outside` do not count. It is 0 if there are no others.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.
        sample_weight : array-like of shape (n_sequences,) or None
            The weights of the sequences.
        """
        labeller, features, counts = self._read(X, lengths)
        gold = self._gold(labeller, y, counts, lengths)
        if not len(counts):
            raise DataError("there are no sequences to score; give at least one")
        weight = check_weights(sample_weight, len(counts))
        right = total = 0.0
        found = labeller.model.predict(features, counts, n_jobs=self.n_jobs)
        for c, wanted, one in zip(weight.tolist(), gold, found, strict=True):
            got = set(labeller.inside(labeller.named(one)))
            sought = set(labeller.inside(wanted))
            right += c * len(got & sought)
            total += c * (len(got) + len(sought))
        return 2.0 * right / total if total else 0.0

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.max_length_ = SegmentLabeller(model).structure.max_length

    def _fingerprint(self, counts: Ints, gold: list[list[Segment]], sample_weight: Any) -> str:
        labels = segment_labels(gold)
        what = (labels, self.max_length, self.outside, self.start, self.end, self.class_weight)
        numbered = [number_segments(segments, labels).ravel() for segments in gold]
        return fingerprint(what, counts, numbered, sample_weight)

    def _tokens(self, X: Any, stacked: Ints | None) -> tuple[Any, list[Any] | None]:
        """What features of segments are made of, if there are such."""
        if self.segment_features in (None, "none"):
            return X, None
        X, tokens = read_tokens(X, stacked)
        if not callable(self.segment_features):
            tokens = [words_of(sequence, s) for s, sequence in enumerate(tokens)]
        return X, tokens

    def _read(self, X: Any, lengths: Any) -> tuple[SegmentLabeller, list[Rows], Ints]:
        """Read what is to be predicted."""
        self._need_fit()
        labeller = SegmentLabeller(self.model_, self.segment_features)
        positions = labeller.encoder.positions
        stacked = read_lengths(lengths)
        X, tokens = self._tokens(X, stacked)
        wanted = positions.n_features if positions.vocabulary is None else None
        tally = Tally()
        rows, counts, _ = read_features(X, stacked, "X", positions.vocabulary, wanted, tally)
        refuse_unreadable(positions, tally)
        features = labeller.features(rows, counts, tokens)
        labeller.encoder.tally_segments(features[1], tally)
        warn_unknown(tally, stacklevel=3)
        return labeller, features, counts

    def _gold(
        self, labeller: SegmentLabeller, y: Any, counts: Ints, lengths: Any
    ) -> list[list[Segment]]:
        scheme, outside = labeller.scheme or self.scheme, labeller.outside
        return read_segmentations(y, counts, lengths is not None, outside, scheme)[0]
