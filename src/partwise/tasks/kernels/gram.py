"""A Gram matrix as the product of rows: K = L L^T, by a pivoted Cholesky factorisation in blocks.

A linear model on the rows of L is equal to the kernel machine: it has the same scores at the
training positions and the same |w|^2, so the same objective, duals and certificate.

Each round takes the positions with the largest residuals, computes their columns of K, and
subtracts what L explains so far:

    R = K[:, c] - L L[c]^T,    R[p] = T T^T for the pivots p among c,    L <- (L, R[:, p] T^-T)
    d <- d - |new rows of L|^2,  the residuals; their sum is the trace of K - L L^T

K itself is never stored, only a block of its columns. The row of a pivot ends at its own column,
because its residual is then 0: a matrix of full rank takes n^2 / 2 numbers.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...arrays import Ints
from ...errors import DataError
from ...problem.rows import Rows
from .kernel import Floats, Kernel

__all__ = ["GramFactor", "factor_gram"]

_logger = logging.getLogger(__name__)

#: Columns of K that are computed at once.
BLOCK: Final = 128
#: A position waits for a later round if the others of its block leave it less than this share of
#: the largest residual, because they may explain it.
_WAITS: Final = 1 / 16
#: Negative residuals beyond this share of the largest similarity are not due to rounding.
_NEGATIVE: Final = 1e-7
#: The measured number of bytes that training takes per number of L, including copies.
BYTES: Final = 64
#: A factor that leaves out at most this share of the trace equals K up to rounding.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, eq=False)
class GramFactor:
    """L, and how it was made.

    Attributes
    ----------
    rows : Rows
        The rows of L, one per position.
    pivots : ndarray of int
        The position of each column: phi(x) = T^-1 K(pivots, x) with T = L[pivots] gives the row of
        any x.
    residual : float
        The share of the trace of K that L leaves out.
    """

    rows: Rows
    pivots: Ints
    residual: float

    @property
    def exact(self) -> bool:
        """Whether L L^T equals K up to rounding."""
        return self.residual <= _ROUNDING

    def triangle(self) -> Floats:
        """Return T, a lower triangular matrix of the size of the rank."""
        rank = len(self.pivots)
        found, held = np.zeros((rank, rank)), self.rows.take(self.pivots)
        assert held.values is not None
        found[np.repeat(np.arange(rank), np.diff(held.indptr)), held.indices] = held.values
        return found


def factor_gram(
    kernel: Kernel, rows: Rows, *, tol: float = 1e-10, max_bytes: float = 2.0**32
) -> GramFactor:
    """Factorise the Gram matrix of some rows.

    Parameters
    ----------
    kernel : Kernel
        The similarity.
    rows : Rows
        The features of the positions.
    tol : float
        The share of the trace that may be left out.
    max_bytes : float
        The memory that training on the factor may take.

    Raises
    ------
    DataError
        If the kernel is not positive semidefinite, or the factor would be too large.
    """
    n = len(rows)
    _logger.info(
        "Gram matrix of %s positions: at most %s MiB", f"{n:,}", f"{_bytes(n, n) / 2**20:,.0f}"
    )
    d = kernel.diagonal(rows)
    trace, top = float(d.sum()), float(d.max(initial=0.0))
    if not top > 0.0 or d.min() < 0.0:
        raise DataError(
            "the kernel gives no position a positive similarity with itself, or some a negative "
            "one; scale the features or use another kernel"
        )
    least = n * float(np.finfo(np.float64).eps) * top  # what is smaller is rounding
    blocks: list[Floats] = []
    pivots = np.zeros(0, dtype=np.int64)
    while d.sum() > tol * trace and d.max() > least:
        waiting = np.argsort(-d, kind="stable")[: min(BLOCK, np.count_nonzero(d > least))]
        _check_room(n, len(pivots) + len(waiting), max_bytes)
        block, chosen = _columns(kernel, rows, blocks, waiting, max(least, _WAITS * d.max()))
        if not len(chosen):
            if d.max() > _NEGATIVE * top:
                raise _indefinite(int(waiting[0]))
            break  # the residuals themselves are rounding
        block[pivots] = 0.0
        pivots = np.concatenate([pivots, chosen])
        d -= np.einsum("jk,jk->j", block, block)
        if d.min() < -_NEGATIVE * top:
            raise _indefinite(int(d.argmin()))
        d[pivots] = 0.0
        np.maximum(d, 0.0, out=d)
        blocks.append(block)
    factor = GramFactor(_packed(blocks, pivots, n), pivots, float(d.sum()) / trace)
    _logger.info(
        "Gram matrix of rank %s; about %s MiB in training",
        f"{len(pivots):,}",
        f"{_bytes(n, len(pivots)) / 2**20:,.0f}",
    )
    return factor


def _bytes(n: int, rank: int) -> float:
    """Return the bytes of training: L without the zeros at the ends of the rows of pivots."""
    return BYTES * (n * rank - 0.5 * rank * (rank - 1.0))


def _check_room(n: int, rank: int, max_bytes: float) -> None:
    needed = _bytes(n, rank)
    if needed > max_bytes:
        raise DataError(
            f"the Gram matrix of {n:,} positions has a rank of {rank:,} or more, and training on "
            f"it takes {needed:,.0f} bytes where {max_bytes:,.0f} are allowed; raise memory_limit, "
            "train on fewer positions, or raise gram_tol"
        )


def _indefinite(position: int) -> DataError:
    return DataError(
        f"the kernel is not positive semidefinite: see position {position} (counted from 0) among "
        "those before it; use a kernel that is an inner product of features"
    )


def _columns(
    kernel: Kernel, rows: Rows, blocks: list[Floats], waiting: Ints, least: float
) -> tuple[Floats, Ints]:
    """Return the next columns of L, positions x new, and their pivots."""
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpstrf

    found = kernel.gram(rows, rows.take(waiting))  # positions x waiting
    inner = found[waiting]
    if not np.allclose(inner, inner.T, rtol=1e-6, atol=1e-9 * np.abs(inner).max()):
        raise DataError(
            "the kernel is not symmetric: it gives two positions another similarity than the same "
            "two in the other order; give a symmetric function"
        )
    for held in blocks:
        found -= held @ held[waiting].T
    lower, order, rank, _ = dpstrf(found[waiting], tol=least, lower=1)
    order = order[:rank] - 1
    triangle = np.tril(lower[:rank, :rank])
    new = solve_triangular(triangle, found[:, order].T, lower=True, check_finite=False).T
    new = np.ascontiguousarray(new)
    new[waiting[order]] = triangle
    return new, waiting[order].astype(np.int64)


def _packed(blocks: list[Floats], pivots: Ints, n: int) -> Rows:
    """Return the columns as rows, without the zeros at their ends; this empties the blocks."""
    rank = len(pivots)
    sizes = np.full(n, rank, dtype=np.int64)
    sizes[pivots] = np.arange(rank) + 1
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    values = np.empty(indptr[-1])
    begin = 0
    while blocks:
        block = blocks.pop(0)
        end = begin + block.shape[1]
        for j in np.flatnonzero(sizes > begin):
            stop = min(end, sizes[j])
            values[indptr[j] + begin : indptr[j] + stop] = block[j, : stop - begin]
        begin = end
    indices = np.arange(indptr[-1], dtype=np.int64)
    indices -= np.repeat(indptr[:-1], sizes)
    return Rows(indptr, indices.astype(np.int32), values, rank)
