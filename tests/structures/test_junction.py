from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.structures.graph.junction import JunctionTree, Scope, junction_tree, runs


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[Scope]]:
    n = draw(st.integers(1, 9))
    sizes = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    scope = st.permutations(range(n)).flatmap(
        lambda p: st.integers(1, min(n, 4)).map(lambda k: tuple(p[:k]))
    )
    return sizes, [(v,) for v in range(n)] + draw(st.lists(scope, max_size=12))


def check(tree: JunctionTree, sizes: list[int], scopes: list[Scope]) -> None:
    nodes = tree.nodes
    for c, node in enumerate(nodes):
        assert node.parent == -1 or node.parent > c
        above = nodes[node.parent].scope if node.parent >= 0 else ()
        assert set(node.separator) == set(node.scope) & set(above)
        assert set(node.residual) == set(node.scope) - set(above)
    # Running intersection: a vertex is chosen at one node, and handed down from there.
    for v in range(len(sizes)):
        holding = [c for c, node in enumerate(nodes) if v in node.scope]
        tops = [c for c in holding if v in nodes[c].residual]
        assert len(tops) == 1
        assert all(nodes[c].parent in holding for c in holding if c != tops[0])
    for scope, c in zip(scopes, tree.node_of, strict=True):
        assert set(scope) == set(nodes[c].scope)
    # One order of the vertices for all tables.
    before = {pair for node in nodes for pair in itertools.combinations(node.scope, 2)}
    assert not any((b, a) in before for a, b in before)


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_a_valid_tree(graph: tuple[list[int], list[Scope]]) -> None:
    sizes, scopes = graph
    tree = junction_tree(sizes, scopes)
    check(tree, sizes, scopes)
    # No clique lies in another, and every node that is no clique is the scope of a factor.
    cliques = [set(node.scope) for node in tree.nodes if node.residual]
    assert not any(a <= b for a, b in itertools.permutations(cliques, 2))
    assert len(tree.nodes) <= len(cliques) + len({frozenset(s) for s in scopes})
    assert junction_tree(sizes, scopes) == tree


def chain(n: int) -> list[Scope]:
    return [(v, v + 1) for v in range(n - 1)]


def grid(rows: int, columns: int) -> list[Scope]:
    across = [
        (r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)
    ]
    return across + [(v, v + columns) for v in range((rows - 1) * columns)]


@pytest.mark.parametrize(
    ("n", "scopes", "width"),
    [
        (40, chain(40), 1),
        (31, [((v - 1) // 2, v) for v in range(1, 31)], 1),
        (40, [*chain(40), (39, 0)], 2),
        (60, grid(3, 20), 3),
        (16, grid(4, 4), 4),
        (7, list(itertools.combinations(range(7), 2)), 6),
        (5, [(0, 1, 2, 3, 4)], 4),
        (3, [], 0),
        (0, [], -1),
    ],
)
def test_tree_widths(n: int, scopes: list[Scope], width: int) -> None:
    scopes = [(v,) for v in range(n)] + scopes
    tree = junction_tree([2] * n, scopes)
    check(tree, [2] * n, scopes)
    assert tree.width == width


def test_scores_of_a_vertex_go_through_its_edges() -> None:
    # In a loop the cliques are triangles; no vertex hangs at one if it has an edge to hang at.
    tree = junction_tree([2] * 6, [(v,) for v in range(6)] + [*chain(6), (5, 0)])
    for node in tree.nodes:
        if len(node.scope) == 1:
            assert len(tree.nodes[node.parent].scope) == 2


def test_a_larger_domain_is_kept_out_of_the_tables() -> None:
    # Both ways to cut a square need one chord; that between the small domains is cheaper.
    sizes = [9, 2, 9, 2]
    tree = junction_tree(sizes, [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert max(math.prod(sizes[v] for v in node.scope) for node in tree.nodes) == 36


def test_rows() -> None:
    sizes = [2, 3, 4, 1]
    assert runs((0, 1, 2), (1, 2), sizes) == (2, 12, True)
    assert runs((0, 1, 2), (0,), sizes) == (2, 12, False)
    assert runs((0, 1, 2), (0, 2), sizes) == (6, 4, True)
    assert runs((0, 1, 3), (0, 1), sizes) == (1, 6, True)
    assert runs((0, 1), (), sizes) == (1, 6, False)
    assert runs((3,), (), sizes) == (1, 1, True)


def test_a_long_chain_is_quick_and_not_deep() -> None:
    n = 3000
    tree = junction_tree([3] * n, chain(n))
    assert (tree.width, len(tree.nodes)) == (1, n - 1)
