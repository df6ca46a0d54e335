"""Linear models of structured labels, trained to a certified optimum.

The public names are loaded when they are first used, so that ``import partwise`` is fast and a
program that only reads a model file never loads the compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Programs that have only imported the package may catch partwise.errors.DataError.
from . import errors as errors
from .lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .errors import *
    from .models.file import *
    from .models.foreign.registry import *
    from .models.foreign.sklearn import model_of_sklearn as model_of_sklearn
    from .models.tally import *
    from .solvers.eg.simplex_qp import *
    from .tasks.constituency.estimator import *
    from .tasks.cross_validation import *
    from .tasks.dependency.estimator import *
    from .tasks.graph.estimator import *
    from .tasks.graph.examples import *
    from .tasks.graph.kernel import *
    from .tasks.sequences.classifier import *
    from .tasks.sequences.kernel_estimators import *
    from .tasks.sequences.segmenter import *
    from .tasks.sequences.tagger import *
    from .tasks.sequences.template_file import *
    from .training.certificate import *
else:
    # The estimators are at home in the folders of their tasks.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".": "__version__",
            ".errors": "DataError MismatchError ModelFileError PartwiseError",
            ".models.file": "load_model save_model",
            ".models.foreign.registry": "read_model write_model",
            ".models.foreign.sklearn": "model_of_sklearn",
            ".models.tally": "UnknownFeaturesWarning",
            ".solvers.eg.simplex_qp": "QuadraticResult minimise_quadratic",
            ".tasks.cross_validation": "path",
            ".tasks.graph.examples": "GraphExample",
            ".tasks.sequences.template_file": "Templates",
            ".training.certificate": "ConvergenceWarning",
        },
        "estimators",
    )
