"""Theorem 6 of Yu, Huang and Lin (2011): dual coordinate descent converges at a linear rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.class_data import classes, drawn
from support.solvers import solver_of

from partwise.arrays import Floats, Ints
from partwise.problem.evaluation import DualPoint
from partwise.problem.problem import Problem
from partwise.solvers.coordinate.dual import DualCoordinateDescent
from partwise.solvers.coordinate.subproblem import METHODS


def descent(problem: Problem, l2: float, **options: Any) -> DualCoordinateDescent:
    return solver_of(DualCoordinateDescent, problem, l2, **options)


def dual_of_two(x: Floats, y: Ints, l2: float) -> tuple[Floats, Callable[[Floats], Floats]]:
    """The LR dual (3) over alpha_i, the part of the wrong label: Q, and the curvature of

    D(alpha) = alpha'Q alpha / 2 + sum_i alpha_i log alpha_i + (1 - alpha_i) log(1 - alpha_i)
    """
    signed = (2 * y - 1)[:, None] * x
    q = 2.0 / l2 * signed @ signed.T
    return q, lambda alpha: q + np.diag(1.0 / (alpha * (1.0 - alpha)))


def minimum_of_two(q: Floats, curvature: Callable[[Floats], Floats]) -> Floats:
    """Newton's method for (3), with steps that stay inside the bounds."""
    alpha = np.full(len(q), 0.5)
    for _ in range(200):
        slope = q @ alpha + np.log(alpha) - np.log1p(-alpha)
        if np.abs(slope).max() < 1e-13:
            break
        way = np.linalg.solve(curvature(alpha), slope)
        most = np.where(way > 0.0, alpha, 1.0 - alpha) / np.abs(way)
        alpha = alpha - min(1.0, 0.5 * float(most.min())) * way
    return alpha


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("newton", ["modified", "bisection"])
def test_theorem_6(seed: int, newton: str) -> None:
    """(37): D(alpha^s+1) - D* <= mu (D(alpha^s) - D*), with the mu of Gauss-Seidel.

    Next to alpha* an iteration is one of Gauss-Seidel for the curvature H, with L its lower
    triangle: alpha - alpha* is multiplied by M = 1 - L^-1 H, and D - D*, half of its square in the
    norm of H, by at most |M|^2 in that norm.
    """
    x, y = drawn(seed, 12, 3, 2)
    x, l2 = 2.0 * x, 0.5
    q, curvature = dual_of_two(x, y, l2)
    best = minimum_of_two(q, curvature)
    h = curvature(best)
    root = np.linalg.cholesky(h).T  # |z|_H = |root z|
    step = np.eye(12) - np.linalg.solve(np.tril(h), h)
    mu = np.linalg.norm(root @ step @ np.linalg.inv(root), 2) ** 2
    assert mu < 0.97

    machine = descent(classes(x, y, 2), l2, newton=newton, group=False)
    rows, tight = np.arange(12), 0
    d = machine.blocks.alpha[rows, 1 - y] - best
    while d @ h @ d > 2e-16:
        assert machine.blocks.epoch(rows, 1e-13)[0] == -1
        before, d = d, machine.blocks.alpha[rows, 1 - y] - best
        if before @ h @ before < 2e-10:
            # alpha* is 0.001 from the bounds or more, so the third order of D is below 1%.
            assert d @ h @ d <= 1.01 * mu * (before @ h @ before)
            assert np.linalg.norm(root @ (d - step @ before)) <= 0.01 * np.linalg.norm(
                root @ before
            )
            tight += 1
        assert d @ h @ d < before @ h @ before
    assert tight > 20


@pytest.mark.parametrize("start", [0.0, 8.0, -8.0])
@pytest.mark.parametrize("newton", [method for method in METHODS if method != "plain"])
def test_theorem_6_from_any_start(newton: str, start: float) -> None:
    """The solver's own orders and tolerances: linear to the end, wherever it begins."""
    x, y = drawn(3, 20, 3, 2)
    q, curvature = dual_of_two(x, y, 0.5)
    best = minimum_of_two(q, curvature)
    h = curvature(best)
    theta = np.zeros((20, 2))
    theta[np.arange(20), y] = start
    machine = descent(
        classes(x, y, 2), 0.5, point=DualPoint(theta.ravel()), newton=newton, order="permutation"
    )
    behind = []
    for _ in range(130):
        machine.epoch()
        d = machine.blocks.alpha[np.arange(20), 1 - y] - best
        behind.append(float(0.5 * d @ h @ d))
    # In the end no slope is above 1e-8, and the curvature is 4 at least.
    assert behind[-1] <= 0.5 * 20 * 1e-8**2 / 4.0
    early = next(k for k, rest in enumerate(behind) if rest < 1e-4)
    late = next(k for k, rest in enumerate(behind) if rest < 1e-14)
    assert 1e-10 ** (1 / (late - early)) < 0.75
