"""From trees to what is trained: their normal form, their grammar and their features."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.tree import Tree
from ..prepared import Prepared
from .bracketing import Bracketing
from .features import SpanFeatures
from .normal_form import NormalForm, split_symbol
from .partial_trees import PartialTree
from .templates import standard_templates
from .tokens import SpanSentence
from .treebank import Productions, productions, to_derivation
from .treebank_grammar import grammar_of

__all__ = [
    "GoldDerivations",
    "check_kept",
    "gold_derivations",
    "most_frequent_root",
    "prepare_trees",
    "short_trees",
    "site_templates",
]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class GoldDerivations:
    """Trees to train on.

    Attributes
    ----------
    sentences
        Their words and tags.
    derivations
        For each tree the nodes of its normal form, see `partwise.tasks.constituency.treebank`.
    grammar
        The symbols and rules that occur.
    kept
        Which of the given trees these are.
    n_long
        How many were left out as they have too many words.
    root, tag
        The most frequent labels of a whole sentence and of a word.
    form
        How the trees were made binary.
    """

    sentences: list[SpanSentence]
    derivations: list[Ints]
    grammar: Productions
    kept: list[int]
    n_long: int
    root: str
    tag: str
    form: NormalForm


def gold_derivations(
    trees: Sequence[Tree], form: NormalForm, max_length: int | None = None
) -> GoldDerivations:
    """Put trees into normal form and read their grammar off.

    A warning of the log says how many trees are left out.

    Parameters
    ----------
    trees : sequence of Tree
        The trees.
    form : NormalForm
        How to make them binary.
    max_length : int or None
        Trees with more words are left out.
    """
    kept = short_trees(trees, max_length)
    check_kept(len(trees), len(kept), max_length)
    n_long = len(trees) - len(kept)
    normal = [form.apply(trees[i]) for i in kept]
    grammar = productions(normal)
    numbers = grammar.numbers
    tags = Counter(tag for i in kept for tag in trees[i].tags)
    return GoldDerivations(
        [SpanSentence.of(trees[i]) for i in kept],
        [to_derivation(tree, numbers) for tree in normal],
        grammar,
        kept,
        n_long,
        most_frequent_root(grammar),
        tags.most_common(1)[0][0],
        form,
    )


def most_frequent_root(grammar: Productions) -> str:
    """Return the most frequent label of a whole sentence."""
    root = grammar.symbols[int(grammar.start[grammar.start_counts.argmax()])]
    return split_symbol(root).labels[0]


def short_trees(trees: Sequence[Tree], max_length: int | None) -> list[int]:
    """Return which trees have no more words than allowed."""
    lengths = [len(tree.leaves()) for tree in trees]
    return [i for i, n in enumerate(lengths) if max_length is None or n <= max_length]


def check_kept(n: int, kept: int, max_length: int | None) -> None:
    """Raise a DataError if no tree is left, and log a warning about those that are too long."""
    if not kept:
        why = "give at least one" if max_length is None else f"none has {max_length} words or fewer"
        raise DataError(f"there are no trees to train on; {why}")
    if kept < n:
        _log.warning(
            "%d of %d trees have more than %d words: they were left out", n - kept, n, max_length
        )


def prepare_trees(
    gold: GoldDerivations,
    weight: Floats,
    *,
    partial: Sequence[tuple[PartialTree, float]] = (),
    tagged: bool = True,
    splits: bool = False,
    templates: Mapping[str, Sequence[str]] | None = None,
    min_count: int = 1,
    n_hashed: int = 0,
) -> Prepared:
    """Make ready what is trained to bracket sentences.

    Parameters
    ----------
    gold : GoldDerivations
        The trees, as `gold_derivations` returns them.
    weight : ndarray
        The weight of each of them.
    partial : sequence of pairs
        Trees that are known in part, and their weights.
    tagged : bool
        Whether sentences come with tags; otherwise these are predicted with the tree.
    splits, templates, min_count, n_hashed
        As in :class:`partwise.ConstituencyParser`, where the last one is `hashing`.
    """
    structure = grammar_of(gold.grammar, splits)
    features = SpanFeatures.fit(
        gold.sentences,
        gold.derivations,
        site_templates(templates, tagged, splits),
        tagged=tagged,
        min_count=min_count,
        n_hashed=n_hashed,
    )
    bracketing = Bracketing(
        structure, gold.grammar.symbols, gold.form, gold.root, gold.tag, gold.n_long
    )
    sentences, derivations, allowed = gold.sentences, gold.derivations, None
    if partial:
        open_, more = _derivable(partial, bracketing, tagged)
        sentences = [*sentences, *(tree.sentence for tree in open_)]
        derivations = [*derivations, *[np.zeros((0, 4), np.int64)] * len(open_)]
        rules = [tree.constraints(gold.grammar.symbols) for tree in open_]
        allowed = [*[None] * len(gold.sentences), *rules]
        weight = np.concatenate([weight, more])
    return Prepared(
        structure,
        lambda: features.site_rows(sentences),
        [len(sentence.words) for sentence in sentences],
        derivations,
        features,
        labels=gold.grammar.symbols,
        own_constraints=bracketing.tag_constraints(sentences) if tagged else None,
        allowed=allowed,
        weight=weight,
        meta=bracketing.meta(),
        # Given tags forbid symbols; which tags these are is to be seen in the derivations.
        key=tagged if allowed is None else (tagged, allowed),
        record={
            "n_long": gold.n_long,
            "n_rules": len(gold.grammar.rules),
            "n_symbols": len(gold.grammar.symbols),
        },
    )


def _derivable(
    partial: Sequence[tuple[PartialTree, float]], bracketing: Bracketing, tagged: bool
) -> tuple[list[PartialTree], Floats]:
    """Return the trees known in part that the grammar can complete, and their weights.

    A warning of the log says how many it cannot.
    """
    grammar = bracketing.grammar
    trees = [tree for tree, _ in partial]
    tags = bracketing.tag_constraints([tree.sentence for tree in trees])
    kept = []
    for i, tree in enumerate(trees):
        topo = grammar.topology(len(tree.sentence.words))
        mask = grammar.mask(topo, tree.constraints(bracketing.symbols))
        if tagged:
            mask = mask + grammar.mask(topo, tags[i])
        if np.isfinite(grammar.log_partition(mask, topo)):
            kept.append(i)
    if len(kept) < len(trees):
        _log.warning(
            "%d of %d trees that are known in part have no derivation under the grammar of the "
            "others: they were left out",
            len(trees) - len(kept), len(trees),
        )  # fmt: skip
    return [trees[i] for i in kept], np.array([partial[i][1] for i in kept], dtype=np.float64)


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
