"""Features: how a model reads examples and writes labels.

The features are a part of the model. They turn examples of every form that the model can read into
rows of numbers, and label numbers back into the labels that users see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError, MismatchError
from ..problem.rows import Rows
from ..registry import Registry

if TYPE_CHECKING:
    from ..structures.base import Structure
    from .model import Model
    from .tally import Tally

__all__ = [
    "FEATURES",
    "Features",
    "Inputs",
    "is_count",
    "read_features",
    "refuse_others",
    "same_numbers",
    "sound",
]

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Some examples in the form that compiled code needs.

    Attributes
    ----------
    rows : list of Rows
        The features of the sites of all examples: one `Rows` per kind of site of the structure.
    shapes : sequence
        The shape of each example, as `Structure.topology` takes it.
    constraints : list or None
        For each example, what its labels must not contain, or None.
    examples : sequence or None
        One item per example, which is passed to `Features.named` and `Features.table`; None if only
        rows are known.
    which : slice
        The positions of these examples among all examples.
    """

    rows: Sequence[Rows]
    shapes: Sequence[Any] | Ints
    constraints: Sequence[Any] | None = None
    examples: Any = None
    which: slice = field(default_factory=lambda: slice(None))


class Features(ABC):
    """How a model reads examples and writes labels.

    Features are immutable and consist of data, never of code: a model file holds only what
    `to_json` and `arrays` return.
    """

    #: The name of this kind of features in model files.
    name: ClassVar[str]

    #: Whether `named` is called with None for an example that has no label, instead of an error.
    answers_all: ClassVar[bool] = False

    # Reading and writing

    def read(self, structure: Structure, examples: Any, **more: Any) -> Any:
        """Convert the examples of a user to the form that the other methods take.

        Parameters
        ----------
        structure : Structure
            The structure of the model.
        examples
            Anything that this kind of features can read. The result of `read` is returned
            unchanged.
        **more
            Further data of the examples, such as ``lengths`` for one matrix of all tokens.

        Raises
        ------
        DataError
            If the model cannot read such examples; the message says what it can read.
        """
        refuse_others(more)
        return examples

    @abstractmethod
    def rows(self, structure: Structure, examples: Any, tally: Tally) -> Iterator[Inputs]:
        """Make rows of features, for as many examples at a time as memory allows.

        Parameters
        ----------
        structure : Structure
            The structure of the model.
        examples
            What `read` returned.
        tally : Tally
            Counts the features of the input and those that the model knows. Features that it does
            not know are dropped.
        """

    def constraints(self, model: Model, examples: Any, fixed: Any) -> list[Any] | None:
        """Return what is known about the labels before prediction, as the structure takes it.

        Parameters
        ----------
        model : Model
            The model.
        examples
            What `read` returned.
        fixed
            What the user knows about the labels of each example; None if nothing.
        """
        if fixed is not None:
            raise DataError(f"a model of the task {model.task!r} takes no fixed labels")
        return None

    def named(self, model: Model, label: Any, example: Any) -> Any:
        """Return a label in the form that users see.

        Parameters
        ----------
        model : Model
            The model.
        label : ndarray or None
            A label of the structure; None for an example without a label, if `answers_all`.
        example
            The example, one of `Inputs.examples`.
        """
        return label

    def numbered(self, model: Model, labels: Any, examples: Any) -> list[Ints | None]:
        """Return the labels of a user in the form of the structure.

        None stands for a label that the model does not know, whose probability is 0.
        """
        return list(labels)

    def table(self, model: Model, marginals: Floats, example: Any) -> Any:
        """Return the expected counts of the parts of an example in the form that users see."""
        return marginals

    # Their contents

    @abstractmethod
    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        """Return the number of features for each kind of site.

        Raises a DataError if the features do not fit the structure.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return their contents as JSON can hold them, without the arrays."""

    @abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return their arrays."""

    @classmethod
    @abstractmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> Features:
        """Make features from what `to_json` and `arrays` returned.

        The file may hold anything, so all of it must be checked. Errors are raised as a DataError
        or a ModelFileError. This must work without the compiler.
        """

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """Find every feature among the features of another model.

        Returns
        -------
        tuple of ndarray
            For each kind of site, one number per feature; -1 if the other model does not have the
            feature.
        """
        raise DataError(
            f"features of the kind {self.name!r} cannot be found in those of another model; start "
            "without a first model"
        )


#: The features by their names in model files.
FEATURES: Final[Registry[type[Features]]] = Registry(
    "partwise.features", {"numbered": "models.numbered:NumberedFeatures"}
)


def read_features(
    name: Any, data: Any, arrays: Arrays, own: Sequence[type[Features] | str] = ()
) -> Features:
    """Make features from the data of a model file.

    Parameters
    ----------
    name : str
        Their name.
    data, arrays
        What `Features.to_json` and `Features.arrays` returned, or anything else.
    own : sequence of classes or names
        Features from outside the package; they take precedence over those of the package.

    Raises
    ------
    DataError or ModelFileError
        If the features are unknown or the data are invalid.
    """
    for given in own:
        if isinstance(given, str) and given not in FEATURES:
            raise MismatchError(f"no package provides the features {given!r}; give their class")
    kinds = [FEATURES[given] if isinstance(given, str) else given for given in own]
    found = {kind.name: kind for kind in kinds}
    # A model file must not cause the import of a plug-in: the caller has to name it.
    if name not in found and FEATURES.built_in(name):
        found[name] = FEATURES[name]
    if name not in found:
        raise DataError(
            f"the features {name!r} are unknown; if they are of your own, give their class: "
            "load_model(path, features=[...])"
        )
    if not isinstance(data, dict):
        raise DataError(f"the features {name!r} are not described by an object")
    return found[name].from_saved(data, arrays)


def refuse_others(more: Mapping[str, Any]) -> None:
    """Raise a TypeError for arguments that a kind of features does not take."""
    for name in more:
        raise TypeError(f"the features of the model take no argument {name!r}")


def sound(condition: Any, why: str) -> None:
    """Raise a DataError unless a condition on data from a file holds."""
    if not condition:
        raise DataError(why)


def is_count(value: Any) -> bool:
    """Return whether a value from a file can be a number of features, columns or the like."""
    return type(value) is int and 0 <= value < 2**31


def same_numbers(n: int, n_other: int) -> Ints:
    """Match features by their numbers."""
    numbers = np.arange(n, dtype=np.int64)
    numbers[n_other:] = -1
    return numbers
