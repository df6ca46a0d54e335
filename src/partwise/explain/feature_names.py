"""The names of the features of a model, for every kind of site."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..models.hashed_names import slot_name

if TYPE_CHECKING:
    from ..models.model import Model
    from ..models.vocabulary import Vocabulary

__all__ = ["CONSTANT", "INTERCEPT", "FeatureNames", "columns", "feature_names"]

#: What a feature that does not depend on the input is called.
CONSTANT: Final = "constant"
INTERCEPT: Final = "intercept"
#: How many names are made at a time.
_STRETCH: Final = 1 << 16

_Some = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True)
class FeatureNames:
    """The names of the features of one kind of site, made only where they are asked for.

    Attributes
    ----------
    count : int
        The number of features.
    listed : int
        How many of them have names of their own; the others are constant.
    hashed : int
        The number of slots if features are hashed, otherwise 0.
    some : callable
        Returns the names of some of the features that have names of their own.
    constant : str
        The name of a constant feature.
    """

    count: int
    listed: int
    some: _Some
    constant: str = CONSTANT
    hashed: int = 0

    def names(self, numbers: Sequence[int]) -> list[str]:
        """Return the names of some features."""
        own = iter(self.some([number for number in numbers if number < self.listed]))
        return [next(own) if number < self.listed else self.constant for number in numbers]

    def matching(self, pattern: re.Pattern[str]) -> npt.NDArray[np.bool_]:
        """Return for every feature whether a regular expression is found in its name."""
        found = np.zeros(self.count, dtype=np.bool_)
        for begin in range(0, self.count, _STRETCH):
            numbers = range(begin, min(begin + _STRETCH, self.count))
            found[begin : numbers.stop] = [bool(pattern.search(n)) for n in self.names(numbers)]
        return found


def feature_names(model: Model, given: Sequence[str] | None = None) -> list[FeatureNames]:
    """Return the names of the features of every kind of site of a model.

    Parameters
    ----------
    model : Model
        The model.
    given : sequence of str or None
        The names of the columns, if the features of the model only have numbers.

    Raises
    ------
    DataError
        If names are given for features that have names, or not as many as there are.
    """
    features: Any = model.features
    counts = model.layout.n_features
    if given is not None and features.name != "positions":
        raise DataError("the features of the model have names of their own; leave out the others")
    if features.name == "positions":
        return _of_positions(model, features, given)
    if features.name == "segments":
        first = _of_positions(model, features.positions, None)[0]
        second = _vocabulary(features.segment_vocabulary, counts[1])
        return [first, second, *(_constants(n) for n in counts[2:])]
    if features.name == "arcs":
        return [_table(features.arc_table)]
    if features.name == "spans":
        kinds, tables = model.structure.kinds, features.features_of
        return [
            _table(tables[kind]) if kind in tables else _constants(count)
            for kind, count in zip(kinds, counts, strict=True)
        ]
    if features.name == "graphs":
        return [_of_factors(model, kind, held) for kind, held in enumerate(features.kinds.values())]
    return [FeatureNames(count, count, columns) for count in counts]


def _of_positions(model: Model, features: Any, given: Sequence[str] | None) -> list[FeatureNames]:
    n, kinds = features.n_features, model.structure.kinds
    count, *others = model.layout.n_features
    some: _Some = columns
    hashed = features.n_hashed
    if given is not None:
        some = _given(given, features)
    if features.support is not None:
        some = _scores(model, 0)
    elif features.vocabulary is not None:
        some = features.vocabulary.some
    elif hashed:

        def some(numbers: Sequence[int]) -> list[str]:
            return [slot_name(number, hashed) for number in numbers]

    found = [FeatureNames(count, n, some, INTERCEPT, hashed)]
    for kind, width in zip(kinds[1:], others, strict=True):
        steps = features.n_transition_features or 0
        if kind == "transition" and features.transition_support is not None:
            n_scores = features.transition_support.n_scores
            found.append(FeatureNames(width, n_scores, _scores(model, 1)))
        elif kind == "transition" and steps:
            found.append(_vocabulary(features.transition_vocabulary, steps, width, hashed))
        else:
            found.append(_constants(width))
    return found


def _given(names: Sequence[str], features: Any) -> _Some:
    if features.vocabulary is not None or features.n_hashed or features.support is not None:
        raise DataError("the features of the model are not columns; leave out their names")
    if len(names) != features.n_features:
        raise DataError(
            f"{len(names)} names of features where the model has {features.n_features}; give one "
            "for each column"
        )
    return lambda numbers: [str(names[number]) for number in numbers]


def _vocabulary(
    names: Vocabulary | None, listed: int, count: int | None = None, hashed: int = 0
) -> FeatureNames:
    every = listed if count is None else count
    if names is None and hashed:

        def slots(numbers: Sequence[int]) -> list[str]:
            return [slot_name(number, hashed) for number in numbers]

        return FeatureNames(every, listed, slots, hashed=hashed)
    some = columns if names is None else names.some
    slotted = len(names) if names is not None and names.hashed else 0
    return FeatureNames(every, listed, some, hashed=slotted)


def _constants(count: int) -> FeatureNames:
    return FeatureNames(count, 0, columns)


def columns(numbers: Sequence[int]) -> list[str]:
    """Return the names that scikit-learn gives to columns without names."""
    return [f"x{number}" for number in numbers]


def _table(table: Any) -> FeatureNames:
    """Return the names of the features of arcs or spans."""
    n = table.n_features
    if table.n_hashed:
        return _vocabulary(None, n, hashed=table.n_hashed)
    return FeatureNames(n, n, lambda numbers: table.describe_keys(table.keys[list(numbers)]))


def _scores(model: Model, kind: int) -> _Some:
    """Return the names of features that are scores of the parts of a kind of site."""
    from .slot_names import slot_names

    slots = slot_names(model)[kind]
    return lambda numbers: [f"score of {slots.text(number)}" for number in numbers]


def _of_factors(model: Model, kind: int, held: Any) -> FeatureNames:
    listed = held.count - (held.constant != 0.0)
    if held.support is not None:
        return FeatureNames(held.count, listed, _scores(model, kind))
    return _vocabulary(held.vocabulary, listed, held.count, held.n_hashed)
