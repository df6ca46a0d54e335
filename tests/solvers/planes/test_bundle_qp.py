from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from partwise.errors import PartwiseError
from partwise.solvers.planes.bmrm import (
    WorkingSet,
    bundle_gap,
    bundle_optimum,
    require_clarabel,
)


def draw(seed: int, m: int, rank: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    planes = rng.normal(size=(m, rank)) * rng.choice([0.1, 1.0, 10.0])
    return planes @ planes.T, rng.normal(size=m) + 1.0, rng.permutation(np.arange(m) % n)


def bundle_value(gram: np.ndarray, linear: np.ndarray, alpha: np.ndarray) -> float:
    return float(linear @ alpha - 0.5 * alpha @ gram @ alpha)


def feasible(alpha: np.ndarray, group: np.ndarray) -> bool:
    return bool((alpha >= 0.0).all() and (np.bincount(group, alpha) <= 1.0 + 1e-15).all())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 12), st.sampled_from([1e-3, 1.0, 1e4])
)
def test_no_feasible_point_is_better(seed: int, m: int, rank: int, size: float) -> None:
    """D is concave: alpha is best if its gradient leads to no vertex of the simplices."""
    gram, linear, group = draw(seed, m, rank, max(1, m // 4))
    gram, linear = gram * size, linear * size
    alpha = bundle_optimum(gram, linear, group, np.zeros(m))
    assert feasible(alpha, group)
    gradient = linear - gram @ alpha
    best = np.zeros(group.max() + 1)
    np.maximum.at(best, group, gradient)
    gap = best.sum() - gradient @ alpha
    assert gap == pytest.approx(bundle_gap(gram, linear, group, alpha), rel=1e-12)
    assert gap <= 1e-10 * np.abs(linear).max()


def test_the_same_as_a_general_solver() -> None:
    gram, linear, group = draw(3, 8, 4, 2)
    alpha = bundle_optimum(gram, linear, group, np.zeros(8))
    rules = [{"type": "ineq", "fun": lambda x, g=g: 1.0 - x[group == g].sum()} for g in (0, 1)]
    other = minimize(
        lambda x: -bundle_value(gram, linear, x),
        np.zeros(8),
        bounds=[(0.0, 1.0)] * 8,
        constraints=rules,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert bundle_value(gram, linear, alpha) == pytest.approx(-other.fun, rel=1e-7)


def test_a_start_is_never_lost() -> None:
    gram, linear, group = draw(5, 6, 3, 1)
    best = bundle_optimum(gram, linear, group, np.zeros(6))
    again = bundle_optimum(gram, linear, group, best)
    gaps = [bundle_gap(gram, linear, group, alpha) for alpha in (again, best)]
    assert gaps[0] <= gaps[1] * (1.0 + 1e-12)


def test_planes_below_the_others_have_no_weight_at_all() -> None:
    """Interior points have a little on each; the result is a vertex of the face."""
    gram, linear, group = draw(7, 12, 5, 2)
    linear[:4] = -9.0 * np.sqrt(np.diag(gram).max() * np.diag(gram)[:4]) - 9.0
    alpha = bundle_optimum(gram, linear, group, np.zeros(12))
    np.testing.assert_array_equal(alpha[:4], 0.0)
    assert alpha.max() > 0.0


def test_nothing_to_gain() -> None:
    np.testing.assert_array_equal(
        bundle_optimum(np.eye(2), np.zeros(2), np.zeros(2, dtype=np.int64), np.full(2, 0.5)), 0.0
    )
    alpha = bundle_optimum(np.eye(2), -np.ones(2), np.zeros(2, dtype=np.int64), np.zeros(2))
    np.testing.assert_array_equal(alpha, 0.0)


def test_equal_planes_share_the_weight() -> None:
    """A Gram matrix without full rank is no obstacle; D = s - s^2 / 2 is flat at s = 1."""
    gram, linear = np.ones((3, 3)), np.ones(3)
    alpha = bundle_optimum(gram, linear, np.zeros(3, dtype=np.int64), np.zeros(3))
    assert bundle_value(gram, linear, alpha) == pytest.approx(0.5, abs=1e-11)


def test_a_working_set_grows_and_shrinks() -> None:
    rng = np.random.default_rng(0)
    planes = rng.normal(size=(5, 4))
    known = WorkingSet(2.0, patience=2)
    offset = np.array([3.0, 2.0, -50.0, 1.0, -60.0])
    group = np.array([0, 1, 0, 0, 1])
    for begin, end in ((0, 2), (2, 5)):
        known.add(offset[begin:end], group[begin:end], planes[begin:end] @ planes[:end].T)
        known.improve()
    np.testing.assert_allclose(known.gram, planes @ planes.T)
    assert known.drop_idle().all()
    value = bundle_value(known.gram / 2.0, known.offset, known.alpha)
    known.improve()
    stay = known.drop_idle()
    assert not stay[2]
    assert not stay[4]
    assert len(known) == stay.sum() == len(known.alpha)
    np.testing.assert_allclose(known.gram, planes[stay] @ planes[stay].T)
    assert bundle_value(known.gram / 2.0, known.offset, known.alpha) >= value


def test_what_others_hold_is_taken_into_account() -> None:
    """Half of the planes at a time, until nothing moves, is as good as all at once."""
    rng = np.random.default_rng(1)
    planes, offset = rng.normal(size=(6, 10)), rng.random(6) + 1.0
    group = np.array([0, 0, 1, 0, 1, 1])
    whole = WorkingSet(1.0, patience=99)
    whole.add(offset, np.array([0, 0, 1, 2, 3, 3]), planes @ planes.T)
    whole.improve()
    halves = []
    for own in (slice(0, 3), slice(3, 6)):
        half = WorkingSet(1.0, patience=99)
        half.add(offset[own], group[own], planes[own] @ planes[own].T)
        halves.append((half, planes[own]))
    for _ in range(60):
        for (half, own), (other, others) in (halves, halves[::-1]):
            half.improve(own @ (others.T @ other.alpha))
    alpha = np.concatenate([half.alpha for half, _ in halves])
    best = bundle_value(whole.gram, offset, whole.alpha)
    assert bundle_value(whole.gram, offset, alpha) == pytest.approx(best, rel=1e-7)


def test_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(PartwiseError, match=r"pip install \"partwise\[qp\]\""):
        require_clarabel()
