"""Linear models of structured labels, trained to a certified optimum.

The public names are loaded when they are first used, so that ``import partwise`` is fast and a
program that only reads a model file never loads the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import DataError, MismatchError, ModelFileError, PartwiseError
from .lazy import lazy_names

if TYPE_CHECKING:
    from .models.file import load_model, save_model
    from .models.foreign.registry import read_model, write_model
    from .models.foreign.sklearn import model_of_sklearn
    from .models.tally import UnknownFeaturesWarning
    from .solvers.eg.simplex_qp import QuadraticResult, minimise_quadratic
    from .tasks.constituency.estimator import ConstituencyParser, ConstituencyParserCV
    from .tasks.cross_validation import path
    from .tasks.dependency.estimator import DependencyParser, DependencyParserCV
    from .tasks.graph.estimator import GraphLabeler, GraphLabelerCV
    from .tasks.graph.examples import GraphExample
    from .tasks.graph.kernel import KernelGraphLabeler
    from .tasks.sequences.classifier import LinearClassifier, LinearClassifierCV
    from .tasks.sequences.kernel_estimators import KernelClassifier, KernelTagger
    from .tasks.sequences.segmenter import SegmentTagger, SegmentTaggerCV
    from .tasks.sequences.tagger import SequenceTagger, SequenceTaggerCV
    from .tasks.sequences.template_file import Templates
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
    "KernelGraphLabeler",
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
    "Templates",
    "UnknownFeaturesWarning",
    "__version__",
    "load_model",
    "minimise_quadratic",
    "model_of_sklearn",
    "path",
    "read_model",
    "save_model",
    "write_model",
]

_HOMES = {
    "ConvergenceWarning": ".training.certificate",
    "GraphExample": ".tasks.graph.examples",
    "QuadraticResult": ".solvers.eg.simplex_qp",
    "Templates": ".tasks.sequences.template_file",
    "UnknownFeaturesWarning": ".models.tally",
    "load_model": ".models.file",
    "minimise_quadratic": ".solvers.eg.simplex_qp",
    "model_of_sklearn": ".models.foreign.sklearn",
    "path": ".tasks.cross_validation",
    "read_model": ".models.foreign.registry",
    "save_model": ".models.file",
    "write_model": ".models.foreign.registry",
}

# The estimators are at home in the folders of their tasks.
__getattr__, __dir__ = lazy_names(__name__, _HOMES, "estimators")
