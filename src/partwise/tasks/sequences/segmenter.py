"""Segment taggers: semi-Markov conditional random fields and max-margin segmentations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...models.fit import check_weights
from ...models.model import Model
from ...values import is_integer
from ..cross_validation import PathEstimator
from ..description import documented
from ..estimator import Prepared, has_probabilities
from .segment_features import SegmentFeatures, SegmentTokens, features_of, scheme_of
from .segment_fit import prepare_segments
from .segment_functions import BUILT_IN, name_of
from .segment_tags import longest_segment
from .segmentations import held, read_segmentations, segment_tokens
from .sources import ColumnFile, Sequences
from .tagger import SequenceEstimator

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SegmentTagger", "SegmentTaggerCV"]


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class SegmentTagger(SequenceEstimator):
    """A semi-Markov tagger, trained to a certified optimum.

    It cuts sequences into labelled segments (names, phrases, words). It scores labels of tokens,
    labels of neighbouring segments, lengths and, where asked for, features of whole segments. The
    objective is ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sequences i. Training stops when
    the relative duality gap is at most `tol`, and ``certificate_`` holds how far the weights are
    at most from the best ones.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a semi-Markov conditional random field; "hinge" a max-margin model with a cost of
        1 for each token in a segment of a wrong label, "softmax-margin" a conditional random field
        with such a cost. The cost does not depend on where segments begin and end.
    weights : {"all", "observed"}
        Whether a feature has a weight for every label, or only for those that it was seen with in
        training; the same for transitions and lengths.
    min_count : int
        Features of fewer tokens, and features of fewer segments of the training labels, are
        ignored.
    max_length : int or None
        The largest number of tokens of a segment; None: that of the longest one in training. Time
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
        sequence as they are in X that returns features as tokens have them, a dict or strings.
        Features that no segment of the training labels has are ignored. Model files hold no
        functions: see `from_model`.
    start, end : bool
        Whether the labels of first and last segments have weights of their own.
    constraints : callable, iterable of pairs or None
        Labels of segments (from, to) that must not follow each other, or a function that returns
        whether two may; see :func:`partwise.tasks.sequences.constraints.make_constraints`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels of segments, `outside` included, sorted.
    max_length_ : int
        The largest number of tokens of a segment.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, one row per epoch.
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

    max_length: int | None = None
    outside: Any = "O"
    scheme: str = "auto"
    segment_features: Any = None
    constraints: Any = None

    task: ClassVar[str] = "segment"

    def check(self) -> None:
        super().check()
        longest = self.max_length
        if longest is not None and not (is_integer(longest) and longest >= 1):
            raise DataError(f"max_length is {longest!r}; give a whole number from 1, or None")
        name_of(self.segment_features)

    @classmethod
    def from_model(cls, model: Model, segment_features: Any = None) -> Self:
        """Make a fitted tagger from a model, such as :func:`partwise.load_model` returns.

        The parameters are those that the model was trained with, as far as it knows them.

        Parameters
        ----------
        model : Model
            The model.
        segment_features : callable or None
            The function that the model was trained with, if it was trained with one. The model of
            the tagger then has it.
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

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        features, structure = features_of(model), model.structure
        named: Any = features.segment_features
        return {
            "max_length": structure.constants()["max_length"],
            "outside": model.meta.get("outside"),
            "scheme": scheme_of(model) or "auto",
            "segment_features": features.function or (None if named == "none" else named),
            "start": structure.constants()["start"],
            "end": structure.constants()["end"],
            "constraints": model.constraints,
        }

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.max_length_: int = model.structure.constants()["max_length"]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, lengths: Any = None) -> Self:
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
        self._train(*self._given(X, y, sample_weight, lengths))
        return self

    def _given(
        self, X: Any, y: Any, sample_weight: Any = None, lengths: Any = None
    ) -> tuple[Sequences, Any]:
        return Sequences.of(X, lengths, None, y), sample_weight

    def _prepare(
        self, source: Sequences | ColumnFile, sample_weight: Any, initial: Model | None
    ) -> Prepared:
        known = None if initial is None else initial.features
        source = source.like(known.positions if isinstance(known, SegmentFeatures) else None)
        named, words = name_of(self.segment_features), None
        if named != "none":
            source = held(source)
        positions = source.tokens()
        if named != "none":
            words = segment_tokens(source, named in BUILT_IN)
        y = source.sentences() if isinstance(source, ColumnFile) else source.y
        gold, scheme = read_segmentations(
            y, positions.lengths, positions.stacked, self.outside, self.scheme, source.place
        )
        if not len(positions):
            raise DataError(
                "there are no sequences to train on; give at least one with its segments"
            )
        positions.rows.check_finite("the features")
        most = None if self.max_length is None else int(self.max_length)
        return prepare_segments(
            self,
            SegmentTokens(positions, words),
            gold,
            most=longest_segment(gold, most, source.place),
            weight=check_weights(sample_weight, len(positions)),
            scheme=scheme,
        )

    def predict(
        self, X: Any, k: int | None = None, fixed: Any = None, lengths: Any = None
    ) -> list[Any]:
        """Predict the best segmentations, or the k best.

        Parameters
        ----------
        X, lengths
            As in `fit`. Features that were not seen in training are ignored.
        k : int or None
            How many segmentations to return for each sequence.
        fixed : sequence or None
            What is known: for each sequence None, or a list of segments (start, end, label) that
            must be there.

        Returns
        -------
        list of lists
            The tags or the segments of each sequence; with k, for each sequence a list of pairs
            ``(tags or segments, score)``, best first, shorter if there are fewer than k.
        """
        return self._model.predict(X, k=k, fixed=fixed, n_jobs=self.n_jobs, lengths=lengths)

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
            Whether to return the probabilities of segments in place of those of tokens.

        Returns
        -------
        list of ndarray of shape (length, n_classes), or (length, max_length_, n_classes)
            ``[t, c]`` is the probability that token t is in a segment of label c; of segments,
            ``[t, d, c]`` the probability that one of label c and d + 1 tokens begins at t.
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
    def log_proba(self, X: Any, y: Any, lengths: Any = None) -> Floats:
        """Compute the log-probability of given segmentations; not for the hinge loss.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf for what the tagger never predicts: labels that were not seen in training,
            segments that are too long, what the constraints forbid.
        """
        return self._model.log_proba(X, labels=y, n_jobs=self.n_jobs, lengths=lengths)

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
        model = self._model
        features = features_of(model)
        tokens = features.read(model.structure, X, lengths=lengths)
        gold = features.gold(model, y, tokens)
        if not len(tokens):
            raise DataError("there are no sequences to score; give at least one")
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


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class SegmentTaggerCV(PathEstimator, SegmentTagger):
    """A semi-Markov tagger that chooses l2 by cross-validation or by data held out.

    It is fitted for a range of l2, from large to small, each time from where the last fit ended.
    `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.
    """

    @classmethod
    def from_model(cls, model: Model, segment_features: Any = None) -> Any:
        """Make a fitted `SegmentTagger` from a model; one with a given l2, since l2 is now known.

        Parameters are those of `SegmentTagger.from_model`.
        """
        return SegmentTagger.from_model(model, segment_features)
