"""Algorithm 6: which pairs of labels are chosen, and that all choices solve the block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.solvers.coordinate import multiplier
from partwise.solvers.coordinate.multiplier import PAIRS, solve_by_pairs
from partwise.solvers.coordinate.subproblem import Newton, solve_subproblem


def solve(choice: str, alpha: Any, q: Any, k: Any, l2: float, tol: float) -> tuple[Any, Any, int]:
    n = len(alpha)
    z, g = alpha.copy(), np.log(alpha) - q
    room, heap = np.empty((3, n)), np.empty((4, n), dtype=np.int64)
    steps = solve_by_pairs(alpha, q, k, l2, tol, Newton(), PAIRS.index(choice), z, g, room, heap)
    return z, g, int(steps)


def drawn(seed: int, n: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n)), 3.0 * rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
def test_all_choices_make_the_gradient_equal(seed: int, n: int) -> None:
    alpha, q, k = drawn(seed, n)
    for choice in PAIRS:
        z, g, _ = solve(choice, alpha, q, k, 0.3, 1e-9)
        assert z.sum() == pytest.approx(1.0, rel=1e-12)
        exact = np.log(z) + (z - alpha) * k / 0.3 - q
        np.testing.assert_allclose(g, exact, atol=1e-9)
        assert np.ptp(exact) <= 1.1e-9


@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
def test_heaps_choose_the_pairs_that_a_scan_chooses(seed: int, n: int) -> None:
    alpha, q, k = drawn(seed, n)
    scan, heap = (solve(choice, alpha, q, k, 0.3, 1e-6) for choice in ("violating", "heap"))
    np.testing.assert_array_equal(scan[0], heap[0])
    assert scan[2] == heap[2]


def test_algorithm_6_as_it_is_printed() -> None:
    """(47), with the pair of the largest and the smallest gradient."""
    alpha, q, k = drawn(3, 6)
    s2, tol = 1.0 / 0.3, 1e-7
    z, g = alpha.copy(), np.log(alpha) + 1.0 - q
    while True:
        y1, y2 = int(g.argmax()), int(g.argmin())
        if g[y1] - g[y2] <= tol:
            break
        a = s2 * (k[y1] + k[y2])
        b = s2 * ((z[y1] - alpha[y1]) * k[y1] - (z[y2] - alpha[y2]) * k[y2]) - q[y1] + q[y2]
        z[y1], z[y2], _ = solve_subproblem(a, b, z[y1], z[y2], g[y1] - g[y2], tol, Newton())
        for y in (y1, y2):
            g[y] = np.log(z[y]) + 1.0 + s2 * k[y] * (z[y] - alpha[y]) - q[y]
    np.testing.assert_allclose(solve("violating", alpha, q, k, 0.3, tol)[0], z, rtol=1e-9)


def test_the_cyclic_order_goes_through_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    alpha, q, k = drawn(5, 4)
    met = []

    def note(a: float, b: float, c1: float, c2: float, *rest: Any) -> Any:
        met.append((a, c1, c2))
        return solve_subproblem(a, b, c1, c2, *rest)

    z, g = alpha.copy(), np.log(alpha) - q
    room, heap = np.empty((3, 4)), np.empty((4, 4), dtype=np.int64)
    monkeypatch.setattr(multiplier, "solve_subproblem", note)
    solve_by_pairs.py_func(
        alpha, q, k, 0.3, 1e-9, Newton(), PAIRS.index("cyclic"), z, g, room, heap
    )
    # a = (K_1 + K_2) / l2 tells which pair it is.
    order = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    expected = [(k[i] + k[j]) / 0.3 for i, j in order]
    np.testing.assert_allclose([a for a, _, _ in met[:6]], expected)
    np.testing.assert_allclose([a for a, _, _ in met[6:12]], expected)
    np.testing.assert_allclose(z, solve("violating", alpha, q, k, 0.3, 1e-9)[0], rtol=1e-7)
