"""The sub-problem of dual coordinate descent in one variable, and three ways to solve it.

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
from typing import Any, Final

from ...compiled.jit import njit

#: The ways, by name; their positions are what the kernels take.
METHODS: Final = ("modified", "line-search", "bisection")
_LINE_SEARCH: Final = 1
_BISECTION: Final = 2

#: A step that leaves the bounds goes to this part of Z instead (xi of the paper), and a minimum
#: across the middle is looked for from this part of c (xi_0).
_XI: Final = 0.1
#: The line search: each trial is this part of the one before (beta) ...
_BETA: Final = 0.5
#: ... and must gain this part of what the slope promises (gamma).
_GAMMA: Final = 0.01
#: The smallest normal number. A minimum below it cannot be told from it: Z stays here.
SMALLEST: Final = 2.2250738585072014e-308
#: Halving leads from any number to the smallest in about 1,030 steps.
_MOST_STEPS: Final = 1200


@njit
def modified_newton(
    a: float, b: float, c: float, o: float, slope: float, tol: float, method: int
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
    if z > rest:
        z = _XI * z  # (35)
        rest = s - z
        slope = a * (z - c) + b + math.log(z / rest)
    halve = method == _BISECTION
    near = math.sqrt(2.0 * tol)
    steps = 0
    while abs(slope) > tol and steps < _MOST_STEPS:
        halve = halve and slope > 0.0
        # g'/g'' without the product Z (s - Z), which may underflow
        new = 0.0 if halve else z - slope * z / (a * z + s / rest)
        newton = new > 0.0
        if not newton:
            new = (0.5 if halve else _XI) * z
        new = max(new, SMALLEST)
        if new == z:
            break
        last = newton and abs(new - z) <= near * min(new, z)
        z, rest = new, s - new
        steps += 1
        if last:
            break
        slope = a * (z - c) + b + math.log(z / rest)
    return z, rest, steps


@njit
def searched_newton(a: float, c: float, o: float, slope: float) -> Any:
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
            if gain + step * slope + 0.5 * a * step * step <= _GAMMA * step * slope:
                return new, rest, trial
        step *= _BETA
    return c, o, _MOST_STEPS


@njit
def solve_subproblem(
    a: float, b: float, c1: float, c2: float, slope: float, tol: float, method: int
) -> Any:
    """Solve (18) to |g'| <= tol, from the side that does not cancel.

    slope is g' at z = 0, b + log(c1 / c2).

    Returns (c1 + z, c2 - z, Newton steps and line-search trials).
    """
    if 0.5 * a * (c2 - c1) + b >= 0.0:
        if method == _LINE_SEARCH:
            return searched_newton(a, c1, c2, slope)
        return modified_newton(a, b, c1, c2, slope, tol, method)
    if method == _LINE_SEARCH:
        z2, z1, steps = searched_newton(a, c2, c1, -slope)
    else:
        z2, z1, steps = modified_newton(a, -b, c2, c1, -slope, tol, method)
    return z1, z2, steps
