"""Trees drawn from a small grammar, for tests."""

from __future__ import annotations

from partwise.datasets import phrase_trees as treebank

__all__ = ["treebank"]
