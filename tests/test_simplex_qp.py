"""Exponentiated gradient for quadratic programs, and Bartlett et al. (2004) about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from instances import Explicit, make_instance
from scipy.linalg import block_diag
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse.linalg import aslinearoperator

from partwise import minimise_quadratic
from partwise.errors import DataError
from partwise.simplex_qp import theorem_step
from partwise.structures.base import Floats
from partwise.training import train


def drawn(seed: int, sizes: Any, rank: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(int(np.sum(sizes)), rank))
    return g @ g.T / rank, rng.normal(size=len(g))


def quadratic(a: Floats, b: Floats, x: Floats) -> float:
    return float(b @ x + 0.5 * (x @ a @ x))


def solved(a: Floats, b: Floats, sizes: Any) -> Floats:
    """The minimum by another method."""
    sums = block_diag(*[np.ones((1, k)) for k in sizes])
    middle = np.concatenate([np.full(k, 1.0 / k) for k in sizes])
    found = minimize(
        lambda x: quadratic(a, b, x),
        middle,
        jac=lambda x: b + a @ x,
        bounds=[(0.0, 1.0)] * len(b),
        constraints=[LinearConstraint(sums, 1.0, 1.0)],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    x = np.maximum(found.x, 0.0)
    return np.concatenate([p / p.sum() for p in np.split(x, np.cumsum(sizes)[:-1])])


@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    rank=st.integers(1, 30),
)
def test_the_minimum_is_that_of_another_method(seed: int, sizes: list[int], rank: int) -> None:
    a, b = drawn(seed, sizes, rank)
    other = solved(a, b, sizes)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    slope = b + a @ other
    best, rest = quadratic(a, b, other), slope @ other - np.minimum.reduceat(slope, first).sum()
    assert rest <= 1e-4  # how far the other method may be from the minimum
    result = minimise_quadratic(a, b, sizes, tol=1e-7, max_iter=50_000)
    assert result.value == pytest.approx(quadratic(a, b, result.x), abs=1e-10)
    assert result.value - result.gap - 1e-9 <= best
    assert best - rest - 1e-9 <= result.value <= best + 1e-7 * max(1.0, abs(result.value))
    assert result.converged
    assert result.x.min() >= 0.0
    np.testing.assert_allclose(np.add.reduceat(result.x, first), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_steps_of_figure_3(seed: int) -> None:
    sizes = [3, 1, 4]
    a, b = drawn(seed, sizes, 5)
    start = np.array([0.2, 0.3, 0.5, 1.0, 0.1, 0.2, 0.3, 0.4])
    x = start.copy()
    for t in range(1, 8):
        s = b + a @ x
        x = np.concatenate(
            [
                p * np.exp(-0.3 * q)
                for p, q in zip(np.split(x, [3, 4]), np.split(s, [3, 4]), strict=True)
            ]
        )
        x = np.concatenate([p / p.sum() for p in np.split(x, [3, 4])])
        result = minimise_quadratic(a, b, sizes, step=0.3, start=start, tol=1e-15, max_iter=t)
        np.testing.assert_allclose(result.x, x, atol=1e-13)
        assert result.iterations == t


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [[6], [3, 1, 4], [2] * 10])
def test_theorem_2(seed: int, sizes: list[int]) -> None:
    a, b = drawn(seed, sizes, 4)
    u = solved(a, b, sizes)
    best = quadratic(a, b, u)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    eta = theorem_step(a, b, first)
    largest = float(np.linalg.eigvalsh(a)[-1])
    crude = 2.0 * (len(sizes) * np.abs(a).max() + np.abs(b).max())
    assert eta >= 0.4 / (crude + largest)
    middle = np.concatenate([np.full(k, 1.0 / k) for k in sizes])
    used = u > 1e-12
    away = float(u[used] @ np.log(u[used] / middle[used]))
    begun, last = quadratic(a, b, middle), np.inf
    for steps in (1, 2, 5, 20, 100, 500):
        value = minimise_quadratic(a, b, sizes, step="theorem", tol=1e-15, max_iter=steps).value
        assert value <= last + 1e-13 * np.abs(a).sum()  # no more than the rounding of x.Ax
        assert value - best <= (away / eta + 1.5 * (begun - value)) / steps + 1e-10
        last = value


@pytest.mark.parametrize("step", ["search", "theorem", 0.05])
def test_every_kind_of_matrix(step: float | str) -> None:
    sizes = [4] * 5
    a, b = drawn(3, sizes, 8)
    a[np.abs(a) < 0.2] = 0.0
    a += 2.0 * len(a) * 0.2 * np.eye(len(a))
    dense = minimise_quadratic(a, b, sizes, step=step, max_iter=300)
    for other in (sp.csr_matrix(a), sp.coo_array(a), a.tolist()):
        found = minimise_quadratic(other, b, sizes, step=step, max_iter=300)
        np.testing.assert_allclose(found.x, dense.x, atol=1e-12)
    if step == "theorem":
        with pytest.raises(DataError, match="needs the entries of A"):
            minimise_quadratic(aslinearoperator(a), b, sizes, step=step)
    else:
        found = minimise_quadratic(aslinearoperator(a), b, sizes, step=step, max_iter=300)
        np.testing.assert_allclose(found.x, dense.x, atol=1e-12)


def test_a_large_matrix_has_a_smaller_step() -> None:
    m = 1200
    a, b = sp.eye_array(m, format="csr") * 2.0, np.arange(m) / m
    first = np.arange(0, m, 2)
    # Parts of the slope lie between b_i and b_i + 2, rows add up to 2.
    assert theorem_step(a, b, first) == pytest.approx(0.4 / (2.0 + b[-1] + 2.0))


def test_a_linear_program_ends_in_a_corner() -> None:
    b = np.array([3.0, 1.0, 2.0, 0.5, 0.1])
    result = minimise_quadratic(np.zeros((5, 5)), b, [3, 2], tol=1e-12)
    assert result.converged
    np.testing.assert_allclose(result.x, [0, 1, 0, 0, 1], atol=1e-11)
    assert result.value == pytest.approx(1.1)


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_the_dual_of_the_hinge(kind: str) -> None:
    """Theorem 1: the max-margin dual is such a program."""
    instance = make_instance(kind, "hinge", 3, n=4, weighted=True)
    explicit = Explicit(instance, 2.0)
    rows = [c * g for c, g in zip(explicit.weight, explicit.g, strict=True)]
    costs = [-c * q for c, q in zip(explicit.weight, explicit.costs, strict=True)]
    g = np.concatenate(rows)
    sizes = [len(q) for q in costs]
    result = minimise_quadratic(g @ g.T / 2.0, np.concatenate(costs), sizes, tol=1e-7)
    assert result.converged
    best = train(instance.problem, 2.0, solver="bcfw", tol=1e-7, max_passes=5000).certificate
    assert best.dual == pytest.approx(-result.value, rel=1e-6)


def test_what_is_refused() -> None:
    a, b = np.eye(3), np.zeros(3)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((np.eye(2), b), {}, r"A has shape \(2, 2\); expected \(3, 3\)"),
        ((a, [[1.0]]), {}, r"b has shape \(1, 1\)"),
        ((a, [0.0, np.nan, 0.0]), {}, "expected finite numbers"),
        ((np.diag([1.0, np.inf, 1.0]), b), {}, "A holds a number that is not finite"),
        ((np.triu(np.ones((3, 3))), b), {}, "A is not symmetric"),
        ((a, b, [2, 2]), {}, r"sizes \[2, 2\] do not split 3 variables"),
        ((a, b), {"start": [1.0, 0.0, 0.0]}, "finite numbers above 0"),
        ((a, b), {"start": [1.0, 1.0, 1.0]}, "does not add up to 1"),
        ((a, b), {"step": "big"}, "step is 'big'"),
        ((a, b), {"step": -1.0}, "step is -1.0"),
        ((np.diag([1.0, -2.0, 1.0]), np.arange(3.0)), {}, "negative curvature"),
    ]
    for arguments, options, message in wrong:
        with pytest.raises(DataError, match=message):
            minimise_quadratic(*arguments, **options)
