"""Constituency parsers: log-linear and max-margin models of phrase structure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...formats.tree import Tree
from ...metrics.bracketing import bracket_scores
from ...models.fit import check_weights
from ...models.model import Model
from ...models.tally import warn_unknown
from ...values import is_integer, one_of
from ..estimator import TrainedEstimator, fingerprint, has_probabilities
from .fit import TASK, GoldDerivations, fit_brackets, gold_derivations
from .normal_form import NormalForm
from .span_parser import SpanParser, sentence_of
from .tokens import SpanSentence

__all__ = ["ConstituencyParser"]

_TAGS: Final = ("gold", "predict")


class ConstituencyParser(TrainedEstimator):
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
    l2 : float
        The regulariser.
    l1 : float
        Adds ``l1 |w|_1`` to the objective, which makes weights exactly 0.
    solver : str
        "auto", or the name of one; an unknown name is answered with the list.
    tol : float
        The relative duality gap to stop at.
    max_passes : float
        The number of passes over the data to stop at; a `ConvergenceWarning` then says how far
        the gap is from `tol`.
    horizontal : int or None
        How many siblings the symbols of partial phrases name (see
        :class:`partwise.tasks.constituency.normal_form.NormalForm`); None: all of them.
    vertical : int
        How many labels of the path to the root symbols name, their own included.
    side : {"right", "left"}
        Where the partial phrases of long phrases go.
    max_length : int or None
        Trees with more words are left out of the training, grammar included. How many is said in
        a warning of the log and in ``n_long_``.
    tags : {"gold", "predict"}
        "gold": sentences come with tags, which fix the tags of the trees and are looked at by
        features. "predict": sentences are words, and tags are predicted with the trees.
    splits : bool
        Whether the points at which spans are split have features; slower, and more memory.
    weights : {"all", "observed"}
        Whether a feature of the trees has a weight for every label, or only for those that it was
        seen with, which takes far less memory and is a little less accurate.
    min_count : int
        Features at fewer words, spans or splits of the trees are ignored.
    templates : mapping of str to sequence of str, or None
        What features look at, for "word", "span" and "split", see
        :mod:`partwise.tasks.constituency.templates`; None: the standard ones.
    n_jobs : int or None
        Threads for training and prediction; -1 is one a core. They do not change the result.
    random_state : int, RandomState or None
        Draws the order of the sentences. The default, 0, makes every fit of the same data the
        same; None makes each one different.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual point if the trees are the
        same, else from its weights. Words may be new, the grammar must be the same.
    verbose : int
        Above 0, progress is shown on stderr.
    callbacks : callable, sequence of callables or None
        Called after each epoch with a :class:`partwise.training.loop.Progress`; a true result stops
        the fit.
    solver_options : dict or None
        Further arguments of the solver.

    Attributes
    ----------
    classes_ : ndarray of str
        The labels of phrases, sorted.
    n_long_ : int
        How many trees were left out as they have more than `max_length` words.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, an epoch a row.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`. Its labels are the symbols of the grammar.

    Notes
    -----
    Trees are :class:`partwise.formats.tree.Tree` objects, as
    :func:`partwise.formats.brackets.read_brackets` gives them. Sentences are such trees, of which
    the words and tags are taken; or lists of pairs ``(word, tag)``; or, if tags are predicted,
    lists of words.

    A sentence that the grammar does not derive gets a flat tree, all words below the most frequent
    root, and a warning of the log says how many these are. A smaller `horizontal` and `vertical`
    make a grammar that derives more.
    """

    # All phrases count alike.
    cost_matrix = None
    class_weight = None

    def __init__(
        self,
        loss: str = "log",
        l2: float = 1.0,
        l1: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_passes: float = 1000,
        horizontal: int | None = 1,
        vertical: int = 1,
        side: str = "right",
        max_length: int | None = None,
        tags: str = "gold",
        splits: bool = False,
        weights: str = "all",
        min_count: int = 1,
        templates: Mapping[str, Sequence[str]] | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        solver_options: dict[str, Any] | None = None,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.l1 = l1
        self.solver = solver
        self.tol = tol
        self.max_passes = max_passes
        self.horizontal = horizontal
        self.vertical = vertical
        self.side = side
        self.max_length = max_length
        self.tags = tags
        self.splits = splits
        self.weights = weights
        self.min_count = min_count
        self.templates = templates
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.solver_options = solver_options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags

    @classmethod
    def from_model(cls, model: Model) -> ConstituencyParser:
        """Make a fitted parser from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.
        """
        parser = SpanParser(model)
        if model.task != TASK:
            raise DataError(
                f"a model of the task {model.task!r} does not bracket sentences; use the model as "
                "it is"
            )
        encoder, form = parser.encoder, parser.form
        return cls._fitted_by(
            model,
            horizontal=form.horizontal,
            vertical=form.vertical,
            side=form.side,
            tags="gold" if encoder.tagged else "predict",
            splits=parser.grammar.split,
            templates={kind: held.templates for kind, held in encoder.features_of.items()},
        )

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
        settings = self._settings(weights=self.weights, min_count=self.min_count)
        one_of("tags", self.tags, _TAGS)
        read = _read_trees(trees)
        weight = check_weights(sample_weight, len(read))
        gold = gold_derivations(read, self._form(), self.max_length)
        weight = weight[gold.kept]
        self._train(
            partial(
                fit_brackets,
                gold,
                settings,
                tagged=self.tags == "gold",
                splits=bool(self.splits),
                templates=self.templates,
                sample_weight=weight,
            ),
            partial(self._fingerprint, gold, weight),
        )
        return self

    def predict(self, sentences: Any, k: int | None = None) -> list[Any]:
        """Predict the best trees, or the k best.

        Parameters
        ----------
        sentences : iterable
            The sentences (see above); brackets that they have are not looked at.
        k : int or None
            How many trees to give for each sentence.

        Returns
        -------
        list of Tree
            With k, for each sentence a list of pairs ``(tree, score)``, best first, shorter if
            there are fewer than k trees.
        """
        parser, read = self._read(sentences)
        if k is None:
            return list(parser.predict(read, n_jobs=self.n_jobs))
        best = parser.k_best(read, k, n_jobs=self.n_jobs)
        return [[(one.tree, one.score) for one in ranking] for ranking in best]

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
            phrase may have the same label as its only child.
        """
        parser, read = self._read(sentences)
        return parser.marginals(read, n_jobs=self.n_jobs)

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
            -inf for trees that the parser never gives, as they have rules that were not seen in
            training.
        """
        read = _read_trees(trees)
        parser, _ = self._read(read)
        return parser.log_proba(read, n_jobs=self.n_jobs)

    def score(self, trees: Any, y: Any = None) -> float:
        """Compute the F1 of labelled brackets, see :mod:`partwise.metrics.bracketing`.

        Parameters
        ----------
        trees : iterable of Tree
            The right trees.
        y : None
            Not used.
        """
        gold = _read_trees(trees)
        if not gold:
            raise DataError("there are no trees to score; give at least one")
        return bracket_scores(gold, self.predict(gold)).f1

    def _form(self) -> NormalForm:
        for name in ("horizontal", "vertical"):
            value = getattr(self, name)
            if not is_integer(value) and (value is not None or name == "vertical"):
                raise DataError(f"{name} is {value!r}; give a whole number")
        return NormalForm(self.side, self.horizontal, self.vertical)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        parser = SpanParser(model)
        self.classes_ = np.array(parser.labels, dtype=np.str_)
        self.n_long_ = parser.n_long

    def _fingerprint(self, gold: GoldDerivations, weight: Floats) -> str:
        what = (gold.grammar.symbols, gold.grammar.rules.tolist(), self.tags, bool(self.splits))
        tags = [sentence.tags for sentence in gold.sentences]
        lengths = np.array([len(of) for of in gold.derivations])
        return fingerprint((what, tags), lengths, [of.ravel() for of in gold.derivations], weight)

    def _read(self, sentences: Any) -> tuple[SpanParser, list[SpanSentence]]:
        self._need_fit()
        parser, read = SpanParser(self.model_), _read_sentences(sentences)
        warn_unknown(parser.encoder.tally(read), stacklevel=3)
        return parser, read


def _read_trees(trees: Any) -> list[Tree]:
    if isinstance(trees, (str, bytes, Tree)) or not isinstance(trees, Iterable):
        raise DataError(
            f"{type(trees).__name__} where a list of trees is expected; read_brackets(path).trees "
            "gives one"
        )
    read = list(trees)
    for i, tree in enumerate(read):
        if not isinstance(tree, Tree):
            raise DataError(
                f"tree {i} (counted from 0) is a {type(tree).__name__}; expected a "
                "partwise.formats.tree.Tree, as parse_tree and read_brackets give them"
            )
    return read


def _read_sentences(sentences: Any) -> list[SpanSentence]:
    if isinstance(sentences, (str, bytes, Tree)) or not isinstance(sentences, Iterable):
        raise DataError(
            f"{type(sentences).__name__} where a list of sentences is expected; put a single one "
            "into a list"
        )
    return [_read_sentence(i, sentence) for i, sentence in enumerate(sentences)]


def _read_sentence(i: int, sentence: Any) -> SpanSentence:
    if isinstance(sentence, Tree):
        return sentence_of(sentence)
    if isinstance(sentence, Iterable) and not isinstance(sentence, (str, bytes)):
        items = list(sentence)
        if items and all(isinstance(item, str) for item in items):
            return SpanSentence(tuple(items))
        if items and all(map(_is_pair, items)):
            words, tags = zip(*items, strict=True)
            return SpanSentence(words, tags)
    raise DataError(
        f"sentence {i} (counted from 0) is {repr(sentence)[:60]}; expected a list of pairs (word, "
        "tag), a list of words, or a tree, and at least one word"
    )


def _is_pair(item: Any) -> bool:
    two = isinstance(item, (tuple, list)) and len(item) == 2
    return two and all(isinstance(text, str) for text in item)
