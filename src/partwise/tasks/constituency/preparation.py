"""Preparation of trees, for parsers of phrase structure."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...models.prepared import Prepared
from ...problem.batches import Batch
from ...problem.numbering import Numbering
from ..preparation import Joined, Preparation
from ..source import runs
from .bracketing import Bracketing, grammar_of
from .features import SpanFeatures
from .normal_form import NormalForm, split_symbol
from .partial_trees import PartialTree
from .span_counts import SpanCounts
from .templates import standard_templates
from .tokens import SpanSentence
from .treebank import ProductionCounts, Productions, to_derivation

if TYPE_CHECKING:
    from ...formats.tree import Tree
    from .examples import Trees
    from .trainer import ConstituencyTrainer

__all__ = ["PhrasePreparation", "site_templates"]

_log = logging.getLogger(__name__)

#: How many spans, or splits, have their features in memory at a time, some 30 of 4 bytes each.
_SPANS: Final = 1 << 16


class _Found(NamedTuple):
    """What all trees have in common, once all were looked at."""

    grammar: Productions
    features: SpanFeatures
    bracketing: Bracketing


class PhrasePreparation(Preparation):
    """Prepares trees.

    The grammar and the features are read off all trees before the first sentence is laid out: so
    trees that come in batches are read twice.

    Parameters
    ----------
    how : ConstituencyTrainer
        The parameters.
    whole : bool
        Whether all trees come at once.
    """

    none: ClassVar[str] = "there are no trees to train on; give at least one"

    def __init__(self, how: ConstituencyTrainer, whole: bool) -> None:
        self.how, self.whole, self.looks = how, whole, int(not whole)
        self.form = NormalForm(how.side, how.horizontal, how.vertical)
        self.tagged = how.tags == "gold"
        templates = site_templates(how.templates, self.tagged, bool(how.splits))
        self.counts = SpanCounts(templates, self.tagged, listed=how.hashing is None)
        self.productions = ProductionCounts()
        self.tags: Counter[str] = Counter()
        self.n = self.n_kept = self.n_partial = 0
        self._grammar: Productions | None = None

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        for i, mine in enumerate(source.known(self.how.missing_label)):
            if mine is not None:
                raise DataError(
                    "is known in part, and such trees need all examples "
                    "in memory; leave out_of_core (--out-of-core) out, or these trees",
                    place=Place.nth("tree", i),
                    subject=True,
                )
        self._note(source.trees)

    def _short(self, trees: Sequence[Tree]) -> list[int]:
        """Return which trees have no more words than allowed."""
        most = self.how.max_length or math.inf
        return [i for i, tree in enumerate(trees) if len(tree.leaves()) <= most]

    def _note(self, trees: Sequence[Tree]) -> tuple[list[SpanSentence], list[Ints]]:
        """Count the rules and the features of those that are short; returns what they are made of.

        The numbers of symbols are final if all trees come at once, and not needed otherwise.
        """
        kept = [trees[i] for i in self._short(trees)]
        self.n += len(trees)
        self.n_kept += len(kept)
        normal = [self.form.apply(tree) for tree in kept]
        self.productions.add(normal)
        self.tags.update(tag for tree in kept for tag in tree.tags)
        if self.whole:
            self._check_kept()
            self._grammar = self.productions.finish()
            numbers = self._grammar.numbers
        else:
            numbers = dict.fromkeys((node.label for tree in normal for node in tree.nodes()), 0)
        sentences = [SpanSentence.of(tree) for tree in kept]
        derivations = [to_derivation(tree, numbers) for tree in normal]
        self.counts.add(sentences, derivations)
        return sentences, derivations

    def _check_kept(self) -> None:
        """Raise a DataError if no tree is left, and log a warning about those that are too long."""
        most = self.how.max_length
        if not self.n_kept:
            long = f"there are no trees to train on; none has {most} words or fewer"
            raise DataError(self.none if most is None else long)
        if self.n_kept < self.n:
            _log.warning(
                "%d of %d trees have more than %d words: they were left out",
                self.n - self.n_kept, self.n, most,
            )  # fmt: skip

    def join_looks(self, other: PhrasePreparation) -> None:
        self.n += other.n
        self.n_kept += other.n_kept
        self.productions.join(other.productions)
        self.tags.update(other.tags)
        self.counts.join(other.counts)

    def ready(self) -> None:
        _ = self._found

    def join(self, other: PhrasePreparation) -> Joined:
        return Joined()  # the numbers were known before

    @cached_property
    def _found(self) -> _Found:
        """The grammar and the features of all trees, once all were looked at."""
        if not self.whole:
            self._check_kept()
        grammar = self._grammar or self.productions.finish()
        root = grammar.symbols[int(grammar.start[grammar.start_counts.argmax()])]
        bracketing = Bracketing(
            grammar_of(grammar, bool(self.how.splits)),
            grammar.symbols,
            self.form,
            split_symbol(root).labels[0],
            self.tags.most_common(1)[0][0],
            self.n - self.n_kept,
        )
        features = SpanFeatures.of(self.counts, self.how.min_count, self.how.hashing or 0)
        return _Found(grammar, features, bracketing)

    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        open_: list[tuple[int, PartialTree]] = []
        if self.whole:
            which, partial = self._split(source)
            sentences, derivations = self._note([source.trees[i] for i in which])
            open_ = self._derivable(partial) if partial else []
            self.n_partial = len(open_)
            kept = [which[i] for i in self._short([source.trees[i] for i in which])]
        else:
            numbers = self._found.grammar.numbers
            kept = [i for i in self._short(source.trees) if weight[i] > 0.0]
            sentences = [SpanSentence.of(source.trees[i]) for i in kept]
            normal = (self.form.apply(source.trees[i]) for i in kept)
            derivations = [to_derivation(tree, numbers) for tree in normal]
        _, features, bracketing = self._found
        allowed: list[Any] = [None] * len(kept)
        for i, tree in open_:
            kept.append(i)
            sentences.append(tree.sentence)
            derivations.append(np.zeros((0, 4), np.int64))
            allowed.append(tree.constraints(bracketing.symbols))
        used = np.flatnonzero(weight[kept] > 0.0)
        lengths = np.array([len(sentences[i].words) for i in used], dtype=np.int64)
        sites = lengths**3 // 6 if self.how.splits else lengths**2 // 2
        for first, last in runs(sites, None if self.whole else _SPANS):
            some = used[first:last].tolist()
            words = [sentences[i] for i in some]
            yield Batch(
                lengths[first:last].tolist(),
                features.site_rows(words),
                [derivations[i] for i in some],
                weight[[kept[i] for i in some]],
                bracketing.tag_constraints(words) if self.tagged else None,
                [allowed[i] for i in some] if open_ else None,
            )

    def _split(self, source: Trees) -> tuple[list[int], list[tuple[int, PartialTree]]]:
        """Return the numbers of the trees that are known, and those that are known in part."""
        known = source.known(self.how.missing_label)
        whole = [i for i, mine in enumerate(known) if mine is None]
        partial = [(i, mine) for i, mine in enumerate(known) if mine is not None]
        if partial and self.how.loss != "log":
            raise DataError(
                f"is known in part, and the "
                f"{self.how.loss} loss has no cost for a set of trees; use the log loss",
                place=Place.nth("tree", partial[0][0]),
                subject=True,
            )
        if partial and not whole:
            raise DataError("the grammar is read off trees that are known; give at least one")
        most = self.how.max_length or math.inf
        return whole, [(i, mine) for i, mine in partial if len(mine.sentence.words) <= most]

    def _derivable(
        self, partial: Sequence[tuple[int, PartialTree]]
    ) -> list[tuple[int, PartialTree]]:
        """Return the trees known in part that the grammar can complete, with their numbers.

        A warning of the log says how many it cannot.
        """
        bracketing = self._found.bracketing
        grammar = bracketing.grammar
        tags = bracketing.tag_constraints([tree.sentence for _, tree in partial])
        kept = []
        for (i, tree), tagging in zip(partial, tags, strict=True):
            topo = grammar.topology(len(tree.sentence.words))
            mask = grammar.mask(topo, tree.constraints(bracketing.symbols))
            if self.tagged:
                mask = mask + grammar.mask(topo, tagging)
            if np.isfinite(grammar.log_partition(mask, topo)):
                kept.append((i, tree))
        if len(kept) < len(partial):
            _log.warning(
                "%d of %d trees that are known in part have no derivation under the grammar of the "
                "others: they were left out",
                len(partial) - len(kept), len(partial),
            )  # fmt: skip
        return kept

    def finish(self) -> Prepared:
        grammar, features, bracketing = self._found
        structure = bracketing.grammar
        return Prepared(
            structure,
            features,
            grammar.symbols,
            numbering=Numbering(features.feature_counts(structure)),
            meta=bracketing.meta(),
            # Given tags forbid symbols; which tags these are is to be seen in the derivations.
            key=self.tagged,
            record={
                "n_examples": self.n_kept + self.n_partial,
                "n_long": bracketing.n_long,
                "n_rules": len(grammar.rules),
                "n_symbols": len(grammar.symbols),
            },
        )


def site_templates(
    given: Mapping[str, Sequence[str]] | None, tagged: bool, splits: bool
) -> dict[str, Sequence[str]]:
    """Return the templates of all kinds of sites that have features."""
    found = standard_templates(tagged) if given is None else given
    wanted = ("word", "span", "split") if splits else ("word", "span")
    if not isinstance(found, Mapping) or not found.keys() >= set(wanted):
        named = ", ".join(map(str, found)) or "nothing"
        raise DataError(f"templates for {named}; expected a dict with {', '.join(wanted)}")
    return {kind: tuple(found[kind]) for kind in wanted}
