"""The sub-problem in one variable: its minimum from any start, near any bound, by three ways."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from partwise.solvers.coordinate.subproblem import (
    METHODS,
    SMALLEST,
    searched_newton,
    solve_subproblem,
)

MODIFIED, LINE_SEARCH, BISECTION = range(len(METHODS))

exponents = st.floats(-12.0, 6.0)
positive = exponents.map(lambda e: 10.0**e)
tiny = st.floats(-290.0, 5.0).map(lambda e: 10.0**e)
curvatures = st.one_of(st.just(0.0), positive)
slopes = st.one_of(st.just(0.0), st.floats(-600.0, 600.0))


def slope_at_zero(b: float, c1: float, c2: float) -> float:
    return b + math.log(c1 / c2)


def solve(a: float, b: float, c1: float, c2: float, tol: float, method: int) -> Any:
    return solve_subproblem(a, b, c1, c2, slope_at_zero(b, c1, c2), tol, method)


def log_minimum(a: float, b: float, c1: float, c2: float) -> tuple[float, float]:
    """(log Z1, log Z2) of the minimum.

    With the log-odds t of Z1 = s / (1 + exp(-t)) nothing cancels: g' = t + a (Z1 - c1) + b.
    """
    s = c1 + c2

    def slope(t: float) -> float:
        # Z1 - c1 from the nearer bound
        z = s * expit(t) - c1 if t < 0.0 else c2 - s * expit(-t)
        return float(t + a * z + b)

    far = 2.0 * (abs(b) + a * s + 1e3)
    t = float(brentq(slope, -far, far, xtol=1e-13, rtol=1e-15, maxiter=1000))
    return math.log(s) - np.logaddexp(0.0, -t), math.log(s) - np.logaddexp(0.0, t)


@pytest.mark.parametrize("method", [MODIFIED, BISECTION])
@given(a=curvatures, b=slopes, c1=tiny, c2=tiny)
def test_every_start_leads_to_the_minimum(
    method: int, a: float, b: float, c1: float, c2: float
) -> None:
    # Theorem 5: c1 and c2 are the start.
    z1, z2, steps = solve(a, b, c1, c2, 1e-9, method)
    assert min(z1, z2) > 0.0
    assert z1 + z2 == pytest.approx(c1 + c2, rel=1e-15)
    expected = log_minimum(a, b, c1, c2)
    # d g'/d log Z >= 1, so log Z is as exact as g'; rounding of g' comes from a (Z - c) and b.
    rounding = 1e-15 * (a * (c1 + c2) + abs(b) + 700.0)
    for found, log_z in zip((z1, z2), expected, strict=True):
        if log_z > math.log(SMALLEST):
            assert math.log(found) == pytest.approx(log_z, abs=1e-8 + 10.0 * rounding)
        else:
            assert found == SMALLEST
    assert steps < 1200


def plain_newton(
    a: float, b: float, c1: float, c2: float, steps: int
) -> tuple[float, float, float]:
    """Algorithm 4 as it is printed, with xi = xi_0 = 0.1.

    Gives Z1 after so many steps, g' there, and the smallest part of Z that a step has left: so
    much of its digits cancel.
    """
    s, middle = c1 + c2, 0.5 * (c2 - c1)
    first = a * middle + b >= 0.0
    c, b = (c1, b) if first else (c2, -b)
    z = 0.1 * c if c > s / 2 else c  # (35), but from the middle itself no other start is needed
    least = 1.0

    def slope(z: float) -> float:
        return math.log(z / (s - z)) + a * (z - c) + b

    for _ in range(steps):
        d = -slope(z) / (a + s / (z * (s - z)))
        least = min(least, abs(z + d) / z)
        z = 0.1 * z if z + d <= 0.0 else z + d
    return (z if first else s - z), slope(z), least


@given(
    a=st.floats(0.01, 100.0), b=st.floats(-30.0, 30.0), c1=st.floats(0.01, 5.0),
    c2=st.floats(0.01, 5.0), steps=st.integers(0, 6),
)  # fmt: skip
def test_the_steps_of_algorithm_4(a: float, b: float, c1: float, c2: float, steps: int) -> None:
    left, least = plain_newton(a, b, c1, c2, steps)[1:]
    before = [abs(plain_newton(a, b, c1, c2, k)[1]) for k in range(steps)]
    tol = 1.001 * abs(left)
    # A tolerance that is met after these steps and not before.
    if least < 1e-4 or not 1e-8 < tol < 0.99 * min([*before, 1.0]):
        return
    found, _, made = solve(a, b, c1, c2, tol, MODIFIED)
    assert made == steps
    assert found == pytest.approx(plain_newton(a, b, c1, c2, made)[0], rel=1e-8)


@pytest.mark.parametrize("method", range(len(METHODS)))
@given(a=curvatures, b=st.floats(-30.0, 30.0), c1=positive, c2=positive)
def test_both_sides_are_one_problem(method: int, a: float, b: float, c1: float, c2: float) -> None:
    z1, z2, _ = solve(a, b, c1, c2, 1e-6, method)
    other2, other1, _ = solve(a, -b, c2, c1, 1e-6, method)
    if 0.5 * a * (c2 - c1) + b != 0.0:  # in the middle both begin from the first side
        assert (z1, z2) == pytest.approx((other1, other2), rel=1e-5)


@given(a=curvatures, b=st.floats(-30.0, 30.0), c1=positive, c2=positive)
def test_the_line_search_takes_the_first_step_that_gains_enough(
    a: float, b: float, c1: float, c2: float
) -> None:
    slope = slope_at_zero(b, c1, c2)
    full = -slope * c1 * c2 / (a * c1 * c2 + c1 + c2)
    z1, z2, trials = searched_newton(a, c1, c2, slope)

    def gain(z: float) -> np.longdouble:
        o1, o2, n1, n2 = (np.longdouble(x) for x in (c1, c2, c1 + z, c2 - z))
        entropy = n1 * np.log(n1) + n2 * np.log(n2) - o1 * np.log(o1) - o2 * np.log(o2)
        return entropy + np.longdouble(a) / 2 * z * z + np.longdouble(b) * z

    step = full * 0.5 ** (trials - 1)
    assert (z1 - c1, c2 - z2) == pytest.approx((step, step), abs=1e-14 * (c1 + c2))
    noise = 1e-15 * ((c1 + c2) * 50.0 + a * step * step + abs(b * step))
    assert gain(step) <= 0.01 * step * slope + noise
    if trials > 1:
        before = 2.0 * step
        inside = min(c1 + before, c2 - before) > 0.0
        assert not inside or gain(before) >= 0.01 * before * slope - noise


@given(a=curvatures, b=st.floats(-30.0, 30.0), c1=positive, c2=positive)
def test_line_searches_one_after_the_other_lead_there_too(
    a: float, b: float, c1: float, c2: float
) -> None:
    expected = log_minimum(a, b, c1, c2)
    for _ in range(400):
        if abs(slope_at_zero(b, c1, c2)) <= 1e-9:
            break
        z1, z2, _ = solve(a, b, c1, c2, 1e-9, LINE_SEARCH)
        if (z1, z2) == (c1, c2):
            break
        b += a * (z1 - c1 if z1 < z2 else c2 - z2)
        c1, c2 = z1, z2
    # b is added up here, where its size is that of a s.
    rounding = 1e-13 * (a * (c1 + c2) + 700.0)
    assert math.log(c1) == pytest.approx(expected[0], abs=1e-8 + rounding)
    assert math.log(c2) == pytest.approx(expected[1], abs=1e-8 + rounding)


@pytest.mark.parametrize("method", [MODIFIED, BISECTION])
def test_what_would_cancel(method: int) -> None:
    # All but 1e-3 of C = 1e5 is on the first side, and the minimum is close to its bound.
    c1, c2 = 1e5 - 1e-3, 1e-3
    a, b = 1e-3, 150.0
    z1, z2, _ = solve(a, b, c1, c2, 1e-10, method)
    expected, _ = log_minimum(a, b, c1, c2)
    assert z1 < 1e-15
    assert math.log(z1) == pytest.approx(expected, abs=1e-9)
    # Algorithm 3 keeps z; c1 + z has no digit left of Z1.
    z = z1 - c1
    assert c1 + z == 0.0
    # The other bound, which c2 = C - alpha would lose.
    z1, z2, _ = solve(a, -300.0, 1e5 - 1e-20, 1e-20, 1e-10, method)
    assert math.log(z2) == pytest.approx(log_minimum(a, -300.0, 1e5, 1e-20)[1], abs=1e-9)
    assert z2 < 1e-15 < z1


def test_a_minimum_below_every_number_is_the_smallest_one() -> None:
    for method in (MODIFIED, BISECTION):
        z1, z2, _ = solve(0.0, 2000.0, 0.5, 0.5, 1e-8, method)
        assert (z1, z2) == (SMALLEST, 1.0)
        assert solve(0.0, 2000.0, SMALLEST, 1.0, 1e-8, method) == (SMALLEST, 1.0, 0)
    assert np.finfo(np.float64).tiny == SMALLEST


#: Ties, whole numbers, what is hardly a number, what is huge.
distances = st.sampled_from([SMALLEST, 1e-300, 1e-17, 0.5, 1.0, 3.0])
awkward = st.sampled_from([5e-324, 1e-300, 1e-17, 0.5, 1.0, 3.0, 1e17, 1e150])


@pytest.mark.parametrize("method", [MODIFIED, LINE_SEARCH, BISECTION])
@given(
    a=st.one_of(st.just(0.0), awkward),
    b=st.one_of(st.just(0.0), awkward, awkward.map(lambda x: -x)),
    c1=distances,
    c2=distances,
    tol=st.sampled_from([0.0, 1e-12, 1e-3]),
)
def test_every_sub_problem_ends(
    method: int, a: float, b: float, c1: float, c2: float, tol: float
) -> None:
    z1, z2, steps = solve(a, b, c1, c2, tol, method)
    assert steps <= 1200
    assert z1 >= 0.0
    assert z2 >= 0.0
    assert z1 + z2 == pytest.approx(c1 + c2, rel=1e-12)
