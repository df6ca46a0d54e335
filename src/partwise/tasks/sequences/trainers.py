"""The trainers of classifiers, taggers and segment taggers, and their parameters.

Their parameters are part of the help of every command, which must load nothing large: so what they
work with is imported inside their methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from ...errors import DataError
from ...formats.tag_schemes import SCHEME_ALIASES, SEGMENT_SCHEMES, TAG_SCHEMES
from ...parameters import HELD, Check, Count, Flag, OneOf, Positive
from ..parameters import FeatureParameters
from ..trainer import Trainer

if TYPE_CHECKING:
    from ...models.model import Model
    from ...models.prepared import Prepared
    from ...problem.weight_rule import WeightRule
    from ...structures.base import Structure
    from ...structures.segments.structure import SemiMarkov
    from ...training.early_stopping import Watch
    from ...training.result import Fit
    from ..preparation import Preparation
    from .preparation import Form

__all__ = ["PRESETS", "ClassifierTrainer", "PositionTrainer", "SegmentTrainer", "TaggerTrainer"]

#: The constraints that the command line offers.
PRESETS: Final = (*TAG_SCHEMES, *SCHEME_ALIASES)
#: The number of preceding labels that a label depends on, for the structures of taggers. The
#: structures are given by name, so that unused ones are not compiled.
_ORDERS: Final = {"chain": 1, "second-order-chain": 2}


class PositionTrainer(FeatureParameters, Trainer):
    """Base class of the trainers that label positions; not for direct use.

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

    @property
    def _intercept(self) -> float:
        """The value of a constant feature of every position; 0 for none."""
        return 0.0

    def _structure(self, n_labels: int, form: Form) -> Structure:
        """Return the structure of positions with so many labels and these kinds of features."""
        raise NotImplementedError

    def _rule(self, structure: Structure) -> WeightRule | None:
        """Return which weights there are, if not as the parameter `weights` says."""
        return None

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .preparation import PositionPreparation

        return PositionPreparation(self, initial, whole)


class ClassifierTrainer(PositionTrainer):
    """Trains classifiers.

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

    task: ClassVar[str] = "classify"

    fit_intercept: bool = True
    intercept_scaling: Positive = 1.0

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        from .features import PositionFeatures

        features = model.features
        numbered = isinstance(features, PositionFeatures) and features.vocabulary is None
        if model.task != cls.task or not numbered:
            raise DataError("the model does not classify rows of numbers; use it as it is")
        assert isinstance(features, PositionFeatures)
        if features.support is not None and not hasattr(cls, "kernel"):
            raise DataError("the model has a kernel; use KernelClassifier.from_model")
        return {
            "fit_intercept": features.intercept != 0.0,
            "intercept_scaling": features.intercept or 1.0,
            "hashing": features.n_hashed or None,
        }

    def _train(
        self,
        source: Any,
        sample_weight: Any = None,
        initial: Model | None = None,
        watched: Callable[[int], Watch] | None = None,
    ) -> tuple[Prepared, Fit]:
        import numpy as np

        from ..stream import Stream
        from .partial_labels import holds_partial

        result = super()._train(source, sample_weight, initial, watched)
        if isinstance(source, Stream):
            return result
        certain = self.missing_label is None and not holds_partial(source.y)
        if isinstance(source.y, np.ndarray) and certain:
            # The labels as y has them, because a model only has plain values.
            self.classes_ = np.unique(source.y)
        return result

    @property
    def _intercept(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .preparation import TablePreparation

        return TablePreparation(self, initial, whole)

    def _structure(self, n_labels: int, form: Form) -> Structure:
        from ...structures.multiclass import Multiclass

        return Multiclass(n_labels)


class TaggerTrainer(PositionTrainer):
    """Trains taggers.

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

    task: ClassVar[str] = "tag"

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

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        from .template_file import Templates

        structure: Any = model.structure
        known = getattr(model.features, "templates", None)
        if model.task != cls.task or structure.name not in _ORDERS:
            raise DataError(
                f"a model of the task {model.task!r} and a {structure.name} does not tag; use "
                "LinearClassifier.from_model if it classifies, or the model as it is"
            )
        return {
            "order": _ORDERS[structure.name],
            "tied": getattr(structure, "tied", True)
            or getattr(model.features, "input_transitions", False),
            "start": structure.start,
            "end": structure.end,
            "constraints": model.constraints,
            "hashing": getattr(model.features, "n_hashed", 0) or None,
            "templates": known if isinstance(known, Templates) else None,
        }

    def _rule(self, structure: Structure) -> WeightRule:
        from ...problem.weight_rule import WeightRule

        # All but the first kind of site are transitions.
        transitions = self.transition_weights or self.weights
        chosen = {structure.kinds[0]: self.weights}
        chosen.update(dict.fromkeys(structure.kinds[1:], transitions))
        least = self.min_frequency
        return WeightRule(chosen, None if least is None else float(least))

    def _structure(self, n_labels: int, form: Form) -> Structure:
        # Each import loads compiled code.
        ends = {"start": bool(self.start), "end": bool(self.end)}
        if self.order == 1:
            from ...structures.chain.structure import Chain

            return Chain(n_labels, tied=self.tied and not form.transitions, **ends)
        if not form.plain_transition:
            raise DataError(
                "a chain of order 2 has weights of pairs of labels; add a line with just B to the "
                "templates, or use order 1"
            )
        if form.transitions:
            raise DataError(
                "a chain of order 2 has no features of transitions; leave them out, or use order 1"
            )
        from ...structures.second_order.structure import SecondOrderChain

        return SecondOrderChain(n_labels, **ends)


def _segment_features(given: Any) -> None:
    from .segment_functions import name_of

    name_of(given)


class SegmentTrainer(PositionTrainer):
    """Trains segment taggers.

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

    task: ClassVar[str] = "segment"

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

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        from .segment_features import features_of, scheme_of

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
            "hashing": features.positions.n_hashed or None,
        }

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        from .segment_preparation import SegmentPreparation

        return SegmentPreparation(self, initial, whole)

    def _structure_of(self, labels: Sequence[Any], most: int) -> SemiMarkov:
        """Return the structure of segments of up to `most` tokens."""
        from ...structures.segments.structure import SemiMarkov

        outside = self.outside
        return SemiMarkov(
            len(labels),
            most,
            [1 if outside is not None and label == outside else most for label in labels],
            start=bool(self.start),
            end=bool(self.end),
        )
