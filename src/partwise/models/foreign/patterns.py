"""What the readers of Wapiti and CRF++ share: observations of one label and of two.

Both number their weights in the same way: an observation has one weight per label, or one per pair
of labels (a, b) at a * L + b, or both. An observation of a pair is made at the second of the two
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from .entries import WeightList, tagger

if TYPE_CHECKING:
    from ..model import Model
    from .base import Origin

__all__ = ["Observations", "Weights", "check_labels", "pattern_tagger"]

#: The most labels that a chain has.
MOST_LABELS: Final = 2**14


class Weights(NamedTuple):
    """Weights that are not 0, by their numbers."""

    number: Ints
    value: Floats


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations and the numbers of their weights.

    Attributes
    ----------
    names : list of str
        The observations.
    first : ndarray of int
        The number of the first weight of each.
    width : int
        How many weights each has.
    """

    names: list[str]
    first: Ints
    width: int

    def entries(self, weights: Weights) -> WeightList:
        """Return those of the weights that belong to the observations."""
        order = np.argsort(self.first, kind="stable")
        before = np.searchsorted(self.first[order], weights.number, side="right") - 1
        # What lies before all of them is compared with the first one, and is too small for it.
        feature = order[np.maximum(before, 0)] if len(order) else before
        slot = weights.number - self.first[feature] if len(order) else before
        mine = (slot >= 0) & (slot < self.width)
        return WeightList(feature[mine], slot[mine], weights.value[mine])

    def split(self, name: str) -> tuple[Observations, Observations]:
        """Return one observation, and the others."""
        place = self.names.index(name)
        others = self.names[:place] + self.names[place + 1 :]
        one = Observations([name], self.first[place : place + 1], self.width)
        return one, Observations(others, np.delete(self.first, place), self.width)


def check_labels(labels: Sequence[str]) -> None:
    """Raise a DataError unless there are labels, and no more than a tagger can have."""
    # Beyond, even the numbers of their pairs would be too large.
    if not 0 < len(labels) <= MOST_LABELS:
        raise DataError(f"it has {len(labels):,} labels; a tagger has from 1 to {MOST_LABELS:,}")


def pattern_tagger(
    labels: Sequence[str],
    single: Observations,
    pairs: Observations,
    weights: Weights,
    origin: Origin,
    patterns: Sequence[str],
    dialect: str,
    n_inputs: int,
) -> Model:
    """Make a tagger of observations of one label and of pairs of labels.

    Parameters
    ----------
    labels : sequence of str
        The labels, in the order of their numbers.
    single, pairs : Observations
        The observations of one label and of pairs.
    weights : Weights
        Their weights.
    origin : Origin
        Where the model comes from.
    patterns : sequence of str
        The patterns of the model; empty if its observations were made elsewhere.
    dialect : {"crfpp", "wapiti"}
        The program whose patterns they are.
    n_inputs : int
        The number of input columns.
    """
    of_pairs = [one for one in patterns if one[:1] in ("b", "B", "*")]
    # A pattern without a column is the same everywhere, so that its weights are the plain ones of
    # transitions.
    constant = next((one for one in of_pairs if "%" not in one), None)
    transitions = WeightList.none()
    if constant in pairs.names:
        plain, pairs = pairs.split(str(constant))
        transitions = plain.entries(weights)
    steps = None
    if pairs.names or any(one is not constant for one in of_pairs):
        steps = (pairs.names, pairs.entries(weights))
    templates = {"dialect": dialect, "patterns": list(patterns)} if patterns else None
    return tagger(
        labels,
        single.names,
        single.entries(weights),
        transitions,
        origin,
        steps=steps,
        plain=constant is not None,
        templates=templates,
        n_inputs=n_inputs if patterns else None,
    )
