"""Features that only have numbers; the code that makes the rows knows what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy.typing as npt

from ..errors import DataError
from .features import Arrays, Features, Inputs, is_count, same_numbers, sound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays import Ints
    from ..structures.base import Structure
    from .tally import Tally

__all__ = ["NumberedFeatures"]


@final
@dataclass(frozen=True)
class NumberedFeatures(Features):
    """Features that are given as rows of numbers, for each kind of site.

    Parameters
    ----------
    n_features : tuple of int
        The number of features for each kind of site of the structure.

    Examples
    --------
    >>> from partwise.models.numbered import NumberedFeatures
    >>> from partwise.structures.multiclass import Multiclass
    >>> NumberedFeatures((2,)).feature_counts(Multiclass(3))
    (2,)
    """

    name: ClassVar[str] = "numbered"

    n_features: tuple[int, ...]

    def rows(self, structure: Structure, examples: Any, tally: Tally) -> Iterator[Inputs]:
        """Yield examples that are rows and shapes already."""
        if isinstance(examples, Inputs):
            yield examples
            return
        raise DataError(
            "the features of this model are numbers that its maker knows the meaning of, so it "
            "cannot read examples; give rows of features and the shapes of the examples"
        )

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        """Return `n_features`; a kind of site that the structure does not use must have none."""
        kinds, widths = structure.kinds, structure.widths
        if len(self.n_features) != len(kinds):
            raise DataError(
                f"numbers of features for {len(self.n_features)} kinds of sites where a "
                f"{structure.name} has {len(kinds)}: {', '.join(kinds)}"
            )
        for kind, width, count in zip(kinds, widths, self.n_features, strict=True):
            if count and not width:
                raise DataError(
                    f"{count} features for {kind} sites, which this {structure.name} does not "
                    "have; give rows of 0 features there"
                )
        return self.n_features

    def to_json(self) -> dict[str, Any]:
        return {"n_features": list(self.n_features)}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> NumberedFeatures:
        sound(data.keys() == {"n_features"}, "numbered features with other fields than n_features")
        counts = data["n_features"]
        sound(isinstance(counts, list) and all(map(is_count, counts)), "n_features are no counts")
        sound(not arrays, "numbered features with an array")
        return cls(tuple(counts))

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """Match features by their numbers."""
        if not isinstance(other, NumberedFeatures):
            return super().match(other, structure)
        pairs = zip(self.n_features, other.n_features, strict=True)
        return tuple(same_numbers(n, n_other) for n, n_other in pairs)
