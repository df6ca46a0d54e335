"""Preparation of sequences and their segments, for segment taggers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...models.grown_names import GrownNames
from ...models.hashed_names import HashedNames
from ...models.prepared import Prepared
from ...models.vocabulary import Vocabulary
from ...problem.batches import Batch
from ...problem.numbering import Numbering
from ..preparation import Preparation
from ..source import runs
from .constraints import make_constraints
from .features import PositionFeatures
from .grown_labels import ClassWeights
from .partial_segments import PartialSegmentation, cut_items, find_partial, is_partial
from .segment_features import SegmentFeatures, number_segments
from .segment_functions import BUILT_IN, function_of, name_of, seen_rows
from .segment_tags import Segment, guess_scheme, longest_segment
from .segmentations import held, read_segmentations, segment_tokens

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Constraints
    from ...structures.segments.structure import SemiMarkov
    from .tokens import Tokens
    from .trainers import SegmentTrainer

__all__ = ["SegmentPreparation"]

#: How many segments have their features in memory at a time.
_SEGMENTS: Final = 1 << 16


class _Found(NamedTuple):
    """What all sequences have in common, once all were looked at."""

    labels: list[Any]
    structure: SemiMarkov
    names: Vocabulary | None


class _Gold(NamedTuple):
    """The segments of some sequences; those that are certain if a sequence is known in part."""

    segments: list[list[Segment]]
    partial: Sequence[PartialSegmentation | None]

    def numbers(self, numbers: dict[Any, int]) -> list[Ints]:
        """Return the number of the label of every position of each sequence."""
        found = []
        for segments, one in zip(self.segments, self.partial, strict=True):
            y = number_segments(segments, numbers)
            found.append(
                np.repeat(y[:, 2], y[:, 1] - y[:, 0]) if one is None else one.numbers(numbers)
            )
        return found


class SegmentPreparation(Preparation):
    """Prepares sequences and their segments.

    The labels, the length of the longest segment and the features of segments are found before the
    first sequence is laid out; before that, the scheme of the tags if it has to be guessed.

    Parameters
    ----------
    how : SegmentTrainer
        The parameters. ``min_count`` counts positions, and gold segments for the features of
        segments. Class weights are weights of positions.
    initial : Model or None
        A model to start from.
    whole : bool
        Whether all sequences come at once.
    """

    none: ClassVar[str] = "there are no sequences to train on; give at least one with its segments"

    def __init__(self, how: SegmentTrainer, initial: Model | None, whole: bool) -> None:
        self.how, self.whole = how, whole
        known = None if initial is None else initial.features
        self.first = known.positions if isinstance(known, SegmentFeatures) else None
        self.looks = 0 if whole else 2 if how.scheme == "auto" else 1
        self.function = function_of(name_of(how.segment_features), how.segment_features)
        self.most = None if how.max_length is None else int(how.max_length)
        self.tags: set[str] = set()
        self.scheme: str | None = None
        self.numbers: dict[Any, int] = {}
        self.used: set[Any] = set()
        self.weights = ClassWeights(how.class_weight)
        self.longest = 1
        self.names = GrownNames(min_count=how.min_count, hashing=how.hashing, whole=whole)
        self.segment_names = GrownNames(min_count=how.min_count)
        self.form: tuple[bool, Any] | None = None
        self.n_inputs = 0
        self.meta: dict[str, Any] = {}

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        tokens = source.untouched()
        if turn < self.looks - 1:
            items = self._items(source, tokens.lengths)
            self.tags.update(tag for item in items for tag in item if isinstance(tag, str))
            return
        self._note(self._held(source), self._gold(source, tokens), tokens.lengths, weight)

    def _held(self, source: Any) -> Any:
        """Return sequences whose tokens can be read twice, if segments have features."""
        return source if self.function is None else held(source)

    def _note(self, source: Any, gold: _Gold, lengths: Ints, weight: Floats) -> None:
        """Note what the sequences add to that which all have in common."""
        found = [label for segments in gold.segments for _, _, label in segments]
        if self.whole:
            named = set().union(*(one.names() for one in gold.partial if one is not None))
            found = sorted({*found, *named})
        for label in found:
            self._add_label(label)
        self.longest = max(self.longest, longest_segment(gold.segments, self.most, source.place))
        if self.most is None:
            several = (one.longest() for one in gold.partial if one is not None)
            self.longest = max([self.longest, *several])
        if self.weights.balanced:
            self.weights.count(gold.numbers(self.numbers), weight, len(self.numbers))
        if self.whole or not self.weights.balanced:
            weight = self._weighed(gold, lengths, weight)
        which = np.flatnonzero(weight > 0.0).tolist()
        self.used.update(label for i in which for _, _, label in gold.segments[i])
        if self.function is not None and self.how.hashing is None:
            words = self._words(source)
            some = [words[i] for i in which], [gold.segments[i] for i in which]
            rows, names = seen_rows(self.function, *some)
            self.segment_names.add(rows, names, np.ones(len(rows), np.bool_))

    def _weighed(self, gold: _Gold, lengths: Ints, weight: Floats) -> Floats:
        """Return the weights of sequences times those of their labels."""
        if self.how.class_weight is None:
            return weight
        by_position = gold.numbers(self.numbers)
        return weight * self.weights.factors(by_position, lengths, self.numbers)

    def _items(self, source: Any, lengths: Ints) -> Any:
        """Return the labels of each sequence; some that are uncertain are refused in batches."""
        y = source.sentences() if hasattr(source, "by_name") else source.y
        items = cut_items(y, lengths) if isinstance(y, (list, tuple)) else y
        if not self.whole and isinstance(items, list):
            for s in self._uncertain(items):
                raise DataError(
                    "some labels are missing or uncertain, and "
                    "such labels need all examples in memory; leave out_of_core (--out-of-core) "
                    "out, or these sequences",
                    place=Place.nth("sequence", s),
                )
        return items

    def _uncertain(self, items: list[Any]) -> Iterator[int]:
        missing = self.how.missing_label
        return (s for s, item in enumerate(items) if is_partial(item, missing))

    def _gold(self, source: Any, tokens: Tokens) -> _Gold:
        """Read the segments of some sequences, and the scheme of their tags."""
        how, lengths, place = self.how, tokens.lengths, source.place
        items, scheme = self._items(source, lengths), how.scheme
        if scheme == "auto" and not self.whole:
            scheme = guess_scheme(self.tags - {how.outside})
        several = isinstance(items, list) and len(items) == len(lengths)
        which = list(self._uncertain(items)) if self.whole and several else []
        if not which:
            stacked = self.whole and tokens.stacked
            gold, used = read_segmentations(items, lengths, stacked, how.outside, scheme, place)
            self.scheme = used or self.scheme
            return _Gold(gold, [None] * len(gold))
        if how.loss != "log":
            raise DataError(
                f"some labels are missing or uncertain, and "
                f"the {how.loss} loss has no cost for a set of labels; use the log loss",
                place=Place.nth("sequence", which[0]),
            )
        partial, guessed = find_partial(
            items, lengths, how.outside, scheme, how.missing_label, place
        )  # fmt: skip
        known = [s for s, one in enumerate(partial) if one is None]
        whole, used = read_segmentations(
            [items[s] for s in known],
            lengths[known],
            False,
            how.outside,
            guessed,
            lambda s, t: place(known[s], t),
        )
        of_whole = iter(whole)
        gold = [next(of_whole) if one is None else one.segments() for one in partial]
        tags = any(isinstance(one, str) for item in items for one in item or ())
        self.scheme = guessed if tags else used
        return _Gold(gold, partial)

    def _add_label(self, label: Any) -> None:
        if label not in self.numbers:
            first = next(iter(self.numbers), label)
            if type(label) is not type(first):
                raise DataError(
                    f"the label {label!r} is of type {type(label).__name__} where {first!r} is of "
                    f"type {type(first).__name__}; use one type for all labels"
                )
            self.numbers[label] = len(self.numbers)

    def _words(self, source: Any) -> list[Any]:
        return segment_tokens(source, name_of(self.how.segment_features) in BUILT_IN)

    @cached_property
    def _found(self) -> _Found:
        """What all sequences have in common, once all were looked at."""
        labels = sorted(self.numbers)
        used = [label for label in labels if label in self.used]
        if len(used) < 2 and self.longest == 1:
            what = f"one label only, {used[0]!r}, " if used else "no segments"
            raise DataError(
                f"the sequences with a positive weight have {what}and no segment is longer "
                "than 1; training needs two labels, or segments of several lengths"
            )
        names: Vocabulary | None = None
        if self.function is not None and self.how.hashing is not None:
            names = HashedNames(self.how.hashing)
        elif self.function is not None:
            names, _ = self.segment_names.finish()
        self.weights.check(self.numbers)
        return _Found(labels, self.how._structure_of(labels, self.longest), names)

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        source = self._held(source.like(self.first))
        tokens = source.tokens()
        if tokens.transitions is not None or not tokens.plain_transition:
            raise DataError(
                "segments have one weight per pair of neighbouring labels; the only template of "
                "pairs must be a line with just B"
            )
        words = None if self.function is None else self._words(source)
        lengths = tokens.lengths
        gold = self._gold(source, tokens)
        tokens.rows.check_finite("the features")
        if self.whole:
            self._note(source, gold, lengths, weight)
        labels, structure, _ = self._found
        numbers = {label: number for number, label in enumerate(labels)}
        weight = self._weighed(gold, lengths, weight)
        used = weight > 0.0
        rows = self.names.add(tokens.rows, tokens.vocabulary, np.repeat(used, lengths))
        self.form = tokens.vocabulary is not None, tokens.templates
        self.n_inputs, self.meta = max(tokens.n_inputs, self.n_inputs), source.meta
        features = self._features(None)
        which = np.flatnonzero(used)
        begins = np.concatenate([[0], np.cumsum(lengths[which])])
        step = None if self.whole else _SEGMENTS
        for first, last in runs(lengths[which] * self.longest, step):
            some = which[first:last].tolist()
            made = features.rows_of_sites(
                structure,
                rows.take(slice(int(begins[first]), int(begins[last]))),
                lengths[some],
                None if words is None else [words[i] for i in some],
            )
            chosen = [number_segments(gold.segments[i], numbers) for i in some]
            partial = [gold.partial[i] for i in some]
            allowed: list[Constraints | None] | None = None
            if any(one is not None for one in partial):
                allowed = [None if one is None else one.constraints(numbers) for one in partial]
            yield Batch(lengths[some], made, chosen, weight[some], allowed=allowed)

    def _features(self, vocabulary: Vocabulary | None) -> SegmentFeatures:
        """Return how a model reads sequences, with these names of the features of positions."""
        how = self.how
        assert self.form is not None
        named, templates = self.form
        # Without templates, the inputs are the features themselves.
        n_inputs = self.names.n_features if named and templates is None else self.n_inputs
        return SegmentFeatures(
            PositionFeatures(n_inputs, vocabulary, templates, n_hashed=how.hashing or 0),
            name_of(how.segment_features),
            self._found.names,
            # If all segments have length 1, a weight of the length would only repeat one of the
            # label.
            lengths=self.longest > 1,
            function=how.segment_features if callable(how.segment_features) else None,
        )

    def finish(self) -> Prepared:
        labels, structure, _ = self._found
        vocabulary, kept = self.names.finish()
        features = self._features(vocabulary)
        counts = list(features.feature_counts(structure))
        counts[0] = self.names.n_in_batches
        given = self.how.constraints
        if isinstance(given, str):
            raise DataError(
                f"constraints={given!r} names a scheme of tags, which segments always keep to; "
                "give pairs of segment labels that must not follow each other, or a function of "
                "two labels"
            )
        return Prepared(
            structure,
            features,
            labels,
            make_constraints(given, labels),
            numbering=Numbering(counts, [kept, *[None] * (len(counts) - 1)]),
            meta={"scheme": self.scheme, "outside": self.how.outside, **self.meta},
        )
