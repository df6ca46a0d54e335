"""Dependency parsers: log-linear and max-margin models of trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.conll import Sentence
from ...metrics.attachment import attachment_scores
from ...models.fit import check_weights
from ...models.model import Model
from ...models.tally import warn_unknown
from ...structures.dependency.arcs import ArcStructure
from ..estimator import TrainedEstimator, fingerprint, has_probabilities
from .arc_parser import ArcParser
from .examples import read_fixed_heads, read_sentences, read_trees
from .fit import TASK, fit_parser
from .gold import GoldTrees, gold_trees, number_trees

__all__ = ["DependencyParser"]


class DependencyParser(TrainedEstimator):
    """A dependency parser, trained to a certified optimum.

    The score of a tree is the sum of the scores of its arcs, which have features of words, lemmas,
    parts of speech and morphology at both ends, around and between them. The objective is
    ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over sentences i. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` tells how far the weights are at most from
    the best ones.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a log-linear model of trees, "hinge" a max-margin one with a cost of 1 for each
        word with a wrong head (or relation), "softmax-margin" a log-linear one with such a cost.
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
    projective : bool
        Whether trees are projective (the arcs of a tree do not cross), or any trees.
    labelled : bool
        Whether arcs have a relation, which is then predicted with the head.
    single_root : bool
        Whether exactly one word hangs from the root; otherwise at least one does.
    nonprojective_gold : {"lift", "skip", "raise"}
        What a projective parser does with trees to be trained on that are not projective: lift
        words to heads further up until they are, leave the sentences out, or raise an error. What
        it did is counted in a warning of the log and in ``n_lifted_`` and ``n_skipped_``.
    weights : {"all", "observed"}
        Whether a feature has a weight for every relation, or only for those that it was seen with
        in training, which takes far less memory. Without relations there is no difference.
    min_count : int
        Features on fewer arcs of the trees are ignored.
    hashing : int or None
        None lists the features of the trees. A power of two: all features of all arcs get numbers
        below it by hashing, so that the memory is fixed, and those that share a number share a
        weight.
    templates : sequence of str or None
        What features look at, see :mod:`partwise.tasks.dependency.templates`; None: the
        standard ones.
    n_jobs : int or None
        Threads for training and prediction; -1 is one a core. They do not change the result.
    random_state : int, RandomState or None
        Draws the order of the sentences. The default, 0, makes every fit of the same data the
        same; None makes each one different.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual point if lengths and trees
        are the same, else from its weights. Words may be new, relations may not.
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
        The relations, sorted; empty if arcs have none.
    n_lifted_, n_skipped_ : int
        How many trees were made projective, and how many sentences were left out.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, an epoch a row.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`.

    Notes
    -----
    Sentences are :class:`partwise.formats.conll.Sentence` objects, as
    :func:`partwise.formats.conll.read_conll` gives them; or dicts of columns, such as
    ``{"form": ["a", "dog"], "pos": ["DT", "NN"]}``; or lists of words, each a dict such as
    ``{"form": "dog", "pos": "NN"}``. The columns are form, lemma, cpos, pos, feats, head and
    deprel. Words count from 1, and the head 0 is the root.
    """

    # All words count alike, and so do all relations.
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
        projective: bool = True,
        labelled: bool = False,
        single_root: bool = True,
        nonprojective_gold: str = "lift",
        weights: str = "all",
        min_count: int = 1,
        hashing: int | None = None,
        templates: Sequence[str] | None = None,
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
        self.projective = projective
        self.labelled = labelled
        self.single_root = single_root
        self.nonprojective_gold = nonprojective_gold
        self.weights = weights
        self.min_count = min_count
        self.hashing = hashing
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
    def from_model(cls, model: Model) -> DependencyParser:
        """Make a fitted parser from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.
        """
        parser = ArcParser(model)
        structure = model.structure
        if model.task != TASK or not isinstance(structure, ArcStructure):
            raise DataError(
                f"a model of the task {model.task!r} and a {structure.name} does not parse; use "
                "the model as it is"
            )
        features = parser.encoder.arc_features
        return cls._fitted_by(
            model,
            projective=structure.name == "projective",
            labelled=bool(model.labels),
            single_root=structure.single_root,
            hashing=features.n_hashed or None,
            templates=features.templates,
        )

    def fit(
        self, sentences: Any, heads: Any = None, labels: Any = None, sample_weight: Any = None
    ) -> DependencyParser:
        """Train.

        Parameters
        ----------
        sentences : iterable
            The sentences (see above).
        heads : iterable of sequences or None
            For each sentence the heads of its words, or pairs of a head and a relation; None:
            those that the sentences have.
        labels : iterable of sequences of str or None
            For each sentence the relations of its words, if `labelled`; None: those that the
            sentences have.
        sample_weight : array-like of shape (n_sentences,) or None
            The weights c_i; None is 1 each.

        Returns
        -------
        DependencyParser
            The estimator itself.
        """
        settings = self._settings(weights=self.weights, min_count=self.min_count)
        read = read_sentences(sentences)
        weight = check_weights(sample_weight, len(read))
        gold = gold_trees(
            read,
            *read_trees(read, heads, labels, self.labelled),
            projective=self.projective,
            single_root=self.single_root,
            nonprojective=self.nonprojective_gold,
        )
        weight = weight[gold.kept]
        self._train(
            partial(
                fit_parser,
                gold,
                settings,
                projective=self.projective,
                single_root=self.single_root,
                n_hashed=self.hashing or 0,
                templates=self.templates,
                sample_weight=weight,
            ),
            partial(self._fingerprint, gold, weight),
        )
        return self

    def predict(self, sentences: Any, k: int | None = None, fixed: Any = None) -> list[Any]:
        """Predict the best trees, or the k best.

        Parameters
        ----------
        sentences : iterable
            The sentences; trees that they have are not looked at.
        k : int or None
            How many trees to give for each sentence.
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
        parser, read = self._read(sentences)
        rules = read_fixed_heads(fixed, read)
        if k is None:
            found = parser.predict(read, constraints=rules, n_jobs=self.n_jobs)
            return [_plain(parser, tree) for tree in found]
        best = parser.k_best(read, k, constraints=rules, n_jobs=self.n_jobs)
        return [
            [(_plain(parser, tree), float(score)) for score, tree in zip(*ranking, strict=True)]
            for ranking in best
        ]

    def parse(self, sentences: Any, fixed: Any = None) -> list[Sentence]:
        """Give the sentences with the best trees filled in.

        Parameters
        ----------
        sentences, fixed
            As in `predict`.

        Returns
        -------
        list of Sentence
            All else is kept; so are relations, if the parser was fitted without.
        """
        parser, read = self._read(sentences)
        rules = read_fixed_heads(fixed, read)
        return parser.filled(read, parser.predict(read, constraints=rules, n_jobs=self.n_jobs))

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
        parser, read = self._read(sentences)
        if by_label and not parser.relations:
            raise DataError("the parser was fitted without relations; leave by_label out")
        found = parser.marginals(read, n_jobs=self.n_jobs)
        return found if by_label else [mu.sum(axis=2) for mu in found]

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
            -inf for trees that the parser never gives: of a relation that was not seen in
            training, not projective, with several roots.
        """
        parser, read = self._read(sentences)
        gold_heads, names = self._gold(parser, read, heads, labels)
        trees = number_trees(gold_heads, names, parser.relations)
        return parser.log_proba(read, trees, n_jobs=self.n_jobs)

    def score(
        self, sentences: Any, heads: Any = None, labels: Any = None, sample_weight: Any = None
    ) -> float:
        """Compute the share of words whose head is right; if `labelled`, and whose relation is.

        All words count, punctuation too; see :mod:`partwise.metrics.attachment` for other rules.

        Parameters
        ----------
        sentences, heads, labels
            As in `fit`. Trees need not be projective.
        sample_weight : array-like of shape (n_sentences,) or None
            The weights of the sentences.
        """
        parser, read = self._read(sentences)
        gold_heads, names = self._gold(parser, read, heads, labels)
        if not read:
            raise DataError("there are no sentences to score; give at least one")
        weight = check_weights(sample_weight, len(read))
        found = parser.predict(read, n_jobs=self.n_jobs)
        right, words = np.zeros(len(read)), np.zeros(len(read))
        for i, tree in enumerate(found):
            scores = attachment_scores(
                [gold_heads[i]],
                [tree[:, 0].tolist()],
                gold_labels=None if names is None else [names[i]],
                pred_labels=None if names is None else [parser.named(tree) or []],
            )
            right[i] = scores.heads if names is None else scores.both
            words[i] = scores.words
        return float((weight @ right) / (weight @ words))

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_ = np.array(model.labels, dtype=np.str_)
        # A model file may hold anything there.
        noted = model.meta.get("nonprojective")
        counts = noted if isinstance(noted, dict) else {}
        self.n_lifted_ = counts.get("lifted", 0)
        self.n_skipped_ = counts.get("skipped", 0)

    def _fingerprint(self, gold: GoldTrees, weight: Floats) -> str:
        what = (gold.relations, self.projective, self.single_root)
        lengths = np.array([len(tree) for tree in gold.trees])
        return fingerprint(what, lengths, [tree.ravel() for tree in gold.trees], weight)

    def _read(self, sentences: Any) -> tuple[ArcParser, list[Sentence]]:
        self._need_fit()
        parser, read = ArcParser(self.model_), read_sentences(sentences)
        warn_unknown(parser.encoder.tally(read), stacklevel=3)
        return parser, read

    @staticmethod
    def _gold(
        parser: ArcParser, read: list[Sentence], heads: Any, labels: Any
    ) -> tuple[list[list[int]], list[list[str]] | None]:
        """Read trees to compare with, which need not be those that the parser can give."""
        found, names = read_trees(read, heads, labels, bool(parser.relations))
        gold_trees(read, found, projective=False, single_root=False)
        return found, names


def _plain(parser: ArcParser, tree: Ints) -> list[Any]:
    heads: list[int] = tree[:, 0].tolist()
    names = parser.named(tree)
    return heads if names is None else list(zip(heads, names, strict=True))
