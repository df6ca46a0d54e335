"""Random graphs with factors of random kinds."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from partwise.structures.graph.junction import Scope
from partwise.structures.graph.structure import Graph, GraphShape


def ordered(graph: Graph, shape: GraphShape) -> list[tuple[str, Scope, int]]:
    """Kind, vertices and first part of every factor, in the order of the parts."""
    listed, part = [], 0
    for kind, width in zip(graph.kinds, graph.widths, strict=True):
        for name, scope in shape.factors:
            if name == kind:
                listed.append((kind, scope, part))
                part += 0 if kind in graph.tied else width
        part += width if kind in graph.tied else 0
    return listed


@st.composite
def shapes(draw: st.DrawFn) -> tuple[Graph, GraphShape]:
    names = "abc"[: draw(st.integers(1, 3))]
    domains = {name: draw(st.integers(1, 3)) for name in names}
    n = draw(st.integers(0, 6))
    of = [draw(st.sampled_from(names)) for _ in range(n)]
    scope = st.permutations(range(n)).flatmap(
        lambda p: st.integers(1, min(n, 4)).map(lambda k: tuple(p[:k]))
    )
    pair = st.permutations(range(n)).map(lambda p: tuple(p[:2]))
    scopes = draw(st.lists(scope, max_size=5)) if n else []
    scopes += draw(st.lists(pair, max_size=10)) if n > 1 else []
    kinds = ["".join(of[v] for v in scope) + draw(st.sampled_from(["", "+"])) for scope in scopes]
    tied = [kind for kind in sorted(set(kinds)) if draw(st.booleans())]
    spoken_for = {v for s, kind in zip(scopes, kinds, strict=True) if kind not in tied for v in s}
    for v in range(n):
        if v not in spoken_for or draw(st.booleans()):
            scopes.append((v,))
            kinds.append(f"own {of[v]}")
    declared = draw(st.permutations(sorted({*kinds, "abc"[: len(names)]})))
    graph = Graph(domains, {kind: kind.removeprefix("own ").rstrip("+") for kind in declared}, tied)
    return graph, GraphShape(tuple(of), tuple(zip(kinds, scopes, strict=True)))


def grid(rows: int, columns: int, *kinds: str) -> GraphShape:
    """Vertices, edges and, where asked for, a kind of factor at each square."""
    n = rows * columns
    edges = [(v, v + 1) for v in range(n) if (v + 1) % rows]
    edges += [(v, v + rows) for v in range(n - rows)]
    squares = [(v, v + 1, v + rows, v + rows + 1) for v in range(n - rows) if (v + 1) % rows]
    factors = [("vertex", (v,)) for v in range(n)] + [("edge", edge) for edge in edges]
    return GraphShape(
        ("label",) * n, (*factors, *((kind, square) for kind in kinds for square in squares))
    )


def lattice(n_labels: int, *kinds: str, tied: Iterable[str] = ()) -> Graph:
    factors = {
        "vertex": ["label"],
        "edge": ["label"] * 2,
        **{kind: ["label"] * 4 for kind in kinds},
    }
    return Graph({"label": n_labels}, factors, tuple(tied))
