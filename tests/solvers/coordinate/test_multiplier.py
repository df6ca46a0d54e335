"""A block solved by the multiplier of its sum: against Wright's function, and from far away."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import wrightomega

from partwise.arrays import Floats
from partwise.solvers.coordinate.multiplier import first_log, solve_by_multiplier
from partwise.solvers.coordinate.subproblem import SMALLEST


def solve(alpha: Floats, q: Floats, k: Floats, l2: float, tol: float) -> tuple[Floats, int]:
    z, g = alpha.copy(), np.log(alpha) - q
    room = np.empty((3, len(alpha)))
    steps = solve_by_multiplier(k, l2, float(alpha.sum()), tol, q, z, g, room)
    return z, int(steps)


def minimum(alpha: Floats, q: Floats, k: Floats, l2: float) -> Floats:
    """log Z: kappa Z = omega(c + lambda + log kappa), with lambda by bisection."""
    kappa = np.broadcast_to(k / l2, alpha.shape)
    c = q + kappa * alpha

    def logs(level: float) -> Any:
        with np.errstate(divide="ignore", over="ignore"):
            # log Z = c + lambda - kappa Z, which keeps its digits where Z itself has none.
            w = np.where(kappa > 0.0, wrightomega(c + level + np.log(kappa)).real, 0.0)
            return np.where(w < 1e-2, c + level - w, np.log(w / np.where(kappa > 0, kappa, 1.0)))

    def excess(level: float) -> float:
        return float(np.logaddexp.reduce(logs(level)) - math.log(alpha.sum()))

    g = np.log(alpha) - q
    level = brentq(excess, g.min() - 1.0, g.max() + 1.0, xtol=1e-14, rtol=1e-15, maxiter=500)
    found: Floats = logs(level)
    return found


sizes = st.integers(2, 12)
curvatures = st.sampled_from([0.0, 1e-6, 0.5, 1.0, 20.0, 1e4])


@given(
    n=sizes, seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 5.0, 300.0]),
    shared=st.booleans(), base=curvatures, far=st.sampled_from([1.0, 20.0, 300.0]),
    total=st.sampled_from([1e-3, 1.0, 50.0]),
)  # fmt: skip
def test_the_minimum_is_that_of_wrights_function(
    n: int, seed: int, scale: float, shared: bool, base: float, far: float, total: float
) -> None:
    rng = np.random.default_rng(seed)
    q = scale * rng.normal(size=n)
    alpha = np.exp(-far * rng.random(n))
    alpha *= total / alpha.sum()
    k = np.array([base]) if shared else base * rng.integers(0, 3, size=n).astype(float)
    z, steps = solve(alpha, q, k, 0.1, 1e-10)
    expected = minimum(alpha, q, k, 0.1)
    assert z.sum() == pytest.approx(total, rel=1e-12)
    noise = 1e-14 * (np.abs(q).max() + far + 10.0 * k.max() * total)
    for found, log_z in zip(z, expected, strict=True):
        if log_z > math.log(SMALLEST) + 1e-6:
            assert math.log(found) == pytest.approx(log_z, abs=1e-8 + 100.0 * noise)
        else:
            assert found == pytest.approx(SMALLEST, rel=1e-5)
    assert steps <= 25


def test_sums_that_overflow_on_the_way() -> None:
    # The label without features would have a Z of exp(1500) at the first multiplier.
    alpha, k = np.array([0.5, 0.5, 1e-200]), np.array([0.0, 2.0, 0.0])
    for q in (np.array([3000.0, 0.0, 2990.0]), np.array([0.0, -3000.0, 5.0])):
        z, steps = solve(alpha, q, k, 0.1, 1e-10)
        gradient = np.log(z) + (z - alpha) * k / 0.1 - q
        lives = z > 2.0 * SMALLEST
        np.testing.assert_allclose(gradient[lives], gradient[lives][0], atol=1e-9)
        assert z.sum() == pytest.approx(1.0, rel=1e-12)
        assert steps < 60


def test_a_block_near_its_minimum_takes_two_steps() -> None:
    rng = np.random.default_rng(0)
    k = np.array([19.0])
    for _ in range(50):
        alpha = rng.dirichlet(np.ones(20))
        q = np.log(alpha) + 1e-3 * rng.normal(size=20)
        _, steps = solve(alpha, q, k, 0.1, 1e-8)
        assert steps <= 2
        # One that is solved stays as it is.
        assert solve(alpha, np.log(alpha) + 3.0, k, 0.1, 1e-8)[1] == 0


def test_a_block_at_the_start_takes_few() -> None:
    # (51): all but 1e-10 on one label, and scores that want it elsewhere.
    rng = np.random.default_rng(1)
    alpha = np.full(22, 1e-10 / 21)
    alpha[0] = 1.0 - 1e-10
    taken = [solve(alpha, 3.0 * rng.normal(size=22), np.array([19.0]), 0.1, 1e-8)[1]
             for _ in range(100)]  # fmt: skip
    assert max(taken) <= 8


@given(x=st.floats(-200.0, 200.0), kappa=st.sampled_from([0.0, 1e-8, 1.0, 190.0, 1e9]))
def test_the_first_guess_is_close(x: float, kappa: float) -> None:
    c = x - math.log(kappa) if kappa else x
    t = first_log(c, kappa)
    assert abs(t + kappa * math.exp(t) - c if kappa else t - c) < 0.2


def test_labels_that_cannot_shrink_are_left_out() -> None:
    alpha = np.array([0.6, 0.4, SMALLEST])
    q = np.log(alpha)
    q[2] -= 500.0
    z, steps = solve(alpha, q, np.array([1.0]), 1.0, 1e-8)
    assert steps == 0
    np.testing.assert_array_equal(z, alpha)
