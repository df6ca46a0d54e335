"""What every encoder offers: the features of a model, and how they are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import DataError

if TYPE_CHECKING:
    from ..arrays import Ints
    from ..structures.base import Structure

__all__ = ["Encoder", "is_count", "same_numbers", "sound"]

Arrays = Mapping[str, npt.NDArray[Any]]


class Encoder(ABC):
    """How examples become features, for each kind of site of a structure.

    An encoder is immutable and made of data, never of code: what `to_json` and `arrays` give is
    all that a model file holds of it. How it reads examples is its own affair; what the rest asks
    is how many features there are, and which of them are those of another model.
    """

    #: How a model file calls it.
    name: ClassVar[str]

    @abstractmethod
    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        """Say how many features the sites of each kind may have.

        Raises a DataError if the encoder does not go with the structure.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Give what it consists of, as JSON can hold it, but for the arrays."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Give the arrays that it consists of."""

    @classmethod
    @abstractmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> Encoder:
        """Make an encoder of what `to_json` and `arrays` gave.

        The file may hold anything: all of it must be checked, and what is wrong raised as a
        DataError or ModelFileError. It must work without the compiler.
        """

    def match(self, other: Encoder, structure: Structure) -> tuple[Ints, ...]:
        """For each kind and each feature, find the number of the same feature in another encoder.

        Returns
        -------
        tuple of ndarray
            For each kind of the structure, a number for each of its features; -1 where the other
            encoder has none.
        """
        raise DataError(
            f"features of the kind {self.name!r} cannot be found in those of another model; start "
            "without a first model"
        )


def sound(condition: Any, why: str) -> None:
    """Raise a DataError unless the condition holds for something that was read from a file."""
    if not condition:
        raise DataError(why)


def is_count(value: Any) -> bool:
    """Whether a value from a file is a number of features, columns or the like."""
    return type(value) is int and 0 <= value < 2**31


def same_numbers(n: int, n_other: int) -> Ints:
    """Match features by their numbers."""
    numbers = np.arange(n, dtype=np.int64)
    numbers[n_other:] = -1
    return numbers
