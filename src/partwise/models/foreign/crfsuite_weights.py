"""Taggers from models of CRFsuite, and models of CRFsuite from taggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError
from ..origin import Origin
from .base import ModelFormat
from .crfsuite import CRFsuiteModel, WeightedPairs, parse_crfsuite_model, write_crfsuite_model
from .entries import Entries, entries_of, tagger
from .text import named_file, read_bytes

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT", "crfsuite_model_of", "tagger_of_crfsuite"]

_OBJECTIVE: Final = (
    "the log loss with l2 = 2 c2 and l1 = c1 (lbfgs, l2sgd), or that of an averaged perceptron or "
    "another learner; the file does not say which"
)


def tagger_of_crfsuite(held: CRFsuiteModel) -> Model:
    """Return the tagger that a model of CRFsuite is.

    Parameters
    ----------
    held : CRFsuiteModel
        What `read_crfsuite_model` returned.
    """
    n = len(held.labels)
    pairs, states = held.transitions, held.state_features
    transitions = Entries(
        np.zeros_like(pairs.source), pairs.source * n + pairs.target, pairs.weight
    )
    origin = Origin("CRFsuite", _OBJECTIVE, True)
    # CRFsuite's packages for Python call the feature of {"w": "the"} w:the.
    return tagger(
        held.labels, held.attributes, Entries(*states), transitions, origin, separator=":"
    )


def crfsuite_model_of(model: Model) -> CRFsuiteModel:
    """Return what a model file of CRFsuite holds for a tagger.

    Raises
    ------
    DataError
        If CRFsuite has no such model: it has taggers of order 1 with named features, without
        constraints, weights of first and last labels, and features of transitions.
    """
    structure: Any = model.structure
    features: Any = model.features
    if model.task != "tag" or structure.name != "chain" or features.name != "positions":
        raise DataError(
            f"CRFsuite has no models for the task {model.task!r} with a {structure.name}; write "
            "the model as safetensors-model"
        )
    missing = {
        "features of transitions": not structure.tied,
        "weights of first and last labels": structure.start or structure.end,
        "constraints": model.constraints is not None,
        "features without names": features.vocabulary is None,
        "hashed features": features.n_hashed > 0,
    }
    for what, held in missing.items():
        if held:
            raise DataError(
                f"the model has {what}, and CRFsuite knows none; write it as json-model"
            )
    n = len(model.labels)
    states, pairs = entries_of(model, 0), entries_of(model, 1)
    return CRFsuiteModel(
        tuple(map(str, model.labels)),
        features.vocabulary.names,
        WeightedPairs(*states),
        WeightedPairs(pairs.slot // n, pairs.slot % n, pairs.weight),
    )


def _read(path: str) -> Model:
    data = read_bytes(path)
    with named_file(path, "CRFsuite"):
        return tagger_of_crfsuite(parse_crfsuite_model(data))


def _write(model: Model, path: str) -> None:
    write_crfsuite_model(path, crfsuite_model_of(model))


FORMAT: Final = ModelFormat("a model file of CRFsuite", _read, _write)
