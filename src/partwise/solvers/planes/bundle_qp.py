"""The quadratic program of cutting planes, by an interior-point method.

    max  linear.alpha - alpha'G alpha / 2    over  alpha >= 0,  sum of each group of alpha <= 1

What is left of a group is the weight of the gold label, whose plane is 0. The solver is Clarabel
(Goulart and Chen 2024). It is imported when the first solver that needs it is made.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import sparse
from scipy.linalg import lstsq

from ...arrays import Floats, Ints
from ...errors import PartwiseError

#: The tolerance for Clarabel, relative to the largest coefficient; a worse result is also accepted.
_TOL: Final = 1e-11
#: Directions in which G is flatter than this, relative to the steepest, are left as they are.
_FLAT: Final = 1e-13


def require_clarabel() -> None:
    """Raise a PartwiseError that says how to install Clarabel if it is missing."""
    try:
        import clarabel  # noqa: F401
    except ImportError:
        raise PartwiseError(
            'cutting planes need clarabel, which is not installed; run pip install "partwise[qp]"'
        ) from None


def bundle_gap(gram: Floats, linear: Floats, group: Ints, alpha: Floats) -> float:
    """Bound how far a feasible point is below the optimum, by the rise to the best vertices."""
    gradient = linear - gram @ alpha
    return float(_multipliers(gradient, group).sum() - gradient @ alpha)


def bundle_optimum(gram: Floats, linear: Floats, group: Ints, start: Floats) -> Floats:
    """Solve the program; the result is feasible, and its gap is not above that of the start.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        Symmetric and positive semidefinite.
    linear : ndarray of shape (m,)
        The linear coefficients.
    group : ndarray of shape (m,)
        The group of each variable, counted from 0.
    start : ndarray of shape (m,)
        A feasible point, which is returned if rounding hides any improvement.
    """
    scale = float(np.abs(linear).max(initial=0.0))
    if scale == 0.0:
        return np.zeros_like(linear)
    gram, linear = gram / scale, linear / scale
    points = [start]
    found = np.asarray(_interior_point(gram, linear, group))
    if np.isfinite(found).all():
        inside = _feasible(found, group)
        points += [inside, _polished(gram, linear, group, inside)]
    return min(points, key=lambda alpha: bundle_gap(gram, linear, group, alpha))


def _multipliers(gradient: Floats, group: Ints) -> Floats:
    """Return the largest gradient of each group, at least 0, that of the gold label."""
    best = np.zeros(int(group.max()) + 1)
    np.maximum.at(best, group, gradient)
    return best


def _feasible(alpha: Floats, group: Ints) -> Floats:
    positive = np.maximum(alpha, 0.0)
    feasible: Floats = positive / np.maximum(np.bincount(group, weights=positive), 1.0)[group]
    return feasible


def _polished(gram: Floats, linear: Floats, group: Ints, alpha: Floats) -> Floats:
    """Solve exactly for the optimum that an interior point is close to.

    At the optimum either alpha_k is 0, or the gradient of k equals the best of its group; and
    either the rest of a group is 0, or its multiplier. The smaller of the two is assumed to be 0.
    This leaves linear equations, which are solved by the smallest correction.
    """
    gradient = linear - gram @ alpha
    best = _multipliers(gradient, group)
    used = alpha >= best[group] - gradient
    tight = 1.0 - np.bincount(group, weights=alpha) <= best
    kept = np.where(used, alpha, 0.0)
    sums = (group[used] == np.flatnonzero(tight)[:, None]).astype(np.float64)
    lacks = (linear - gram @ kept - np.where(tight, best, 0.0)[group])[used]
    rests = 1.0 - sums @ kept[used]
    corner = np.zeros((len(sums), len(sums)))
    system = np.block([[gram[np.ix_(used, used)], sums.T], [sums, corner]])
    change = lstsq(system, np.concatenate([lacks, rests]), cond=_FLAT, lapack_driver="gelsy")[0]
    kept[used] += change[: len(lacks)]
    return _feasible(kept, group)


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
