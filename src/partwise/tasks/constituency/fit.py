"""From trees to what is trained: their normal form, their grammar and their features."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.tree import Tree
from ..trainer import Prepared
from .bracketing import Bracketing
from .features import SpanFeatures
from .normal_form import NormalForm, split_symbol
from .templates import standard_templates
from .tokens import SpanSentence
from .treebank import Productions, productions, to_derivation
from .treebank_grammar import grammar_of

__all__ = ["GoldDerivations", "gold_derivations", "prepare_trees"]

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
    lengths = [len(tree.leaves()) for tree in trees]
    kept = [i for i, n in enumerate(lengths) if max_length is None or n <= max_length]
    if not kept:
        why = "give at least one" if max_length is None else f"none has {max_length} words or fewer"
        raise DataError(f"there are no trees to train on; {why}")
    n_long = len(trees) - len(kept)
    if n_long:
        _log.warning(
            "%d of %d trees have more than %d words: they were left out",
            n_long, len(trees), max_length,
        )  # fmt: skip
    normal = [form.apply(trees[i]) for i in kept]
    grammar = productions(normal)
    numbers = grammar.numbers
    root = grammar.symbols[int(grammar.start[grammar.start_counts.argmax()])]
    tags = Counter(tag for i in kept for tag in trees[i].tags)
    return GoldDerivations(
        [SpanSentence.of(trees[i]) for i in kept],
        [to_derivation(tree, numbers) for tree in normal],
        grammar,
        kept,
        n_long,
        split_symbol(root).labels[0],
        tags.most_common(1)[0][0],
        form,
    )


def prepare_trees(
    gold: GoldDerivations,
    weight: Floats,
    *,
    tagged: bool = True,
    splits: bool = False,
    templates: Mapping[str, Sequence[str]] | None = None,
    min_count: int = 1,
) -> Prepared:
    """Make ready what is trained to bracket sentences.

    Parameters
    ----------
    gold : GoldDerivations
        The trees, as `gold_derivations` returns them.
    weight : ndarray
        The weight of each of them.
    tagged : bool
        Whether sentences come with tags; otherwise these are predicted with the tree.
    splits, templates, min_count
        As in :class:`partwise.ConstituencyParser`.
    """
    structure = grammar_of(gold.grammar, splits)
    features = SpanFeatures.fit(
        gold.sentences,
        gold.derivations,
        _templates(templates, tagged, splits),
        tagged=tagged,
        min_count=min_count,
    )
    bracketing = Bracketing(
        structure, gold.grammar.symbols, gold.form, gold.root, gold.tag, gold.n_long
    )
    sentences = gold.sentences
    return Prepared(
        structure,
        lambda: features.site_rows(sentences),
        [len(sentence.words) for sentence in sentences],
        gold.derivations,
        features,
        labels=gold.grammar.symbols,
        own_constraints=bracketing.tag_constraints(sentences) if tagged else None,
        weight=weight,
        meta=bracketing.meta(),
        # Given tags forbid symbols; which tags these are is to be seen in the derivations.
        key=tagged,
        record={
            "n_long": gold.n_long,
            "n_rules": len(gold.grammar.rules),
            "n_symbols": len(gold.grammar.symbols),
        },
    )


def _templates(
    given: Mapping[str, Sequence[str]] | None, tagged: bool, splits: bool
) -> dict[str, Sequence[str]]:
    """Return the templates of all kinds of sites that have features."""
    found = standard_templates(tagged) if given is None else given
    wanted = ("word", "span", "split") if splits else ("word", "span")
    if not isinstance(found, Mapping) or not found.keys() >= set(wanted):
        named = ", ".join(map(str, found)) or "nothing"
        raise DataError(f"templates for {named}; expected a dict with {', '.join(wanted)}")
    return {kind: tuple(found[kind]) for kind in wanted}
