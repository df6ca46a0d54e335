"""Estimators with the manners of scikit-learn.

Each is imported when it is first asked for: the kernels of a structure are compiled when its module
is imported, and nobody should wait for those of structures that are not used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .classifier import LinearClassifier
    from .classifier_cv import LinearClassifierCV
    from .constituency import ConstituencyParser
    from .graphs import GraphLabeler
    from .kernel_classifier import KernelClassifier
    from .kernel_tagger import KernelTagger
    from .parser import DependencyParser
    from .parser_cv import DependencyParserCV
    from .segmenter import SegmentTagger
    from .tagger import SequenceTagger
    from .tagger_cv import SequenceTaggerCV

__all__ = [
    "ConstituencyParser",
    "DependencyParser",
    "DependencyParserCV",
    "GraphLabeler",
    "KernelClassifier",
    "KernelTagger",
    "LinearClassifier",
    "LinearClassifierCV",
    "SegmentTagger",
    "SequenceTagger",
    "SequenceTaggerCV",
]

_HOMES = {
    "ConstituencyParser": ".constituency",
    "DependencyParser": ".parser",
    "DependencyParserCV": ".parser_cv",
    "GraphLabeler": ".graphs",
    "KernelClassifier": ".kernel_classifier",
    "KernelTagger": ".kernel_tagger",
    "LinearClassifier": ".classifier",
    "LinearClassifierCV": ".classifier_cv",
    "SegmentTagger": ".segmenter",
    "SequenceTagger": ".tagger",
    "SequenceTaggerCV": ".tagger_cv",
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
