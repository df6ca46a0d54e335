"""Linear models of structured labels, trained to a certified optimum.

The public names are loaded when they are first used, so that ``import partwise`` is quick and a
program that only reads a model file never pays for the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import DataError, MismatchError, ModelFileError, PartwiseError

if TYPE_CHECKING:
    from .certificate import ConvergenceWarning
    from .estimators.classifier import LinearClassifier
    from .estimators.tagger import SequenceTagger
    from .modelfile import load_model, save_model

__version__ = "0.1.0"

__all__ = [
    "ConvergenceWarning",
    "DataError",
    "LinearClassifier",
    "MismatchError",
    "ModelFileError",
    "PartwiseError",
    "SequenceTagger",
    "__version__",
    "load_model",
    "save_model",
]

_HOMES = {
    "ConvergenceWarning": ".certificate",
    "LinearClassifier": ".estimators.classifier",
    "SequenceTagger": ".estimators.tagger",
    "load_model": ".modelfile",
    "save_model": ".modelfile",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
