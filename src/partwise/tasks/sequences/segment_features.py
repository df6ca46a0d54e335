"""Features of positions and of whole segments, for segmentations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from ...models.features import Arrays, Features, sound
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from .features import PositionFeatures
from .segment_functions import BUILT_IN, candidate_rows, function_of

if TYPE_CHECKING:
    from ...arrays import Ints
    from ...structures.base import Structure

__all__ = ["SegmentFeatures"]

_KINDS: Final = ("position", "segment", "transition", "length", "start", "end")
_PARTS: Final = ("segment_vocabulary_bytes", "segment_vocabulary_offsets")


@final
@dataclass(frozen=True, eq=False)
class SegmentFeatures(Features):
    """Features of every position, and where asked for of every segment.

    Transitions, first and last labels have one constant feature, and so have lengths where asked
    for.

    Parameters
    ----------
    positions : PositionFeatures
        The features of positions.
    segment_features : str
        "none", a name of `segment_functions.BUILT_IN`, or "function": a function that is no part
        of the encoder.
    segment_vocabulary : Vocabulary or None
        The names of the features of segments; None if they have none.
    lengths : bool
        Whether lengths have weights.
    """

    name: ClassVar[str] = "segments"

    positions: PositionFeatures
    segment_features: str = "none"
    segment_vocabulary: Vocabulary | None = None
    lengths: bool = True

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        """Those of positions and segments, then the constants."""
        if structure.kinds != _KINDS:
            raise DataError(
                f"features of segments for a {structure.name}, whose sites are "
                f"{', '.join(structure.kinds)}; use them with segmentations"
            )
        ends = (int(width > 0) for width in structure.widths[4:])
        first = self.positions.feature_counts(structure)[0]
        return first, len(self.segment_vocabulary or ()), 1, int(self.lengths), *ends

    def features(
        self,
        structure: Structure,
        rows: Rows,
        lengths: Ints,
        tokens: Sequence[Sequence[Any]] | None = None,
        function: Any = None,
    ) -> list[Rows]:
        """Lay features out by kind of site; those that are not known are dropped.

        Parameters
        ----------
        structure : SemiMarkov
            What has the sites.
        rows : Rows
            The features of every position.
        lengths : ndarray of int
            The number of positions of each example.
        tokens : sequence of sequences or None
            The tokens of each example, as the function takes them; for a built-in set its
            columns, see `partwise.tasks.sequences.segment_functions.text_features`.
        function : callable or None
            What makes the features of segments, where that is no built-in set.
        """
        from ...structures.segments.structure import SemiMarkov

        counts = self.feature_counts(structure)
        assert isinstance(structure, SemiMarkov)
        constant = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
        nothing = Rows(np.zeros(2, np.int64), np.zeros(0, np.int32), None, 0)
        found = [self.positions.features(structure, rows)[0]]
        make = function_of(self.segment_features, function)
        if make is None or self.segment_vocabulary is None:
            found.append(nothing)
        else:
            if tokens is None:
                raise DataError("the model has features of segments; give the tokens too")
            found.append(candidate_rows(make, tokens, lengths, structure, self.segment_vocabulary))
        return found + [constant if count else nothing for count in counts[2:]]

    def tally_segments(self, rows: Rows, tally: Tally) -> None:
        """Count the features of segments that are known, if nothing of the positions is.

        What stands before the first token and after the last, which is nothing, does not count.

        Parameters
        ----------
        rows : Rows
            The features of the segments, the second of what `features` gives.
        tally : Tally
            What was counted of the positions.
        """
        if tally.nothing_known and self.segment_vocabulary is not None:
            names = enumerate(self.segment_vocabulary)
            ends = [number for number, name in names if name.endswith(("before=", "after="))]
            tally.add(0, int((~np.isin(rows.indices, ends)).sum()))

    def to_json(self) -> dict[str, Any]:
        """What there is, by name."""
        return {
            "positions": self.positions.to_json(),
            "segment_features": self.segment_features,
            "lengths": self.lengths,
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The vocabularies."""
        arrays = self.positions.arrays()
        if self.segment_vocabulary is not None:
            arrays.update(zip(_PARTS, self.segment_vocabulary.pack(), strict=True))
        return arrays

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> SegmentFeatures:
        """Check names and vocabularies, one against the other."""
        fields = {"positions", "segment_features", "lengths"}
        sound(data.keys() == fields, f"segments that do not have just {', '.join(sorted(fields))}")
        sound(isinstance(data["positions"], dict), "the positions of segments are no object")
        sound(type(data["lengths"]) is bool, "lengths is neither true nor false")
        known = ("none", "function", *BUILT_IN)
        named = data["segment_features"]
        sound(isinstance(named, str) and named in known, f"unknown segment features {named!r}")
        mine = [arrays[part] for part in _PARTS if part in arrays]
        wanted = 0 if named == "none" else len(_PARTS)
        sound(len(mine) == wanted, "odd arrays for the features of segments")
        others = {name: array for name, array in arrays.items() if name not in _PARTS}
        positions = PositionFeatures.from_saved(data["positions"], others)
        sound(not positions.input_transitions, "segments with features of transitions")
        return cls(positions, named, Vocabulary.unpack(*mine) if mine else None, data["lengths"])

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """By name, or by number where features of positions have no names."""
        if not isinstance(other, SegmentFeatures):
            return super().match(other, structure)
        old = {} if other.segment_vocabulary is None else other.segment_vocabulary.index
        if self.segment_features != other.segment_features:
            old = {}
        segments = np.array([old.get(n, -1) for n in self.segment_vocabulary or ()], np.int64)
        first = self.positions.match(other.positions, structure)[0]
        constants = (np.zeros(n, dtype=np.int64) for n in self.feature_counts(structure)[2:])
        return first, segments, *constants
