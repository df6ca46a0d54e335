"""Eight numbers at a time, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.arrays import Floats
from partwise.compiled.jit import njit
from partwise.compiled.lanes import (
    LINE,
    add,
    add_product,
    fill,
    larger,
    largest,
    load,
    multiply,
    repeat,
    store,
    total,
    where,
)


@njit
def several(x: Floats, y: Floats, marks: Floats, at: int, out: Floats) -> tuple[float, float]:
    a, b = load(x, at), load(y, at)
    store(out, 0, add(a, b))
    store(out, LINE, multiply(a, b))
    store(out, 2 * LINE, add_product(a, b, fill(3.0)))
    store(out, 3 * LINE, larger(a, b))
    store(out, 4 * LINE, repeat(x, at))
    store(out, 5 * LINE, where(marks, at, a))
    return total(a), largest(a)


@pytest.mark.parametrize("at", [0, 3, 8])
def test_what_lanes_do(at: int) -> None:
    rng = np.random.default_rng(at)
    x, y = rng.normal(size=(2, 16))
    marks = rng.integers(0, 2, 16).astype(np.uint8)
    out = np.full(6 * LINE, np.nan)
    found = several(x, y, marks, at, out)
    a, b, marked = (z[at : at + LINE] for z in (x, y, marks))
    expected = [a + b, a * b, a + 3.0 * b, np.maximum(a, b), np.full(LINE, a[0]), a * marked]
    np.testing.assert_allclose(out.reshape(6, LINE), expected, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(found, (a.sum(), a.max()), rtol=1e-14, atol=1e-14)


@njit
def largest_of(x: Floats) -> float:
    return largest(larger(load(x, 0), fill(-np.inf)))


def test_the_largest_passes_over_nan() -> None:
    x = np.array([-np.inf, np.nan, -3.0, -7.0, np.nan, -5.0, -4.0, -np.inf])
    assert largest_of(x) == -3.0
    assert largest_of(np.full(LINE, np.nan)) == -np.inf
