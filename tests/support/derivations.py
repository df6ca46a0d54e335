"""Derivations of trees, and the features of their spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from partwise.arrays import Ints
from partwise.formats.tree import Tree
from partwise.tasks.constituency.features import SpanFeatures
from partwise.tasks.constituency.normal_form import NormalForm
from partwise.tasks.constituency.span_counts import SpanCounts
from partwise.tasks.constituency.tokens import SpanSentence
from partwise.tasks.constituency.treebank import Productions, productions, to_derivation

__all__ = ["Gold", "gold_derivations"]


class Gold(NamedTuple):
    """Trees in normal form, and their grammar."""

    sentences: list[SpanSentence]
    derivations: list[Ints]
    grammar: Productions

    def features(self, templates: Mapping[str, Sequence[str]], min_count: int = 1) -> SpanFeatures:
        """The features of the words, spans and splits of these trees, with tags."""
        counts = SpanCounts(templates, tagged=True)
        counts.add(self.sentences, self.derivations)
        return SpanFeatures.of(counts, min_count)


def gold_derivations(trees: Sequence[Tree], form: NormalForm) -> Gold:
    """Put trees into normal form, and read their grammar off."""
    normal = [form.apply(tree) for tree in trees]
    grammar = productions(normal)
    found = [to_derivation(tree, grammar.numbers) for tree in normal]
    return Gold([SpanSentence.of(tree) for tree in trees], found, grammar)
