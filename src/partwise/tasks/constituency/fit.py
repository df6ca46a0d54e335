"""From trees to a model that brackets sentences."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy.typing as npt

from ...arrays import Ints
from ...errors import DataError
from ...formats.tree import Tree
from ...models.fit import check_weights, fit_model
from ...models.model import Model
from ...problem.dual_point import DualPoint
from ...structures.grammar.constraints import GrammarConstraints
from ...training.loop import Callback, Fit
from ...training.settings import Settings
from ...values import is_integer
from .features import SpanFeatures
from .normal_form import NormalForm, split_symbol
from .templates import standard_templates
from .tokens import SpanSentence
from .treebank import Productions, productions, to_derivation
from .treebank_grammar import grammar_of, symbols_of_tags

__all__ = ["TASK", "GoldDerivations", "fit_brackets", "gold_derivations", "tag_constraints"]

TASK = "brackets"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class GoldDerivations:
    """Trees to train on.

    Attributes
    ----------
    sentences
        Their words and tags.
    derivations
        For each the nodes of its normal form, see `partwise.tasks.constituency.treebank`.
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

    How many trees are left out is said in a warning of the log.

    Parameters
    ----------
    trees : sequence of Tree
        The trees.
    form : NormalForm
        How to make them binary.
    max_length : int or None
        Trees with more words are left out.
    """
    if max_length is not None and (not is_integer(max_length) or max_length < 1):
        raise DataError(f"max_length is {max_length!r}; give a whole number from 1, or None")
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
        [SpanSentence(tuple(trees[i].words), tuple(trees[i].tags)) for i in kept],
        [to_derivation(tree, numbers) for tree in normal],
        grammar,
        kept,
        n_long,
        split_symbol(root).labels[0],
        tags.most_common(1)[0][0],
        form,
    )


def tag_constraints(
    sentences: Sequence[SpanSentence], symbols: Mapping[str, Sequence[int]]
) -> list[GrammarConstraints]:
    """Allow over each word the symbols of its tag; all of them if the tag is unknown.

    Parameters
    ----------
    sentences : sequence of SpanSentence
        Sentences with tags.
    symbols : mapping
        See :func:`partwise.tasks.constituency.treebank_grammar.symbols_of_tags`.
    """
    return [
        GrammarConstraints(
            words=[(t, symbols[tag]) for t, tag in enumerate(sentence.tags or ()) if tag in symbols]
        )
        for sentence in sentences
    ]


def fit_brackets(
    gold: GoldDerivations,
    settings: Settings,
    *,
    tagged: bool = True,
    splits: bool = False,
    templates: Mapping[str, Sequence[str]] | None = None,
    sample_weight: npt.ArrayLike | None = None,
    callbacks: Sequence[Callback] = (),
    initial: Model | None = None,
    dual_point: DualPoint | None = None,
) -> tuple[Model, Fit]:
    """Train a model that brackets sentences.

    Parameters
    ----------
    gold : GoldDerivations
        The trees, as `gold_derivations` gives them.
    settings : Settings
        How to train. ``min_count`` counts the words, spans and splits of the trees that have a
        feature.
    tagged : bool
        Whether sentences come with tags; otherwise these are predicted with the tree.
    splits : bool
        Whether the points at which spans are split have features.
    templates : mapping or None
        What features look at, for "word", "span" and, with `splits`, "split"; see
        `partwise.tasks.constituency.templates`. None: the standard ones.
    sample_weight : array-like or None
        The weight of each of the trees of `gold`.
    callbacks, initial, dual_point
        As in :func:`partwise.models.fit.fit_model`.

    Returns
    -------
    model, fit
        ``model.labels`` are the symbols of the grammar; ``model.meta["brackets"]`` says how trees
        were made binary, how many were left out and what a sentence without a derivation gets.
    """
    check_weights(sample_weight, len(gold.sentences))
    structure = grammar_of(gold.grammar, splits)
    texts = _templates(templates, tagged, splits)
    encoder = SpanFeatures.fit(
        gold.sentences,
        gold.derivations,
        texts,
        tagged=tagged,
        min_count=settings.min_count,
    )
    own = None
    if tagged:
        by_tag = symbols_of_tags(structure, gold.grammar.symbols)
        own = tag_constraints(gold.sentences, by_tag)
    return fit_model(
        TASK,
        structure,
        encoder.features(gold.sentences),
        [len(sentence.words) for sentence in gold.sentences],
        gold.derivations,
        encoder,
        settings,
        labels=gold.grammar.symbols,
        own_constraints=own,
        sample_weight=sample_weight,
        callbacks=callbacks,
        initial=initial,
        dual_point=dual_point,
        meta={"brackets": _noted(gold)},
    )


def _templates(
    given: Mapping[str, Sequence[str]] | None, tagged: bool, splits: bool
) -> dict[str, Sequence[str]]:
    """The templates of all kinds of sites that have features."""
    found = standard_templates(tagged) if given is None else given
    wanted = ("word", "span", "split") if splits else ("word", "span")
    if not isinstance(found, Mapping) or not found.keys() >= set(wanted):
        named = ", ".join(map(str, found)) or "nothing"
        raise DataError(f"templates for {named}; expected a dict with {', '.join(wanted)}")
    return {kind: tuple(found[kind]) for kind in wanted}


def _noted(gold: GoldDerivations) -> dict[str, Any]:
    noted = {name: getattr(gold, name) for name in ("n_long", "root", "tag")}
    return {**noted, **asdict(gold.form)}
