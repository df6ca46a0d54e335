"""Dependency parsers: log-linear and max-margin models of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...formats.conll import Sentence
from ...metrics.attachment import attachment_scores
from ...models.training_examples import check_weights
from ..cross_validation import PathEstimator
from ..estimator import Estimator, LabelList, has_probabilities
from .gold import check_trees
from .trainer import DependencyTrainer
from .treebank import Treebank, filled, separated

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["DependencyParser", "DependencyParserCV"]


class DependencyParser(DependencyTrainer, Estimator):
    """A dependency parser, trained to a certified optimum.

    The score of a tree is the sum of the scores of its arcs, which have features of words, lemmas,
    parts of speech and morphology at both ends, around and between them. The objective is
    ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sentences i. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` tells how far the weights are at most from
    the best ones.

    Attributes
    ----------
    classes_ : ndarray of str
        The relations, sorted; empty if arcs have none.
    n_lifted_, n_skipped_ : int
        How many trees were made projective, and how many sentences were left out.

    Notes
    -----
    Sentences are :class:`partwise.formats.Sentence` objects, as
    :func:`partwise.formats.read_conll` returns them; or dicts of columns, such as
    ``{"form": ["a", "dog"], "pos": ["DT", "NN"]}``; or lists of words, each a dict such as
    ``{"form": "dog", "pos": "NN"}``. The columns are form, lemma, cpos, pos, feats, head and
    deprel. Words count from 1, and the head 0 is the root.

    Examples
    --------
    >>> from partwise import DependencyParser
    >>> sentence = {"form": ["the", "cat", "sleeps"], "pos": ["DT", "NN", "VB"], "head": [2, 3, 0]}
    >>> parser = DependencyParser(l2=0.1).fit([sentence])
    >>> parser.predict([{"form": ["the", "dog", "sleeps"], "pos": ["DT", "NN", "VB"]}])
    [[2, 3, 0]]
    """

    _streamed = ("sentences", "heads", "labels")
    _pairs = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = True
        return tags

    def fit(
        self, sentences: Any, heads: Any = None, labels: Any = None, sample_weight: Any = None
    ) -> DependencyParser:
        """Fit the parser.

        Parameters
        ----------
        sentences : iterable
            The sentences (see above). With `out_of_core` also an iterator, which is read once and
            never held in memory; then so are heads and labels.
        heads : iterable of sequences or None
            For each sentence the heads of its words, or pairs of a head and a relation; None:
            those that the sentences have.
        labels : iterable of sequences of str or None
            For each sentence the relations of its words, if `labelled`; None: those that the
            sentences have.
        sample_weight : array-like of shape (n_sentences,) or None
            The weights c_i; None means 1 for each.

        Returns
        -------
        DependencyParser
            The estimator itself.
        """
        self._train(*self._examples(sentences, heads, labels, sample_weight))
        return self

    def _given(
        self, sentences: Any, heads: Any = None, labels: Any = None, sample_weight: Any = None
    ) -> tuple[Treebank, Any]:
        return Treebank.of(sentences, heads, labels, self.labelled), sample_weight

    def _labels_in(self, X: Any) -> list[Any]:
        return Treebank.of(X, None, None, bool(self._model.labels)).trees()

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_ = np.array(model.labels, dtype=np.str_)
        # A model file may hold anything there.
        noted = model.meta.get("nonprojective")
        counts = noted if isinstance(noted, dict) else {}
        self.n_lifted_ = counts.get("lifted", 0)
        self.n_skipped_ = counts.get("skipped", 0)

    def predict(self, sentences: Any, k: int | None = None, fixed: Any = None) -> list[Any]:
        """Predict the best trees, or the k best.

        Parameters
        ----------
        sentences : iterable
            The sentences; trees that they have are not looked at.
        k : int or None
            How many trees to predict for each sentence; None: the best one.
        fixed : sequence or None
            What is known: for each sentence None, or a dict from words to a head or a list of
            heads that are allowed, or a list of these, None where nothing is known; or a
            :class:`partwise.structures.dependency.arcs.ArcConstraints`.

        Returns
        -------
        list of lists
            For each sentence the head of every word; if `labelled`, pairs ``(head, relation)``.
            With k, for each sentence a list of pairs ``(tree, score)``, best first, shorter if
            there are fewer than k trees.
        """
        return LabelList(self._model.predict(sentences, k=k, fixed=fixed, n_jobs=self.n_jobs))

    def parse(self, sentences: Any, fixed: Any = None) -> list[Sentence]:
        """Return the sentences with the best trees filled in.

        Parameters
        ----------
        sentences, fixed
            As in `predict`.

        Returns
        -------
        list of Sentence
            All else is kept; so are relations, if the parser was fitted without.
        """
        model = self._model
        read: list[Sentence] = model.features.read(model.structure, sentences)
        trees = model.predict(read, fixed=fixed, n_jobs=self.n_jobs)
        return filled(read, trees, bool(model.labels))

    @available_if(has_probabilities)
    def predict_marginals(self, sentences: Any, by_label: bool = False) -> list[Floats]:
        """Compute the probability of every arc; not for the hinge loss.

        Parameters
        ----------
        sentences : iterable
            The sentences.
        by_label : bool
            Whether to tell relations apart.

        Returns
        -------
        list of ndarray of shape (T, T + 1), or (T, T + 1, n_classes) by label
            ``[m - 1, h]`` is the probability that h is the head of word m, h = 0 being the root.
            Every row adds up to 1.
        """
        model = self._model
        if by_label and not model.labels:
            raise DataError("the parser was fitted without relations; leave by_label out")
        found = model.marginals(sentences, n_jobs=self.n_jobs)
        return found if by_label or not model.labels else [mu.sum(axis=2) for mu in found]

    @available_if(has_probabilities)
    def log_proba(self, sentences: Any, heads: Any = None, labels: Any = None) -> Floats:
        """Compute the log-probability of trees; not for the hinge loss.

        Parameters
        ----------
        sentences, heads, labels
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sentences,)
            -inf for trees that the parser never predicts: with a relation that was not seen in
            training, not projective, with several roots.
        """
        model = self._model
        given = Treebank.of(sentences, heads, labels, bool(model.labels))
        return model.log_proba(given.sentences, labels=given.trees(), n_jobs=self.n_jobs)

    def score(
        self, sentences: Any, heads: Any = None, labels: Any = None, sample_weight: Any = None
    ) -> float:
        """Compute the share of words whose head is right; if `labelled`, and whose relation is.

        Words whose head (or relation) is missing or uncertain are not counted.
        All words count, punctuation too; other rules: :func:`partwise.metrics.attachment_scores`.

        Parameters
        ----------
        sentences, heads, labels
            As in `fit`. Trees need not be projective.
        sample_weight : array-like of shape (n_sentences,) or None
            The weights of the sentences.
        """
        model = self._model
        labelled = bool(model.labels)
        gold = Treebank.of(sentences, heads, labels, labelled)
        gold = gold.with_missing(self.missing_label, labelled)
        check_trees(gold.sentences, gold.heads, gold.relations, partial=True)
        if not len(gold):
            raise DataError("there are no sentences to score; give at least one")
        weight = check_weights(sample_weight, len(gold))
        right, words = np.zeros(len(gold)), np.zeros(len(gold))
        found, relations = separated(model.predict(gold, n_jobs=self.n_jobs), labelled)
        for i, known in enumerate(gold.certain()):
            scores = attachment_scores(
                [[gold.heads[i][t] for t in known]],
                [[found[i][t] for t in known]],
                gold_labels=_some(gold.relations, i, known),
                pred_labels=_some(relations, i, known),
            )
            right[i] = scores.both if labelled else scores.heads
            words[i] = scores.words
        if not weight @ words:
            raise DataError("there are no words to score; give at least one with a head")
        return float((weight @ right) / (weight @ words))


def _some(relations: Any, i: int, words: list[int]) -> list[list[str]] | None:
    """Return the relations of some words of sentence i, if there are any."""
    return None if relations is None else [[relations[i][t] for t in words]]


class DependencyParserCV(PathEstimator, DependencyParser):
    """A dependency parser that chooses l2 by cross-validation or by data held out.

    It is fitted for a range of l2, from large to small, each time from where the last fit ended.
    `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.

    Examples
    --------
    >>> from partwise import DependencyParserCV
    >>> from partwise.datasets import dependency_trees
    >>> parser = DependencyParserCV(l2_max=1e4, factor=0.01, steps=4, cv=2).fit(dependency_trees(8))
    >>> len(parser.path_)
    4
    """
