"""Constituency parsers: log-linear and max-margin models of phrase structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...metrics.bracketing import bracket_scores
from ...models.fit import check_weights
from ...values import is_integer, one_of
from ..cross_validation import PathEstimator
from ..description import documented
from ..estimator import Estimator, Prepared, has_probabilities
from .bracketing import Bracketing
from .examples import Trees, read_trees
from .features import SpanFeatures
from .fit import gold_derivations, prepare_trees
from .normal_form import NormalForm

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["ConstituencyParser", "ConstituencyParserCV"]

_TAGS: Final = ("gold", "predict")


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class ConstituencyParser(Estimator):
    """A parser of phrase structure, trained to a certified optimum.

    The grammar is read off the trees, in Chomsky normal form. The score of a tree is the sum of
    the scores of its rules, of its spans, which have features of the words and tags at both ends
    and around them, and of the symbols over its words. The objective is
    ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sentences i. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` tells how far the weights are at most from
    the best ones.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a log-linear model of trees, "hinge" a max-margin one with a cost of 1 for each
        phrase that is not in the right tree, "softmax-margin" a log-linear one with such a cost.
    weights : {"all", "observed"}
        Whether a feature of the trees has a weight for every label, or only for those that it was
        seen with, which takes far less memory and is a little less accurate.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual variables if the trees are the
        same, else from its weights. Words may be new, the grammar must be the same.
    horizontal : int or None
        How many siblings the symbols of partial phrases name (see
        :class:`partwise.tasks.constituency.normal_form.NormalForm`); None: all of them.
    vertical : int
        How many labels of the path to the root symbols name, their own included.
    side : {"right", "left"}
        Where the partial phrases of long phrases go.
    max_length : int or None
        Trees with more words are left out of the training, grammar included. A warning of the log
        and ``n_long_`` say how many.
    tags : {"gold", "predict"}
        "gold": sentences come with tags, which fix the tags of the trees and are looked at by
        features. "predict": sentences are words, and tags are predicted with the trees.
    splits : bool
        Whether the points at which spans are split have features; slower, and more memory.
    min_count : int
        Features of fewer words, spans or splits of the trees are ignored.
    templates : mapping of str to sequence of str, or None
        What features look at, for "word", "span" and "split", see
        :mod:`partwise.tasks.constituency.templates`; None: the standard ones.

    Attributes
    ----------
    classes_ : ndarray of str
        The labels of phrases, sorted.
    n_long_ : int
        How many trees were left out as they have more than `max_length` words.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, one row per epoch.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`. Its labels are the symbols of the grammar.

    Notes
    -----
    Trees are :class:`partwise.formats.tree.Tree` objects, as
    :func:`partwise.formats.brackets.read_brackets` returns them. Sentences are such trees, of which
    the words and tags are taken; or lists of pairs ``(word, tag)``; or, if tags are predicted,
    lists of words.

    A sentence that the grammar does not derive gets a flat tree, all words below the most frequent
    root, and a warning of the log says how many these are. A smaller `horizontal` and `vertical`
    make a grammar that derives more.
    """

    horizontal: int | None = 1
    vertical: int = 1
    side: str = "right"
    max_length: int | None = None
    tags: str = "gold"
    splits: bool = False
    min_count: int = 1
    templates: Mapping[str, Sequence[str]] | None = None
    # All phrases count alike.
    cost_matrix: Any = field(default=None, init=False)

    task: ClassVar[str] = "brackets"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags

    def check(self) -> None:
        super().check()
        one_of("tags", self.tags, _TAGS)
        for name in ("horizontal", "vertical"):
            value = getattr(self, name)
            if not is_integer(value) and (value is not None or name == "vertical"):
                raise DataError(f"{name} is {value!r}; give a whole number")
        if not is_integer(self.min_count) or self.min_count < 1:
            raise DataError(f"min_count is {self.min_count!r}; give a whole number from 1")
        most = self.max_length
        if most is not None and (not is_integer(most) or most < 1):
            raise DataError(f"max_length is {most!r}; give a whole number from 1, or None")

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        if model.task != cls.task:
            raise DataError(
                f"a model of the task {model.task!r} does not bracket sentences; use the model as "
                "it is"
            )
        bracketing, features = Bracketing.of(model), model.features
        assert isinstance(features, SpanFeatures)
        return {
            "horizontal": bracketing.form.horizontal,
            "vertical": bracketing.form.vertical,
            "side": bracketing.form.side,
            "tags": "gold" if features.tagged else "predict",
            "splits": bracketing.grammar.split,
            "templates": {kind: held.templates for kind, held in features.features_of.items()},
        }

    def fit(self, trees: Any, y: Any = None, sample_weight: Any = None) -> ConstituencyParser:
        """Train.

        Parameters
        ----------
        trees : iterable of Tree
            The trees.
        y : None
            Not used: trees are their own labels.
        sample_weight : array-like of shape (n_trees,) or None
            The weights c_i; None is 1 each.

        Returns
        -------
        ConstituencyParser
            The estimator itself.
        """
        self._train(*self._given(trees, y, sample_weight))
        return self

    def _given(self, trees: Any, y: Any = None, sample_weight: Any = None) -> tuple[Trees, Any]:
        return Trees(read_trees(trees)), sample_weight

    def _prepare(self, source: Trees, sample_weight: Any, initial: Model | None) -> Prepared:
        weight = check_weights(sample_weight, len(source))
        form = NormalForm(self.side, self.horizontal, self.vertical)
        gold = gold_derivations(source.trees, form, self.max_length)
        return prepare_trees(
            gold,
            weight[gold.kept],
            tagged=self.tags == "gold",
            splits=bool(self.splits),
            templates=self.templates,
            min_count=self.min_count,
        )

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
        return self._model.predict(sentences, k=k, n_jobs=self.n_jobs)

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
        """Compute the F1 of labelled brackets, see :mod:`partwise.metrics.bracketing`.

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
        if not gold:
            raise DataError("there are no trees to score; give at least one")
        weight = check_weights(sample_weight, len(gold))
        correct = total = 0.0
        for c, tree, found in zip(weight.tolist(), gold, self.predict(gold), strict=True):
            score = bracket_scores([tree], [found]).labelled.overall
            correct += c * score.correct
            total += c * (score.predicted + score.support)
        return 2 * correct / total if total else 0.0


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class ConstituencyParserCV(PathEstimator, ConstituencyParser):  # type: ignore[misc]  # X of fit
    """A parser of phrase structure that chooses l2 by cross-validation or by data held out.

    It is fitted for a range of l2, from large to small, each time from where the last fit ended.
    `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.
    """

    # Declared again, as a class takes all fields of its first base, inherited ones too.
    cost_matrix: Any = field(default=None, init=False)
