"""Estimators that train on a Dask cluster, and predict collections a part at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..tasks.constituency.estimator import ConstituencyParser
from ..tasks.dependency.estimator import DependencyParser
from ..tasks.estimator import Estimator
from ..tasks.sequences.classifier import LinearClassifier
from ..tasks.sequences.tagger import SequenceTagger
from ..tasks.trainer import Trainer
from .inputs import in_memory, is_collection
from .trainer import ClusterTrainer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "DaskConstituencyParser",
    "DaskDependencyParser",
    "DaskLinearClassifier",
    "DaskSequenceTagger",
]


def predicted(local: Any, method: str, X: Any) -> Any:
    """Call a method of an estimator of one machine for every part of a collection.

    Parameters
    ----------
    local : Estimator
        The fitted estimator.
    method : str
        The method: ``"predict"`` or another one that takes examples alone.
    X : Bag, Array, DataFrame, Delayed or list of Delayed
        The examples.

    Returns
    -------
    Bag, Array, Series, Delayed or list of Delayed
        The predictions, of the kind of X. Nothing is computed yet.
    """
    import dask
    from dask.delayed import Delayed

    if isinstance(X, (list, tuple)):
        return [predicted(local, method, part) for part in X]
    # One copy of the model for all parts.
    model = dask.delayed(local)
    if isinstance(X, Delayed):  # it says that it has every attribute
        return dask.delayed(_part)(X, model, method)
    if type(X).__name__ == "Bag":
        return X.map_partitions(_part, model, method)
    if hasattr(X, "map_blocks"):
        X = X.rechunk({1: -1}) if X.ndim > 1 else X
        return X.map_blocks(
            _part,
            model,
            method,
            drop_axis=list(range(1, X.ndim)),
            dtype=_kind(local),
            meta=np.empty(0, dtype=_kind(local)),
        )
    return X.map_partitions(_series, model, method, meta=(None, _kind(local)))


def _part(X: Any, local: Any, method: str) -> Any:
    """Return the predictions for one part."""
    X = X if hasattr(X, "__len__") else list(X)
    return getattr(local, method)(X) if len(X) else []


def _series(X: Any, local: Any, method: str) -> Any:
    import pandas as pd

    return pd.Series(_part(X, local, method), index=X.index, dtype=_kind(local))


def _kind(local: Any) -> Any:
    """Return the type of the labels in an array."""
    kind = np.asarray(local.classes_).dtype
    return np.dtype(object) if kind.kind in "US" else kind


class ClusterEstimator(ClusterTrainer, Estimator):
    """Base class of the estimators that train on a cluster; not for direct use.

    Attributes
    ----------
    client_ : distributed.Client
        The client of the last fit.
    costs_ : list of Costs
        What the rounds of each pass cost: seconds of computing and of waiting, and bytes.
    replayed_ : int
        How many rounds were repeated because workers were lost.
    files_ : list of str
        The SHA-256 of each file that was read.
    """

    def __sklearn_clone__(self) -> Self:
        # A client cannot be copied, and the copy is to work on the same cluster.
        return self.fresh()

    def _predicted(self, method: str, X: Any) -> Any:
        return predicted(self.to_local(), method, X)


class DaskSequenceTagger(ClusterEstimator, SequenceTagger):
    """A linear-chain tagger that is trained on a Dask cluster, to a certified optimum.

    It is :class:`partwise.SequenceTagger`, whose examples are on the workers of a cluster. The same
    data, seed and number of blocks give the same model, whatever the number of workers is and
    however many of them are lost.

    Examples
    --------
    The cluster is in this process. Others have an address, such as ``tcp://10.0.0.5:8786``, and
    their workers may read the files: ``fit("/shared/train-*.txt")``.

    >>> from distributed import Client
    >>> from partwise.dask import DaskSequenceTagger
    >>> here = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> with Client(**here) as client:
    ...     tagger = DaskSequenceTagger(client=client, blocks=2).fit(X, [["DET", "NOUN"]] * 2)
    >>> tagger.predict(X[:1]), tagger.certificate_.converged
    ([['DET', 'NOUN']], True)
    """

    local: ClassVar[type[Trainer]] = SequenceTagger

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit the tagger.

        Parameters
        ----------
        X : Files, str, Bag, Delayed, list of Delayed, or as in SequenceTagger
            The name of files that the workers read, which may hold ``*``; a collection of
            sequences, or without y of pairs (sequence, labels); or data in memory.
        y : Bag, Delayed, list of Delayed, or as in SequenceTagger
            The labels, with the same partitions as X.
        sample_weight : array-like or None
            The weights of all sequences.

        Returns
        -------
        DaskSequenceTagger
            The estimator itself.
        """
        self._train((X, y), sample_weight)
        return self

    def predict(self, X: Any, *more: Any, **options: Any) -> Any:
        """Predict the labels of sequences; of a collection, as another collection.

        Parameters
        ----------
        X : Bag, Delayed, list of Delayed, or as in SequenceTagger
            The sequences.
        *more, **options
            For data in memory, as in SequenceTagger.
        """
        if is_collection(X):
            return self._predicted("predict", X)
        return super().predict(X, *more, **options)

    def score(self, X: Any, y: Any = None, *more: Any, **options: Any) -> float:
        """Compute the fraction of tokens whose label is right; collections are computed here.

        Parameters
        ----------
        X, y
            As in `fit`.
        *more, **options
            As in SequenceTagger.
        """
        if is_collection(X):
            X, y = in_memory(X, y)
            if y is None:  # pairs, as `fit` takes them
                X, y = zip(*X, strict=True)
        return super().score(X, y, *more, **options)


class DaskLinearClassifier(ClusterEstimator, LinearClassifier):
    """A linear classifier that is trained on a Dask cluster, to a certified optimum.

    It is :class:`partwise.LinearClassifier`, whose examples are on the workers of a cluster. The
    same data, seed and number of blocks give the same model, whatever the number of workers is and
    however many of them are lost.

    Examples
    --------
    The cluster is in this process. Others have an address, such as ``tcp://10.0.0.5:8786``, and
    their workers may read the files: ``fit("/shared/train-*.svm")``.

    >>> from distributed import Client
    >>> from partwise.dask import DaskLinearClassifier
    >>> here = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    >>> X, y = [[0.0], [1.0], [0.1], [0.9]], ["a", "b", "a", "b"]
    >>> with Client(**here) as client:
    ...     classifier = DaskLinearClassifier(client=client, blocks=2).fit(X, y)
    >>> classifier.predict(X).tolist(), classifier.certificate_.converged
    (['a', 'b', 'a', 'b'], True)
    """

    local: ClassVar[type[Trainer]] = LinearClassifier

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : Files, str, Array, DataFrame, Delayed, list of Delayed, or as in LinearClassifier
            The name of files that the workers read, which may hold ``*``; a collection of rows of
            numbers; or data in memory.
        y : Array, Series, Delayed, list of Delayed, or as in LinearClassifier
            The labels, with the same partitions as X.
        sample_weight : array-like or None
            The weights of all examples.

        Returns
        -------
        DaskLinearClassifier
            The estimator itself.
        """
        self._train((X, y), sample_weight)
        return self

    def predict(self, X: Any, *more: Any, **options: Any) -> Any:
        """Predict the labels of examples; of a collection, as another collection.

        Parameters
        ----------
        X : Array, DataFrame, Delayed, list of Delayed, or as in LinearClassifier
            The examples.
        *more, **options
            For data in memory, as in LinearClassifier.
        """
        if is_collection(X):
            return self._predicted("predict", X)
        return super().predict(X, *more, **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of examples whose label is right; collections are computed here.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like or None
            The weights of the examples.
        """
        if is_collection(X):
            X, y = in_memory(X, y)
        return super().score(X, y, sample_weight)


class DaskDependencyParser(ClusterEstimator, DependencyParser):
    """A dependency parser that is trained on a Dask cluster, to a certified optimum.

    It is :class:`partwise.DependencyParser`, whose examples are on the workers of a cluster. The
    same data, seed and number of blocks give the same model, whatever the number of workers is and
    however many of them are lost.

    Examples
    --------
    The cluster is in this process. Others have an address, such as ``tcp://10.0.0.5:8786``, and
    their workers may read the files: ``fit("/shared/train-*.conllu")``.

    >>> from distributed import Client
    >>> from partwise.dask import DaskDependencyParser
    >>> from partwise.datasets import dependency_trees
    >>> here = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    >>> trees = dependency_trees(8)
    >>> with Client(**here) as client:
    ...     parser = DaskDependencyParser(client=client, blocks=2, tol=1e-2).fit(trees)
    >>> parser.certificate_.converged
    True
    """

    local: ClassVar[type[Trainer]] = DependencyParser

    def fit(
        self, sentences: Any, heads: Any = None, labels: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train.

        Parameters
        ----------
        sentences : Files, str, Bag, Delayed, list of Delayed, or as in DependencyParser
            The name of files that the workers read, which may hold ``*``; a collection of
            sentences; or data in memory.
        heads, labels : Bag, Delayed, list of Delayed, or as in DependencyParser
            Heads and relations, with the same partitions as the sentences; None: those that the
            sentences have.
        sample_weight : array-like or None
            The weights of all sentences.

        Returns
        -------
        DaskDependencyParser
            The estimator itself.
        """
        self._train((sentences, heads, labels), sample_weight)
        return self

    def predict(self, sentences: Any, *more: Any, **options: Any) -> Any:
        """Predict the best trees; of a collection, as another collection.

        Parameters
        ----------
        sentences : Bag, Delayed, list of Delayed, or as in DependencyParser
            The sentences.
        *more, **options
            For data in memory, as in DependencyParser.
        """
        if is_collection(sentences):
            return self._predicted("predict", sentences)
        return super().predict(sentences, *more, **options)

    def score(self, sentences: Any, heads: Any = None, labels: Any = None, *more: Any) -> float:
        """Compute the share of words whose head is right; collections are computed here.

        Parameters
        ----------
        sentences, heads, labels
            As in `fit`.
        *more
            As in DependencyParser.
        """
        if is_collection(sentences):
            sentences, heads, labels = in_memory(sentences, heads, labels)
        return super().score(sentences, heads, labels, *more)


class DaskConstituencyParser(ClusterEstimator, ConstituencyParser):
    """A parser of phrase structure that is trained on a Dask cluster, to a certified optimum.

    It is :class:`partwise.ConstituencyParser`, whose examples are on the workers of a cluster. The
    same data, seed and number of blocks give the same model, whatever the number of workers is and
    however many of them are lost.

    Examples
    --------
    The cluster is in this process. Others have an address, such as ``tcp://10.0.0.5:8786``, and
    their workers may read the files: ``fit("/shared/train-*.mrg")``.

    >>> from distributed import Client
    >>> from partwise.dask import DaskConstituencyParser
    >>> from partwise.datasets import phrase_trees
    >>> here = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    >>> trees = phrase_trees(8, longest=8)
    >>> with Client(**here) as client:
    ...     parser = DaskConstituencyParser(client=client, blocks=2, tol=1e-2).fit(trees)
    >>> parser.certificate_.converged
    True
    """

    local: ClassVar[type[Trainer]] = ConstituencyParser

    def fit(self, trees: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        trees : Files, str, Bag, Delayed, list of Delayed, or as in ConstituencyParser
            The name of files that the workers read, which may hold ``*``; a collection of trees;
            or data in memory.
        y : None
            Not used.
        sample_weight : array-like or None
            The weights of all trees.

        Returns
        -------
        DaskConstituencyParser
            The estimator itself.
        """
        self._train((trees, None), sample_weight)
        return self

    def predict(self, sentences: Any, *more: Any, **options: Any) -> Any:
        """Predict the best trees; of a collection, as another collection.

        Parameters
        ----------
        sentences : Bag, Delayed, list of Delayed, or as in ConstituencyParser
            The sentences.
        *more, **options
            For data in memory, as in ConstituencyParser.
        """
        if is_collection(sentences):
            return self._predicted("predict", sentences)
        return super().predict(sentences, *more, **options)

    def score(self, trees: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Compute the F1 of labelled brackets; collections are computed here.

        Parameters
        ----------
        trees, y, sample_weight
            As in ConstituencyParser.
        """
        if is_collection(trees):
            (trees,) = in_memory(trees)
        return super().score(trees, y, sample_weight)
