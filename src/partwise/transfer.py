"""Weights carried from one model over to another, for a fit that goes on where one ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .design import Layout
from .errors import DataError
from .model import Label, Model
from .structures.base import Floats, Ints
from .vocabulary import Vocabulary

__all__ = ["places", "transfer_weights"]


def transfer_weights(
    model: Model,
    layout: Layout,
    labels: Sequence[Label],
    vocabulary: Vocabulary | None,
    transition_vocabulary: Vocabulary | None,
    intercept: float,
) -> Floats:
    """Lay the weights of a model out for another one.

    Weights are matched by the name of their feature, or by its number where features have no
    names, and by label. What the model does not know is 0.

    Parameters
    ----------
    model : Model
        Where the weights come from.
    layout, labels, vocabulary, transition_vocabulary, intercept
        Those of the other model.
    """
    if (model.vocabulary is None) != (vocabulary is None):
        raise DataError(
            "the first model names its features and the data numbers them, or the other way "
            "round; start from a model with the same kind of features"
        )
    old = np.array([model.label_index.get(label, -1) for label in labels], dtype=np.int64)
    pairs = old[:, None] * len(model.labels) + old
    pairs[(old[:, None] < 0) | (old < 0)] = -1
    names = [(vocabulary, model.vocabulary), (transition_vocabulary, model.transition_vocabulary)]
    constant = (intercept != 0.0, model.intercept != 0.0)
    feature, slot = places(layout)
    position = np.full(layout.n_weights, -1, dtype=np.int64)
    index = _WeightIndex(model.layout)
    for kind in range(min(len(layout.n_features), len(model.layout.n_features))):
        begin, count = layout.feature_offset(kind), layout.n_features[kind]
        mine = (feature >= begin) & (feature < begin + count)
        same = _same_features(
            count,
            model.layout.n_features[kind],
            *(names[kind] if kind < len(names) else (None, None)),
            *(constant if kind == 0 else (True, True)),
        )
        slots = pairs.ravel() if kind == 1 else old
        position[mine] = index.find(kind, same[feature[mine] - begin], slots[slot[mine]])
    return np.concatenate([model.weights, [0.0]])[position]


def places(layout: Layout) -> tuple[Ints, Ints]:
    """Give for every weight its feature, numbered through the kinds, and its part in the site."""
    order = np.argsort(layout.first, kind="stable")
    if layout.slot.size:
        ends = np.flatnonzero(layout.slot < 0)
        feature = np.repeat(order, np.diff(ends, prepend=-1))
        slot = np.where(layout.slot < 0, ~layout.slot, layout.slot).astype(np.int64)
        return feature, slot
    width = np.repeat(np.asarray(layout.widths, dtype=np.int64), layout.n_features)
    feature = np.repeat(order, width[order])
    return feature, np.arange(layout.n_weights) - layout.first[feature]


class _WeightIndex:
    """Finds the weight of a (feature, slot)."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        if layout.slot.size:
            feature, slot = places(layout)
            self.base = int(max(layout.widths, default=0)) + 1
            keys = feature * self.base + slot
            self.order = np.argsort(keys)
            self.keys = keys[self.order]

    def find(self, kind: int, feature: Ints, slot: Ints) -> Ints:
        """The place of each weight, -1 where there is none; so for a feature or slot of -1."""
        found = np.full(len(feature), -1, dtype=np.int64)
        known = np.flatnonzero((feature >= 0) & (slot >= 0))
        numbered = feature[known] + self.layout.feature_offset(kind)
        if not self.layout.slot.size:
            found[known] = self.layout.first[numbered] + slot[known]
            return found
        wanted = numbered * self.base + slot[known]
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        hit = self.keys[at] == wanted
        found[known[hit]] = self.order[at[hit]]
        return found


def _same_features(
    n_new: int,
    n_old: int,
    new_names: Vocabulary | None,
    old_names: Vocabulary | None,
    new_constant: bool,
    old_constant: bool,
) -> Ints:
    """For each new feature the number of the old one, or -1; a constant is the last of its kind."""
    same = np.full(n_new, -1, dtype=np.int64)
    plain_new, plain_old = max(n_new - new_constant, 0), max(n_old - old_constant, 0)
    if new_names is not None and old_names is not None:
        for number, name in enumerate(new_names):
            same[number] = old_names.index.get(name, -1)
    elif new_names is None and old_names is None:
        shared = min(plain_new, plain_old)
        same[:shared] = np.arange(shared)
    if new_constant and old_constant and n_new and n_old:
        same[-1] = n_old - 1
    return same
