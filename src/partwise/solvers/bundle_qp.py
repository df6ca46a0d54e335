"""The quadratic program of cutting planes, by an interior-point method.

    max  linear.alpha - alpha'G alpha / 2    over  alpha >= 0,  sum of each group of alpha <= 1

What is left of a group is the weight of the gold label, whose plane is 0. The solver is Clarabel
(Goulart and Chen 2024). It is imported when the first solver that needs it is made.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import sparse

from ..errors import PartwiseError
from ..structures.base import Floats, Ints

#: What Clarabel is asked for, relative to the largest coefficient. Less than it can give is taken.
_TOL: Final = 1e-11
#: An interior point has a little weight on every plane; less than one of these stands for none.
_LEAST: Final = (1e-6, 1e-8, 1e-10)


def require_clarabel() -> None:
    """Raise a PartwiseError that says how to install Clarabel, if it is missing."""
    try:
        import clarabel  # noqa: F401
    except ImportError:
        raise PartwiseError(
            'cutting planes need clarabel, which is not installed; run pip install "partwise[qp]"'
        ) from None


def bundle_value(gram: Floats, linear: Floats, alpha: Floats) -> float:
    """Compute linear.alpha - alpha'G alpha / 2."""
    return float(linear @ alpha - 0.5 * alpha @ (gram @ alpha))


def bundle_optimum(gram: Floats, linear: Floats, group: Ints, start: Floats) -> Floats:
    """Solve the program; the result is feasible, and never worse than the start.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        Symmetric and positive semidefinite.
    linear : ndarray of shape (m,)
        The linear coefficients.
    group : ndarray of shape (m,)
        The group of each variable, counted from 0.
    start : ndarray of shape (m,)
        A feasible point, which is given back where rounding hides any rise.
    """
    scale = float(np.abs(linear).max(initial=0.0))
    if scale == 0.0:
        return np.zeros_like(linear)
    found = np.asarray(_interior_point(gram / scale, linear / scale, group))
    if not np.isfinite(found).all():
        return start
    points = [start]
    for least in _LEAST:
        alpha = np.where(found < least, 0.0, found)
        points.append(alpha / np.maximum(np.bincount(group, weights=alpha), 1.0)[group])
    return max(points, key=lambda alpha: bundle_value(gram, linear, alpha))


def _interior_point(gram: Floats, linear: Floats, group: Ints) -> Any:
    """Minimise alpha'G alpha / 2 - linear.alpha subject to A alpha + s = b, s >= 0."""
    import clarabel

    m, n = len(linear), int(group.max()) + 1
    # By columns: the upper triangle of G, and in A the sum of a variable's group above its sign.
    row, column = np.tril_indices(m)
    ends = np.concatenate([[0], np.cumsum(np.arange(1, m + 1))])
    upper = sparse.csc_matrix((gram[row, column], column, ends), shape=(m, m))
    where = np.stack([group, n + np.arange(m)], axis=1).ravel()
    signs = np.tile([1.0, -1.0], m)
    constraints = sparse.csc_matrix((signs, where, np.arange(0, 2 * m + 1, 2)), shape=(n + m, m))
    bounds = np.concatenate([np.ones(n), np.zeros(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOL
    cones = [clarabel.NonnegativeConeT(n + m)]
    return clarabel.DefaultSolver(upper, -linear, constraints, bounds, cones, settings).solve().x
