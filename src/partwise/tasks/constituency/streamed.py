"""Preparation of phrase structure trees that are read a batch at a time, twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...arrays import Floats
from ...errors import DataError, Place
from ...problem.batches import Batch
from ..preparation import Joined, Outline, Preparation
from .bracketing import Bracketing
from .features import SpanFeatures
from .fit import check_kept, most_frequent_root, short_trees, site_templates
from .normal_form import NormalForm
from .span_counts import SpanCounts
from .tokens import SpanSentence
from .treebank import ProductionCounts, Productions, to_derivation
from .treebank_grammar import grammar_of

if TYPE_CHECKING:
    from ...formats.tree import Tree
    from .examples import Trees
    from .trainer import ConstituencyTrainer

__all__ = ["StreamedPhrases"]

#: How many spans, or splits, have their features in memory at a time, some 30 of 4 bytes each.
_SPANS: Final = 1 << 16


class _Found(NamedTuple):
    """What all trees have in common, once all were looked at."""

    grammar: Productions
    features: SpanFeatures
    bracketing: Bracketing


class StreamedPhrases(Preparation):
    """Prepares trees.

    The grammar and the features are read off all trees before the first sentence is laid out: so
    the trees are read twice.

    Parameters
    ----------
    how : ConstituencyTrainer
        The parameters.
    """

    looks = 1

    def __init__(self, how: ConstituencyTrainer) -> None:
        self.how = how
        self.form = NormalForm(how.side, how.horizontal, how.vertical)
        self.tagged = how.tags == "gold"
        templates = site_templates(how.templates, self.tagged, bool(how.splits))
        self.counts = SpanCounts(templates, self.tagged, listed=how.hashing is None)
        self.productions = ProductionCounts()
        self.tags: Counter[str] = Counter()
        self.n = self.n_kept = 0
        self._made: _Found | None = None

    def _kept(self, source: Trees) -> list[int]:
        """Return which trees are short enough; those that are known in part are refused."""
        for i, mine in enumerate(source.known(self.how.missing_label)):
            if mine is not None:
                raise DataError(
                    "is known in part, and such trees need all examples "
                    "in memory; leave out_of_core (--out-of-core) out, or these trees",
                    place=Place.nth("tree", i),
                    subject=True,
                )
        return short_trees(source.trees, self.how.max_length)

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        kept = [source.trees[i] for i in self._kept(source)]
        self.n += len(source)
        self.n_kept += len(kept)
        normal = [self.form.apply(tree) for tree in kept]
        self.productions.add(normal)
        self.tags.update(tag for tree in kept for tag in tree.tags)
        # The numbers of symbols are not known yet, and not needed for the features.
        derivations = [
            to_derivation(tree, dict.fromkeys([node.label for node in tree.nodes()], 0))
            for tree in normal
        ]
        self.counts.add([SpanSentence.of(tree) for tree in kept], derivations)

    def join_looks(self, other: Preparation) -> None:
        assert isinstance(other, StreamedPhrases)
        self.n += other.n
        self.n_kept += other.n_kept
        self.productions.join(other.productions)
        self.tags.update(other.tags)
        self.counts.join(other.counts)

    def ready(self) -> None:
        self._found()

    def join(self, other: Preparation) -> Joined:
        return Joined()  # the numbers were known before

    def _found(self) -> _Found:
        """Return the grammar and the features of all trees, once all were looked at."""
        if self._made is None:
            check_kept(self.n, self.n_kept, self.how.max_length)
            grammar = self.productions.finish()
            bracketing = Bracketing(
                grammar_of(grammar, bool(self.how.splits)),
                grammar.symbols,
                self.form,
                most_frequent_root(grammar),
                self.tags.most_common(1)[0][0],
                self.n - self.n_kept,
            )
            features = SpanFeatures.of(self.counts, self.how.min_count, self.how.hashing or 0)
            self._made = _Found(grammar, features, bracketing)
        return self._made

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        grammar, features, bracketing = self._found()
        kept = [i for i in self._kept(source) if weight[i] > 0.0]
        lengths = np.array([len(source.trees[i].leaves()) for i in kept], dtype=np.int64)
        sites = lengths**3 // 6 if self.how.splits else lengths**2 // 2
        bounds = np.flatnonzero(np.diff(np.cumsum(sites) // _SPANS, prepend=-1, append=-1))
        numbers = grammar.numbers
        for first, last in pairwise(bounds.tolist()):
            some = kept[first:last]
            trees: list[Tree] = [source.trees[i] for i in some]
            sentences = [SpanSentence.of(tree) for tree in trees]
            yield Batch(
                lengths[first:last].tolist(),
                features.site_rows(sentences),
                [to_derivation(self.form.apply(tree), numbers) for tree in trees],
                weight[some],
                own_constraints=bracketing.tag_constraints(sentences) if self.tagged else None,
            )

    def finish(self) -> Outline:
        grammar, features, bracketing = self._found()
        structure = bracketing.grammar
        return Outline(
            structure,
            features,
            features.feature_counts(structure),
            grammar.symbols,
            meta=bracketing.meta(),
            record={
                "n_examples": self.n_kept,
                "n_long": bracketing.n_long,
                "n_rules": len(grammar.rules),
                "n_symbols": len(grammar.symbols),
            },
        )
