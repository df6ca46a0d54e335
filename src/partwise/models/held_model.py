"""The model that an object holds, and what to do with objects that hold none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..errors import ModelFileError

if TYPE_CHECKING:
    from .model import Model

__all__ = ["held_model", "model_to_save"]


def held_model(given: Any) -> Model | None:
    """Return the model that is given, or that a fitted estimator holds as ``model_``, or None."""
    from .model import Model

    held = getattr(given, "model_", given)
    return held if isinstance(held, Model) else None


def model_to_save(given: Any) -> Model:
    """Return the model that is given or held.

    Raises
    ------
    ModelFileError
        If there is none; the message says what to save instead.
    """
    held = held_model(given)
    if held is None:
        raise ModelFileError(f"{type(given).__name__} {_remedy(given)}")
    return held


def _remedy(given: Any) -> str:
    """Return what is wrong with an object that holds no model, and what to do."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return (
            "is no model but the name of a file; give the model first and the file second: "
            "save_model(model, path)"
        )
    if hasattr(given, "named_steps"):
        return (
            "holds other steps besides a model; save its last step, save_model(pipeline[-1], "
            "path), and keep the steps before it, pipeline[:-1], in a file of their own, for "
            "example with skops.io.dump"
        )
    if hasattr(given, "best_estimator_"):
        return "is a search; save what it found: save_model(search.best_estimator_, path)"
    file = getattr(given, "modelfile", None)
    if getattr(file, "name", None) is not None:
        # That of sklearn-crfsuite; the CRF of partwise.compat has model_.
        return (
            "has a model of CRFsuite; save what partwise.read_model(crf.modelfile.name, "
            "'crfsuite-model') returns"
        )
    if type(given).__module__.startswith("sklearn."):
        return "is an estimator of scikit-learn; save what partwise.model_of_sklearn makes of it"
    if hasattr(given, "fit"):
        return "has not been fitted, so it has no model; call fit first"
    return "is no model; give a fitted estimator, or a model such as its model_"
