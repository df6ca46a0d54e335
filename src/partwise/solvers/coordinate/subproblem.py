"""The sub-problem of dual coordinate descent in one variable, and four ways to solve it.

    min_z  (c1 + z) log(c1 + z) + (c2 - z) log(c2 - z) + a/2 z^2 + b z,     -c1 < z < c2

Problem (18) of Yu, Huang and Lin (2011). Its minimum is inside the bounds, often so close to one
of them that c1 + z or c2 - z would cancel to noise. So the unknown is the distance to the bound
that the minimum is closer to, Z = c + z, where (c, o, b) is (c1, c2, b) or (c2, c1, -b):

    g'(Z) = log(Z / (s - Z)) + a (Z - c) + b,    g''(Z) = a + s / (Z (s - Z)),    s = c1 + c2

(32). The first holds if a (c2 - c1) / 2 + b >= 0 (34). The other distance s - Z is then at least
s/2 and loses nothing. Both distances are handed back: they are c1 and c2 of the next visit.

g' is increasing and, up to s/2, concave; it goes to -inf at 0. No iterate exceeds s/2.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...problem.problem import Problem

# Contexts: the examples of a classifier that have the same features.
#
#     counts[x, y] = sum of c_i over the examples i with features x and label y
#
# This is the empirical distribution of the maximum entropy model, times the number of examples. The
# duals of a context are alpha[x, y] > 0 with sum_y alpha[x, y] = sum_y counts[x, y]. Each of its
# examples has u_i = alpha[x] / sum_y alpha[x, y], so that D(u) and v(u) are those of the examples.


class Contexts(NamedTuple):
    """The contexts of a problem, in the order of their first examples."""

    first: Ints  # X: the first example
    member: Ints  # n: the context of each example; -1 where the weight is 0
    counts: Floats  # X x L
    total: Floats  # X: sum_y counts
    size: Ints  # X: how many examples with a weight

    def spread(self, rows: Floats, outside: float) -> Floats:
        """Return the row of its context for every example: n x L."""
        taken = rows[self.member]
        taken[self.member < 0] = outside
        return taken


def find_contexts(problem: Problem, together: bool) -> Contexts:
    """Find the contexts; unless ``together``, every example is a context of its own."""
    arrays = problem.arrays
    used = np.flatnonzero(arrays.weight > 0.0)
    first, owner = used, np.arange(len(used))
    if together:
        design = arrays.design
        marks = np.empty(problem.n_examples, dtype=np.uint64)
        _marks(design, design.value.view(np.uint64), marks)
        _, position, owner = np.unique(marks[used], return_index=True, return_inverse=True)
        owner = used[position][owner]  # the first example with the same hash, for every example
        _part(design, used, owner)
        first, owner = np.unique(owner, return_inverse=True)
    n_labels = problem.max_parts
    counts = np.zeros((len(first), n_labels))
    np.add.at(counts, (owner, arrays.gold_part[used]), arrays.weight[used])
    member = np.full(problem.n_examples, -1, dtype=np.int64)
    member[used] = owner
    return Contexts(first, member, counts, counts.sum(axis=1), np.bincount(owner))


@njit
def _marks(design: Any, bits: Any, marks: Any) -> None:
    """Compute a hash of every row of features (FNV-1a over words)."""
    prime = np.uint64(1099511628211)
    for i in range(marks.size):
        mark = np.uint64(14695981039346656037)
        for e in range(design.entry_ptr[i], design.entry_ptr[i + 1]):
            mark = (mark ^ np.uint64(design.start[e])) * prime
            if bits.size > 0:
                mark = (mark ^ bits[e]) * prime
                mark ^= mark >> np.uint64(32)
        marks[i] = mark


@njit
def _part(design: Any, used: Any, owner: Any) -> None:
    """Let an example own itself if its row differs from that of its owner: a hash collision."""
    valued = design.value.size > 0
    for k in range(used.size):
        mine, other = design.entry_ptr[used[k]], design.entry_ptr[owner[k]]
        size = design.entry_ptr[used[k] + 1] - mine
        same = size == design.entry_ptr[owner[k] + 1] - other
        for e in range(size if same else 0):
            same = same and design.start[mine + e] == design.start[other + e]
            if valued:
                same = same and design.value[mine + e] == design.value[other + e]
        if not same:
            owner[k] = used[k]


#: The ways, by name; their positions are what the kernels take.
METHODS: Final = ("modified", "line-search", "bisection", "plain")
_LINE_SEARCH: Final = 1
_BISECTION: Final = 2
_PLAIN: Final = 3

#: The smallest normal number. A minimum below it cannot be told from it: Z stays here.
SMALLEST: Final = 2.2250738585072014e-308
#: Halving leads from any number to the smallest in about 1,030 steps.
_MOST_STEPS: Final = 1200


class Newton(NamedTuple):
    """How the sub-problem is solved, with the constants of the paper."""

    method: int = 0  # a position in METHODS
    xi: float = 0.1  # a step that leaves the bounds goes to this part of Z instead (26)
    xi_0: float = 0.1  # a minimum across the middle is looked for from this part of c (35)
    beta: float = 0.5  # the line search: each trial is this part of the one before ...
    gamma: float = 0.01  # ... and must gain this part of what the slope promises (21)


@njit
def modified_newton(
    a: float, b: float, c: float, o: float, slope: float, tol: float, newton: Any
) -> Any:
    """Algorithm 4, or Algorithm 9 for the method "bisection": Z with |g'(Z)| <= tol.

    slope is g'(c). Z <- Z - g'/g'' where that is positive, else xi Z. Algorithm 9 first halves Z
    until g'(Z) <= 0; from there on Newton steps rise to the minimum and never leave the bounds.

    Since |g'''| <= 1/Z^2, a Newton step from Z to Z' leaves |g'(Z')| <= r^2/2 with
    r = |Z' - Z| / min(Z, Z'): the last step needs no logarithm to be known for the last.

    Returns (Z, s - Z, steps).
    """
    s = c + o
    z, rest = c, o
    if z >= rest:
        z = newton.xi_0 * z  # (35)
        rest = s - z
        slope = a * (z - c) + b + math.log(z / rest)
    halve = newton.method == _BISECTION
    near = math.sqrt(2.0 * tol)
    steps = 0
    while abs(slope) > tol and steps < _MOST_STEPS:
        halve = halve and slope > 0.0
        # g'/g'' without the product Z (s - Z), which may underflow
        new = 0.0 if halve else z - slope * z / (a * z + s / rest)
        inside = new > 0.0
        if not inside:
            new = (0.5 if halve else newton.xi) * z
        new = max(new, SMALLEST)
        if new == z:
            break
        last = inside and abs(new - z) <= near * min(new, z)
        z, rest = new, s - new
        steps += 1
        if last:
            break
        slope = a * (z - c) + b + math.log(z / rest)
    return z, rest, steps


@njit
def plain_newton(a: float, b: float, c1: float, c2: float, tol: float, newton: Any) -> Any:
    """Algorithm 3: Newton steps for z itself, which cancels where c1 + z or c2 - z is small.

    A step that leaves the bounds goes to xi of the way that is left (30). It ends where a distance
    has cancelled to 0, for its logarithm does not exist.

    Returns (c1 + z, c2 - z, steps).
    """
    middle = 0.5 * (c2 - c1)
    at_middle = a * middle + b  # g' there: (34)
    z = 0.0
    if at_middle >= 0.0 and middle <= 0.0:
        z = -(1.0 - newton.xi_0) * c1  # (28)
    elif at_middle <= 0.0 and middle >= 0.0:
        z = (1.0 - newton.xi_0) * c2
    steps = 0
    while steps < _MOST_STEPS:
        z1, z2 = c1 + z, c2 - z
        slope = a * z + b + math.log(z1 / z2)
        if abs(slope) <= tol:
            break
        new = z - slope / (a + (c1 + c2) / z1 / z2)
        if new <= -c1:
            new = newton.xi * z - (1.0 - newton.xi) * c1
        elif new >= c2:
            new = newton.xi * z + (1.0 - newton.xi) * c2
        if new == z or not (c1 + new >= SMALLEST and c2 - new >= SMALLEST):
            break
        z = new
        steps += 1
    return c1 + z, c2 - z, steps


@njit
def searched_newton(a: float, c: float, o: float, slope: float, newton: Any) -> Any:
    """One Newton step from Z = c, where g' is slope, with a line search: CDdual-ls.

    The first t = 1, beta, beta^2, ... inside the bounds with g(t d) - g(0) <= gamma t g'(0) d
    (21). The difference is taken without cancellation:

        g(z) - g(0) = (c + z) log(1 + z/c) + (o - z) log(1 - z/o) + z g'(0) + a/2 z^2

    Returns (Z, s - Z, trials).
    """
    small, large = min(c, o), max(c, o)
    step = -slope * small / (a * small + (c + o) / large)
    for trial in range(1, _MOST_STEPS):
        new, rest = c + step, o - step
        if new > 0.0 and rest > 0.0:
            gain = new * math.log1p(step / c) + rest * math.log1p(-step / o)
            if gain + step * slope + 0.5 * a * step * step <= newton.gamma * step * slope:
                return new, rest, trial
        step *= newton.beta
    return c, o, _MOST_STEPS


@njit
def solve_subproblem(
    a: float, b: float, c1: float, c2: float, slope: float, tol: float, newton: Any
) -> Any:
    """Solve (18) to |g'| <= tol, from the side that does not cancel.

    slope is g' at z = 0, b + log(c1 / c2).

    Returns (c1 + z, c2 - z, Newton steps and line-search trials).
    """
    if newton.method == _PLAIN:
        return plain_newton(a, b, c1, c2, tol, newton)
    if 0.5 * a * (c2 - c1) + b >= 0.0:
        if newton.method == _LINE_SEARCH:
            return searched_newton(a, c1, c2, slope, newton)
        return modified_newton(a, b, c1, c2, slope, tol, newton)
    if newton.method == _LINE_SEARCH:
        z2, z1, steps = searched_newton(a, c2, c1, -slope, newton)
    else:
        z2, z1, steps = modified_newton(a, -b, c2, c1, -slope, tol, newton)
    return z1, z2, steps
