"""Features of positions and of whole segments, for segmentations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.tag_schemes import SEGMENT_SCHEMES
from ...models.features import Arrays, Features, Inputs, refuse_others, same_numbers, sound
from ...models.hashed_names import HashedNames
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from ..spans import ProbableSpan, check_threshold
from .features import PositionFeatures
from .segment_functions import BUILT_IN, SegmentFunction, candidate_rows, function_of
from .segment_tags import Segment, tags_of
from .segmentations import held, read_fixed_segments, read_segmentations, segment_tokens
from .tokens import Tokens

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure

__all__ = [
    "SegmentFeatures",
    "SegmentTokens",
    "features_of",
    "number_segments",
    "scheme_of",
    "segment_spans",
]

_KINDS: Final = ("position", "segment", "transition", "length", "start", "end")
_PARTS: Final = ("segment_vocabulary_bytes", "segment_vocabulary_offsets")


@dataclass(frozen=True, eq=False)
class SegmentTokens:
    """The tokens of some sequences after reading.

    Attributes
    ----------
    positions : Tokens
        The features of every token.
    tokens : list or None
        For each sequence, what the features of its segments are made from; None if segments have no
        features.
    """

    positions: Tokens
    tokens: list[Any] | None

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.positions)

    @property
    def lengths(self) -> Ints:
        """The number of tokens of each sequence."""
        return self.positions.lengths


@final
@dataclass(frozen=True, eq=False)
class SegmentFeatures(Features):
    """Features of every position and, if requested, of every segment.

    Transitions, first labels and last labels have one constant feature, and so do lengths if
    requested.

    Parameters
    ----------
    positions : PositionFeatures
        The features of positions.
    segment_features : str
        "none", a name in `segment_functions.BUILT_IN`, or "function" for a function of the user.
    segment_vocabulary : Vocabulary or None
        The names of the features of segments; None if they have none.
    lengths : bool
        Whether lengths have weights.
    function : callable or None
        The function of the user, which is not stored in model files.
    """

    name: ClassVar[str] = "segments"

    positions: PositionFeatures
    segment_features: str = "none"
    segment_vocabulary: Vocabulary | None = None
    lengths: bool = True
    function: SegmentFunction | None = None

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        if structure.kinds != _KINDS:
            raise DataError(
                f"features of segments for a {structure.name}, whose sites are "
                f"{', '.join(structure.kinds)}; use them with segmentations"
            )
        ends = (int(width > 0) for width in structure.widths[4:])
        first = self.positions.feature_counts(structure)[0]
        return first, len(self.segment_vocabulary or ()), 1, int(self.lengths), *ends

    def read(
        self, structure: Structure, examples: Any, *, lengths: Any = None, **more: Any
    ) -> SegmentTokens:
        """Read tokens of any of the forms that `PositionFeatures.read` knows.

        Parameters
        ----------
        structure : Structure
            The structure of the model.
        examples, lengths
            As in `PositionFeatures.read`.
        """
        if more:
            refuse_others(more)
        if isinstance(examples, SegmentTokens):
            return examples
        source = self.positions.source(examples, lengths)
        if function_of(self.segment_features, self.function) is None:
            return SegmentTokens(self.positions.read(structure, source), None)
        source = held(source)
        positions = self.positions.read(structure, source)
        return SegmentTokens(positions, segment_tokens(source, self.segment_features in BUILT_IN))

    def rows(self, structure: Structure, examples: SegmentTokens, tally: Tally) -> Iterator[Inputs]:
        positions = examples.positions
        tally.add(positions.tally.given, positions.tally.known)
        made = self.laid_out(structure, positions.rows, examples.lengths, examples.tokens)
        if tally.nothing_known:
            tally.add(0, self._n_known(made[1]))
        yield Inputs(made, examples.lengths, examples=examples.lengths.tolist())

    def _n_known(self, rows: Rows) -> int:
        """Count the features in rows of segments.

        The features before the first token and after the last one do not count, because every input
        has them.
        """
        names = enumerate(self.segment_vocabulary or ())
        ends = [number for number, name in names if name.endswith(("before=", "after="))]
        return int((~np.isin(rows.indices, ends)).sum())

    def laid_out(
        self, structure: Structure, rows: Rows, lengths: Ints, tokens: Sequence[Any] | None
    ) -> list[Rows]:
        """Return the rows of every kind of site; unknown features are dropped.

        Parameters
        ----------
        structure : SemiMarkov
            The structure that has the sites.
        rows : Rows
            The features of every position.
        lengths : ndarray of int
            The number of positions of each example.
        tokens : sequence or None
            For each example, what the features of its segments are made from.
        """
        first = self.positions.laid_out(structure, rows)[0]
        return self.rows_of_sites(structure, first, lengths, tokens)

    def rows_of_sites(
        self, structure: Structure, rows: Rows, lengths: Ints, tokens: Sequence[Any] | None
    ) -> list[Rows]:
        """Return the rows of every kind of site; those of positions are returned as they are.

        Parameters
        ----------
        structure, rows, lengths, tokens
            As in `laid_out`.
        """
        from ...structures.segments.structure import SemiMarkov

        counts = self.feature_counts(structure)
        assert isinstance(structure, SemiMarkov)
        constant = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
        nothing = Rows(np.zeros(2, np.int64), np.zeros(0, np.int32), None, 0)
        found = [rows]
        make = function_of(self.segment_features, self.function)
        if make is None or self.segment_vocabulary is None:
            found.append(nothing)
        else:
            assert tokens is not None
            found.append(candidate_rows(make, tokens, lengths, structure, self.segment_vocabulary))
        return found + [constant if count else nothing for count in counts[2:]]

    def constraints(self, model: Model, examples: SegmentTokens, fixed: Any) -> list[Any] | None:
        return read_fixed_segments(fixed, examples.lengths, model.label_index)

    def named(self, model: Model, label: Ints, example: int) -> list[Any]:
        """Return the tags of a sequence if the model was trained on tags, otherwise its segments.

        The list of segments does not contain those of the label `outside`.
        """
        scheme, outside = scheme_of(model), model.meta.get("outside")
        segments = self.segments(model, label)
        if scheme is None:
            return [segment for segment in segments if segment[2] != outside]
        return tags_of(segments, scheme, outside)

    def segments(self, model: Model, label: Ints) -> list[Segment]:
        """Return all segments of a label of the structure, with the names of their labels."""
        names = model.labels
        return [(start, end, names[number]) for start, end, number in label.tolist()]

    def numbered(self, model: Model, labels: Any, examples: SegmentTokens) -> list[Ints | None]:
        structure: Any = model.structure
        gold = self.gold(model, labels, examples)
        numbers = [number_segments(segments, model.label_index) for segments in gold]
        # The last entry is for segments with an unknown label, number -1.
        most = np.array([*structure.label_lengths, -1])
        return [y if (y[:, 1] - y[:, 0] <= most[y[:, 2]]).all() else None for y in numbers]

    def gold(self, model: Model, labels: Any, examples: SegmentTokens) -> list[list[Segment]]:
        """Read the tags or segments of all sequences, in either form."""
        stacked, outside = examples.positions.stacked, model.meta.get("outside")
        scheme = scheme_of(model) or model.settings.get("scheme", "auto")
        return read_segmentations(labels, examples.lengths, stacked, outside, scheme)[0]

    def table(self, model: Model, marginals: Floats, example: int) -> Floats:
        return self.positions.table(model, marginals, example)

    def segment_table(self, model: Model, marginals: Floats, example: int) -> Floats:
        """Return the probability of every segment, by its start, its length - 1 and its label."""
        structure: Any = model.structure
        n = structure.n_labels
        start, end = structure.segments(structure.topology(example)).T
        table = np.zeros((example, structure.max_length, n))
        own = marginals[example * n : (example + len(start)) * n]
        table[start, end - start - 1] = own.reshape(len(start), n)
        return table

    def to_json(self) -> dict[str, Any]:
        return {
            "positions": self.positions.to_json(),
            "segment_features": self.segment_features,
            "lengths": self.lengths,
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = self.positions.arrays()
        if self.segment_vocabulary is not None and not self.segment_vocabulary.hashed:
            arrays.update(zip(_PARTS, self.segment_vocabulary.pack(), strict=True))
        return arrays

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> SegmentFeatures:
        fields = {"positions", "segment_features", "lengths"}
        sound(data.keys() == fields, f"segments that do not have just {', '.join(sorted(fields))}")
        sound(isinstance(data["positions"], dict), "the positions of segments are no object")
        sound(type(data["lengths"]) is bool, "lengths is neither true nor false")
        known = ("none", "function", *BUILT_IN)
        named = data["segment_features"]
        sound(isinstance(named, str) and named in known, f"unknown segment features {named!r}")
        others = {name: array for name, array in arrays.items() if name not in _PARTS}
        positions = PositionFeatures.from_saved(data["positions"], others)
        sound(not positions.input_transitions, "segments with features of transitions")
        n_hashed = positions.n_hashed
        mine = [arrays[part] for part in _PARTS if part in arrays]
        wanted = 0 if named == "none" or n_hashed else len(_PARTS)
        sound(len(mine) == wanted, "odd arrays for the features of segments")
        names: Vocabulary | None = Vocabulary.unpack(*mine) if mine else None
        if n_hashed and named != "none":
            names = HashedNames(n_hashed)
        return cls(positions, named, names, data["lengths"])

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """Match features by name, or by number if features of positions have no names."""
        if not isinstance(other, SegmentFeatures):
            return super().match(other, structure)
        first = self.positions.match(other.positions, structure)[0]
        new, old = self.segment_vocabulary, other.segment_vocabulary
        if new is None or old is None or self.segment_features != other.segment_features:
            segments = np.full(len(new or ()), -1, dtype=np.int64)
        elif new.hashed:
            segments = same_numbers(len(new), len(old))
        else:
            segments = old.find(new.names).astype(np.int64)
        constants = (np.zeros(n, dtype=np.int64) for n in self.feature_counts(structure)[2:])
        return first, segments, *constants


def number_segments(segments: Sequence[Segment], numbers: Mapping[Any, int]) -> Ints:
    """Return segments as the structure takes them, with -1 for a label that has no number."""
    rows = [(start, end, numbers.get(label, -1)) for start, end, label in segments]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def scheme_of(model: Model) -> str | None:
    """Return the scheme of the tags that a model was trained on; None for segments."""
    scheme: str | None = model.meta.get("scheme")
    if scheme not in (None, *SEGMENT_SCHEMES):
        raise DataError(f"the model spells segments in the unknown scheme {scheme!r}")
    return scheme


def features_of(model: Model) -> SegmentFeatures:
    """Return the features of a segment tagger; raise a DataError for other models."""
    features, structure = model.features, model.structure
    if not isinstance(features, SegmentFeatures) or structure.kinds != _KINDS:
        raise DataError(
            f"a model of the task {model.task!r} and a {structure.name} does not segment; use "
            "the model as it is"
        )
    scheme_of(model)
    return features


def segment_spans(
    model: Model,
    examples: Any,
    threshold: float | None = None,
    fixed: Any = None,
    n_jobs: int | None = 1,
    **more: Any,
) -> list[list[ProbableSpan]]:
    """Compute the probabilities of segments.

    Parameters
    ----------
    model : Model
        A model of the task "segment".
    examples, fixed, n_jobs, **more
        As in :meth:`partwise.models.model.Model.predict`.
    threshold : float or None
        The least probability. If None, the segments are those of the best segmentation.
    """
    check_threshold(threshold)
    features, outside = features_of(model), model.meta.get("outside")
    found: list[list[ProbableSpan]] = []
    for inputs in model.inputs(examples, fixed=fixed, **more):
        how: Any = {"own_constraints": inputs.constraints, "n_jobs": n_jobs}
        counts = model.marginals(inputs.rows, inputs.shapes, **how)
        best = model.predict(inputs.rows, inputs.shapes, **how) if threshold is None else counts
        for mu, length, label in zip(counts, inputs.examples, best, strict=True):
            table = features.segment_table(model, mu, length)
            if threshold is None:
                start, end, number = label.T
            else:
                start, last, number = np.nonzero(table >= threshold)
                end = start + last + 1
            odds = np.minimum(table[start, end - start - 1, number], 1.0)
            rows = zip(start.tolist(), end.tolist(), number.tolist(), odds.tolist(), strict=True)
            spans = (ProbableSpan(a, b, model.labels[k], p) for a, b, k, p in rows)
            found.append([span for span in spans if span.label != outside])
    return found
