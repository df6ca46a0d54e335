"""Junction trees: a graph of low tree width as a tree of small tables.

The vertices are eliminated one after the other, the one that adds the fewest edges first
(min-fill; the smaller table, then the smaller number break ties). A vertex and its neighbours at
that time are a *bag*; bags that lie in no other bag are the cliques of the tree, and the bag that
eliminates the first vertex of a clique's separator is its parent. Distinct scopes of factors that
are no cliques become nodes of their own, below the smallest node that holds them: a score of one
vertex is then added to the table of an edge and not to the table of a clique.

Nodes stand in post-order, children first. For any vertex, the nodes that hold it are connected
(*running intersection*), so sums over the tree are sums over all labellings.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

Scope = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A table over ``scope``; ``separator`` is what it shares with its parent (-1: a root)."""

    scope: Scope
    separator: Scope
    parent: int

    @property
    def residual(self) -> Scope:
        """The vertices that the parent does not hold."""
        return tuple(v for v in self.scope if v not in self.separator)


@dataclass(frozen=True)
class JunctionTree:
    """The nodes in post-order, and for each factor the node with its scope."""

    nodes: tuple[Node, ...]
    node_of: tuple[int, ...]

    @property
    def width(self) -> int:
        """The tree width of this tree: the vertices of the largest node, less one."""
        return max((len(node.scope) for node in self.nodes), default=0) - 1


def junction_tree(sizes: Sequence[int], scopes: Sequence[Scope]) -> JunctionTree:
    """Build a junction tree.

    Parameters
    ----------
    sizes : sequence of int
        The number of labels of each vertex.
    scopes : sequence of tuple of int
        The vertices of each factor.

    Returns
    -------
    JunctionTree
        All scopes of its nodes follow one order of the vertices.
    """
    order, bags = _eliminate(sizes, scopes)
    place = {v: i for i, v in enumerate(order)}
    cliques = _cliques(order, bags, place)
    nodes, index = _with_factors(cliques, scopes, place)
    rank = _vertex_order(sizes, order, nodes)

    position = _post_order([parent for _, _, parent in nodes])
    arranged: list[Node | None] = [None] * len(nodes)
    for (scope, separator, parent), at in zip(nodes, position, strict=True):
        arranged[at] = Node(
            _sorted(scope, rank), _sorted(separator, rank), position[parent] if parent >= 0 else -1
        )
    return JunctionTree(
        tuple(node for node in arranged if node is not None),
        tuple(position[index[frozenset(scope)]] for scope in scopes),
    )


_Sets = tuple[frozenset[int], frozenset[int], int]


def _sorted(scope: Iterable[int], rank: Sequence[int]) -> Scope:
    return tuple(sorted(scope, key=rank.__getitem__))


def _eliminate(
    sizes: Sequence[int], scopes: Sequence[Scope]
) -> tuple[list[int], list[frozenset[int]]]:
    """Eliminate all vertices by min-fill; return the order and the bag of each step."""
    neighbours: list[set[int]] = [set() for _ in sizes]
    for scope in scopes:
        for v in scope:
            neighbours[v].update(scope)
    for v, around in enumerate(neighbours):
        around.discard(v)

    def price(v: int) -> tuple[int, int, int]:
        around = neighbours[v]
        missing = sum(len(around) - 1 - len(around & neighbours[u]) for u in around) // 2
        return missing, math.prod(sizes[u] for u in around) * sizes[v], v

    current = {v: price(v) for v in range(len(sizes))}
    heap = sorted(current.values())
    order, bags = [], []
    while heap:
        cheapest = heapq.heappop(heap)
        v = cheapest[2]
        if current.get(v) != cheapest:
            continue  # an entry from before its price changed
        del current[v]
        around = neighbours[v]
        order.append(v)
        bags.append(frozenset(around | {v}))
        touched = set(around)
        for u in around:
            neighbours[u].discard(v)
        for a, b in combinations(sorted(around), 2):
            if b not in neighbours[a]:
                touched |= neighbours[a] & neighbours[b]
                neighbours[a].add(b)
                neighbours[b].add(a)
        for u in touched:
            now = price(u)
            if now != current[u]:
                current[u] = now
                heapq.heappush(heap, now)
    return order, bags


def _cliques(order: list[int], bags: list[frozenset[int]], place: dict[int, int]) -> list[_Sets]:
    """Return scope, separator and parent of the bags that lie in no other bag."""
    scopes: list[frozenset[int]] = []
    separators: list[frozenset[int]] = []
    waiting: dict[frozenset[int], int] = {}  # the last clique with this separator
    home: dict[int, int] = {}
    for v, bag in zip(order, bags, strict=True):
        rest = bag - {v}
        # A bag that is the separator of an earlier clique lies in that clique.
        clique = waiting.pop(bag, -1)
        if clique < 0:
            clique = len(scopes)
            scopes.append(bag)
            separators.append(rest)
        separators[clique] = rest
        waiting[rest] = clique
        home[v] = clique
    parents = [home[min(s, key=place.__getitem__)] if s else -1 for s in separators]
    return list(zip(scopes, separators, parents, strict=True))


def _with_factors(
    cliques: list[_Sets], scopes: Sequence[Scope], place: dict[int, int]
) -> tuple[list[_Sets], dict[frozenset[int], int]]:
    """Put the scopes of factors below the smallest node that holds them.

    Nodes are then indexed by their scope.
    """
    nodes = list(cliques)
    index = {scope: c for c, (scope, _, _) in enumerate(cliques)}
    holding: dict[int, list[frozenset[int]]] = {}  # for each vertex the scopes that hold it
    for scope in index:
        for v in scope:
            holding.setdefault(v, []).append(scope)
    # The larger first, so that the nodes that may hold a scope are there before it.
    for scope in sorted({frozenset(s) for s in scopes}, key=lambda s: (-len(s), sorted(s))):
        if scope in index:
            continue
        candidates = min((holding[v] for v in scope), key=len)
        holder = min((s for s in candidates if scope < s), key=lambda s: (len(s), index[s]))
        index[scope] = len(nodes)
        nodes.append((scope, scope, index[holder]))
        for v in scope:
            holding[v].append(scope)
    return nodes, index


def _post_order(parents: Sequence[int]) -> list[int]:
    """Return the place of every node in an order in which children come before parents."""
    children: list[list[int]] = [[] for _ in parents]
    roots: list[int] = []
    for node, parent in enumerate(parents):
        (children[parent] if parent >= 0 else roots).append(node)
    backwards, stack = [], roots[::-1]
    while stack:
        node = stack.pop()
        backwards.append(node)
        stack.extend(children[node])
    position = [0] * len(parents)
    for at, node in enumerate(reversed(backwards)):
        position[node] = at
    return position


def runs(scope: Scope, sub: Iterable[int], sizes: Sequence[int]) -> tuple[int, int, bool]:
    """Split a table into rows that a table over `sub` either matches or holds constant.

    Returns
    -------
    n_out, n_in : int
        The number of rows and their length: the last vertices that are all in `sub`, or all not.
    along : bool
        Whether they are in `sub`.
    """
    inside = set(sub)
    dims = [(sizes[v], v in inside) for v in scope if sizes[v] > 1]
    along = dims[-1][1] if dims else True
    n_in = 1
    while dims and dims[-1][1] == along:
        n_in *= dims.pop()[0]
    return math.prod(size for size, _ in dims), n_in, along


def _vertex_order(sizes: Sequence[int], order: list[int], nodes: list[_Sets]) -> list[int]:
    """Choose the order of the vertices in all tables that makes the rows of the inner loops long.

    Results do not depend on it, only speed does. A row costs about as much as eight entries.
    """
    eliminated = [0] * len(sizes)
    for i, v in enumerate(order):
        eliminated[v] = i
    numbered = list(range(len(sizes)))
    candidates = [eliminated, [-i for i in eliminated], numbered, [-v for v in numbered]]

    def price(rank: list[int]) -> int:
        total = 0
        for scope, separator, parent in nodes:
            for holder in (scope, nodes[parent][0]) if parent >= 0 else ():
                n_out, n_in, _ = runs(_sorted(holder, rank), separator, sizes)
                total += n_out * (n_in + 8)
        return total

    return min(candidates, key=price)
