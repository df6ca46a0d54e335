"""Segment taggers: semi-Markov conditional random fields and max-margin segmentations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...models.model import Model
from ...models.training_examples import check_weights
from ..cross_validation import PathEstimator
from ..estimator import LabelList, has_probabilities
from ..spans import ProbableSpan
from .partial_segments import cut_items, is_partial
from .segment_features import features_of, segment_spans
from .sources import Sequences
from .tagger import SequenceEstimator
from .trainers import SegmentTrainer

if TYPE_CHECKING:
    from typing_extensions import Self

    from .features import PositionFeatures

__all__ = ["SegmentTagger", "SegmentTaggerCV"]


class SegmentTagger(SegmentTrainer, SequenceEstimator):
    """A semi-Markov tagger, trained to a certified optimum.

    It splits sequences into labelled segments (names, phrases, words). It scores labels of tokens,
    labels of neighbouring segments, lengths and, if requested, features of whole segments. The
    objective is ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sequences i. Training stops when
    the relative duality gap is at most `tol`, and ``certificate_`` bounds how far the objective is
    above the optimum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels of segments, including `outside`, sorted.
    max_length_ : int
        The maximum number of tokens of a segment.

    Notes
    -----
    For each sequence, y holds either tags such as ``["B-NP", "I-NP", "O"]``, or segments such as
    ``[(0, 2, "NP")]``, with an exclusive end; tokens in no segment are outside. Predictions have
    the same form as the y of `fit`, without the segments of the label `outside`.

    Examples
    --------
    >>> from partwise import SegmentTagger
    >>> X = [["Ada", "Hill", "met", "Cole"], ["Cole", "left"]]
    >>> y = [[(0, 2, "PER"), (2, 3, "O"), (3, 4, "PER")], [(0, 1, "PER"), (1, 2, "O")]]
    >>> tagger = SegmentTagger(l2=0.1, max_length=2, outside="O").fit(X, y)
    >>> tagger.predict([["Ada", "Hill", "left"]])
    [[(0, 2, 'PER')]]
    """

    # They are a part of X, so that scikit-learn passes them on without being asked to.
    __metadata_request__fit: ClassVar = {"lengths": True}
    __metadata_request__predict: ClassVar = {"lengths": True}
    __metadata_request__score: ClassVar = {"lengths": True}

    @classmethod
    def from_model(cls, model: Model, segment_features: Any = None) -> Self:
        """Make a fitted tagger from a model, such as :func:`partwise.load_model` returns.

        The parameters are those that the model was trained with, as far as it stores them.

        Parameters
        ----------
        model : Model
            The model.
        segment_features : callable or None
            The function that the model was trained with, if there was one. The model of the tagger
            then holds it.
        """
        features = features_of(model)
        named = features.segment_features
        if (named == "function") != callable(segment_features):
            what = "leave segment_features out"
            if named == "function":
                what = "give the function that it was trained with: segment_features=..."
            raise DataError(f"the model has segment features of the kind {named!r}; {what}")
        return super().from_model(
            replace(model, features=replace(features, function=segment_features))
        )

    def _token_features(self) -> PositionFeatures:
        return features_of(self._fitted()).positions

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.max_length_: int = model.structure.constants()["max_length"]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, lengths: Any = None) -> Self:
        """Fit the tagger.

        Parameters
        ----------
        X, lengths
            As in :meth:`partwise.SequenceTagger.fit`: sequences of tokens, where a token is a dict,
            some strings or one string; or matrices; or one matrix with `lengths`. With
            `out_of_core` also an iterator, which is read once and never held in memory: of
            sequences, or of pairs (sequence, labels) if there is no y.
        y : iterable of sequences
            The tags or the segments of each sequence (see the notes of the class).
        sample_weight : array-like of shape (n_sequences,) or None
            The weights c_i; None means 1 for each.

        Returns
        -------
        SegmentTagger
            The estimator itself.
        """
        self._train(*self._examples(X, y, sample_weight, lengths))
        return self

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, lengths: Any = None
    ) -> tuple[Sequences, Any]:
        return Sequences.of(X, lengths, None, y), sample_weight

    def predict(
        self, X: Any, k: int | None = None, fixed: Any = None, lengths: Any = None
    ) -> list[Any]:
        """Predict the best segmentations, or the k best.

        Parameters
        ----------
        X, lengths
            As in `fit`. Features that were not seen in training are ignored.
        k : int or None
            How many segmentations to return per sequence.
        fixed : sequence or None
            What is known: for each sequence None, or a list of segments (start, end, label) that
            the result must contain.

        Returns
        -------
        list of lists
            The tags or the segments of each sequence; with k, for each sequence a list of pairs
            ``(tags or segments, score)``, best first, shorter if there are fewer than k.
        """
        found = self._model.predict(X, k=k, fixed=fixed, n_jobs=self.n_jobs, lengths=lengths)
        return LabelList(found)

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
            Whether to return the probabilities of segments instead of tokens.

        Returns
        -------
        list of ndarray of shape (length, n_classes), or ``(length, max_length_, n_classes)``
            ``[t, c]`` is the probability that token t is in a segment of label c. With `segments`,
            ``[t, d, c]`` is the probability that a segment of label c and d + 1 tokens begins at t.
        """
        model = self._model
        if not segments:
            return model.marginals(X, n_jobs=self.n_jobs, lengths=lengths)
        features = features_of(model)
        found: list[Floats] = []
        for inputs in model.inputs(X, lengths=lengths):
            counts = model.marginals(inputs.rows, inputs.shapes, n_jobs=self.n_jobs)
            pairs = zip(counts, inputs.examples, strict=True)
            found += [features.segment_table(model, mu, length) for mu, length in pairs]
        return found

    @available_if(has_probabilities)
    def predict_spans(
        self, X: Any, threshold: float | None = None, fixed: Any = None, lengths: Any = None
    ) -> list[list[ProbableSpan]]:
        """Compute the probabilities of segments; not for the hinge loss.

        Parameters
        ----------
        X, fixed, lengths
            As in `predict`.
        threshold : float or None
            If it is not None, all segments whose probability is at least this. If None, the
            segments of the best segmentation.

        Returns
        -------
        list of lists of (start, end, label, probability)
            The segments of each sequence without those of the label `outside`, as
            :class:`partwise.tasks.spans.ProbableSpan`, in order.
        """
        more: Any = {"lengths": lengths}
        return segment_spans(self._model, X, threshold, fixed, self.n_jobs, **more)

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
            -inf for segmentations that the tagger never predicts, with labels that were not seen in
            training or segments that are too long or forbidden by the constraints.
        """
        return self._model.log_proba(X, labels=y, n_jobs=self.n_jobs, lengths=lengths)

    def score(self, X: Any, y: Any, sample_weight: Any = None, lengths: Any = None) -> float:
        """Compute the F1 of segments: start, end and label must be right.

        Segments of the label `outside` do not count. The score is 0 if there are no others.
        Sequences with missing or uncertain labels are not counted.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.
        sample_weight : array-like of shape (n_sequences,) or None
            The weights of the sequences.
        """
        model = self._model
        features = features_of(model)
        tokens = features.read(model.structure, X, lengths=lengths)
        if not len(tokens):
            raise DataError("there are no sequences to score; give at least one")
        y = items = cut_items(y, tokens.lengths) if isinstance(y, (list, tuple)) else y
        listed = items if isinstance(items, list) else []
        partial = [is_partial(item, self.missing_label) for item in listed]
        if any(partial):
            kept = [s for s, open_ in enumerate(partial) if not open_]
            if not kept:
                raise DataError("no sequence has all its labels; give at least one to score")
            X = Sequences.of(X, lengths).take(kept).X
            weight = check_weights(sample_weight, len(partial))[kept]
            return self.score(X, [items[s] for s in kept], weight)
        gold = features.gold(model, y, tokens)
        weight = check_weights(sample_weight, len(tokens))
        found: list[Any] = []
        for inputs in model.inputs(tokens):
            found += model.predict(inputs.rows, inputs.shapes, n_jobs=self.n_jobs)
        outside = model.meta.get("outside")
        right = total = 0.0
        for c, wanted, label in zip(weight.tolist(), gold, found, strict=True):
            got, sought = (
                {segment for segment in segments if segment[2] != outside}
                for segments in (features.segments(model, label), wanted)
            )
            right += c * len(got & sought)
            total += c * (len(got) + len(sought))
        return 2.0 * right / total if total else 0.0


class SegmentTaggerCV(PathEstimator, SegmentTagger):
    """A semi-Markov tagger that chooses l2 by cross-validation or by held-out data.

    It is fitted for a range of l2, from large to small, and each fit starts where the last one
    ended. `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.

    Examples
    --------
    >>> from partwise import SegmentTaggerCV
    >>> from partwise.datasets import tagged_text
    >>> from partwise.metrics import spans
    >>> text = tagged_text(20)
    >>> X = text.split(text.fields[0])
    >>> y = [spans(one) for one in text.split(text.labels)]
    >>> tagger = SegmentTaggerCV(l2_max=1.0, factor=0.1, steps=5, cv=2).fit(X, y)
    >>> tagger.l2_ in [row["l2"] for row in tagger.path_]
    True
    """
