"""The sub-problem in one variable: its minimum from any start, near any bound, by three ways."""

from __future__ import annotations

import math
from itertools import pairwise, takewhile
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
    Newton,
    searched_newton,
    solve_subproblem,
)

MODIFIED, LINE_SEARCH, BISECTION, PLAIN = range(len(METHODS))

exponents = st.floats(-12.0, 6.0)
positive = exponents.map(lambda e: 10.0**e)
tiny = st.floats(-290.0, 5.0).map(lambda e: 10.0**e)
curvatures = st.one_of(st.just(0.0), positive)
slopes = st.one_of(st.just(0.0), st.floats(-600.0, 600.0))


def slope_at_zero(b: float, c1: float, c2: float) -> float:
    return b + math.log(c1 / c2)


def solve(
    a: float, b: float, c1: float, c2: float, tol: float, method: int, **constants: float
) -> Any:
    newton = Newton(method, **constants)
    return solve_subproblem(a, b, c1, c2, slope_at_zero(b, c1, c2), tol, newton)


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


def printed_algorithm_4(
    a: float, b: float, c1: float, c2: float, steps: int, xi: float = 0.1, xi_0: float = 0.1
) -> list[tuple[float, float]]:
    """Algorithm 4 as it is printed: Z_t and g' of the start and after every step.

    It ends early where g' is 0 or Z_t is no number.
    """
    s, middle = c1 + c2, 0.5 * (c2 - c1)
    first = a * middle + b >= 0.0
    c, b = (c1, b) if first else (c2, -b)
    z = xi_0 * c if c >= s / 2 else c  # (35)
    made = []
    for _ in range(steps + 1):
        slope = math.log(z / (s - z)) + a * (z - c) + b
        made.append((z, slope))
        d = -slope / (a + s / (z * (s - z)))
        z = xi * z if z + d <= 0.0 else z + d
        if not 0.0 < z < s or d == 0.0:
            break
    return made


def printed_algorithm_3(
    a: float, b: float, c1: float, c2: float, steps: int, xi: float = 0.1, xi_0: float = 0.1
) -> list[tuple[float, float]]:
    """Algorithm 3 as it is printed, from (28): z and g' of the start and after every step."""
    middle = 0.5 * (c2 - c1)
    below = a * middle + b >= 0.0  # z* <= z_m
    z = 0.0
    if below and middle <= 0.0:
        z = -(1.0 - xi_0) * c1
    elif not below and middle >= 0.0:
        z = (1.0 - xi_0) * c2
    made = []
    for _ in range(steps + 1):
        slope = a * z + b + math.log((c1 + z) / (c2 - z))
        made.append((z, slope))
        new = z - slope / (a + (c1 + c2) / ((c1 + z) * (c2 - z)))
        if new <= -c1:
            new = xi * z + (1.0 - xi) * -c1
        elif new >= c2:
            new = xi * z + (1.0 - xi) * c2
        z = new
        if not -c1 < z < c2:
            break
    return made


constants = st.sampled_from([(0.1, 0.1), (0.5, 0.3), (0.9, 0.5), (0.3, 0.02)])
tame = {
    "a": st.floats(0.01, 100.0), "b": st.floats(-30.0, 30.0), "c1": st.floats(0.01, 5.0),
    "c2": st.floats(0.01, 5.0), "steps": st.integers(0, 6),
}  # fmt: skip


def tolerance_met_by(made: list[tuple[float, float]], steps: int) -> float | None:
    """A tolerance that is met after exactly so many steps, or None."""
    if len(made) <= steps:
        return None
    tol = 1.001 * abs(made[steps][1])
    before = [abs(slope) for _, slope in made[:steps]]
    return tol if 1e-8 < tol < 0.99 * min([*before, 1.0]) else None


def nothing_cancels(made: list[tuple[float, float]]) -> bool:
    return all(y[0] > 1e-4 * x[0] for x, y in pairwise(made))


@given(**tame, given=constants)
def test_the_steps_of_algorithm_4(
    a: float, b: float, c1: float, c2: float, steps: int, given: tuple[float, float]
) -> None:
    made = printed_algorithm_4(a, b, c1, c2, steps, *given)
    tol = tolerance_met_by(made, steps)
    if tol is None or not nothing_cancels(made):
        return
    z1, z2, count = solve(a, b, c1, c2, tol, MODIFIED, xi=given[0], xi_0=given[1])
    assert count == steps
    assert min(z1, z2) == pytest.approx(made[steps][0], rel=1e-8)


@given(**tame, given=constants)
def test_the_steps_of_algorithm_3(
    a: float, b: float, c1: float, c2: float, steps: int, given: tuple[float, float]
) -> None:
    made = printed_algorithm_3(a, b, c1, c2, steps, *given)
    tol = tolerance_met_by(made, steps)
    if tol is None or min(min(c1 + z, c2 - z) for z, _ in made) < 1e-6:
        return
    z1, z2, count = solve(a, b, c1, c2, tol, PLAIN, xi=given[0], xi_0=given[1])
    assert count == steps
    assert (z1, z2) == pytest.approx((c1 + made[steps][0], c2 - made[steps][0]), rel=1e-8)
    # Algorithm 4 takes the same steps, in other coordinates.
    if c1 != c2:
        assert solve(a, b, c1, c2, tol, MODIFIED, xi=given[0], xi_0=given[1]) == (
            pytest.approx(z1, rel=1e-7), pytest.approx(z2, rel=1e-7), steps
        )  # fmt: skip


def test_constants_that_are_printed() -> None:
    assert Newton() == Newton(method=MODIFIED, xi=0.1, xi_0=0.1, beta=0.5, gamma=0.01)


def distance(a: float, b: float, c1: float, c2: float) -> float:
    """Z* of the side that (34) chooses."""
    return math.exp(min(log_minimum(a, b, c1, c2)))


@given(
    a=st.floats(0.01, 100.0), b=st.floats(-30.0, 30.0), c1=st.floats(0.01, 5.0),
    c2=st.floats(0.01, 5.0), share=st.floats(1e-6, 0.999),
)  # fmt: skip
def test_theorem_3(a: float, b: float, c1: float, c2: float, share: float) -> None:
    """From the correct side of z*, Newton steps rise to it and never pass it."""
    s, best = c1 + c2, distance(a, b, c1, c2)
    first = 0.5 * a * (c2 - c1) + b >= 0.0
    c, b = (c1, b) if first else (c2, -b)
    z = share * best
    for _ in range(200):
        slope = math.log(z / (s - z)) + a * (z - c) + b
        if abs(slope) < 1e-9:
            break
        assert slope < 0.0
        new = z - slope / (a + s / (z * (s - z)))
        assert z < new <= best * (1.0 + 1e-9)
        z = new
    assert z == pytest.approx(best, rel=1e-7)
    # The same from there by the solver, whose start is c1.
    moved = b + a * (share * best - c)
    found, _, _ = solve(a, moved, share * best, s - share * best, 1e-9, MODIFIED)
    assert found == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("xi", [0.05, 0.1, 0.5, 0.9])
@given(a=st.floats(0.01, 100.0), b=st.floats(-30.0, 30.0), c1=st.floats(0.01, 5.0),
       c2=st.floats(0.01, 5.0))  # fmt: skip
def test_theorem_4(xi: float, a: float, b: float, c1: float, c2: float) -> None:
    """From the wrong side every step comes closer to the bound, and one passes z*."""
    best = distance(a, b, c1, c2)
    made = printed_algorithm_4(a, b, c1, c2, 800, xi)
    wrong = list(takewhile(lambda step: step[1] > 1e-9, made))
    assert len(wrong) < len(made)
    for (z, _), (after, _) in pairwise(made[: len(wrong) + 1]):
        assert after < z
    assert made[len(wrong)][0] <= best * (1.0 + 1e-6)


@given(a=curvatures, b=slopes, c1=positive, c2=positive)
def test_theorem_2_and_lemma_1(a: float, b: float, c1: float, c2: float) -> None:
    """g falls from both bounds into the interval, and there is one minimum, with g' = 0."""

    def slope(t: float) -> float:
        """g' at the log-odds t of Z1."""
        z = (c1 + c2) * expit(t) - c1 if t < 0.0 else c2 - (c1 + c2) * expit(-t)
        return float(t + a * z + b)

    far = 2.0 * (abs(b) + a * (c1 + c2) + 1e3)
    assert slope(-far) < 0.0 < slope(far)
    grid = np.linspace(-far, far, 101)
    values = np.array([slope(t) for t in grid])
    assert (np.diff(values) > 0.0).all()
    z1, z2, _ = solve(a, b, c1, c2, 1e-9, MODIFIED)
    assert min(z1, z2) > 0.0
    rounding = 1e-14 * (a * (c1 + c2) + abs(b) + far)
    assert abs(slope(math.log(z1 / z2))) <= 1.1e-9 + rounding


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
    z1, z2, trials = searched_newton(a, c1, c2, slope, Newton(LINE_SEARCH))

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


def promised(a: float, b: float, c1: float, c2: float) -> float:
    """The gain of a whole Newton step as a part of what its slope promises, exactly."""
    a, b, c1, c2 = (np.longdouble(x) for x in (a, b, c1, c2))
    slope = b + np.log(c1 / c2)
    step = -slope * c1 * c2 / (a * c1 * c2 + c1 + c2)
    n1, n2 = c1 + step, c2 - step
    if min(n1, n2) <= 0.0:
        return -math.inf
    entropy = n1 * np.log(n1) + n2 * np.log(n2) - c1 * np.log(c1) - c2 * np.log(c2)
    return float((entropy + a / 2 * step * step + b * step) / (step * slope))


@pytest.mark.parametrize("gamma", [0.01, 0.05, 0.3])
@pytest.mark.parametrize(("a", "c1", "c2"), [(0.5, 0.3, 0.7), (2.0, 1.0, 0.05), (0.1, 1e-3, 1.0)])
def test_a_step_must_gain_this_part(gamma: float, a: float, c1: float, c2: float) -> None:
    """gamma of (21): a step that gains a bit more is taken, one that gains a bit less is not."""
    # The slope grows with b, and the longer the step, the less of what it promises is gained.
    good = -math.log(c1 / c2)
    bad = good + 50.0
    for _ in range(200):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if promised(a, middle, c1, c2) >= gamma else (good, middle)
    for shift, first in ((-1e-4, True), (1e-4, False)):
        b = good + shift
        assert (promised(a, b, c1, c2) >= gamma) == first
        newton = Newton(LINE_SEARCH) if gamma == 0.01 else Newton(LINE_SEARCH, gamma=gamma)
        trials = searched_newton(a, c1, c2, slope_at_zero(b, c1, c2), newton)[2]
        assert (trials == 1) == first


@pytest.mark.parametrize("beta", [0.5, 0.1, 0.8])
def test_trials_shrink_by_beta(beta: float) -> None:
    a, b, c1, c2 = 0.01, 20.0, 0.5, 0.5
    slope = slope_at_zero(b, c1, c2)
    full = -slope * c1 * c2 / (a * c1 * c2 + c1 + c2)
    z1, _, trials = searched_newton(a, c1, c2, slope, Newton(LINE_SEARCH, beta=beta))
    assert trials > 1
    assert z1 - c1 == pytest.approx(full * beta ** (trials - 1), rel=1e-12)


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
    # Algorithm 3 keeps z; c1 + z has no digit left of Z1, and its steps end above it.
    z = z1 - c1
    assert c1 + z == 0.0
    lost, _, _ = solve(a, b, c1, c2, 1e-10, PLAIN)
    assert math.log(lost) > expected + 1.0
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


@pytest.mark.parametrize("method", range(len(METHODS)))
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
