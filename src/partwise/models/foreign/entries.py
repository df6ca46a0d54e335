"""Weights as lists of entries (feature, part, weight), and models made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...problem.storage import Layout
from ...structures.registry import make_structure
from ...training.certificate import Certificate
from ..features import FEATURES
from ..model import Label, Model
from ..soundness import Checker, check_room
from ..transfer import places
from ..vocabulary import Vocabulary
from .base import Origin

if TYPE_CHECKING:
    from ...structures.base import Structure

__all__ = ["WeightList", "classifier", "entries_of", "laid_out", "tagger"]


class WeightList(NamedTuple):
    """The weights of one kind of site, in any order.

    Attributes
    ----------
    feature : ndarray of int
        The feature of each weight.
    slot : ndarray of int
        The part of the site that it scores: a label k, or a pair of labels (a, b) as a * L + b.
    weight : ndarray of float
        The weights.
    """

    feature: Ints
    slot: Ints
    weight: Floats

    @staticmethod
    def none() -> WeightList:
        """Return no weights."""
        nothing = np.zeros(0, dtype=np.int64)
        return WeightList(nothing, nothing, np.zeros(0))

    @staticmethod
    def table(weights: Floats) -> WeightList:
        """Return the weights of a matrix, features by parts."""
        n, width = weights.shape
        feature, slot = np.divmod(np.arange(n * width, dtype=np.int64), max(width, 1))
        return WeightList(feature, slot, weights.ravel())


def tagger(
    labels: Sequence[str],
    names: Sequence[str],
    states: WeightList,
    transitions: WeightList,
    origin: Origin,
    *,
    steps: tuple[Sequence[str], WeightList] | None = None,
    plain: bool = True,
    templates: dict[str, Any] | None = None,
    n_inputs: int | None = None,
    separator: str = "=",
) -> Model:
    """Make a first-order tagger.

    Parameters
    ----------
    labels : sequence of str
        The labels, in the order of their numbers.
    names : sequence of str
        The names of the features of tokens.
    states : WeightList
        Their weights.
    transitions : WeightList
        The plain weights of pairs of labels, all of the feature 0.
    origin : Origin
        Where the model comes from.
    steps : tuple or None
        The names and the weights of features of neighbouring tokens; None if there are none.
    plain : bool
        Whether pairs of labels have plain weights at all.
    templates : dict or None
        How features are made from column files, as the features of a model file hold it.
    n_inputs : int or None
        The number of input columns of such files.
    separator : str
        What stands between key and value in the names of features, if tokens are dicts.

    Raises
    ------
    DataError
        If a name occurs twice, or a weight has two values or is not finite.
    """
    constants = {"n_labels": len(labels), "tied": steps is None, "start": False, "end": False}
    structure = make_structure("chain", constants)
    vocabularies = {"vocabulary": names}
    if steps is not None:
        vocabularies["transition_vocabulary"] = steps[0]
        # The constant of a transition comes after its features.
        constant = np.full(len(transitions.slot), len(steps[0]), dtype=np.int64)
        pairs = zip(steps[1], transitions._replace(feature=constant), strict=True)
        transitions = WeightList(*(np.concatenate(pair) for pair in pairs))
    arrays: dict[str, Any] = {}
    for key, given in vocabularies.items():
        arrays[f"{key}_bytes"], arrays[f"{key}_offsets"] = Vocabulary(given).pack()
    data = {
        "n_inputs": len(names) if n_inputs is None else n_inputs,
        "intercept": 0.0,
        "templates": templates,
        "n_transition_features": None if steps is None else len(steps[0]),
        "vocabulary": True,
        "transition_vocabulary": steps is not None,
        **({} if plain else {"plain_transition": False}),
        **({} if separator == "=" else {"separator": separator}),
    }
    features = FEATURES["positions"].from_saved(data, arrays)
    kinds = [states, transitions, WeightList.none(), WeightList.none()]
    return _model("tag", structure, labels, features, kinds, origin, "log")


def classifier(
    labels: Sequence[Label],
    weights: Floats,
    intercept: float,
    origin: Origin,
    *,
    loss: str,
    l2: float | None = None,
    l1: float = 0.0,
) -> Model:
    """Make a classifier of rows of numbers.

    Parameters
    ----------
    labels : sequence
        The labels, in the order of their numbers.
    weights : ndarray
        The weights, features by labels. With an intercept, the last row is its feature.
    intercept : float
        The value of the constant feature; 0 for none.
    origin : Origin
        Where the model comes from.
    loss : {"log", "hinge"}
        "log" if the softmax of the scores gives the probabilities of the toolkit, otherwise
        "hinge".
    l2, l1 : float
        The regulariser in partwise's terms; None if it is not known.
    """
    structure = make_structure("multiclass", {"n_labels": len(labels)})
    features: Any = FEATURES["positions"]
    made = features(len(weights) - (intercept != 0.0), intercept=float(intercept))
    kinds = [WeightList.table(np.asarray(weights, dtype=np.float64))]
    return _model("classify", structure, labels, made, kinds, origin, loss, l2, l1)


def _model(
    task: str,
    structure: Structure,
    labels: Sequence[Label],
    features: Any,
    kinds: Sequence[WeightList],
    origin: Origin,
    loss: str,
    l2: float | None = None,
    l1: float = 0.0,
) -> Model:
    if len(set(labels)) != len(labels):
        raise DataError("a label occurs twice; labels must be distinct")
    counts = features.feature_counts(structure)
    layout, weights = laid_out(structure.widths, counts, kinds)
    arrays = {"weights": weights, "first": layout.first, **features.arrays()}
    check_room(Checker("the file"), structure, arrays)
    return Model(
        task=task,
        structure=structure,
        layout=layout,
        weights=weights,
        labels=tuple(labels),
        features=features,
        constraints=None,
        loss=loss,
        l2=l2 or 1.0,
        l1=l1,
        certificate=Certificate.unknown(origin.verdict),
        origin=origin,
    )


def laid_out(
    widths: Sequence[int], counts: Sequence[int], kinds: Sequence[WeightList]
) -> tuple[Layout, Floats]:
    """Return the layout that has just the given weights, and the weights in its order.

    A feature without weights gets one of 0, because every feature needs a block.

    Parameters
    ----------
    widths, counts : sequence of int
        For each kind of site, the number of its parts and of its features.
    kinds : sequence of WeightList
        The weights of each kind.
    """
    features, slots, weights = [], [], []
    begin = 0
    for width, count, given in zip(widths, counts, kinds, strict=True):
        bad = (given.feature < 0) | (given.feature >= count)
        if bad.any() or ((given.slot < 0) | (given.slot >= width)).any():
            raise DataError("a weight belongs to a feature or a label that there is not")
        if not np.isfinite(given.weight).all():
            raise DataError("a weight is not finite")
        bare = np.flatnonzero(np.bincount(given.feature, minlength=count) == 0)
        nothing = np.zeros(len(bare), dtype=np.int64)
        features.append(np.concatenate([given.feature, bare]) + begin)
        slots.append(np.concatenate([given.slot, nothing]))
        weights.append(np.concatenate([given.weight, nothing]))
        begin += count
    base = max(widths) + 1
    keys = np.concatenate(features) * base + np.concatenate(slots)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    if (keys[1:] == keys[:-1]).any():
        raise DataError("a feature has two weights for the same label")
    first = np.searchsorted(keys, np.arange(begin, dtype=np.int64) * base)
    slot = np.zeros(0, dtype=np.int32)
    if len(keys) < sum(width * count for width, count in zip(widths, counts, strict=True)):
        slot = (keys % base).astype(np.int32)
        last = np.append(first[1:], len(keys)) - 1
        slot[last] = ~slot[last]
    layout = Layout(tuple(widths), tuple(counts), first, slot, len(keys))
    return layout, np.concatenate(weights)[order]


def entries_of(model: Model, kind: int) -> WeightList:
    """Return the weights of one kind of site of a model; features are counted within the kind."""
    feature, slot = places(model.layout)
    begin = model.layout.feature_offset(kind)
    mine = (feature >= begin) & (feature < begin + model.layout.n_features[kind])
    return WeightList(feature[mine] - begin, slot[mine], model.weights[mine])
