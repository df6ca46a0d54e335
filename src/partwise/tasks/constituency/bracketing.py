"""The grammar of a treebank, and the trees that its derivations stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.tree import Tree
from ..spans import ProbableSpan, check_threshold
from .normal_form import NormalForm, restore, split_symbol, symbol_class
from .tokens import SpanSentence
from .treebank import Productions, from_derivation, to_derivation

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.grammar.constraints import GrammarConstraints
    from ...structures.grammar.structure import Grammar

__all__ = ["Bracketing", "grammar_of", "phrase_labels", "phrase_spans"]

#: Where `Model.meta` keeps all but the grammar and its symbols.
_META: Final = "brackets"


@dataclass(frozen=True, eq=False)
class Bracketing:
    """How trees and derivations correspond.

    Attributes
    ----------
    grammar : Grammar
        The structure.
    symbols : tuple of str
        The symbols of the grammar, in the order of their numbers.
    form : NormalForm
        How trees are made binary.
    root, tag : str
        The labels of the root and of the words of a tree where the grammar has none: the most
        frequent ones of the training data.
    n_long : int
        How many trees were too long to be trained on.
    """

    grammar: Grammar
    symbols: tuple[str, ...]
    form: NormalForm
    root: str
    tag: str
    n_long: int

    @classmethod
    def of(cls, model: Model) -> Bracketing:
        """Return the bracketing of a model; a DataError if the model does not bracket sentences."""
        known = _KNOWN.get(model)
        if known is None:
            known = _KNOWN[model] = cls._read(model)
        return known

    @classmethod
    def _read(cls, model: Model) -> Bracketing:
        structure: Any = model.structure
        if model.features.name != "spans" or structure.name != "grammar":
            raise DataError(
                f"a model of the task {model.task!r} with {model.features.name} features does not "
                "bracket sentences; use a model that was trained to"
            )
        noted = model.meta.get(_META)
        held = noted if isinstance(noted, dict) else {}

        def value(name: str, default: Any, *kinds: type) -> Any:
            # A model file may hold anything.
            found = held.get(name, default)
            return found if type(found) in kinds else default

        form = NormalForm(
            value("side", "right", str),
            value("horizontal", 1, int, type(None)),
            value("vertical", 1, int),
        )
        root, tag = value("root", "S", str), value("tag", "X", str)
        symbols = tuple(str(label) for label in model.labels)
        return cls(structure, symbols, form, root, tag, value("n_long", 0, int))

    def meta(self) -> dict[str, Any]:
        """Return what the model keeps in its `meta`."""
        noted = {name: getattr(self, name) for name in ("n_long", "root", "tag")}
        return {_META: {**noted, **asdict(self.form)}}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of phrases, sorted."""
        return phrase_labels(self.grammar, self.symbols)

    def tree(self, derivation: Ints, sentence: SpanSentence, tagged: bool) -> Tree:
        """Return the tree that a derivation stands for.

        Parameters
        ----------
        derivation : ndarray of shape (2T - 1, 4)
            The derivation.
        sentence : SpanSentence
            The sentence.
        tagged : bool
            Whether the tree has the tags of the sentence, also those that the grammar does not
            have.
        """
        return _tree_of(derivation, self.symbols, sentence.words, sentence.tags if tagged else None)

    def flat_tree(self, sentence: SpanSentence) -> Tree:
        """Return a tree with all words below the root, for a sentence without a derivation."""
        tags = sentence.tags or (self.tag,) * len(sentence.words)
        leaves = (Tree(tag, word=word) for word, tag in zip(sentence.words, tags, strict=True))
        return Tree(self.root, tuple(leaves))

    def derivation(self, tree: Tree) -> Ints | None:
        """Return the derivation of a tree; None if the grammar does not have it."""
        try:
            rows = to_derivation(self.form.apply(tree), self._numbers)
            self.grammar.encode(rows, self.grammar.topology(len(tree.leaves())))
        except DataError:
            return None
        return rows

    def phrase_table(self, marginals: Floats, length: int) -> Floats:
        """Sum the expected counts of parts over the phrases that they stand for.

        Parameters
        ----------
        marginals : ndarray
            The expected count of every part of a sentence.
        length : int
            The number of words T.

        Returns
        -------
        ndarray of shape (T + 1, T + 1, L)
            ``[i, j, k]`` is the expected number of phrases with label k over the words from i up
            to but not including j.
        """
        words, spans = self._matrices
        table = np.zeros((length + 1, length + 1, len(self.labels)))
        t = np.arange(length)
        at = length * len(words)
        table[t, t + 1] = marginals[:at].reshape(length, -1) @ words
        i, j = np.triu_indices(length + 1, 2)
        over = marginals[at : at + len(i) * len(spans)].reshape(len(i), len(spans))
        table[i, j] = over @ spans
        return table

    def tag_constraints(self, sentences: Sequence[SpanSentence]) -> list[GrammarConstraints]:
        """Allow over each word the symbols of its tag; all of them if the tag is unknown."""
        from ...structures.grammar.constraints import GrammarConstraints

        by_tag = self._by_tag
        return [
            GrammarConstraints(
                words=[(t, by_tag[tag]) for t, tag in enumerate(one.tags or ()) if tag in by_tag]
            )
            for one in sentences
        ]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    @cached_property
    def _by_tag(self) -> dict[str, tuple[int, ...]]:
        return _symbols_of_tags(self.grammar, self.symbols)

    @cached_property
    def _matrices(self) -> tuple[Floats, Floats]:
        return _label_matrix(self.grammar, self.symbols, self.labels)


#: The bracketing of each model in use: its tables take longer to make than a sentence to parse.
_KNOWN: Final[WeakKeyDictionary[Model, Bracketing]] = WeakKeyDictionary()


def phrase_spans(
    model: Model, sentences: Any, threshold: float | None = None, n_jobs: int | None = 1
) -> list[list[ProbableSpan]]:
    """Compute the probabilities of phrases.

    Parameters
    ----------
    model : Model
        A model of the task "brackets".
    sentences, n_jobs
        As in :meth:`partwise.models.model.Model.predict`.
    threshold : float or None
        The least probability. If None, the phrases are those of the best tree.
    """
    check_threshold(threshold)
    labels = Bracketing.of(model).labels
    index = {label: number for number, label in enumerate(labels)}
    read = model.features.read(model.structure, sentences)
    tables = model.marginals(read, n_jobs=n_jobs)
    if threshold is not None:
        return [
            [
                ProbableSpan(int(a), int(b), labels[k], min(float(table[a, b, k]), 1.0))
                for a, b, k in np.argwhere(table >= threshold)
            ]
            for table in tables
        ]
    found = []
    for tree, table in zip(model.predict(read, n_jobs=n_jobs), tables, strict=True):
        # A flat tree may have a root that no phrase has.
        known = [(a, b, label) for label, a, b in tree.brackets() if label in index]
        found.append(
            [
                ProbableSpan(a, b, label, min(float(table[a, b, index[label]]), 1.0))
                for a, b, label in known
            ]
        )
    return found


def grammar_of(found: Productions, split: bool) -> Grammar:
    """Make the structure of all trees that a grammar derives.

    Symbols that stand over single words alone need no classes of their own, as words have a part
    for each of them: plain tags share one class, and ``NP+NN`` is of the class ``NP``, as errors
    are counted by class. So there are a third as many parts.

    Parameters
    ----------
    found : Productions
        The grammar.
    split : bool
        Whether the splits of spans have scores.
    """
    # Each import loads compiled code.
    from ...structures.grammar.structure import Grammar

    phrases = set(found.rules[:, 0].tolist())
    names: list[str] = []
    for number, symbol in enumerate(found.symbols):
        chain, _, _ = symbol.rpartition("+")
        names.append(symbol_class(symbol) if number in phrases else chain)
    classes = {name: number for number, name in enumerate(sorted(set(names)))}
    # The class of plain tags is the only one without a name; partial phrases do not count either.
    constituents = [bool(name) and not split_symbol(name).partial for name in classes]
    return Grammar(
        len(found.symbols),
        found.rules.tolist(),
        found.lexical.tolist(),
        found.start.tolist(),
        [classes[name] for name in names],
        constituents,
        split=split,
    )


def _symbols_of_tags(grammar: Grammar, symbols: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return for every tag the symbols over a word that end in it: ``NN``, ``NP+NN``, ..."""
    found: dict[str, list[int]] = {}
    for number in grammar.lexical:
        found.setdefault(split_symbol(symbols[number]).labels[-1], []).append(number)
    return {tag: tuple(numbers) for tag, numbers in found.items()}


def _phrases(symbol: str, lexical: bool) -> tuple[str, ...]:
    """Return the labels of the phrases that a symbol stands for, without the tag of a word."""
    labels, partial = split_symbol(symbol)
    return () if partial else labels[:-1] if lexical else labels


def phrase_labels(grammar: Grammar, symbols: Sequence[str]) -> tuple[str, ...]:
    """Return the labels that phrases can have, sorted."""
    inner = {a for a, _, _ in grammar.rules}
    found = {label for number in inner for label in _phrases(symbols[number], False)}
    found |= {label for number in grammar.lexical for label in _phrases(symbols[number], True)}
    return tuple(sorted(found))


def _label_matrix(
    grammar: Grammar, symbols: Sequence[str], labels: Sequence[str]
) -> tuple[Floats, Floats]:
    """Count the labels that each symbol over a word, and each class over a span, stands for.

    Returns
    -------
    words : ndarray of shape (P, L)
        For each lexical symbol.
    spans : ndarray of shape (Q, L)
        For each class.
    """
    index = {label: number for number, label in enumerate(labels)}
    words = np.zeros((len(grammar.lexical), len(labels)))
    for row, number in zip(words, grammar.lexical, strict=True):
        for label in _phrases(symbols[number], True):
            row[index[label]] += 1.0
    spans = np.zeros((grammar.n_classes, len(labels)))
    # All symbols of a class that have rules differ in their ancestors and siblings only.
    for number in {grammar.classes[a]: a for a, _, _ in grammar.rules}.values():
        for label in _phrases(symbols[number], False):
            spans[grammar.classes[number], index[label]] += 1.0
    return words, spans


def _tree_of(
    derivation: Ints, symbols: Sequence[str], words: Sequence[str], tags: Sequence[str] | None
) -> Tree:
    """Return the tree that a derivation stands for, with the given tags over the words if any."""
    tree = restore(from_derivation(derivation, symbols, words))
    if tags is None or tree.tags == list(tags):
        return tree
    left = list(tags)
    # A fold visits the words from the last to the first.
    return tree.fold(
        lambda node: Tree(left.pop(), word=node.word),
        lambda node, children: Tree(node.label, tuple(children)),
    )
