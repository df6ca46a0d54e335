"""The trainer of segment taggers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError
from ...models.model import Model
from ...models.training_examples import check_weights
from ...values import is_integer
from ..prepared import Prepared
from .column_file import ColumnFile
from .partial_segments import PartialSegmentation, cut_items, find_partial, is_partial
from .segment_features import SegmentFeatures, SegmentTokens, features_of, scheme_of
from .segment_fit import prepare_segments
from .segment_functions import BUILT_IN, name_of
from .segment_tags import Segment, longest_segment
from .segmentations import held, read_segmentations, segment_tokens
from .sources import Sequences
from .tokens import Tokens
from .trainers import SequenceTrainer

if TYPE_CHECKING:
    from ..preparation import Preparation

__all__ = ["SegmentTrainer", "check_templates"]


@dataclass(eq=False, repr=False, kw_only=True)
class SegmentTrainer(SequenceTrainer):
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
    outside : str, int or None
        The label of tokens outside of all segments. Each of them is a segment of length 1. If None,
        segments cover all tokens.
    scheme : {"auto", "IOB1", "IOB2", "IOBES", "BILOU"}
        How tags encode segments, if y holds tags. "auto" chooses one of the last three by their
        letters.
    segment_features : None, "text" or callable
        Features of whole segments: "text" (the text in lower case, the first and the last word,
        the words before and after, the shape of every word) of tokens that are words or dicts
        with a key such as "w" or "word"; or a function ``(tokens, start, end)`` of the tokens of a
        sequence as they are in X that returns features as tokens have them, a dict or strings.
        Features that no segment of the training labels has are ignored. Model files hold no
        functions: see `from_model`.
    start, end : bool
        Whether the labels of the first and the last segment have weights of their own.
    constraints : callable, iterable of pairs or None
        Labels of segments (from, to) that must not follow each other, or a function that returns
        whether two may; see :func:`partwise.tasks.sequences.constraints.make_constraints`.
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
            "hashing": features.positions.n_hashed or None,
        }

    def _streamed(self, initial: Model | None) -> Preparation:
        from .streamed_segments import StreamedSegments

        known = None if initial is None else initial.features
        first = known.positions if isinstance(known, SegmentFeatures) else None
        return StreamedSegments(self, first)

    def _prepare(
        self, source: Sequences | ColumnFile, sample_weight: Any, initial: Model | None
    ) -> Prepared:
        known = None if initial is None else initial.features
        source = source.like(known.positions if isinstance(known, SegmentFeatures) else None)
        named, words = name_of(self.segment_features), None
        if named != "none":
            source = held(source)
        positions = source.tokens()
        check_templates(positions)
        if named != "none":
            words = segment_tokens(source, named in BUILT_IN)
        y = source.sentences() if isinstance(source, ColumnFile) else source.y
        gold, partial, scheme = self._segmentations(y, positions, source.place)
        if not len(positions):
            raise DataError(
                "there are no sequences to train on; give at least one with its segments"
            )
        positions.rows.check_finite("the features")
        most = None if self.max_length is None else int(self.max_length)
        longest = longest_segment(gold, most, source.place)
        if most is None:
            longest = max([longest, *(one.longest() for one in partial if one is not None)])
        found = prepare_segments(
            self,
            SegmentTokens(positions, words),
            gold,
            partial,
            most=longest,
            weight=check_weights(sample_weight, len(positions)),
            scheme=scheme,
        )
        return replace(found, meta={**(found.meta or {}), **source.meta})

    def _segmentations(
        self, y: Any, tokens: Tokens, place: Callable[[int, int], str]
    ) -> tuple[list[list[Segment]], list[PartialSegmentation | None], str | None]:
        """Read the segments of all sequences, what is known of others, and the scheme of tags.

        The segments of sequences that are known in part are those that are certain.
        """
        lengths, missing = tokens.lengths, self.missing_label
        items = cut_items(y, lengths) if isinstance(y, (list, tuple)) else y
        several = items if isinstance(items, list) and len(items) == len(lengths) else []
        which = [s for s, item in enumerate(several) if is_partial(item, missing)]
        if not which:
            gold, scheme = read_segmentations(
                items, lengths, tokens.stacked, self.outside, self.scheme, place
            )
            return gold, [None] * len(gold), scheme
        if self.loss != "log":
            raise DataError(
                f"sequence {which[0]} (counted from 0): some labels are missing or uncertain, and "
                f"the {self.loss} loss has no cost for a set of labels; use the log loss"
            )
        found, used = find_partial(several, lengths, self.outside, self.scheme, missing, place)
        known = [s for s, one in enumerate(found) if one is None]
        whole, scheme = read_segmentations(
            [several[s] for s in known],
            lengths[known],
            False,
            self.outside,
            used,
            lambda s, t: place(known[s], t),
        )
        of_whole = iter(whole)
        gold = [next(of_whole) if one is None else one.segments() for one in found]
        tags = any(isinstance(one, str) for item in several for one in item or ())
        return gold, found, used if tags else scheme


def check_templates(positions: Tokens) -> None:
    """Raise a DataError if pairs of neighbouring tokens have features."""
    if positions.transitions is not None or not positions.plain_transition:
        raise DataError(
            "segments have one weight per pair of neighbouring labels; the only template of "
            "pairs must be a line with just B"
        )
