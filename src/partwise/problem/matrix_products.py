"""Products with the matrix X of the features of a classifier, in compressed rows.

    X W,    X^T S,    sum_i c_i/tau x_i x_i^T (diag(mu_i) - mu_i mu_i^T)

W has one row per feature and S one per example. Their rows are whole lanes, the last ones 0, or
one number for two classes, of which only the difference matters.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..compiled.jit import FAST, njit
from ..compiled.lanes import LINE, add, add_product, fill, load, repeat, store

__all__ = ["Matrix", "add_rows", "add_squares", "multiply", "squares_cost"]

#: Rows that are written out at a time for a product of dense matrices.
_DENSE_ROWS: Final = 1 << 10
#: BLAS takes this part of the time of the loop over pairs of entries, for a pair of features.
_BLAS: Final = 1 / 12


class Matrix(NamedTuple):
    """X, one row per example, and the shape of what it is multiplied with."""

    ptr: Ints  # n + 1: the entries of each row
    column: npt.NDArray[np.uint32]  # per entry: its feature, counted in the order of the storage
    value: Floats  # per entry; empty if all are 1
    n_columns: int
    width: int  # numbers per feature: 1 for two classes, else those of all classes, in whole lanes


@njit(inline="always")
def _sum_pair(x: Any, e: int, end: int, w: Any, k: int) -> Any:
    """Sum value times lanes k and k + 8 of the features over entries."""
    valued, width = x.value.size > 0, x.width
    a, b, c, d = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    while e + 1 < end:
        at, then = np.int64(x.column[e]) * width + k, np.int64(x.column[e + 1]) * width + k
        if valued:
            p, q = repeat(x.value, e), repeat(x.value, e + 1)
            a, b = add_product(a, load(w, at), p), add_product(b, load(w, at + LINE), p)
            c, d = add_product(c, load(w, then), q), add_product(d, load(w, then + LINE), q)
        else:
            a, b = add(a, load(w, at)), add(b, load(w, at + LINE))
            c, d = add(c, load(w, then)), add(d, load(w, then + LINE))
        e += 2
    if e < end:
        at = np.int64(x.column[e]) * width + k
        p = repeat(x.value, e) if valued else fill(1.0)
        a, b = add_product(a, load(w, at), p), add_product(b, load(w, at + LINE), p)
    return add(a, c), add(b, d)


@njit(inline="always")
def _sum_line(x: Any, e: int, end: int, w: Any, k: int) -> Any:
    """Sum value times lane k of the features over entries."""
    valued, width = x.value.size > 0, x.width
    a, b, c, d = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    while e + 3 < end:
        i, j = np.int64(x.column[e]) * width + k, np.int64(x.column[e + 1]) * width + k
        m, n = np.int64(x.column[e + 2]) * width + k, np.int64(x.column[e + 3]) * width + k
        if valued:
            a = add_product(a, load(w, i), repeat(x.value, e))
            b = add_product(b, load(w, j), repeat(x.value, e + 1))
            c = add_product(c, load(w, m), repeat(x.value, e + 2))
            d = add_product(d, load(w, n), repeat(x.value, e + 3))
        else:
            a, b = add(a, load(w, i)), add(b, load(w, j))
            c, d = add(c, load(w, m)), add(d, load(w, n))
        e += 4
    while e < end:
        p = repeat(x.value, e) if valued else fill(1.0)
        a = add_product(a, load(w, np.int64(x.column[e]) * width + k), p)
        e += 1
    return add(add(a, b), add(c, d))


@njit(fastmath=FAST)
def multiply(x: Any, w: Any, rows: Any, first: int, begin: int, end: int) -> None:
    """Compute X W for the examples in [begin, end); the rows begin with example first."""
    for i in range(begin, end):
        lo, hi, at = x.ptr[i], x.ptr[i + 1], (i - first) * x.width
        if x.width == 1:
            columns = x.column[lo:hi]
            total = 0.0
            if x.value.size > 0:
                values = x.value[lo:hi]
                for e in range(columns.size):
                    total += values[e] * w[columns[e]]
            else:
                for e in range(columns.size):
                    total += w[columns[e]]
            rows[at] = total
            continue
        k = 0
        while k + LINE < x.width:
            one, two = _sum_pair(x, lo, hi, w, k)
            store(rows, at + k, one)
            store(rows, at + k + LINE, two)
            k += 2 * LINE
        if k < x.width:
            store(rows, at + k, _sum_line(x, lo, hi, w, k))


@njit(fastmath=FAST)
def add_rows(x: Any, rows: Any, first: int, last: int, sums: Any, begin: int, end: int) -> None:
    """Add X^T S for the examples in [first, last) to the sums of the columns in [begin, end)."""
    valued, width, whole = x.value.size > 0, x.width, end - begin == x.n_columns
    for i in range(first, last):
        lo, hi, at = x.ptr[i], x.ptr[i + 1], (i - first) * width
        if width == 1:
            s = rows[at]
            for e in range(lo, hi):
                c = x.column[e]
                if whole or begin <= c < end:
                    sums[c] += s * x.value[e] if valued else s
            continue
        for k in range(0, width, LINE):
            line = load(rows, at + k)
            for e in range(lo, hi):
                c = np.int64(x.column[e])
                if whole or begin <= c < end:
                    p = repeat(x.value, e) if valued else fill(1.0)
                    old = load(sums, c * width + k)
                    store(sums, c * width + k, add_product(old, line, p))


def add_squares(arrays: Any, x: Matrix, mu: Floats) -> Floats:
    """Return the second derivatives of sum_i c_i loss_i by W, or by the vector of two classes.

    That vector is u with w_1 = -w_0 = u / sqrt(2), so that |u| = |w|. The rows and the columns of
    the result are those of W, without the places that fill up lanes.
    """
    n_labels, n = int(arrays.spec[0]), len(x.ptr) - 1
    m = 1 if x.width == 1 else n_labels
    table = mu.reshape(n, n_labels)
    factor = arrays.weight / arrays.tau
    out = np.zeros((x.n_columns * m, x.n_columns * m))
    if not _mostly_full(x):
        # The second vector is sqrt(2) u longer than the first along u.
        pairs = (2.0 * table[:, 0] * table[:, 1])[:, None] if m == 1 else table
        _add_pairs(x, factor, pairs, m, out)
        return out + out.T
    for first in range(0, n, _DENSE_ROWS):
        run = slice(first, min(first + _DENSE_ROWS, n))
        dense, c, own = _written_out(x, run), factor[run, None], table[run]
        if m == 1:
            dense *= np.sqrt(2.0 * c * own[:, :1] * own[:, 1:])
            out += dense.T @ dense
            continue
        for k in range(m):
            out[k::m, k::m] += dense.T @ (dense * (c * own[:, k : k + 1]))
        crossed = dense[:, :, None] * (np.sqrt(c) * own)[:, None, :]
        flat = crossed.reshape(len(dense), -1)
        out -= flat.T @ flat
    return out


def squares_cost(x: Matrix, n_labels: int) -> float:
    """Return how many products with X and X^T take as long as `add_squares` and its Cholesky."""
    m = 1 if x.width == 1 else n_labels
    counts = np.diff(x.ptr).astype(np.float64)
    if _mostly_full(x):
        pairs = _BLAS * len(counts) * float(x.n_columns) ** 2
    else:
        pairs = 0.5 * float(counts @ counts)
    # A pair of entries takes about as long as an entry of both products; so does a lane.
    squares = pairs * (1.0 if m == 1 else m * m / 4.0) + (x.n_columns * m) ** 3 / 40.0
    lanes = max(1, x.width // LINE)
    product = lanes * len(x.column) + 0.5 * len(counts) * x.width
    return float(squares / max(1.0, product))


def _mostly_full(x: Matrix) -> bool:
    """Return whether so few entries are 0 that products of dense matrices are faster."""
    n = len(x.ptr) - 1
    return len(x.column) ** 2 > 2.0 * _BLAS * (float(n) * x.n_columns) ** 2


def _written_out(x: Matrix, run: slice) -> Floats:
    """Return some rows as a dense matrix."""
    begin, end = x.ptr[run.start], x.ptr[run.stop]
    dense = np.zeros((run.stop - run.start, x.n_columns))
    owner = np.repeat(np.arange(len(dense)), np.diff(x.ptr[run.start : run.stop + 1]))
    dense[owner, x.column[begin:end]] = x.value[begin:end] if x.value.size else 1.0
    return dense


@njit(fastmath=FAST)
def _add_pairs(x: Any, factor: Any, table: Any, m: int, out: Any) -> None:
    """Add the squares for each pair of entries once; the result is the half of a symmetric sum."""
    block = np.empty((m, m))
    for i in range(factor.size):
        for k in range(m):
            for j in range(m):
                block[k, j] = -factor[i] * table[i, k] * table[i, j]
            block[k, k] += factor[i] * table[i, k]
        if m == 1:
            block[0, 0] = factor[i] * table[i, 0]
        for e in range(x.ptr[i], x.ptr[i + 1]):
            own = x.value[e] if x.value.size > 0 else 1.0
            at = np.int64(x.column[e]) * m
            if m == 1:
                own *= block[0, 0]
                line = out[at]
                line[x.column[e]] += 0.5 * own * (x.value[e] if x.value.size > 0 else 1.0)
                for f in range(e + 1, x.ptr[i + 1]):
                    line[x.column[f]] += own * x.value[f] if x.value.size > 0 else own
                continue
            for f in range(e, x.ptr[i + 1]):
                both = own * (x.value[f] if x.value.size > 0 else 1.0)
                both *= 0.5 if f == e else 1.0
                to = np.int64(x.column[f]) * m
                for k in range(m):
                    line = out[at + k, to : to + m]
                    for j in range(m):
                        line[j] += both * block[k, j]
