"""Constituency parsers: log-linear and max-margin models of phrase structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...metrics.bracketing import bracket_scores
from ...models.training_examples import check_weights
from ..cross_validation import PathEstimator
from ..estimator import Estimator, LabelList, has_probabilities
from ..spans import ProbableSpan
from .bracketing import Bracketing, phrase_spans
from .examples import Trees, read_trees
from .partial_trees import is_marked, read_brackets
from .trainer import ConstituencyTrainer

if TYPE_CHECKING:
    from ...formats.tree import Tree
    from ...models.model import Model

__all__ = ["ConstituencyParser", "ConstituencyParserCV"]


class ConstituencyParser(ConstituencyTrainer, Estimator):
    """A parser of phrase structure, trained to a certified optimum.

    The grammar is read off the trees, in Chomsky normal form. The score of a tree is the sum of
    the scores of its rules, of its spans, which have features of the words and tags at both ends
    and around them, and of the symbols over its words. The objective is
    ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sentences i. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` tells how far the weights are at most from
    the best ones.

    Attributes
    ----------
    classes_ : ndarray of str
        The labels of phrases, sorted.
    n_long_ : int
        How many trees were left out as they have more than `max_length` words.
    model_ : Model
        The model, for :func:`partwise.save_model`. Its labels are the symbols of the grammar.

    Notes
    -----
    Trees are :class:`partwise.formats.Tree` objects, as
    :func:`partwise.formats.read_brackets` returns them. Sentences are such trees, of which
    the words and tags are taken; or lists of pairs ``(word, tag)``; or, if tags are predicted,
    lists of words.

    A sentence that the grammar does not derive gets a flat tree, all words below the most frequent
    root, and a warning of the log says how many these are. A smaller `horizontal` and `vertical`
    make a grammar that derives more.

    Examples
    --------
    >>> from partwise import ConstituencyParser
    >>> from partwise.formats import parse_tree
    >>> tree = parse_tree("(S (NP (DT the) (NN cat)) (VP (VB sleeps)))")
    >>> parser = ConstituencyParser(l2=0.1).fit([tree])
    >>> print(parser.predict([[("the", "DT"), ("dog", "NN"), ("sleeps", "VB")]])[0])
    (S (NP (DT the) (NN dog)) (VP (VB sleeps)))
    """

    _streamed = ("trees", "y")
    _pairs = False

    def fit(self, trees: Any, y: Any = None, sample_weight: Any = None) -> ConstituencyParser:
        """Fit the parser.

        Parameters
        ----------
        trees : iterable of Tree
            The trees. With `out_of_core` also an iterator, which is read once and never held in
            memory.
        y : sequence or None
            None: trees are their own labels. Otherwise for each tree None, or a list of the
            brackets that its sentence is known to have, ``(start, end)`` or ``(start, end,
            label)``, where the label may be a set of labels. The phrases of the tree itself are
            then not looked at.
        sample_weight : array-like of shape (n_trees,) or None
            The weights c_i; None means 1 for each.

        Returns
        -------
        ConstituencyParser
            The estimator itself.
        """
        self._train(*self._examples(trees, y, sample_weight))
        return self

    def _given(self, trees: Any, y: Any = None, sample_weight: Any = None) -> tuple[Trees, Any]:
        read = read_trees(trees)
        return Trees(read, None, None if y is None else read_brackets(y, read)), sample_weight

    def _labels_in(self, X: Any) -> list[Tree]:
        return read_trees(X)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        bracketing = Bracketing.of(model)
        self.classes_ = np.array(bracketing.labels, dtype=np.str_)
        self.n_long_ = bracketing.n_long

    def predict(self, sentences: Any, k: int | None = None) -> list[Any]:
        """Predict the best trees, or the k best.

        Parameters
        ----------
        sentences : iterable
            The sentences (see above); brackets that they have are not looked at.
        k : int or None
            How many trees to predict for each sentence.

        Returns
        -------
        list of Tree
            With k, for each sentence a list of pairs ``(tree, score)``, best first, shorter if
            there are fewer than k trees.
        """
        return LabelList(self._model.predict(sentences, k=k, n_jobs=self.n_jobs))

    @available_if(has_probabilities)
    def predict_marginals(self, sentences: Any) -> list[Floats]:
        """Compute the probability of every phrase; not for the hinge loss.

        Parameters
        ----------
        sentences : iterable
            The sentences.

        Returns
        -------
        list of ndarray of shape (T + 1, T + 1, n_classes)
            ``[i, j, k]`` is the expected number of phrases with the label ``classes_[k]`` over the
            words from i up to but not including j, counted from 0. It is above 1 only where a
            phrase may have the same label as its only child. All 0 for a sentence that the grammar
            does not derive.
        """
        return self._model.marginals(sentences, n_jobs=self.n_jobs)

    @available_if(has_probabilities)
    def predict_spans(
        self, sentences: Any, threshold: float | None = None
    ) -> list[list[ProbableSpan]]:
        """Compute the probabilities of phrases; not for the hinge loss.

        Parameters
        ----------
        sentences : iterable
            The sentences.
        threshold : float or None
            If it is not None, all phrases whose probability is at least this. If None, the phrases
            of the best tree.

        Returns
        -------
        list of lists of (start, end, label, probability)
            The phrases of each sentence, as :class:`partwise.tasks.spans.ProbableSpan`.
        """
        return phrase_spans(self._model, sentences, threshold, self.n_jobs)

    @available_if(has_probabilities)
    def log_proba(self, trees: Any) -> Floats:
        """Compute the log-probability of trees, given their words (and tags); not for the hinge.

        Parameters
        ----------
        trees : iterable of Tree
            The trees.

        Returns
        -------
        ndarray of shape (n_trees,)
            -inf for trees that the parser never predicts, as they have rules that were not seen in
            training.
        """
        read = read_trees(trees)
        return self._model.log_proba(read, labels=read, n_jobs=self.n_jobs)

    def score(self, trees: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the F1 of labelled brackets, as in :func:`partwise.metrics.bracket_scores`.

        Trees with missing labels are not counted.

        Parameters
        ----------
        trees : iterable of Tree
            The right trees.
        y : None
            Not used.
        sample_weight : array-like of shape (n_trees,) or None
            The weights of the trees.
        """
        gold = read_trees(trees)
        weight = check_weights(sample_weight, len(gold))
        known = [i for i, tree in enumerate(gold) if not is_marked(tree, self.missing_label)]
        if not known:
            raise DataError("there are no trees to score; give at least one")
        gold, weight = [gold[i] for i in known], weight[known]
        correct = total = 0.0
        for c, tree, found in zip(weight.tolist(), gold, self.predict(gold), strict=True):
            score = bracket_scores([tree], [found]).labelled.overall
            correct += c * score.correct
            total += c * (score.predicted + score.support)
        return 2 * correct / total if total else 0.0


class ConstituencyParserCV(PathEstimator, ConstituencyParser):
    """A parser of phrase structure that chooses l2 by cross-validation or by data held out.

    It is fitted for a range of l2, from large to small, each time from where the last fit ended.
    `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.

    Examples
    --------
    >>> from partwise import ConstituencyParserCV
    >>> from partwise.datasets import phrase_trees
    >>> trees = phrase_trees(40, longest=12)
    >>> parser = ConstituencyParserCV(l2_max=10.0, factor=0.1, steps=4, cv=2).fit(trees)
    >>> parser.l2_ in [row["l2"] for row in parser.path_]
    True
    """
