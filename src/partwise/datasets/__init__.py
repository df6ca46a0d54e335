"""Example data: text, trees and phrases from small grammars, and scikit-learn's digits."""

from __future__ import annotations

from .arcs import dependency_trees
from .images import digits
from .phrases import phrase_trees
from .sentences import tagged_text, write

__all__ = ["dependency_trees", "digits", "phrase_trees", "tagged_text", "write"]
