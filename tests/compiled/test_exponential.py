from __future__ import annotations

import math

import mpmath
import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.compiled.exponential import exp, exp_into

TOLERANCE = 4e-16
finite = st.floats(-708.0, 709.782712893384)


def relative_error(x: float, y: float) -> float:
    with mpmath.workdps(40):
        truth = mpmath.exp(mpmath.mpf(x))
        return float(abs(mpmath.mpf(y) - truth) / truth)


@given(finite)
def test_relative_error_over_the_whole_range(x: float) -> None:
    assert relative_error(x, exp(x)) <= TOLERANCE


@given(st.integers(-1021, 1023), st.floats(-1e-6, 1e-6))
def test_relative_error_where_the_exponent_changes(k: int, nudge: float) -> None:
    x = (k + 0.5) * math.log(2.0) + nudge
    if -708.0 <= x <= 709.78:
        assert relative_error(x, exp(x)) <= TOLERANCE


def test_relative_error_on_a_dense_grid() -> None:
    x = np.random.default_rng(0).uniform(-708.0, 709.78, 200_000)
    y = np.empty_like(x)
    exp_into(y, x, 0.0)
    # How near numpy is to the truth depends on the machine: within 4 ulp (8.9e-16) on all.
    np.testing.assert_allclose(y, np.exp(x), rtol=TOLERANCE + 8.9e-16, atol=0.0)
    for k in range(0, len(x), 40):
        assert relative_error(float(x[k]), float(y[k])) <= TOLERANCE


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (-math.inf, 0.0),
        (-1e308, 0.0),
        (-746.0, 0.0),
        (math.nextafter(-708.0, -math.inf), 0.0),
        (0.0, 1.0),
        (-0.0, 1.0),
        (5e-324, 1.0),
        (709.79, math.inf),
        (1e308, math.inf),
        (math.inf, math.inf),
    ],
)
def test_ends_of_the_range_are_exact(x: float, y: float) -> None:
    assert exp(x) == y
    assert math.copysign(1.0, exp(x)) == 1.0
    vector = np.empty(9)
    exp_into(vector, np.full(9, x), 0.0)
    assert vector.tolist() == [y] * 9


def test_nan_stays_nan() -> None:
    assert math.isnan(exp(math.nan))
    vector = np.array([0.0, math.nan, -math.inf, 1.0, 2.0, 3.0, 4.0, math.nan, 5.0])
    exp_into(vector, vector, 0.0)
    assert np.isnan(vector).tolist() == [False, True] + [False] * 5 + [True, False]


@given(st.lists(st.floats(-1e4, 1e4) | st.just(-math.inf), max_size=40), st.floats(-1e3, 1e3))
def test_vector_and_scalar_agree_to_their_errors(values: list[float], shift: float) -> None:
    x = np.array(values, dtype=np.float64)
    out = np.empty_like(x)
    exp_into(out, x, shift)
    # A machine may round y + x z once in the one and twice in the other.
    np.testing.assert_allclose(out, [exp(v - shift) for v in values], rtol=2.0 * TOLERANCE)


@given(finite, finite)
def test_order_is_kept_up_to_rounding(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert exp(low) <= exp(high) * (1.0 + 2.0 * TOLERANCE)


def test_loop_is_vectorised() -> None:
    # Compiled afresh: numba cannot show the code of a function that came from its cache.
    compiled = numba.njit(fastmath={"contract"}, error_model="numpy")(exp_into.py_func)
    x = np.zeros(8)
    compiled(x, x, 0.0)
    (code,) = compiled.inspect_llvm().values()
    assert "x double>" in code
