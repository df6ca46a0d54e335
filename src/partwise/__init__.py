"""Linear models of structured labels, trained to a certified optimum.

The public names are loaded when they are first used, so that ``import partwise`` is fast and a
program that only reads a model file never loads the compiler.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .errors import DataError, MismatchError, ModelFileError, PartwiseError
from .lazy import lazy_names
from .moved import MovedModules

if TYPE_CHECKING:
    from .models.file import load_model, save_model
    from .models.tally import UnknownFeaturesWarning
    from .solvers.eg.simplex_qp import QuadraticResult, minimise_quadratic
    from .tasks.constituency.estimator import ConstituencyParser, ConstituencyParserCV
    from .tasks.dependency.estimator import DependencyParser, DependencyParserCV
    from .tasks.graph.estimator import GraphLabeler, GraphLabelerCV
    from .tasks.graph.examples import GraphExample
    from .tasks.path import path
    from .tasks.sequences.classifier import LinearClassifier, LinearClassifierCV
    from .tasks.sequences.kernel_estimators import KernelClassifier, KernelTagger
    from .tasks.sequences.segmenter import SegmentTagger, SegmentTaggerCV
    from .tasks.sequences.tagger import SequenceTagger, SequenceTaggerCV
    from .training.certificate import ConvergenceWarning

__version__ = "0.1.0"

__all__ = [
    "ConstituencyParser",
    "ConstituencyParserCV",
    "ConvergenceWarning",
    "DataError",
    "DependencyParser",
    "DependencyParserCV",
    "GraphExample",
    "GraphLabeler",
    "GraphLabelerCV",
    "KernelClassifier",
    "KernelTagger",
    "LinearClassifier",
    "LinearClassifierCV",
    "MismatchError",
    "ModelFileError",
    "PartwiseError",
    "QuadraticResult",
    "SegmentTagger",
    "SegmentTaggerCV",
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
    "ConstituencyParser": ".tasks.constituency.estimator",
    "ConstituencyParserCV": ".tasks.constituency.estimator",
    "ConvergenceWarning": ".training.certificate",
    "DependencyParser": ".tasks.dependency.estimator",
    "DependencyParserCV": ".tasks.dependency.estimator",
    "GraphExample": ".tasks.graph.examples",
    "GraphLabeler": ".tasks.graph.estimator",
    "GraphLabelerCV": ".tasks.graph.estimator",
    "KernelClassifier": ".tasks.sequences.kernel_estimators",
    "KernelTagger": ".tasks.sequences.kernel_estimators",
    "LinearClassifier": ".tasks.sequences.classifier",
    "LinearClassifierCV": ".tasks.sequences.classifier",
    "QuadraticResult": ".solvers.eg.simplex_qp",
    "SegmentTagger": ".tasks.sequences.segmenter",
    "SegmentTaggerCV": ".tasks.sequences.segmenter",
    "SequenceTagger": ".tasks.sequences.tagger",
    "SequenceTaggerCV": ".tasks.sequences.tagger",
    "UnknownFeaturesWarning": ".models.tally",
    "load_model": ".models.file",
    "minimise_quadratic": ".solvers.eg.simplex_qp",
    "path": ".tasks.path",
    "save_model": ".models.file",
}


__getattr__, __dir__ = lazy_names(__name__, _HOMES)

sys.meta_path.append(MovedModules())
