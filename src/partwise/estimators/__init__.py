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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The package knows where each of its names is at home.
    return getattr(importlib.import_module("partwise"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
