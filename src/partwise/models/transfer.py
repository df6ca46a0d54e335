"""Transfer of weights from one model to another, for a fit that continues an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats, Ints
from ..problem.storage import Layout
from ..structures.base import Structure
from .features import Features
from .model import Label, Model

__all__ = ["places", "transfer_weights"]


def transfer_weights(
    model: Model,
    structure: Structure,
    layout: Layout,
    labels: Sequence[Label],
    encoder: Features,
) -> Floats:
    """Return the weights of a model in the layout of another one.

    Weights are matched by their feature, with the help of the encoder, and by the part that they
    score, with the help of the structure and the labels. Weights that the model does not have are
    0.

    Parameters
    ----------
    model : Model
        The model that the weights come from.
    structure, layout, labels, encoder
        The structure, layout, labels and encoder of the other model.

    Raises
    ------
    DataError
        If the encoder or the structure cannot be compared with those of the model.
    """
    old = model.numbers_of(labels)
    slots = structure.match_slots(model.structure, old)
    features = encoder.match(model.features, structure)
    feature, slot = places(layout)
    position = np.full(layout.n_weights, -1, dtype=np.int64)
    index = _WeightIndex(model.layout)
    for kind, count in enumerate(layout.n_features):
        begin = layout.feature_offset(kind)
        mine = (feature >= begin) & (feature < begin + count)
        same = np.where(features[kind] < model.layout.n_features[kind], features[kind], -1)
        position[mine] = index.find(kind, same[feature[mine] - begin], slots[kind][slot[mine]])
    return np.concatenate([model.weights, [0.0]])[position]


def places(layout: Layout) -> tuple[Ints, Ints]:
    """Return the feature of every weight, numbered across the kinds, and its part in the site."""
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
        """Return the place of each weight; -1 if there is none, or the feature or slot is -1."""
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
