from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.graph_shapes import grid, lattice, ordered, shapes
from support.laws import Instance, Label, StructureLaws, close, draw_scores

from partwise.arrays import Floats, Ints
from partwise.errors import DataError
from partwise.structures.base import Constraints, Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.graph.junction import Scope, junction_tree
from partwise.structures.graph.structure import Graph, GraphConstraints, GraphShape


class TestGraph(StructureLaws):
    _shapes: ClassVar[dict[bytes, GraphShape]] = {}

    def instances(self) -> st.SearchStrategy[Instance]:
        return shapes().map(self.remember)

    def remember(self, drawn: tuple[Graph, GraphShape]) -> Instance:
        graph, shape = drawn
        topo = graph.topology(shape)
        self._shapes[self.key(graph, topo)] = shape
        return graph, topo

    def key(self, structure: Structure, topo: Ints) -> bytes:
        return structure.spec.tobytes() + topo.tobytes()

    def shape(self, structure: Structure, topo: Ints) -> GraphShape:
        return self._shapes[self.key(structure, topo)]

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        assert isinstance(structure, Graph)
        sizes = [structure.domains[name] for name in self.shape(structure, topo).domains]
        return itertools.product(*(range(size) for size in sizes))

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        assert isinstance(structure, Graph)
        parts = []
        for kind, scope, part in ordered(structure, self.shape(structure, topo)):
            place = 0
            for v, name in zip(scope, structure.factors[kind], strict=True):
                place = place * structure.domains[name] + label[v]
            parts.append(part + place)
        return parts

    def constraints(self, structure: Structure, topo: Ints) -> st.SearchStrategy[Any]:
        assert isinstance(structure, Graph)
        n = len(self.shape(structure, topo).domains)
        label = st.integers(0, structure.n_labels - 1)
        labels = st.one_of(st.just([]), st.lists(label, max_size=2))
        allowed = st.lists(
            st.tuples(st.integers(0, max(n - 1, 0)), st.lists(label, min_size=1)),
            max_size=3 if n else 0,
        )
        joint = st.sampled_from(structure.kinds).flatmap(
            lambda kind: st.tuples(
                st.just(kind),
                st.tuples(
                    *(
                        st.integers(0, structure.domains[name] - 1)
                        for name in structure.factors[kind]
                    )
                ),
            )
        )
        assignments = st.lists(joint, max_size=4)
        return st.one_of(
            st.tuples(labels, allowed).map(lambda d: Constraints(labels=d[0], allowed=d[1])),
            st.builds(GraphConstraints, labels=labels, allowed=allowed, assignments=assignments),
        )

    def permitted(self, structure: Structure, topo: Ints, label: Label, rules: Any) -> bool:
        forbidden = getattr(rules, "assignments", ())
        return (
            not any(k in rules.labels for k in label)
            and all(label[v] in only for v, only in rules.allowed)
            and not any(
                (kind, tuple(label[v] for v in scope)) in forbidden
                for kind, scope in self.shape(structure, topo).factors
            )
        )

    def matrix(self, structure: Structure, rng: np.random.Generator) -> Floats | None:
        assert isinstance(structure, Graph)
        if len(set(structure.domains.values())) > 1:
            return None
        return super().matrix(structure, rng)


def log_sums(x: Any, axes: tuple[int, ...]) -> Any:
    top = x.max(axis=axes, keepdims=True)
    shift = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - shift).sum(axis=axes)) + shift.squeeze(axes)


class Plain:
    """Sum-product on the junction tree in log space, one array operation a step."""

    def __init__(self, graph: Graph, shape: GraphShape) -> None:
        self.sizes = [graph.domains[name] for name in shape.domains]
        self.factors = ordered(graph, shape)
        self.tree = junction_tree(self.sizes, [scope for _, scope, _ in self.factors])

    def dims(self, scope: Scope) -> tuple[int, ...]:
        return tuple(self.sizes[v] for v in scope)

    def spread(self, x: Any, sub: Scope, scope: Scope) -> Any:
        return x.reshape([self.sizes[v] if v in sub else 1 for v in scope])

    def __call__(self, theta: Any) -> tuple[Any, Any]:
        nodes = self.tree.nodes
        tables = [np.zeros(self.dims(node.scope), theta.dtype) for node in nodes]
        for (_, scope, part), c in zip(self.factors, self.tree.node_of, strict=True):
            x = theta[part : part + tables[c].size].reshape(self.dims(scope))
            tables[c] = tables[c] + x.transpose([scope.index(v) for v in nodes[c].scope])
        messages: list[Any] = []
        log_z = theta.dtype.type(0.0)
        for c, node in enumerate(nodes):
            axes = tuple(i for i, v in enumerate(node.scope) if v in node.residual)
            messages.append(log_sums(tables[c], axes) if axes else tables[c])
            if node.parent < 0:
                log_z += messages[c]
            else:
                up = self.spread(messages[c], node.separator, nodes[node.parent].scope)
                tables[node.parent] = tables[node.parent] + up
        beliefs: list[Any] = [None] * len(nodes)
        for c in range(len(nodes) - 1, -1, -1):
            node, m = nodes[c], np.where(np.isneginf(messages[c]), 0.0, messages[c])
            beliefs[c] = np.exp(tables[c] - self.spread(m, node.separator, node.scope))
            if node.parent >= 0:
                above = nodes[node.parent].scope
                axes = tuple(i for i, v in enumerate(above) if v not in node.separator)
                b = beliefs[node.parent].sum(axis=axes)
                beliefs[c] = beliefs[c] * self.spread(b, node.separator, node.scope)
        mu = np.zeros_like(theta)
        for (_, scope, part), c in zip(self.factors, self.tree.node_of, strict=True):
            b = beliefs[c].transpose([nodes[c].scope.index(v) for v in scope])
            mu[part : part + b.size] += b.ravel()
        return log_z, mu


def check(graph: Graph, shape: GraphShape, theta: Floats) -> None:
    """Compare the oracle with the plain recursion in extended precision."""
    topo = graph.topology(shape)
    log_z, mu = Plain(graph, shape)(theta.astype(np.longdouble))
    got, got_mu = graph.expected_parts(theta, topo)
    close(graph.log_partition(theta, topo), got)
    scale = 1e-4 * max(1.0, float(np.abs(theta[np.isfinite(theta)]).max(initial=0.0))) * len(theta)
    close(got, float(log_z), scale)
    if log_z > -np.inf:
        close(got_mu, mu, scale)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([(1, 40), (2, 15), (3, 10), (4, 4)]),
    st.integers(1, 4),
    st.sampled_from([(), ("edge",), ("square",), ("edge", "square")]),
    st.sampled_from(["small", "large", "tiny", "steep", "masked", "masked steep"]),
    st.integers(0, 2**32 - 1),
)
def test_larger_grids(
    size: tuple[int, int], n_labels: int, tied: tuple[str, ...], pattern: str, seed: int
) -> None:
    graph, shape = lattice(n_labels, "square", tied=tied), grid(*size, "square")
    theta = draw_scores(pattern, graph.n_parts(graph.topology(shape)), np.random.default_rng(seed))
    check(graph, shape, theta)


def test_what_was_flushed_comes_back() -> None:
    # Label 1 loses 100 nats at each of 8 vertices of a loop and regains 300 at each of 3 others.
    graph = lattice(2, tied=["edge"])
    n = 12
    factors = [("vertex", (v,)) for v in range(n)] + [("edge", (v, (v + 1) % n)) for v in range(n)]
    own = np.zeros((n, 2))
    own[:8, 1] = -100.0
    own[9:, 0] = -300.0
    for apart in (0.0, -290.0, -710.0, -1500.0, -np.inf):
        theta = np.concatenate([own.ravel(), [0.0, apart, apart, 0.0]])
        check(graph, GraphShape(("label",) * n, tuple(factors)), theta)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("pattern", ["small", "large", "steep", "masked"])
@pytest.mark.parametrize("length", [0, 1, 2, 30])
def test_a_chain_is_a_graph(tied: bool, ends: bool, pattern: str, length: int) -> None:
    chain = Chain(3, tied=tied, start=ends, end=ends)
    kinds = {"label": ["k"], "transition": ["k", "k"]}
    factors = [("label", (t,)) for t in range(length)]
    factors += [("transition", (t - 1, t)) for t in range(1, length)]
    if ends:
        kinds |= {"start": ["k"], "end": ["k"]}
        factors += [("start", (0,)), ("end", (length - 1,))] if length else []
    # Chain has its tables for the ends even when it is empty.
    always = ["start", "end"] if ends and not length else []
    graph = Graph({"k": 3}, kinds, (["transition"] if tied else []) + always)
    topo, chain_topo = (
        graph.topology(GraphShape(("k",) * length, tuple(factors))),
        np.array([length]),
    )
    assert graph.n_parts(topo) == chain.n_parts(chain_topo)
    for mine, theirs in zip(graph.sites(topo), chain.sites(chain_topo), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    rng = np.random.default_rng(0)
    theta = draw_scores(pattern, graph.n_parts(topo), rng)
    log_z, mu = graph.expected_parts(theta, topo)
    expected, expected_mu = chain.expected_parts(theta, chain_topo)
    close(log_z, expected)
    close(mu, expected_mu)
    close(graph.best(theta, topo)[0], chain.best(theta, chain_topo)[0])
    close(graph.k_best(theta, topo, 5)[0], chain.k_best(theta, chain_topo, 5)[0])
    label = rng.integers(0, 3, length)
    np.testing.assert_array_equal(
        graph.part_cost(label, topo, None), chain.part_cost(label, chain_topo, None)
    )


def test_equal_labellings_are_one_labelling() -> None:
    graph, shape = lattice(3), grid(3, 5)
    topo = graph.topology(shape)
    assert graph.best(np.zeros(graph.n_parts(topo)), topo)[1].tolist() == [0] * 15


def test_the_empty_graph_has_one_labelling() -> None:
    graph = lattice(3, tied=["edge"])
    topo = graph.topology(GraphShape((), ()))
    theta = np.full(graph.n_parts(topo), np.nan)  # a tied table that nothing uses
    log_z, mu = graph.expected_parts(theta, topo)
    assert log_z == 0.0
    assert not mu.any()
    assert graph.best(theta, topo)[0] == 0.0
    scores, labels = graph.k_best(theta, topo, 4)
    assert (scores.tolist(), [len(y) for y in labels]) == ([0.0], [0])
    assert [len(y) for y in graph.sample(theta, topo, 3, np.random.default_rng(0))] == [0] * 3


def test_the_smallest_factor_speaks_for_a_vertex() -> None:
    # Example 1 of large-margin training for Markov random fields: Hamming loss over cliques.
    graph = Graph({"k": 2}, {"triple": ["k"] * 3, "pair": ["k"] * 2})
    topo = graph.topology(GraphShape(("k",) * 3, (("triple", (0, 1, 2)), ("pair", (2, 1)))))
    spread = graph.part_cost(np.array([0, 1, 1]), topo, None)
    assert spread[:8].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]  # vertex 0
    assert spread[8:].tolist() == [2, 1, 1, 0]  # vertices 2 and 1


def test_too_wide_a_graph_is_refused() -> None:
    graph = lattice(10)
    with pytest.raises(
        DataError, match=r"36 vertices has tree width 6 .* 504,961,120 bytes, more .* raise max_m"
    ):
        graph.topology(grid(6, 6))
    four = [Graph(graph.domains, graph.factors, max_megabytes=most) for most in (4, 5)]
    with pytest.raises(DataError, match="tree width 4"):
        four[0].topology(grid(4, 4))
    assert four[1].work_size(four[1].topology(grid(4, 4))) <= 5 << 17


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ([("vertex", (0,))], "vertex 1 is in no factor of a kind that is not tied"),
        ([("vertex", (0,)), ("edge", (0, 1))], "vertex 1 is in no factor of a kind that is not"),
        ([("vertex", (2,))], "must hold different vertices, numbered 0 to 1"),
        ([("edge", (1, 1))], "must hold different vertices"),
        ([("loop", (1,))], "factor 0 .* is of no known kind; give one of"),
        ([("edge", (0,))], r"holds vertices of the domains \['label'\]; its kind takes"),
    ],
)
def test_bad_shapes(factors: list[tuple[str, Scope]], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        lattice(2, tied=["edge"]).topology(GraphShape(("label",) * 2, tuple(factors)))


def test_bad_arguments() -> None:
    with pytest.raises(DataError, match="domain 'a' has 0 labels"):
        Graph({"a": 0}, {"f": ["a"]})
    with pytest.raises(DataError, match="give one or more of"):
        Graph({"a": 2}, {"f": ["b"]})
    with pytest.raises(DataError, match="no kind of factor 'g' to tie"):
        Graph({"a": 2}, {"f": ["a"]}, tied=["g"])
    with pytest.raises(DataError, match="vertex 0 has the domain 'b'"):
        Graph({"a": 2}, {"f": ["a"]}).topology(GraphShape(("b",), (("f", (0,)),)))
    two = Graph({"a": 2, "b": 3}, {"f": ["a"], "g": ["b"]})
    topo = two.topology(GraphShape(("a", "b"), (("f", (0,)), ("g", (1,)))))
    with pytest.raises(DataError, match="one cost matrix does not fit them all"):
        two.part_cost(np.array([0, 0]), topo, np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (Constraints(transitions=[(0, 1)]), "a graph has no first, last or next position"),
        (GraphConstraints(allowed=[(7, [0])]), "vertex 7; the vertices are numbered 0 to 3"),
        (GraphConstraints(assignments=[("loop", (0,))]), "no kind of factor 'loop' to forbid"),
        (GraphConstraints(assignments=[("edge", (0,))]), r"joint labels of the sizes \(2, 2\)"),
        (GraphConstraints(assignments=[("edge", (0, 2))]), "is none of them"),
    ],
)
def test_bad_constraints(rules: Any, sentence: str) -> None:
    graph = lattice(2)
    with pytest.raises(DataError, match=sentence):
        graph.mask(graph.topology(grid(2, 2)), rules)


def test_constraints_survive_a_file() -> None:
    graph = lattice(3)
    for rules in (
        GraphConstraints(labels=[2], assignments=[("edge", (0, 1)), ("vertex", (1,))]),
        Constraints(labels=[0, 1], transitions=[], starts=[], ends=[]),
    ):
        held = json.loads(json.dumps(graph.constraints_to_json(rules)))
        assert graph.constraints_from_json(held) == rules


@pytest.mark.parametrize(
    "held",
    [
        {"labels": [3], "assignments": []},
        {"labels": 0, "assignments": []},
        {"labels": [], "assignments": {}},
        {"labels": [], "assignments": [["edge", 1]]},
        {"labels": [], "assignments": [["edge", [0, 3]]]},
        {"labels": [], "assignments": [["edge", [0, "1"]]]},
        {"labels": [], "assignments": [[["edge"], [0, 1]]]},
        {"labels": []},
        None,
    ],
)
def test_constraints_of_a_damaged_file(held: Any) -> None:
    with pytest.raises(DataError):
        lattice(3).constraints_from_json(held)


@pytest.mark.parametrize(
    "change",
    [
        {"domains": {"label": 0}},
        {"domains": {"label": True}},
        {"domains": ["label"]},
        {"factors": {"edge": ["label"] * 33}},
        {"factors": {"edge": []}},
        {"factors": {"edge": [["label"]]}},
        {"factors": {"edge": "label"}},
        {"tied": "edge"},
        {"tied": ["loop"]},
        {"max_megabytes": -1},
        {"more": 1},
    ],
)
def test_constants_of_a_damaged_file(change: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        Graph.check_constants(lattice(3).constants() | change)


def test_scores_without_order_have_no_best() -> None:
    graph = lattice(2)
    topo = graph.topology(grid(2, 2))
    with pytest.raises(DataError, match="labels have no order"):
        graph.k_best(np.full(graph.n_parts(topo), np.nan), topo, 2)


def test_equal_shapes_share_a_tree_but_not_an_array() -> None:
    graph = lattice(4)
    first, second = graph.topology(grid(3, 9)), graph.topology(grid(3, 9))
    first[0] = -1
    assert second[0] == 27
    assert hash(grid(3, 9)) == hash(grid(3, 9))
