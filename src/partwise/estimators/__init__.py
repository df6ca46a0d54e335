"""Estimators with the manners of scikit-learn."""

from __future__ import annotations

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
