"""How far apart the features of two labels can be, on which every proven step depends.

    reach_i    >=  max over y     of  |F_i^T (gold_i - y)|
    diameter_i >=  max over y, z  of  |F_i^T (y - z)|

F_i^T y holds a block of numbers for each feature f: the sum of x_sf y_s over the sites s that have
f, where x_sf is its value there and y_s counts the parts of the site that y holds. Let

    M_f = max over y of sum_s |x_sf| |y_s|_1,

so that the blocks a and b of two labels have |a|_1 <= M_f and |b|_1 <= M_f. A site of its own can
be used by every label, at most ``uses`` times; then M_f = sum_s uses_s |x_sf|. Of sites that are
rivals, such as the arcs to one word or segments that overlap, a label uses one at most
(`Structure.rivals`). M_f is then the largest sum over sites whose intervals do not overlap, which
one sweep over the ends of the intervals finds, or the largest value times the number of sites that
a label can use, if that is less. The block of f in F_i^T (y - z) is a - b, and

    |a - b|^2 <= 2 M_f^2    where the values have one sign: a.b >= 0
              <=   M_f^2    if the block has one number alone, as both then lie between 0 and M_f
              <= 4 M_f^2    if the values have both signs.

Sites of their own have the first two bounds whatever the signs, since each site contributes a
difference of two vectors that are not negative: |y_s - z_s| is at most sqrt(2) uses_s, or uses_s if
there is one number. The squares of the blocks add up to diameter_i^2. Where no feature has values
of both signs, a.b >= 0 for the block a of the gold label, so that reach_i^2 is also at most
|F_i^T gold_i|^2 + sum_f M_f^2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Floats
from ..compiled.jit import njit
from ..errors import DataError
from .design import scatter

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["check_overflow", "diameters", "reaches"]

#: The largest square that is allowed; its own square is still finite, with some room.
_LARGEST: Final = 1e150
#: The sign of a node before its first value.
_NO_SIGN: Final = 2.0


def diameters(problem: Problem) -> Floats:
    """Return the diameter of every example of a problem."""
    return _bounds(problem, np.zeros(0))[1]


def reaches(problem: Problem) -> Floats:
    """Return the reach of every example of a problem, which takes longer than the diameter."""
    # The gold labels of labels that are known in part change while they are trained.
    known = problem.partial is None
    return _bounds(problem, np.zeros(problem.storage.n_places if known else 0))[0]


def _bounds(problem: Problem, v: Floats) -> tuple[Floats, Floats]:
    """Return reach and diameter; without room in v for F_i^T gold_i, the reach is the diameter."""
    a = problem.arrays
    tables: dict[bytes, int] = {}
    columns, rows = [np.zeros((6, 0), dtype=np.int64)], 0
    first = np.zeros(problem.n_examples, dtype=np.int64)
    for i in range(problem.n_examples):
        topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
        key = topo.tobytes()
        if key not in tables:
            tables[key] = rows
            uses = problem.structure.sites(topo).uses
            rivals = problem.structure.rivals(topo)
            columns.append(np.stack([uses, *rivals, np.lexsort((rivals[2], rivals[0]))]))
            rows += len(uses)
        first[i] = tables[key]
    table = np.ascontiguousarray(np.concatenate(columns, axis=1))
    squares = np.zeros((2, problem.n_examples))
    n_places = problem.storage.n_places
    if not v.size and (table[1] < 0).all():
        total = np.zeros(n_places)
        for begin, end in problem.room.sweep(problem.n_examples):
            _add_own_squares(a, begin, end, table[0], first, total, squares)
        return np.sqrt(squares[0]), np.sqrt(squares[1])
    head, gold = np.zeros(n_places, dtype=np.int32), np.zeros(problem.max_parts)
    for begin, end in problem.room.sweep(problem.n_examples):
        most = int(np.diff(a.design.entry_ptr[a.design.site_ptr[begin : end + 1]]).max(initial=0))
        nodes = np.empty((5, most), dtype=np.int64), np.empty((3, most))
        _add_squares(a, begin, end, table, first, head, v, gold, *nodes, squares)
    return np.sqrt(squares[0]), np.sqrt(squares[1])


@njit
def _add_own_squares(
    a: Any, first: int, last: int, uses: Any, rows: Any, total: Any, squares: Any
) -> None:
    """Set squares[:, i] to (diameter_i^2, diameter_i^2) for i in [first, last).

    Every site is of its own: the square of a feature is 2 M_f^2, or M_f^2 if its block has one
    number. total: M_f of the features of one example, and 0 of all others.
    """
    design = a.design
    for i in range(first, last):
        sites = range(design.site_ptr[i], design.site_ptr[i + 1])
        for s in sites:
            times = uses[rows[i] + s - design.site_ptr[i]]
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                x = design.value[e] if design.value.size > 0 else 1.0
                total[design.start[e]] += times * abs(x)
        square = 0.0
        for s in sites:
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                size = design.size[e] if e >= design.sparse_ptr[s] else design.site_width[s]
                most = total[design.start[e]]
                square += most**2 if size == 1 else 2.0 * most**2
                total[design.start[e]] = 0.0
        squares[:, i] = square


@njit
def _add_squares(
    a: Any,
    first: int,
    last: int,
    table: Any,
    rows: Any,
    head: Any,
    v: Any,
    gold: Any,
    nodes: Any,
    sums: Any,
    squares: Any,
) -> None:
    """Set squares[:, i] to reach_i^2 and diameter_i^2 for i in [first, last).

    table: uses, group, begin, end and most of the sites, and their order by group and end; rows:
    where the sites of an example begin there. A node stands for a feature and an end of its
    intervals; head[f] is the last node of f. nodes: the feature, the node before, group, end, and
    the size of the block; sums: the largest sum up to this end; -1, 1 or 0 if the values are
    negative, positive or both; and the most that sites of this kind can add.
    """
    design = a.design
    for i in range(first, last):
        n_nodes = 0
        for r in range(rows[i], rows[i] + design.site_ptr[i + 1] - design.site_ptr[i]):
            k = rows[i] + table[5, r]
            uses, group, begin, end = table[0, k], table[1, k], table[2, k], table[3, k]
            s = design.site_ptr[i] + table[5, r]
            for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
                x = design.value[e] if design.value.size > 0 else 1.0
                size = design.size[e] if e >= design.sparse_ptr[s] else design.site_width[s]
                node = _node(
                    n_nodes, np.int64(design.start[e]), group, end, size, head, nodes, sums
                )
                n_nodes = max(n_nodes, node + 1)
                if group < 0:
                    sums[0, node] += uses * abs(x)
                else:
                    before = nodes[1, node]
                    while before >= 0 and nodes[2, before] == group and nodes[3, before] > begin:
                        before = nodes[1, before]
                    base = sums[0, before] if before >= 0 else 0.0
                    sums[0, node] = max(sums[0, node], base + uses * abs(x))
                    sums[2, node] = max(sums[2, node], table[4, k] * uses * abs(x))
                sign = 1.0 if x > 0.0 else -1.0
                sums[1, node] = sign if sums[1, node] in (sign, _NO_SIGN) else 0.0
        if v.size > 0:
            for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
                gold[a.gold_part[g]] += a.gold_count[g]
            scatter(design, i, gold[: a.part_ptr[i + 1] - a.part_ptr[i]], v)
            for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
                gold[a.gold_part[g]] = 0.0
        diameter = near = 0.0
        one_sign = v.size > 0
        for node in range(n_nodes):
            f, size = nodes[0, node], nodes[4, node]
            if head[f] != node:
                continue
            rivals = nodes[2, node] >= 0
            square = (min(sums[0, node], sums[2, node]) if rivals else sums[0, node]) ** 2
            one_sign &= sums[1, node] != 0.0
            if rivals and sums[1, node] == 0.0:
                diameter += 4.0 * square
            else:
                diameter += square if size == 1 else 2.0 * square
            near += square
            if v.size > 0:
                for k in range(f, f + size):
                    near += v[k] ** 2 if size > 1 else 0.0
                    v[k] = 0.0
        squares[0, i] = min(near, diameter) if one_sign else diameter
        squares[1, i] = diameter


@njit
def _node(
    n_nodes: int, f: Any, group: int, end: int, size: int, head: Any, nodes: Any, sums: Any
) -> Any:
    """Return the node of feature f for a group and an end; a new one goes on from the last."""
    last = head[f]
    known = last < n_nodes and nodes[0, last] == f
    if known and nodes[2, last] == group and (group < 0 or nodes[3, last] == end):
        return last
    nodes[0, n_nodes] = f
    nodes[1, n_nodes] = last if known else -1
    nodes[2, n_nodes] = group
    nodes[3, n_nodes] = end
    nodes[4, n_nodes] = size
    sums[0, n_nodes] = sums[0, last] if known else 0.0
    sums[1, n_nodes] = sums[1, last] if known else _NO_SIGN
    sums[2, n_nodes] = sums[2, last] if known else 0.0
    head[f] = n_nodes
    return n_nodes


def check_overflow(problem: Problem, l2: float) -> None:
    """Raise a DataError where squares of features, weights or scores would overflow.

    The norm of v(u) is at most S = sum_i c_i reach_i, so that of the weights is at most S / l2 and
    scores are at most reach_i S / l2. Solvers compute squares of these, and products of two squares
    where they use curvature.

    Parameters
    ----------
    problem : Problem
        What is to be solved.
    l2 : float
        The regulariser.
    """
    design = problem.arrays.design
    value = design.value
    with np.errstate(over="ignore"):
        # What is far from the bound is not looked at more closely.
        entries = float(len(design.start)) * problem.n_parts
        rough = max(value.max(initial=0.0), -value.min(initial=0.0)) if value.size else 1.0
        rough *= 2.0 * entries * max(1.0, float(problem.arrays.weight.max(initial=0.0)))
        if rough * rough * max(1.0, l2, 1.0 / l2) < _LARGEST:
            return
        reach = problem.arrays.weight * problem.reach
        size = max(float(reach.sum()), float(problem.reach.max(initial=0.0)))
        largest = size * size * max(1.0, l2, 1.0 / l2)
    if not largest < _LARGEST:
        example = int(np.argmax(np.maximum(reach, problem.reach)))
        raise DataError(
            f"the features are too large for l2 = {l2:g}: those of example {example} (counted from "
            f"0) have a norm of about {problem.reach[example]:.2g}, and what the fit computes from "
            "them would overflow; scale the features to about 1, and choose l2 for those"
        )
