"""What is wrong with graphs, their labels or the parameters is said in a sentence."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.graph_data import Data, grids, mixed

from partwise import DataError, GraphExample, GraphLabeler


@pytest.fixture(scope="module")
def grid() -> Data:
    return grids()


@pytest.fixture(scope="module")
def labeler(grid: Data) -> GraphLabeler:
    return GraphLabeler(l2=0.1).fit(*grid)


@pytest.fixture(scope="module")
def several() -> GraphLabeler:
    return GraphLabeler(l2=0.2, tol=1e-6).fit(*mixed())


NODES = np.eye(3)
EDGES = [[0, 1], [1, 2]]
Y = ["a", "b", "a"]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (
            [(NODES, [[0, 3]])],
            [Y],
            r"example 0, kind 'edge', factor 0 .*: the vertices \[0, 3\] where",
        ),
        (
            [(NODES, [[0, 1], [1, 1]])],
            [Y],
            r"factor 1 .*: the vertices \[1, 1\]; they must be diff",
        ),
        ([(NODES, [[0, 1, 2]])], [Y], r"edges of shape \(1, 3\); give pairs"),
        ([(NODES, [[0.5, 1]])], [Y], "type float64; give whole numbers"),
        ([(NODES, EDGES)], [Y[:2]], "has 3 vertices in X and 2 labels in y"),
        ([(NODES, EDGES)], [Y, Y], "labels of 2 graphs where X has 1"),
        ([(NODES, EDGES)], ["aba"], r"y\[0\] is 'aba'; give a list"),
        ([(NODES, EDGES)], 3, "y is of type int"),
        ([(NODES, EDGES)], [["a", set(), "b"]], "example 0, vertex 1 .*: the label is missing"),
        ([(NODES, EDGES)], [[0.0, np.nan, 1.0]], "vertex 1 .*: the label is missing"),
        ([(NODES, EDGES)], [["a", 1, "b"]], "the label 1 is of type int where 'a' is of type str"),
        ([(NODES, EDGES)], [[["a"], ["b"], ["a"]]], "a label of type list"),
        ([(NODES, EDGES)], [["a", "a", "a"]], "at least two classes"),
        ([(NODES * np.nan, EDGES)], [Y], "example 0, kind 'node', row 0 .*: feature 0 is nan"),
        ([([{"x": np.nan}] * 3, EDGES)], [Y], "example 0, kind 'node', factor 0 .* is nan"),
        ([(NODES, EDGES, np.ones((3, 1)))], [Y], "3 rows of features for 2 factors"),
        ([(NODES, EDGES, [1.0, 2.0])], [Y], "features have two dimensions"),
        ([(NODES, EDGES, [[1.0], [1.0, 2.0]])], [Y], "are no table of numbers"),
        ([(NODES, EDGES, 3)], [Y], "the features are of type int"),
        ([(None, EDGES)], [Y], "node features are of type NoneType"),
        ([(NODES, EDGES), (NODES[:, :2], EDGES)], [Y, Y], "example 1 .* with 2 features where"),
        ([(NODES, EDGES), (["a"] * 3, EDGES)], [Y, Y], "with named features where .* rows of num"),
        ([(NODES, EDGES, np.eye(2)), (NODES, EDGES)], [Y, Y], "example 1 .* with no features wh"),
        ((NODES, EDGES), [Y], "example 0 .* is of type ndarray; give a tuple"),
        (NODES, [Y], "X is of type ndarray; give a list of graphs"),
        ([], [], "no graphs to train on"),
        ([{"domains": ["a"]}], [Y], "must hold 'domains' and 'factors'"),
        ([GraphExample("aaa", {})], [Y], "a name for each vertex"),
        ([GraphExample(["a"], [])], [Y], "factors must be a dict"),  # type: ignore[arg-type]
        ([GraphExample(["a"], {"b": [0]})], [Y], "a pair of"),  # type: ignore[dict-item]
        (
            [GraphExample(["x"] * 3, {"e": (EDGES, None)})],
            [Y],
            "example 0 .*: vertex 0 is in no factor of a kind that is not tied",
        ),
        (
            [GraphExample(["x", "x", "z"], {"n": ([0, 1, 2], None)})],
            [Y],
            r"example 0 .*: factor 2 \('n' over the vertices \(2,\)\) holds vertices of the dom",
        ),
    ],
)
def test_sentences(X: Any, y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        GraphLabeler().fit(X, y)


def test_sentences_about_parameters(grid: Data) -> None:
    for more, message in (
        ({"domains": ["a"]}, "give None or a dict"),
        ({"domains": {"label": "ab"}}, "a list of different labels"),
        ({"domains": {"label": ["sea", "sea"]}}, "a list of different labels"),
        ({"domains": {"label": ["sea", "fog"]}}, "'land' is none of those given"),
        ({"domains": {"label": ["sea", None]}}, "label is missing"),
        ({"symmetric": 1}, "symmetric is 1; give True or False"),
        ({"l2": 0}, "l2 is 0"),
    ):
        with pytest.raises(DataError, match=message):
            GraphLabeler(**more).fit(*grid)
    uneven = GraphExample(
        ["a", "b"], {"n": ([0], None), "m": ([1], None), "edge": ([[0, 1]], None)}
    )
    with pytest.raises(DataError, match="cannot be symmetric"):
        GraphLabeler(symmetric=True).fit([uneven, uneven], [[0, 1], [1, 2]])


def test_a_graph_that_is_too_wide() -> None:
    n = 30
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    y = [[0, 1, 2, 3, 4] * 6]
    small = (np.zeros((2, 1)), [[0, 1]])
    with pytest.raises(DataError, match=r"example 1 \(counted from 0\): .* tree width 29"):
        GraphLabeler().fit([small, (np.zeros((n, 1)), pairs)], [[0, 1], *y])
    made = GraphLabeler().fit([small], [[0, 1]])
    with pytest.raises(DataError, match=r"example 0 \(counted from 0\): .* tree width 29"):
        made.predict([(np.zeros((n, 1)), pairs)])


def test_sentences_of_prediction(labeler: GraphLabeler, several: GraphLabeler) -> None:
    nodes, edges, differs = grids(1)[0][0]
    for graph, message in (
        ((nodes, edges), "with no features where those before or in training have rows of num"),
        ((nodes[:, :1], edges, differs), "with 1 features where those before or in training"),
        (GraphExample(["label"], {"corner": ([0], None)}), "kind 'corner', which were not seen"),
        (GraphExample(["fog"], {"node": ([0], [[1.0, 1.0]])}), "vertex 0 has the domain 'fog'"),
    ):
        with pytest.raises(DataError, match=f"example 0 .*{message}"):
            labeler.predict([graph])
    with pytest.raises(DataError, match="k is 0"):
        labeler.predict([(nodes, edges, differs)], k=0)
