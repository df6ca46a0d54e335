"""Preparation of sequences and their segments that are read a batch at a time, several times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...models.grown_names import GrownNames
from ...models.hashed_names import HashedNames
from ...models.vocabulary import Vocabulary
from ...problem.batches import Batch
from ..preparation import Outline, Preparation
from .features import PositionFeatures
from .fit import balanced_weights, count_classes, mean_weights, named_weights
from .partial_segments import cut_items, is_partial
from .segment_features import SegmentFeatures, number_segments
from .segment_fit import check_choice, segment_constraints, segment_features, segment_structure
from .segment_functions import BUILT_IN, function_of, name_of, seen_rows
from .segment_tags import Segment, guess_scheme, longest_segment
from .segment_trainer import check_templates
from .segmentations import held, read_segmentations, segment_tokens

if TYPE_CHECKING:
    from ...structures.segments.structure import SemiMarkov
    from .segment_trainer import SegmentTrainer
    from .tokens import Tokens

__all__ = ["StreamedSegments"]

#: How many segments have their features in memory at a time.
_SEGMENTS: Final = 1 << 16


class _Found(NamedTuple):
    """What all sequences have in common, once all were looked at."""

    labels: list[Any]
    structure: SemiMarkov
    names: Vocabulary | None
    by_label: Floats | None


class StreamedSegments(Preparation):
    """Prepares sequences and their segments.

    The labels, the length of the longest segment and the features of segments are found before the
    first sequence is laid out; before that, the scheme of the tags if it has to be guessed.

    Parameters
    ----------
    how : SegmentTrainer
        The parameters.
    first : PositionFeatures or None
        The features of positions of a model to start from.
    """

    def __init__(self, how: SegmentTrainer, first: PositionFeatures | None) -> None:
        self.how, self.first = how, first
        self.looks = 2 if how.scheme == "auto" else 1
        self.function = function_of(name_of(how.segment_features), how.segment_features)
        self.tags: set[str] = set()
        self.scheme: str | None = None
        self.numbers: dict[Any, int] = {}
        self.used: set[Any] = set()
        self.counts = np.zeros(0)
        self.longest = 1
        self.names = GrownNames(min_count=how.min_count, hashing=how.hashing)
        self.segment_names = GrownNames(min_count=how.min_count)
        self.tokens: Tokens | None = None
        self.meta: dict[str, Any] = {}
        self._made: _Found | None = None

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        lengths = source.untouched().lengths
        if turn < self.looks - 1:
            items = self._items(source, lengths)
            self.tags.update(tag for item in items for tag in item if isinstance(tag, str))
            return
        source = source if self.function is None else held(source)
        gold = self._gold(source, lengths)
        for segments in gold:
            for _, _, label in segments:
                self._add_label(label)
        most = None if self.how.max_length is None else int(self.how.max_length)
        self.longest = max(self.longest, longest_segment(gold, most, source.place))
        by_position = self._by_position(gold, self.numbers)
        if isinstance(self.how.class_weight, str):
            more = len(self.numbers) - len(self.counts)
            self.counts = np.append(self.counts, np.zeros(more))
            count_classes(self.counts, by_position, weight)
        elif self.how.class_weight is not None:
            known = {k: c for k, c in self.how.class_weight.items() if k in self.numbers}
            by_label = named_weights(known, list(self.numbers))
            weight = weight * mean_weights(by_label, lengths, by_position)
        which = np.flatnonzero(weight > 0.0).tolist()
        self.used.update(label for i in which for _, _, label in gold[i])
        if self.function is not None and self.how.hashing is None:
            words = self._words(source)
            some = [words[i] for i in which], [gold[i] for i in which]
            rows, names = seen_rows(self.function, *some)
            self.segment_names.add(rows, names, np.ones(len(rows), np.bool_))

    def _items(self, source: Any, lengths: Ints) -> list[Any]:
        y = source.sentences() if hasattr(source, "sentences") else source.y
        items = cut_items(y, lengths) if isinstance(y, (list, tuple)) else y
        for s, item in enumerate(items if isinstance(items, list) else ()):
            if is_partial(item, self.how.missing_label):
                raise DataError(
                    "some labels are missing or uncertain, and "
                    "such labels need all examples in memory; leave out_of_core (--out-of-core) "
                    "out, or these sequences",
                    place=Place.nth("sequence", s),
                )
        return items

    def _gold(self, source: Any, lengths: Ints) -> list[list[Segment]]:
        how = self.how
        scheme = how.scheme
        if scheme == "auto":
            scheme = guess_scheme(self.tags - {how.outside})
        items = self._items(source, lengths)
        found, used = read_segmentations(items, lengths, False, how.outside, scheme, source.place)
        self.scheme = used or self.scheme
        return found

    def _add_label(self, label: Any) -> None:
        if label not in self.numbers:
            first = next(iter(self.numbers), label)
            if type(label) is not type(first):
                raise DataError(
                    f"the label {label!r} is of type {type(label).__name__} where {first!r} is of "
                    f"type {type(first).__name__}; use one type for all labels"
                )
            self.numbers[label] = len(self.numbers)

    def _by_position(self, gold: list[list[Segment]], numbers: dict[Any, int]) -> list[Ints]:
        several = (number_segments(segments, numbers) for segments in gold)
        return [np.repeat(y[:, 2], y[:, 1] - y[:, 0]) for y in several]

    def _words(self, source: Any) -> list[Any]:
        return segment_tokens(source, name_of(self.how.segment_features) in BUILT_IN)

    def _found(self) -> _Found:
        """Return what all sequences have in common, once all were looked at."""
        if self._made is None:
            labels = sorted(self.numbers)
            check_choice([label for label in labels if label in self.used], self.longest)
            names: Vocabulary | None = None
            if self.function is not None and self.how.hashing is not None:
                names = HashedNames(self.how.hashing)
            elif self.function is not None:
                names, _ = self.segment_names.finish()
            by_label = None
            if isinstance(self.how.class_weight, str):
                by_label = balanced_weights(self.counts)[[self.numbers[k] for k in labels]]
            elif self.how.class_weight is not None:
                by_label = named_weights(self.how.class_weight, labels)
            structure = segment_structure(self.how, labels, self.longest)
            self._made = _Found(labels, structure, names, by_label)
        return self._made

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        labels, structure, _, by_label = self._found()
        numbers = {label: number for number, label in enumerate(labels)}
        source = source.like(self.first)
        source = source if self.function is None else held(source)
        tokens = source.tokens()
        check_templates(tokens)
        tokens.rows.check_finite("the features")
        lengths = tokens.lengths
        gold = self._gold(source, lengths)
        if by_label is not None:
            weight = weight * mean_weights(by_label, lengths, self._by_position(gold, numbers))
        used = weight > 0.0
        every = np.ones(len(tokens.rows), np.bool_)
        every[~np.repeat(used, lengths)] = False
        rows = self.names.add(tokens.rows, tokens.vocabulary, every)
        n_inputs = max(tokens.n_inputs, 0 if self.tokens is None else self.tokens.n_inputs)
        self.tokens, self.meta = replace(tokens, n_inputs=n_inputs), source.meta
        features = self._features(None)
        words = None if self.function is None else self._words(source)
        which = np.flatnonzero(used)
        sizes = np.cumsum(lengths[which] * self.longest)
        bounds = np.flatnonzero(np.diff(sizes // _SEGMENTS, prepend=-1, append=-1))
        begins = np.concatenate([[0], np.cumsum(lengths[which])])
        for first, last in pairwise(bounds.tolist()):
            some = which[first:last].tolist()
            made = features.rows_of_sites(
                structure,
                rows.take(slice(int(begins[first]), int(begins[last]))),
                lengths[some],
                None if words is None else [words[i] for i in some],
            )
            chosen = [number_segments(gold[i], numbers) for i in some]
            yield Batch(lengths[some], made, chosen, weight[some])

    def _features(self, vocabulary: Vocabulary | None) -> SegmentFeatures:
        tokens = self.tokens
        assert tokens is not None
        if tokens.templates is None and tokens.vocabulary is not None:
            # Without templates, the inputs are the features themselves.
            tokens = replace(tokens, n_inputs=self.names.n_features)
        names = self._found().names
        return segment_features(self.how, tokens, vocabulary, names, self.longest)

    def finish(self) -> Outline:
        labels, structure, _, _ = self._found()
        vocabulary, kept = self.names.finish()
        features = self._features(vocabulary)
        counts = list(features.feature_counts(structure))
        counts[0] = self.names.n_in_batches
        return Outline(
            structure,
            features,
            counts,
            labels,
            constraints=segment_constraints(self.how.constraints, labels),
            meta={"scheme": self.scheme, "outside": self.how.outside, **self.meta},
            keep=[kept, *[None] * (len(counts) - 1)],
        )
