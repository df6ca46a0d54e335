"""Estimators with the manners of scikit-learn."""

from __future__ import annotations

from .classifier import LinearClassifier
from .constituency import ConstituencyParser
from .graphs import GraphLabeler
from .parser import DependencyParser
from .segmenter import SegmentTagger
from .tagger import SequenceTagger

__all__ = [
    "ConstituencyParser",
    "DependencyParser",
    "GraphLabeler",
    "LinearClassifier",
    "SegmentTagger",
    "SequenceTagger",
]
