"""A small grammar of dependencies, for tests: nouns, verbs, modifiers, punctuation."""

from __future__ import annotations

from partwise.datasets import dependency_trees as treebank
from partwise.datasets.trees import parsed_sentence as parsed
from partwise.formats.conll import Sentence

__all__ = ["crossing", "parsed", "treebank"]


def crossing() -> Sentence:
    """Make a sentence whose tree is not projective: the last word belongs to the second."""
    return Sentence.from_columns(
        ["the", "dog", "sees", "old"],
        cpos=["D", "N", "V", "A"],
        pos=["DT", "NN", "VB", "JJ"],
        head=[2, 3, 0, 2],
        deprel=["det", "subj", "root", "amod"],
    )
