"""A trained model as a constituency parser: sentences in, trees and probabilities out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.threads import run
from ...errors import DataError, MismatchError
from ...formats.tree import Tree
from ...models.model import Model
from ...problem.rows import Rows
from ...structures.grammar.constraints import GrammarConstraints
from ...structures.grammar.structure import Grammar
from .features import SpanFeatures
from .fit import tag_constraints
from .normal_form import NormalForm
from .tokens import SpanSentence
from .treebank import to_derivation
from .treebank_grammar import label_matrix, phrase_labels, symbols_of_tags, tree_of

if TYPE_CHECKING:
    from ...models.inference import Batch

__all__ = ["Ranked", "SpanParser", "sentence_of"]

_log = logging.getLogger(__name__)

#: Spans whose features are held at a time, some 30 of 4 bytes each, and their scores.
_SPANS: Final = 1 << 16

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class Ranked:
    """One of the best trees of a sentence.

    Attributes
    ----------
    tree
        The tree.
    score
        w.f(x, y); -inf for a flat tree where the grammar has none.
    log_proba
        Its log-probability; nan if not asked for.
    """

    tree: Tree
    score: float
    log_proba: float


@dataclass(frozen=True, eq=False)
class SpanParser:
    """A model that brackets sentences.

    A sentence that the grammar does not derive gets a flat tree, all its words below the most
    frequent root of the training data; how many there are is said in a warning of the log.

    Parameters
    ----------
    model : Model
        A model of a grammar with features of spans.

    Raises
    ------
    DataError
        If the model is of another kind.
    """

    model: Model

    def __post_init__(self) -> None:
        """Refuse models of other kinds."""
        model = self.model
        if not isinstance(model.encoder, SpanFeatures) or not isinstance(model.structure, Grammar):
            raise DataError(
                f"a model of the task {model.task!r} with {model.encoder.name} features does not "
                "bracket sentences; use a model that was trained to"
            )

    @property
    def encoder(self) -> SpanFeatures:
        """How sentences become features."""
        assert isinstance(self.model.encoder, SpanFeatures)
        return self.model.encoder

    @property
    def grammar(self) -> Grammar:
        """The rules."""
        assert isinstance(self.model.structure, Grammar)
        return self.model.structure

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the grammar in the order of their numbers."""
        return tuple(str(label) for label in self.model.labels)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of phrases, sorted."""
        return phrase_labels(self.grammar, self.symbols)

    @cached_property
    def form(self) -> NormalForm:
        """How trees become derivations."""
        horizontal = self._meta("horizontal", 1, (int, type(None)))
        return NormalForm(
            self._meta("side", "right"), horizontal, self._meta("vertical", 1, (int,))
        )

    @property
    def n_long(self) -> int:
        """How many trees were too long to be trained on."""
        return int(self._meta("n_long", 0, (int,)))

    def predict(self, sentences: Sequence[SpanSentence], *, n_jobs: int | None = 1) -> list[Tree]:
        """Predict the best trees.

        Parameters
        ----------
        sentences : sequence of SpanSentence
            The sentences, with tags if the model needs them.
        n_jobs : int or None
            How many threads; None: 1, -1: one a core. They do not change the result.
        """
        best = self._each(sentences, n_jobs, lambda theta, topo: self.grammar.best(theta, topo)[1])
        self._note(sum(not len(rows) for rows in best), len(sentences))
        return [
            self._tree(sentence, rows) if len(rows) else self._flat(sentence)
            for sentence, rows in zip(sentences, best, strict=True)
        ]

    def k_best(
        self,
        sentences: Sequence[SpanSentence],
        k: int,
        *,
        probabilities: bool = False,
        n_jobs: int | None = 1,
    ) -> list[list[Ranked]]:
        """Predict the k best trees of every sentence, best first; fewer if there are fewer.

        Parameters
        ----------
        sentences, n_jobs
            As in `predict`.
        k : int
            How many.
        probabilities : bool
            Whether log-probabilities are wanted as well.
        """
        if k < 1:
            raise DataError(f"k is {k}; ask for at least 1 tree")
        if probabilities:
            self._need_probabilities()

        def search(theta: Floats, topo: Ints) -> tuple[Floats, list[Ints], float]:
            log_z = self.grammar.log_partition(theta, topo) if probabilities else np.nan
            return (*self.grammar.k_best(theta, topo, k), log_z)

        found = self._each(sentences, n_jobs, search)
        self._note(sum(not rows for _, rows, _ in found), len(sentences))
        rankings = []
        for sentence, (scores, rows, log_z) in zip(sentences, found, strict=True):
            # Rounding may lift the probability of a near certainty above 1; nan stays nan.
            logs = np.minimum(scores - log_z, 0.0)
            ranking = [
                Ranked(self._tree(sentence, one), score, log)
                for score, log, one in zip(scores.tolist(), logs.tolist(), rows, strict=True)
            ]
            rankings.append(ranking or [Ranked(self._flat(sentence), -np.inf, -np.inf)])
        return rankings

    def marginals(
        self, sentences: Sequence[SpanSentence], *, n_jobs: int | None = 1
    ) -> list[Floats]:
        """Compute the probability of every phrase.

        Parameters as in `predict`.

        Returns
        -------
        list of ndarray of shape (T + 1, T + 1, L)
            ``[i, j, k]`` is the expected number of phrases with label k over the words from i up
            to but not including j; above 1 only where a phrase can have the same label as its
            only child. All 0 for a sentence that the grammar does not derive.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        self._need_probabilities()
        words, spans = label_matrix(self.grammar, self.symbols, self.labels)

        def expected(theta: Floats, topo: Ints) -> Floats:
            log_z, mu = self.grammar.expected_parts(theta, topo)
            n = int(topo[0])
            out = np.zeros((n + 1, n + 1, len(self.labels)))
            if np.isneginf(log_z):
                return out
            t = np.arange(n)
            at = n * len(words)
            out[t, t + 1] = mu[:at].reshape(n, -1) @ words
            i, j = np.triu_indices(n + 1, 2)
            out[i, j] = mu[at : at + len(i) * len(spans)].reshape(len(i), len(spans)) @ spans
            return out

        found = self._each(sentences, n_jobs, expected)
        self._note(sum(not mu.any() for mu in found), len(sentences), "have no phrases")
        return found

    def log_proba(self, trees: Sequence[Tree], *, n_jobs: int | None = 1) -> Floats:
        """Compute the log-probability of trees, given their words (and tags, unless predicted).

        Parameters
        ----------
        trees : sequence of Tree
            The trees.
        n_jobs : int or None
            As in `predict`.

        Returns
        -------
        ndarray
            -inf for trees that the model never gives, as they have other symbols or rules than
            those it was trained on.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        self._need_probabilities()
        found = np.full(len(trees), -np.inf)
        known = [(i, rows) for i, tree in enumerate(trees) for rows in self._derivation(tree)]
        sentences = [sentence_of(trees[i]) for i, _ in known]
        for which, features, shapes, own in self._stretches(sentences):
            some = known[which]
            found[[i for i, _ in some]] = self.model.log_proba(
                features,
                shapes,
                [rows for _, rows in some],
                own_constraints=own,
                n_jobs=n_jobs,
            )
        return found

    def _derivation(self, tree: Tree) -> list[Ints]:
        """The derivation of a tree; none if the grammar does not have it."""
        try:
            rows = to_derivation(self.form.apply(tree), self._numbers)
            self.grammar.encode(rows, self.grammar.topology(len(tree.leaves())))
        except DataError:
            return []
        return [rows]

    def _stretches(
        self, sentences: Sequence[SpanSentence]
    ) -> Iterator[tuple[slice, list[Rows], list[int], list[GrammarConstraints] | None]]:
        """Give features, shapes and constraints of some sentences at a time: all may not fit."""
        self._check(sentences)
        lengths = [len(sentence.words) for sentence in sentences]
        spans = np.cumsum(np.array(lengths, dtype=np.int64) ** 2 // 2)
        bounds = np.flatnonzero(np.diff(spans // _SPANS, prepend=-1, append=-1))
        for first, last in pairwise(bounds.tolist()):
            some = sentences[first:last]
            own = tag_constraints(some, self._by_tag) if self.encoder.tagged else None
            yield slice(first, last), self.encoder.features(some), lengths[first:last], own

    def _check(self, sentences: Sequence[SpanSentence]) -> None:
        for i, sentence in enumerate(sentences):
            if not sentence.words:
                raise DataError(f"sentence {i} (counted from 0) has no words; leave it out")
            if self.encoder.tagged and sentence.tags is None:
                raise DataError(
                    f"sentence {i} (counted from 0) has no tags, and the parser was trained with "
                    "tags given; give pairs (word, tag), or train one that predicts the tags"
                )

    def _each(
        self,
        sentences: Sequence[SpanSentence],
        n_jobs: int | None,
        compute: Callable[[Floats, Ints], _Result],
    ) -> list[_Result]:
        """Compute something from the scores of the parts of every sentence.

        The methods of the model refuse examples without any label, which some sentences are.
        """
        from ...models.inference import make_batch
        from ...problem.evaluation import not_finite

        found: list[_Result] = []
        model = self.model
        for which, features, shapes, own in self._stretches(sentences):
            batch = make_batch(
                model.structure,
                model.stored,
                features,
                shapes,
                constraints=model.constraints,
                own_constraints=own,
            )

            def task(first: int, last: int, batch: Batch = batch) -> list[_Result] | int:
                room = np.empty(batch.max_parts)
                results = []
                for i in range(first, last):
                    theta = batch.scores(i, room)
                    if theta is None:
                        return i
                    results.append(compute(theta, batch.topology(i)))
                return results

            for results in run(batch.n_examples, n_jobs, task):
                if isinstance(results, int):
                    raise not_finite(which.start + results)
                found += results
        return found

    def _tree(self, sentence: SpanSentence, rows: Ints) -> Tree:
        tags = sentence.tags if self.encoder.tagged else None
        return tree_of(rows, self.symbols, sentence.words, tags)

    def _flat(self, sentence: SpanSentence) -> Tree:
        tags = sentence.tags or (self._meta("tag", "X"),) * len(sentence.words)
        leaves = (Tree(tag, word=word) for word, tag in zip(sentence.words, tags, strict=True))
        return Tree(self._meta("root", "S"), tuple(leaves))

    def _note(self, n: int, of: int, what: str = "get a flat tree") -> None:
        if n:
            _log.warning(
                "%d of %d sentences have no derivation under the grammar: they %s", n, of, what
            )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    @cached_property
    def _by_tag(self) -> dict[str, tuple[int, ...]]:
        return symbols_of_tags(self.grammar, self.symbols)

    def _meta(self, name: str, default: Any, kinds: tuple[type, ...] = (str,)) -> Any:
        """What the model's maker has noted; a model file may hold anything there."""
        noted = self.model.meta.get("brackets")
        value = noted.get(name, default) if isinstance(noted, dict) else default
        return value if type(value) in kinds else default

    def _need_probabilities(self) -> None:
        if not self.model.probabilistic:
            raise MismatchError(
                f"the {self.model.loss} loss gives scores, not probabilities; train with the log "
                "or softmax-margin loss, or ask for the k best trees and their scores"
            )


def sentence_of(tree: Tree) -> SpanSentence:
    """Give the words and tags of a tree."""
    return SpanSentence(tuple(tree.words), tuple(tree.tags))
