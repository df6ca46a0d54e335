"""Estimators with the manners of scikit-learn."""

from __future__ import annotations

from .classifier import LinearClassifier
from .tagger import SequenceTagger

__all__ = ["LinearClassifier", "SequenceTagger"]
