"""The parameters of classifiers, taggers and segment taggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from ...errors import DataError
from ...formats.tag_schemes import SCHEME_ALIASES, SEGMENT_SCHEMES, TAG_SCHEMES
from ...parameters import HELD, Check, Count, Flag, OneOf, Positive
from ..parameters import FeatureParameters, TrainerParameters

__all__ = [
    "PRESETS",
    "ClassifierParameters",
    "PositionParameters",
    "SegmentParameters",
    "TaggerParameters",
]

#: The constraints that the command line offers.
PRESETS: Final = (*TAG_SCHEMES, *SCHEME_ALIASES)


class PositionParameters(FeatureParameters, TrainerParameters):
    """The parameters of trainers that label positions.

    Parameters
    ----------
    min_count : int
        Features that occur on fewer positions are ignored.
    class_weight : None, "balanced" or dict
        Weights of the labels. Labels that a dict does not name have weight 1. "balanced" is ``n /
        (K count_k)`` for label k, with K labels and n positions. A sequence is weighted by the mean
        over its positions.
    """

    class_weight: Annotated[
        Annotated[str, OneOf(("balanced",))] | Mapping[Any, Any] | None,
        Flag(
            "--class-weight",
            "weights of labels: balanced weighs rare ones up, LABEL=X,... sets those of some "
            "(others: 1)",
            "WEIGHTS",
            reads="weights of labels",
        ),
    ] = None


class ClassifierParameters(PositionParameters):
    """The parameters of classifiers.

    Parameters
    ----------
    l2 : float
        The regulariser: ``l2/2 |w|^2`` is added to the sum of the losses of all examples. With
        three classes or more it is 1/C of scikit-learn, and with two classes 2/C, because there is
        one weight vector per class; the intercept is regularised too.
    fit_intercept : bool
        Whether every class has a constant weight.
    intercept_scaling : float
        The value of the constant feature; the larger it is, the less the intercept is regularised.
    """

    fit_intercept: bool = True
    intercept_scaling: Positive = 1.0


class TaggerParameters(PositionParameters):
    """The parameters of taggers.

    Parameters
    ----------
    l2 : float
        The regulariser: ``l2/2 |w|^2`` is added to the sum of the losses of all sequences. It is
        2 c2 in CRFsuite and 1/c in CRF++.
    constraints : str, callable, iterable of pairs or None
        What no label sequence may contain: a scheme such as "BIO" or "IOBES", pairs of labels
        (from, to) that are forbidden, or a function that returns whether two labels may follow each
        other. See :func:`partwise.tasks.sequences.constraints.make_constraints`. They hold in
        training too.
    order : {1, 2}
        The number of preceding labels that a label depends on. Time grows with L^2 or L^3 for L
        labels.
    tied : bool
        Whether a sequence has one dual variable per pair of labels, or one per position and pair,
        as in the papers on exponentiated gradient. The objective, its optimum and the weights are
        the same. Untied chains take more memory, and solvers that need the marginals of every two
        neighbours, such as ``"sdca"``, can train them. Chains whose transitions have features of
        their own are never tied.
    start, end : bool
        Whether first and last labels have weights of their own.
    transition_weights : {"all", "observed"} or None
        Whether every pair of neighbouring labels has a weight, or only those seen in training. If
        None, as `weights` says.
    min_frequency : float or None
        If it is not None, a feature has a weight for a label only if the sum of its values, over
        the tokens of that label, is at least this; and a pair of labels, if it occurs that often.
        The sum is 0 for a label that the feature was not seen with. This is
        ``feature.minfreq`` in CRFsuite.
    templates : Templates, path, list of str, "default" or None
        How features are made from X, if its tokens are columns: lists of strings, or strings if
        there is one column. They are in the language of CRF++ or Wapiti, see
        :class:`partwise.Templates`; here also the path of a file of them, or a list of its lines.
        "default" makes the features that a column file gets. If None, tokens hold their features.
    """

    constraints: Annotated[
        Any,
        Flag(
            "--constraints",
            "never predict what breaks this scheme",
            words={name: name for name in PRESETS},
            default=None,
        ),
    ] = None
    order: Annotated[
        int,
        OneOf((1, 2)),
        Flag("--order", "labels before it that a label depends on (default: {default})"),
    ] = 1
    tied: Annotated[
        bool,
        Flag(
            "--untied",
            "dual variables for every position and pair of neighbouring labels, instead of "
            "one per pair: the same optimum, and solvers such as sdca can train it",
            sets=False,
        ),
    ] = True
    start: Annotated[bool, Flag("--start-end", "weights for first and last labels")] = False
    end: Annotated[bool, Flag("--start-end")] = False
    transition_weights: Annotated[
        Annotated[str, OneOf(("all", "observed"))] | None,
        Flag("--transition-weights", "for pairs of neighbouring labels, instead of --weights"),
    ] = None
    min_frequency: Annotated[
        float | None,
        Flag(
            "--min-frequency",
            "keep a weight if the values of its feature with its label add up to X; 0 for pairs "
            "that were not seen (default: no limit)",
            "X",
        ),
    ] = None
    # The features of the model hold the templates themselves, which may come from a file.
    templates: Annotated[Any, HELD] = None

    def check(self) -> None:
        super().check()
        if self.order == 2 and not self.tied:
            raise DataError(
                "a chain of order 2 is always tied; leave tied=False out, or use order 1"
            )


def _segment_features(given: Any) -> None:
    from .segment_functions import name_of

    name_of(given)


class SegmentParameters(PositionParameters):
    """The parameters of segment taggers.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a semi-Markov conditional random field. "hinge" is a max-margin model with a cost
        of 1 for each token in a segment of a wrong label. "softmax-margin" is a conditional random
        field with such a cost. The cost does not depend on where segments begin and end.
    weights : {"all", "observed"}
        Whether a feature has a weight for every label, or only for those that it was seen with in
        training; the same for transitions and lengths.
    min_count : int
        Features that occur on fewer tokens, or on fewer segments of the training labels, are
        ignored.
    max_length : int or None
        The maximum number of tokens of a segment. If None, the length of the longest segment in
        training. Time and memory grow with it.
    segment_features : None, "text" or callable
        Features of whole segments: "text" (the text in lower case, the first and the last word,
        the words before and after, the shape of every word) of tokens that are words or dicts
        with a key such as "w" or "word"; or a function ``(tokens, start, end)`` of the tokens of a
        sequence as they are in X that returns features as tokens have them, a dict or strings.
        Features that no segment of the training labels has are ignored. Model files hold no
        functions: see `from_model`.
    outside : str, int or None
        The label of tokens outside of all segments. Each of them is a segment of length 1. If None,
        segments cover all tokens.
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BILOU"}
        How tags encode segments, if y holds tags. "auto" chooses one of the last three by their
        letters.
    start, end : bool
        Whether the labels of the first and the last segment have weights of their own.
    constraints : callable, iterable of pairs or None
        Labels of segments (from, to) that must not follow each other, or a function that returns
        whether two may; see :func:`partwise.tasks.sequences.constraints.make_constraints`.
    """

    max_length: Annotated[
        Count | None,
        Flag(
            "--max-length", "tokens of a segment at most (default: as the longest in the file)", "N"
        ),
    ] = None
    segment_features: Annotated[
        Any,
        Check(_segment_features),
        Flag(
            "--segment-features",
            "features of whole segments: words, shape, what is before and after, and likewise of "
            "further columns (default: none)",
            words={"none": None, "text": "text"},
        ),
    ] = None
    outside: Any = "O"
    scheme: Annotated[
        str,
        OneOf(("auto", *SEGMENT_SCHEMES)),
        Flag(
            "--tags",
            "how tags spell segments (default: IOB2, IOBES or BILOU, by their letters)",
            words={name: name for name in SEGMENT_SCHEMES},
            aliases=SCHEME_ALIASES,
            default=None,
        ),
    ] = "auto"
    start: Annotated[
        bool, Flag("--start-end", "weights for the labels of first and last segments")
    ] = False
    end: Annotated[bool, Flag("--start-end")] = False
    constraints: Any = None
