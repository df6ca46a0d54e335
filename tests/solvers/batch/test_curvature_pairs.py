"""The two loops of L-BFGS against the matrix that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.arrays import Floats
from partwise.solvers.batch.lbfgs import CurvaturePairs


def inverse_hessian(pairs: list[tuple[Floats, Floats]]) -> Floats:
    """H <- (I - s y'/s.y) H (I - y s'/s.y) + s s'/s.y, from s.y / |y|^2 of the last pair."""
    s, y = pairs[-1]
    h = np.eye(len(s)) * (s @ y) / (y @ y)
    for s, y in pairs:
        left = np.eye(len(s)) - np.outer(s, y) / (s @ y)
        h = left @ h @ left.T + np.outer(s, s) / (s @ y)
    return h


@pytest.mark.parametrize("memory", [1, 3, 8])
def test_the_product_with_the_inverse_hessian(memory: int) -> None:
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(6, 6))
    curvature = factor @ factor.T + np.eye(6)
    pairs, kept = CurvaturePairs(memory), []
    gradient = rng.normal(size=6)
    np.testing.assert_array_equal(pairs.descent(gradient), -gradient)
    for _ in range(5):
        s = rng.normal(size=6)
        pairs.add(s, curvature @ s)
        kept.append((s, curvature @ s))
        expected = -inverse_hessian(kept[-memory:]) @ gradient
        np.testing.assert_allclose(pairs.descent(gradient), expected, rtol=1e-9)
    assert len(pairs) == min(memory, 5)
    pairs.clear()
    np.testing.assert_array_equal(pairs.descent(gradient), -gradient)


def test_a_pair_without_curvature_is_not_kept() -> None:
    pairs = CurvaturePairs(3)
    pairs.add(np.ones(2), -np.ones(2))
    pairs.add(np.ones(2), np.zeros(2))
    assert not pairs
