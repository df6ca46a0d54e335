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
    from .estimators.classifier_cv import LinearClassifierCV
    from .estimators.constituency import ConstituencyParser
    from .estimators.graphs import GraphLabeler
    from .estimators.kernel_classifier import KernelClassifier
    from .estimators.kernel_tagger import KernelTagger
    from .estimators.parser import DependencyParser
    from .estimators.parser_cv import DependencyParserCV
    from .estimators.path import path
    from .estimators.segmenter import SegmentTagger
    from .estimators.tagger import SequenceTagger
    from .estimators.tagger_cv import SequenceTaggerCV
    from .features.known import UnknownFeaturesWarning
    from .graphs.examples import GraphExample
    from .models.modelfile import load_model, save_model
    from .simplex_qp import QuadraticResult, minimise_quadratic

__version__ = "0.1.0"

__all__ = [
    "ConstituencyParser",
    "ConvergenceWarning",
    "DataError",
    "DependencyParser",
    "DependencyParserCV",
    "GraphExample",
    "GraphLabeler",
    "KernelClassifier",
    "KernelTagger",
    "LinearClassifier",
    "LinearClassifierCV",
    "MismatchError",
    "ModelFileError",
    "PartwiseError",
    "QuadraticResult",
    "SegmentTagger",
    "SequenceTagger",
    "SequenceTaggerCV",
    "UnknownFeaturesWarning",
    "__version__",
    "load_model",
    "minimise_quadratic",
    "path",
    "save_model",
]

_HOMES = {
    "ConstituencyParser": ".estimators.constituency",
    "ConvergenceWarning": ".certificate",
    "DependencyParser": ".estimators.parser",
    "DependencyParserCV": ".estimators.parser_cv",
    "GraphExample": ".graphs.examples",
    "GraphLabeler": ".estimators.graphs",
    "KernelClassifier": ".estimators.kernel_classifier",
    "KernelTagger": ".estimators.kernel_tagger",
    "LinearClassifier": ".estimators.classifier",
    "LinearClassifierCV": ".estimators.classifier_cv",
    "QuadraticResult": ".simplex_qp",
    "SegmentTagger": ".estimators.segmenter",
    "SequenceTagger": ".estimators.tagger",
    "SequenceTaggerCV": ".estimators.tagger_cv",
    "UnknownFeaturesWarning": ".features.known",
    "load_model": ".models.modelfile",
    "minimise_quadratic": ".simplex_qp",
    "path": ".estimators.path",
    "save_model": ".models.modelfile",
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
