"""Prediction of the labels of the vertices of graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.model import Model
from ...models.tally import Tally, warn_unknown
from ...structures.graph.structure import Graph, GraphConstraints, GraphShape
from .examples import ReadGraph
from .features import GraphFeatures
from .labels import label_numbers, read_fixed

__all__ = ["VertexLabeller", "naming_example"]


class VertexLabeller:
    """Predicts labels from graphs that have been read.

    Parameters
    ----------
    model : Model
        A model of a graph whose encoder is a :class:`partwise.tasks.graph.features.GraphFeatures`.
    """

    def __init__(self, model: Model) -> None:
        encoder, structure = model.encoder, model.structure
        if not isinstance(encoder, GraphFeatures) or not isinstance(structure, Graph):
            raise DataError(
                f"the model of the task {model.task!r} does not label the vertices of graphs that "
                "it reads itself; use it as it is"
            )
        self.model = model
        self.encoder = encoder
        self.structure = structure

    def predict(
        self, graphs: Sequence[ReadGraph], *, fixed: Any = None, n_jobs: int | None = 1
    ) -> list[list[Any]]:
        """Predict the best labels.

        Parameters
        ----------
        graphs : sequence
            What :func:`partwise.tasks.graph.examples.read_graphs` gives.
        fixed : sequence or None
            Labels that are known, as :func:`partwise.tasks.graph.labels.read_fixed` takes them.
        n_jobs : int or None
            How many threads; None: 1, -1: one a core. They do not change the result.

        Returns
        -------
        list of lists
            The labels of each graph.
        """
        inputs = self._inputs(graphs, fixed)
        with naming_example(self.structure, inputs["shapes"]):
            found = self.model.predict(**inputs, n_jobs=n_jobs)
        return [self._names(*pair) for pair in zip(found, graphs, strict=True)]

    def k_best(
        self, graphs: Sequence[ReadGraph], k: int, *, fixed: Any = None, n_jobs: int | None = 1
    ) -> list[list[tuple[list[Any], float]]]:
        """Predict the k best labellings, best first, with their scores w.f(x, y).

        Graphs that have fewer than k labellings get fewer. Other parameters as in `predict`.
        """
        inputs = self._inputs(graphs, fixed)
        with naming_example(self.structure, inputs["shapes"]):
            found = self.model.k_best(**inputs, k=k, n_jobs=n_jobs)
        return [
            [(self._names(y, graph), float(score)) for score, y in zip(*ranking, strict=True)]
            for ranking, graph in zip(found, graphs, strict=True)
        ]

    def marginals(
        self,
        graphs: Sequence[ReadGraph],
        *,
        fixed: Any = None,
        factors: bool = False,
        n_jobs: int | None = 1,
    ) -> list[Any]:
        """Compute the probability of every label at every vertex.

        Parameters
        ----------
        graphs, fixed, n_jobs
            As in `predict`.
        factors : bool
            Whether to give the probabilities of the joint labels of all factors too.

        Returns
        -------
        list
            For each graph a matrix, vertices by labels, or with several domains a list of arrays;
            with `factors`, pairs of this and a dict of arrays, see `GraphLabeler`.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        inputs = self._inputs(graphs, fixed)
        model, structure = self.model, self.structure
        if factors:
            # Factors that share a table give the sum of their probabilities; apart, their own.
            structure = Graph(structure.domains, structure.factors, (), structure.max_megabytes)
            model = replace(model, structure=structure)
        with naming_example(structure, inputs["shapes"]):
            found = model.marginals(**inputs, n_jobs=n_jobs)
        results: list[Any] = []
        for mu, graph in zip(found, graphs, strict=True):
            tables = _factor_tables(mu, graph, structure, self.encoder)
            vertices: Any = _vertex_tables(tables, graph)
            if len(self.encoder.labels) == 1:
                vertices = np.array(vertices).reshape(len(vertices), structure.n_labels)
            results.append((vertices, tables) if factors else vertices)
        return results

    def log_proba(
        self,
        graphs: Sequence[ReadGraph],
        labels: Sequence[Sequence[Any]],
        *,
        n_jobs: int | None = 1,
    ) -> Floats:
        """Compute the log-probability of the labels of each graph.

        Parameters
        ----------
        graphs, n_jobs
            As in `predict`.
        labels : sequence
            The labels of the vertices of each graph.

        Returns
        -------
        ndarray
            -inf where a label is unknown or forbidden.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        inputs = self._inputs(graphs, None)
        numbers = label_numbers(labels, graphs, self.encoder.labels)
        known = [None if (each < 0).any() else each for each in numbers]
        with naming_example(self.structure, inputs["shapes"]):
            return self.model.log_proba(**inputs, labels=known, n_jobs=n_jobs)

    def _inputs(self, graphs: Sequence[ReadGraph], fixed: Any) -> dict[str, Any]:
        """Give graphs as the model takes them."""
        allowed = read_fixed(fixed, graphs, self.encoder.labels)
        own = None
        if allowed is not None:
            own = [GraphConstraints(allowed=mine) if mine else None for mine in allowed]
        tally = Tally()
        features = self.encoder.features(graphs, tally)
        warn_unknown(tally, stacklevel=4)
        return {
            "features": features,
            "shapes": self.encoder.shapes(graphs),
            "own_constraints": own,
        }

    def _names(self, numbers: Ints, graph: ReadGraph) -> list[Any]:
        labels = self.encoder.labels
        pairs = zip(graph.domains, numbers.tolist(), strict=True)
        return [labels[domain][number] for domain, number in pairs]


@contextmanager
def naming_example(structure: Graph, shapes: Sequence[GraphShape]) -> Iterator[None]:
    """Say which example has a graph that the structure refuses."""
    try:
        yield
    except DataError:
        for i, shape in enumerate(shapes):
            try:
                structure.topology(shape)
            except DataError as why:
                raise DataError(f"example {i} (counted from 0): {why}") from why
        raise


def _factor_tables(
    mu: Floats, graph: ReadGraph, structure: Graph, encoder: GraphFeatures
) -> dict[str, Floats]:
    """Cut the expected counts into a table a factor, by kind; those of tied kinds are left out."""
    tables = {}
    at = 0
    for (kind, held), width in zip(encoder.kinds.items(), structure.widths, strict=True):
        if kind in structure.tied:
            at += width
            continue
        copies = 2 if held.symmetric else 1
        m = copies * len(graph.groups[kind].vertices) if kind in graph.groups else 0
        sizes = [structure.domains[domain] for domain in held.domains]
        # The copy of a symmetric factor says the same again.
        tables[kind] = mu[at : at + m * width].reshape(m, *sizes)[::copies]
        at += m * width
    return tables


def _vertex_tables(tables: Mapping[str, Floats], graph: ReadGraph) -> list[Floats]:
    """Sum the tables of factors, small ones first, to the probabilities of each vertex's labels."""
    found: list[Floats | None] = [None] * len(graph.domains)
    for kind, table in sorted(tables.items(), key=lambda item: math.prod(item[1].shape[1:])):
        if not len(table):
            continue
        for place in range(table.ndim - 1):
            others = tuple(axis for axis in range(1, table.ndim) if axis != place + 1)
            sums = table.sum(axis=others)
            for v, row in zip(graph.groups[kind].vertices[:, place].tolist(), sums, strict=True):
                if found[v] is None:
                    found[v] = row
    return [row for row in found if row is not None]
