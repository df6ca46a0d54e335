"""Exponentiated gradient for quadratic programs over products of simplices.

    min  Q(x) = b.x + x'Ax / 2    with x = (x_1, ..., x_n), each x_i >= 0 and of sum 1

Bartlett, Collins, Taskar and McAllester (2004), Figure 3: x_ij <- x_ij exp(-eta s_ij) / Z_i with
s = b + Ax, the slope of Q. The logarithms of x are kept, so that a part that is to vanish can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from ...arrays import Floats, Ints
from ...errors import DataError

#: Matrices up to this size have their largest eigenvalue computed, others a bound on it.
_SMALL: Final = 1000
#: Rows of a large matrix that are looked at together.
_ROWS: Final = 256
#: What rounding may do to a term of Q, relative to the slope.
_NOISE: Final = 4e-15
#: How the step of a search changes.
_GROWTH, _MOST = 1.25, 1e100


@dataclass(frozen=True)
class QuadraticResult:
    """The result of :func:`partwise.minimise_quadratic`.

    Attributes
    ----------
    x : ndarray
        The last point.
    value : float
        Q(x).
    gap : float
        Sum over the simplices of s_i.x_i - min_j s_ij, s the slope at x. No point has a value
        below ``value - gap``.
    iterations : int
        How many products with A were made after the first.
    converged : bool
        Whether ``gap <= tol * max(1, |value|)``.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise import minimise_quadratic
    >>> result = minimise_quadratic(np.eye(2), np.zeros(2), tol=1e-8)
    >>> np.round(result.x, 4), round(result.value, 4), result.converged
    (array([0.5, 0.5]), 0.25, True)
    """

    x: Floats
    value: float
    gap: float
    iterations: int
    converged: bool


@np.errstate(over="ignore", invalid="ignore")  # Q is looked at in every iteration
def minimise_quadratic(
    A: Any,
    b: npt.ArrayLike,
    sizes: npt.ArrayLike | None = None,
    *,
    step: float | str = "search",
    start: npt.ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> QuadraticResult:
    """Minimise b.x + x'Ax / 2 over a product of simplices.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator, of shape (m, m)
        Symmetric and positive semidefinite.
    b : array-like of shape (m,)
        The linear part.
    sizes : array-like of int or None
        How many of the m variables each simplex has, one after the other; None: one simplex.
    step : float, "search" or "theorem"
        The step eta. "theorem" is the 0.4 / (B + lambda) of Theorem 2, with which

            Q(x_T+1) <= Q(u) + [ 2.5 (B + lambda) KL(u, x_1) + 1.5 (Q(x_1) - Q(x_T+1)) ] / T

        for every u. It needs the entries of A. "search" lets the step grow, and halves it until
        d'Ad / 2 <= KL(x', x) / eta for the change d = x' - x, which is all that is needed for
        Q(x_T+1) <= Q(u) + KL(u, x_1) / sum_t eta_t; each trial is an iteration.
    start : array-like of shape (m,) or None
        The first point, all of it above 0; None: the middle of each simplex.
    tol : float
        The gap to be reached, relative to max(1, abs(Q)).
    max_iter : int
        At most so many iterations.

    Returns
    -------
    QuadraticResult
        The point, its value and a certified bound on how far that is from the minimum.

    Raises
    ------
    DataError
        If the shapes do not fit, a number is not finite or becomes so, A is not symmetric, or a
        step finds a direction of negative curvature.

    Examples
    --------
    The point of a triangle that is nearest to the origin:

    >>> import numpy as np
    >>> from partwise import minimise_quadratic
    >>> corners = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 2.0]])
    >>> result = minimise_quadratic(corners @ corners.T, np.zeros(3), tol=1e-8)
    >>> np.round(result.x @ corners, 4)
    array([1.5, 1.5])
    >>> result.converged
    True
    """
    operator, linear = _checked(A, b)
    count = _checked_sizes(sizes, len(linear))
    first = np.concatenate([[0], np.cumsum(count)[:-1]])  # where each simplex begins
    log_x = _first_logarithms(start, first, count)
    x = np.exp(log_x)
    slope = linear + operator.matvec(x)
    eta = _first_step(A, linear, first, slope, step)
    for iterations in range(max_iter + 1):
        value = 0.5 * float((linear + slope) @ x)
        # Rounding may leave a sum of terms from 0 a little below it.
        gap = max(float(slope @ x - np.minimum.reduceat(slope, first).sum()), 0.0)
        if not np.isfinite([value, gap]).all():
            raise DataError(
                "Q or its slope is not finite: numbers of A or b, or their products with the step, "
                "are too large; scale A and b, or use a smaller step"
            )
        reached = gap <= tol * max(1.0, abs(value))
        if reached or iterations == max_iter:
            break
        moved = _normalised(log_x - eta * slope, first, count)
        new = np.exp(moved)
        new_slope = linear + operator.matvec(new)
        bend = 0.5 * float((new - x) @ (new_slope - slope))
        apart = float(new @ (moved - log_x))  # KL(x', x)
        noise = _NOISE * len(count) * float(np.abs(slope).max())
        if bend < -noise:
            raise DataError(
                f"A has negative curvature, d'Ad = {2.0 * bend:.3g} along a step; it must be "
                "positive semidefinite"
            )
        if step == "search" and bend > apart / eta + noise:
            eta *= 0.5
            continue
        log_x, x, slope = moved, new, new_slope
        if step == "search":
            eta = min(_GROWTH * eta, _MOST)
    return QuadraticResult(x, value, gap, iterations, reached)


def _checked(a: Any, b: npt.ArrayLike) -> tuple[LinearOperator, Floats]:
    linear = np.array(b, dtype=np.float64)
    if linear.ndim != 1 or not len(linear) or not np.isfinite(linear).all():
        raise DataError(f"b has shape {linear.shape}; expected finite numbers of shape (m,), m > 0")
    if not (isinstance(a, LinearOperator) or sp.issparse(a)):
        a = np.asarray(a, dtype=np.float64)
    if a.shape != (len(linear), len(linear)):
        raise DataError(f"A has shape {a.shape}; expected {(len(linear), len(linear))} as b has")
    if not isinstance(a, LinearOperator):
        if not np.isfinite(a.data if hasattr(a, "tocsr") else a).all():
            raise DataError("A holds a number that is not finite; every entry must be finite")
        if abs(a - a.T).max() > 1e-10 * abs(a).max():
            raise DataError("A is not symmetric; (A + A') / 2 has the same quadratic form")
    return aslinearoperator(a), linear


def _checked_sizes(sizes: npt.ArrayLike | None, m: int) -> Ints:
    count = np.atleast_1d(np.asarray(m if sizes is None else sizes, dtype=np.int64))
    if count.ndim != 1 or (count < 1).any() or count.sum() != m:
        raise DataError(
            f"sizes {count.tolist()} do not split {m} variables; give whole numbers from 1 that "
            f"add up to {m}"
        )
    return count


def _normalised(log_x: Floats, first: Ints, count: Ints) -> Floats:
    """Subtract log sum_j exp from the logarithms of each simplex."""
    top = np.repeat(np.maximum.reduceat(log_x, first), count)
    total = np.add.reduceat(np.exp(log_x - top), first)
    return np.asarray(log_x - top - np.repeat(np.log(total), count))


def _first_logarithms(start: npt.ArrayLike | None, first: Ints, count: Ints) -> Floats:
    if start is None:
        return np.repeat(-np.log(count), count)
    x = np.asarray(start, dtype=np.float64)
    if x.shape != (count.sum(),) or not (x > 0.0).all() or not np.isfinite(x).all():
        raise DataError(
            f"start must hold {count.sum()} finite numbers above 0: a variable that is 0 stays 0"
        )
    if not np.allclose(np.add.reduceat(x, first), 1.0, atol=1e-8):
        raise DataError("start does not add up to 1 in each simplex; divide by the sums")
    return _normalised(np.log(x), first, count)


def _first_step(a: Any, b: Floats, first: Ints, slope: Floats, step: float | str) -> float:
    if step == "search":
        # log x moves by 1 at most.
        spread = np.maximum.reduceat(slope, first) - np.minimum.reduceat(slope, first)
        return 1.0 / (float(spread.max()) or 1.0)
    if step == "theorem":
        if isinstance(a, LinearOperator):
            raise DataError(
                "step='theorem' needs the entries of A, which a LinearOperator does not show; "
                "use step='search' or a number"
            )
        return theorem_step(a, b, first)
    if isinstance(step, str) or not 0.0 < step < np.inf:
        raise DataError(f"step is {step!r}; use 'search', 'theorem' or a number above 0")
    return float(step)


def theorem_step(a: Any, b: Floats, first: Ints) -> float:
    """0.4 / (B + lambda) for a matrix A whose simplices begin at ``first``.

    B bounds how far two parts of the slope are apart: part i lies between b_i + sum over simplices
    of min_j A_ij and the same with max_j. lambda is the largest eigenvalue, for more than 1000
    variables bounded by the largest sum of absolute values of a row.
    """
    m = len(b)
    rows: Any = a.tocsr() if hasattr(a, "tocsr") else np.asarray(a, dtype=np.float64)
    high, low, largest = -np.inf, np.inf, 0.0
    for at in range(0, m, _ROWS):
        dense = _dense(rows[at : at + _ROWS])
        own = b[at : at + _ROWS]
        high = max(high, (own + np.maximum.reduceat(dense, first, axis=1).sum(axis=1)).max())
        low = min(low, (own + np.minimum.reduceat(dense, first, axis=1).sum(axis=1)).min())
        largest = max(largest, float(np.abs(dense).sum(axis=1).max()))
    if m <= _SMALL:
        largest = float(np.linalg.eigvalsh(_dense(rows))[-1])
    return 0.4 / (float(high - low + largest) or 1.0)


def _dense(a: Any) -> Floats:
    return np.asarray(a.toarray() if hasattr(a, "toarray") else a, dtype=np.float64)
