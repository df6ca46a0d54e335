"""Labellers of the vertices of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats
from ...errors import DataError
from ...models.vocabulary import Vocabulary
from ..cross_validation import PathEstimator
from ..estimator import Estimator, LabelList, has_probabilities
from .features import GraphFeatures
from .labels import is_certain, read_labels
from .sources import Graphs
from .trainer import GraphTrainer

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["GraphLabeler", "GraphLabelerCV"]


class GraphLabeler(GraphTrainer, Estimator):
    """A labeller of the vertices of graphs, trained to a certified optimum.

    Inference is exact, by junction trees, so graphs must have a low tree width: chains, trees,
    narrow grids, and graphs with few loops that cross. The objective is
    ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over graphs i. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` bounds how far the weights are from the best
    ones.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or dict of such
        The labels; with several domains, those of each.
    coef_ : dict of ndarray
        The weights of each kind of factor ("node" and "edge" in simple graphs): features by labels
        of the first vertex, by labels of the second, and so on. A constant feature is last.
    vocabularies_ : dict
        The names of the features of each kind of factor; None if they have none.

    Examples
    --------
    Nodes with two features each on a loop of three edges; equal labels attract each other:

    >>> import numpy as np
    >>> from partwise import GraphLabeler
    >>> nodes = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> edges = np.array([[0, 1], [1, 2], [2, 0]])
    >>> X = [(nodes, edges), (nodes[::-1], edges)]
    >>> y = [["sea", "sea", "land"], ["land", "sea", "sea"]]
    >>> labeler = GraphLabeler(l2=0.1).fit(X, y)
    >>> labeler.predict(X)
    [['sea', 'sea', 'land'], ['land', 'sea', 'sea']]
    >>> labeler.predict(X[:1], fixed=[{0: "land"}])
    [['land', 'sea', 'land']]
    >>> labeler.certificate_.converged
    True
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GraphLabeler:
        """Fit the labeller.

        Parameters
        ----------
        X : iterable of graphs
            A graph is one of these:

            - a tuple ``(node_features, edges)`` or ``(node_features, edges, edge_features)``.
              Features are an array or sparse matrix with one row per node or edge, or a list of
              dicts or strings, see :func:`partwise.models.vocabulary.fit_rows`. Without edge
              features, all edges share one table of weights. Edges are pairs of nodes, counted
              from 0;
            - a :class:`partwise.GraphExample`, or a dict of its fields: vertices with different
              sets of labels, and factors over any number of vertices. Factors of several vertices
              without features share a table of weights, so each vertex must also be in a factor
              that has features or that is of this vertex alone.

            With `out_of_core` also an iterator, which is read once and never held in memory: of
            graphs, or of pairs (graph, labels) if there is no y.
        y : iterable of sequences
            The labels of the vertices of each graph.
        sample_weight : array-like of shape (n_graphs,) or None
            The weights c_i; None means 1 for each.

        Returns
        -------
        GraphLabeler
            The estimator itself.
        """
        self._train(*self._examples(X, y, sample_weight))
        return self

    def _given(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Graphs, Any]:
        return Graphs.of(X, y, self.missing_label), sample_weight

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        assert isinstance(model.features, GraphFeatures)
        classes = {domain: _array(held) for domain, held in model.features.labels.items()}
        self.classes_: Any = classes if len(classes) > 1 else next(iter(classes.values()))

    @property
    def coef_(self) -> dict[str, Floats]:
        """The weights of each kind of factor."""
        model, features = self._fitted(), self._features()
        return {
            kind: model.layout.dense(model.weights, number).reshape(
                held.count, *(len(features.labels[domain]) for domain in held.domains)
            )
            for number, (kind, held) in enumerate(features.kinds.items())
        }

    @property
    def vocabularies_(self) -> dict[str, Vocabulary | None]:
        """The names of the features of each kind of factor."""
        return {kind: held.vocabulary for kind, held in self._features().kinds.items()}

    def predict(self, X: Any, k: int | None = None, fixed: Any = None) -> list[Any]:
        """Predict the best labels of the vertices, or the k best labellings.

        Parameters
        ----------
        X : iterable of graphs
            As in `fit`. Named features that were not seen in training are ignored.
        k : int or None
            How many labellings to predict for each graph; None: the best one.
        fixed : sequence or None
            What is known of the labels, one item per graph: None, a dict from vertices to a label
            or a list of labels that are allowed there, or a list with one item per vertex, which
            is a label, a list of labels, or None where nothing is known.

        Returns
        -------
        list of lists
            The labels of each graph. With `k`, one list of pairs ``(labels, score)`` per graph,
            best first; it is shorter if there are fewer than k labellings.
        """
        return LabelList(self._model.predict(X, k=k, fixed=fixed, n_jobs=self.n_jobs))

    @available_if(has_probabilities)
    def predict_marginals(self, X: Any, fixed: Any = None, factors: bool = False) -> list[Any]:
        """Compute the probability of every label at every vertex; not for the hinge loss.

        Parameters
        ----------
        X, fixed
            As in `predict`.
        factors : bool
            Whether to compute the probabilities of the joint labels of all factors too.

        Returns
        -------
        list
            One array of shape (n_vertices, n_classes) per graph; with several domains, one list
            per graph with one array per vertex. With `factors`, pairs of this and a dict with one
            array per kind of factor: factors by labels of the first vertex, by labels of the
            second, and so on.
        """
        model = self._model
        if factors:
            apart = replace(self._features(), factors=True)
            limit = model.structure.constants()["max_megabytes"]
            model = replace(model, features=apart, structure=apart.structure(limit))
        return model.marginals(X, fixed=fixed, n_jobs=self.n_jobs)

    @available_if(has_probabilities)
    def log_proba(self, X: Any, y: Any) -> Floats:
        """Compute the log-probability of given labels of all vertices; not for the hinge loss.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_graphs,)
            -inf where a label was not seen in training or is forbidden.
        """
        return self._model.log_proba(X, labels=y, n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of vertices whose label is right, of those whose label is known.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like of shape (n_graphs,) or None
            The weights of the graphs.
        """
        model = self._model
        graphs = model.features.read(model.structure, X)
        gold = read_labels(y, graphs, True, self.missing_label)
        sizes = [sum(map(is_certain, labels)) for labels in gold]
        if not sum(sizes):
            raise DataError("there are no vertices to score; give at least one with a label")
        found = model.predict(graphs, n_jobs=self.n_jobs)
        pairs = zip(chain(*found), chain(*gold), strict=True)
        right = [predicted == label for predicted, label in pairs if is_certain(label)]
        weight = np.ones(len(gold)) if sample_weight is None else np.asarray(sample_weight, float)
        if weight.shape != (len(gold),):
            raise DataError(f"{weight.size} sample weights for {len(gold)} graphs")
        return float(np.average(right, weights=np.repeat(weight, sizes)))

    def _features(self) -> GraphFeatures:
        features = self._fitted().features
        assert isinstance(features, GraphFeatures)
        return features


def _array(labels: Sequence[Any]) -> Any:
    """Return an array of labels, each of them one element even if it is a tuple."""
    if isinstance(labels[0], (str, int, float)):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


class GraphLabelerCV(PathEstimator, GraphLabeler):
    """A labeller of the vertices of graphs that chooses l2 by cross-validation or held-out data.

    It is fitted for a range of l2, from large to small, each time from where the last fit ended.
    `tol` and `max_passes` are those of the fit of one l2; ``certificate_``, ``trace_`` and
    ``n_iter_`` are those of the last fit, at ``l2_``.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise import GraphLabelerCV
    >>> rng, edges = np.random.default_rng(1), np.array([[0, 1], [1, 2]])
    >>> y = [["sea", "sea", "land"], ["land", "sea", "sea"], ["sea", "land", "land"]] * 4
    >>> X = [([[label == "sea", rng.normal()] for label in one], edges) for one in y]
    >>> labeler = GraphLabelerCV(l2_max=100.0, factor=0.1, steps=4, cv=3).fit(X, y)
    >>> len(labeler.path_)
    4
    """
