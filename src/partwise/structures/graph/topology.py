"""A junction tree as one vector of integers, which is all that the oracles of a graph read.

The vector begins with ``HEADER`` numbers: counts, and where each of its sections starts.

    sites      part, width, kind, uses
    vertices   labels of the vertex; part, width and stride of the factor that speaks for it
    factors    site, places, scope from, scope to; a scope has entries (vertex, stride)
    nodes      the NODE_... fields below

A node's table lies in the work vector, its last vertex fastest. Its message to the parent is a
table over the separator; where that is the whole scope, the message is the table itself.

Between a table and a table over some of its vertices stands a *link* of four numbers: n_out rows
of n_in entries, whether a row of the larger meets a row of the smaller table (1) or one entry of
it (0), and where the list of these rows or entries starts. Equal lists are stored once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from .junction import JunctionTree, Scope, junction_tree, runs

_Ints = npt.NDArray[np.int64]

N_VERTICES: Final = 0
N_SITES: Final = 1
N_FACTORS: Final = 2
N_NODES: Final = 3
N_PARTS: Final = 4
WORK: Final = 5  # how many numbers of work the oracles need
SITES: Final = 6
VERTICES: Final = 7
FACTORS: Final = 8
NODES: Final = 9
# Where in the work vector: the largest score of each site, whether each node's message is there
# as a logarithm, the label of each vertex, and room for the largest message and table.
TOPS: Final = 10
FLAGS: Final = 11
LABELS: Final = 12
SPARE: Final = 13
ROOM: Final = 14
HEADER: Final = 15

SITE_FIELDS: Final = 4
VERTEX_FIELDS: Final = 4
FACTOR_FIELDS: Final = 4

NODE_TABLE: Final = 0  # in work, as are the next but one and the message's logarithm
NODE_SIZE: Final = 1
NODE_MESSAGE: Final = 2
NODE_MESSAGE_SIZE: Final = 3
NODE_LOG: Final = 4
NODE_PARENT: Final = 5
NODE_OWN: Final = 6  # the link from its own table to the separator
NODE_UP: Final = 10  # the link from the parent's table to the separator
NODE_FACTORS: Final = 14  # first and last entry of a list
NODE_CHILDREN: Final = 16
NODE_SEPARATOR: Final = 18  # first entry, up to those of the residual: (vertex, stride, size)
NODE_RESIDUAL: Final = 19  # first and last entry
NODE_CHOICES: Final = 21  # how many labels the residual has, and their places in the table
NODE_FIELDS: Final = 23


class Site(NamedTuple):
    """A table of scores: its first part, its width, its kind, and how many factors use it."""

    part: int
    width: int
    kind: int
    uses: int


class Factor(NamedTuple):
    """A factor, which uses the scores of a site for these vertices."""

    site: int
    scope: Scope


class _Lists:
    """Lists of integers behind the fixed sections, equal ones stored once."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._known: dict[object, int] = {}
        self.data: list[_Ints] = []

    def add(self, values: Sequence[int]) -> int:
        array = np.array(values, dtype=np.int64)
        self.data.append(array)
        self._start += len(array)
        return self._start - len(array)

    def places(self, dims: Sequence[tuple[int, int]]) -> int:
        """Add the places of all labels of vertices with these (size, stride)."""
        key = tuple((size, stride) for size, stride in dims if size > 1)
        if key not in self._known:
            places = np.zeros(1, dtype=np.int64)
            for size, stride in key:
                places = (places[:, None] + np.arange(size) * stride).ravel()
            self._known[key] = self.add(places.tolist())
        return self._known[key]


def strides(scope: Scope, sizes: Sequence[int]) -> list[int]:
    """Return how far apart two labels of a vertex are in a table, for each vertex of its scope."""
    steps = [1] * len(scope)
    for i in range(len(scope) - 1, 0, -1):
        steps[i - 1] = steps[i] * sizes[scope[i]]
    return steps


@functools.lru_cache(maxsize=1024)
def flat_topology(
    sizes: tuple[int, ...],
    sites: tuple[Site, ...],
    factors: tuple[Factor, ...],
    homes: tuple[int, ...],
    max_megabytes: int,
) -> _Ints:
    """Build the junction tree of a graph and write it down.

    Parameters
    ----------
    sizes : tuple of int
        The number of labels of each vertex.
    sites, factors
        The tables of scores, and who uses them.
    homes : tuple of int
        For each vertex, the factor that speaks for it.
    max_megabytes : int
        A graph that needs more work than this is refused.

    Returns
    -------
    ndarray of int64
        Shared by all callers, which leave it as it is.
    """
    tree = junction_tree(sizes, [f.scope for f in factors])
    tables = [math.prod(sizes[v] for v in node.scope) for node in tree.nodes]
    messages = [math.prod(sizes[v] for v in node.separator) for node in tree.nodes]
    n_parts = sites[-1].part + sites[-1].width if sites else 0

    head = [0] * HEADER
    head[N_VERTICES:WORK] = len(sizes), len(sites), len(factors), len(tree.nodes), n_parts
    work = n_parts
    for name, room in (
        (TOPS, len(sites)),
        (FLAGS, len(tree.nodes)),
        (LABELS, len(sizes)),
        (SPARE, max(messages, default=0)),
        (ROOM, max(tables, default=0)),
    ):
        head[name] = work
        work += room
    tables_at = work
    work += sum(tables) + sum(
        size * (1 if node.separator == node.scope else 2)
        for node, size in zip(tree.nodes, messages, strict=True)
    )
    if 8 * work > max_megabytes << 20:
        raise DataError(
            f"a graph of {len(sizes)} vertices has tree width {tree.width} (found by min-fill), "
            f"and its tables take {8 * work:,} bytes, more than the {max_megabytes << 20:,} "
            "allowed: drop factors that close long loops, use fewer labels, or raise max_megabytes"
        )
    head[WORK] = work
    at = HEADER
    for name, room in (
        (SITES, SITE_FIELDS * len(sites)),
        (VERTICES, VERTEX_FIELDS * len(sizes)),
        (FACTORS, FACTOR_FIELDS * len(factors)),
        (NODES, NODE_FIELDS * len(tree.nodes)),
    ):
        head[name] = at
        at += room
    lists = _Lists(at)
    fixed = [*head, *(number for site in sites for number in site)]
    fixed += _vertex_section(sizes, sites, factors, homes)
    fixed += _factor_section(sizes, factors, tree, lists)
    fixed += _node_section(sizes, tree, tables, messages, tables_at, lists)
    return np.concatenate([np.array(fixed, dtype=np.int64), *lists.data])


def _vertex_section(
    sizes: Sequence[int], sites: Sequence[Site], factors: Sequence[Factor], homes: Sequence[int]
) -> list[int]:
    section = []
    for v, home in enumerate(homes):
        site, scope = sites[factors[home].site], factors[home].scope
        section += [sizes[v], site.part, site.width, strides(scope, sizes)[scope.index(v)]]
    return section


def _factor_section(
    sizes: Sequence[int], factors: Sequence[Factor], tree: JunctionTree, lists: _Lists
) -> list[int]:
    section = []
    for factor, node in zip(factors, tree.node_of, strict=True):
        step = dict(zip(factor.scope, strides(factor.scope, sizes), strict=True))
        # Where each entry of the node's table stands among the parts; 0: in the same place.
        dims = [(sizes[v], step[v]) for v in tree.nodes[node].scope if sizes[v] > 1]
        steps = [stride for _, stride in dims]
        places = lists.places(dims) if steps != sorted(steps, reverse=True) else 0
        entries = lists.add([number for entry in step.items() for number in entry])
        section += [factor.site, places, entries, entries + 2 * len(step)]
    return section


def _link(scope: Scope, sub: Scope, sizes: Sequence[int], lists: _Lists) -> list[int]:
    """Return the four numbers that lead from a table over `scope` to one over `sub`."""
    n_out, n_in, along = runs(scope, sub, sizes)
    step = dict(zip(sub, strides(sub, sizes), strict=True))
    outer, size = [], 1
    for v in scope:
        if size < n_out:
            size *= sizes[v]
            # Rows of the smaller table are counted in rows, not in entries.
            outer.append((sizes[v], step.get(v, 0) // (n_in if along else 1)))
    return [n_out, n_in, int(along), lists.places(outer)]


def _node_section(
    sizes: Sequence[int],
    tree: JunctionTree,
    tables: Sequence[int],
    messages: Sequence[int],
    work: int,
    lists: _Lists,
) -> list[int]:
    children: list[list[int]] = [[] for _ in tree.nodes]
    factors: list[list[int]] = [[] for _ in tree.nodes]
    for c, node in enumerate(tree.nodes):
        if node.parent >= 0:
            children[node.parent].append(c)
    for f, c in enumerate(tree.node_of):
        factors[c].append(f)
    section = []
    for c, node in enumerate(tree.nodes):
        table, message = work, work
        work += tables[c]
        if node.separator != node.scope:
            message = work
            work += messages[c]
        log_message = work
        work += messages[c]
        step = dict(zip(node.scope, strides(node.scope, sizes), strict=True))
        held, chosen = (
            lists.add([number for v in some for number in (v, step[v], sizes[v])])
            for some in (node.separator, node.residual)
        )
        upper = tree.nodes[node.parent].scope if node.parent >= 0 else node.separator
        own_factors, below = lists.add(factors[c]), lists.add(children[c])
        section += [table, tables[c], message, messages[c], log_message, node.parent]
        section += _link(node.scope, node.separator, sizes, lists)
        section += _link(upper, node.separator, sizes, lists)
        section += [own_factors, own_factors + len(factors[c]), below, below + len(children[c])]
        section += [held, chosen, chosen + 3 * len(node.residual)]
        section += [
            tables[c] // messages[c],
            lists.places([(sizes[v], step[v]) for v in node.residual]),
        ]
    return section
