"""The matrix-tree theorem as textbooks have it, and the two arithmetics of the compiled sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from partwise.arrays import Floats, Ints
from partwise.structures.base import Structure
from partwise.structures.dependency import spanning_oracles as kernels
from partwise.structures.dependency.arcs import arc_ends
from partwise.structures.dependency.spanning import SpanningTree
from support.laws import close


def halves(structure: Structure, topo: Ints) -> tuple[Floats, Ints]:
    half = structure.work_size(topo) // 2
    return np.empty(half), np.empty(half, dtype=np.int64)


def in_wide_numbers(structure: Structure, topo: Ints, theta: Floats) -> tuple[float, Floats]:
    n_labels, single = structure.spec
    length = int(topo[0])
    mu = np.empty(structure.n_parts(topo))
    single = bool(single) and length > 1
    f, e = halves(structure, topo)
    return kernels._exact(int(n_labels), single, length, theta, mu, f, e, True), mu


def is_scaled(structure: Structure, topo: Ints, theta: Floats) -> tuple[bool, bool]:
    """Whether float64 is accepted, for the value and for the marginals."""
    n_labels, single = structure.spec
    length = int(topo[0])
    mu = np.empty(structure.n_parts(topo))
    single = bool(single) and length > 1
    f, e = halves(structure, topo)
    log_z, whole = kernels._scaled(int(n_labels), single, length, theta, mu, f, e, False)
    return bool(np.isfinite(log_z)), bool(whole)


def weights(parts: Any, length: int) -> Any:
    """Spread what stands in the order of the arcs over a matrix (head, modifier)."""
    heads, modifiers = arc_ends(length)
    matrix = np.zeros((length + 1, length + 1), dtype=parts.dtype)
    matrix[heads, modifiers] = parts
    return matrix


def matrix_tree(w: Any, single: bool, solve: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Z and the marginals of arcs as Koo and others (2007) have them; w: (head, modifier)."""
    words = w[1:, 1:]
    laplacian = np.diag(words.sum(axis=0)) - words
    if single:
        laplacian[0] = w[0, 1:]
    else:
        laplacian = laplacian + np.diag(w[0, 1:])
    z, inverse = solve(laplacian)
    own, other = np.diag(inverse).copy(), inverse.T.copy()
    mu = np.zeros_like(w)
    mu[0, 1:] = w[0, 1:] * (inverse[:, 0] if single else own)
    if single:
        own[0], other[0] = 0 * own[0], 0 * other[0]
    mu[1:, 1:] = words * (own - other)
    return z, mu


def gauss_jordan(matrix: Any) -> tuple[Any, Any]:
    """Determinant and inverse, in the numbers of mpmath."""
    n = len(matrix)
    a = np.concatenate(
        [matrix, np.array([[mpmath.mpf(i == j) for j in range(n)] for i in range(n)])], 1
    )
    det = mpmath.mpf(1)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(a[i, k]))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            det = -det
        det *= a[k, k]
        a[k, k + 1 :] /= a[k, k]
        for i in range(n):
            if i != k:
                a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return det, a[:, n:]


def with_many_digits(tree: SpanningTree, length: int, theta: Floats) -> tuple[float, Floats]:
    """log Z and the marginals of the parts by the textbook formula, in as many digits as it costs.

    Cancellation costs what the best tree is worse than the best heads, twice for the inverse.
    """
    parts = theta.reshape(length * length, -1)
    heads, _ = arc_ends(length)
    by_word = theta.reshape(length, -1)
    best = tree.best(theta, tree.topology(length))[0]
    lost = float(by_word.max(axis=1).sum() - best)
    with mpmath.workdps(60 + int(2.2 * lost / math.log(10.0))):
        shift = [mpmath.mpf(float(row.max())) for row in by_word]
        e = np.array(
            [
                [mpmath.exp(mpmath.mpf(float(x)) - shift[a // length]) for x in row]
                for a, row in enumerate(parts)
            ]
        )
        w = e.sum(axis=1)
        z, mu = matrix_tree(weights(w, length), tree.single_root, gauss_jordan)
        _, modifiers = arc_ends(length)
        shares = [
            [float(mu[h, m] * x / total) if total else 0.0 for x in row]
            for h, m, row, total in zip(heads, modifiers, e, w, strict=True)
        ]
        return float(mpmath.log(z) + sum(shift)), np.array(shares).ravel()


def check(tree: SpanningTree, length: int, theta: Floats) -> None:
    """Compare the oracle with the textbook formula; both give relative errors of 1e-10 or less."""
    topo = tree.topology(length)
    expected, expected_mu = with_many_digits(tree, length, theta)
    log_z, mu = tree.expected_parts(theta, topo)
    assert tree.log_partition(theta, topo) == log_z
    close(log_z, expected)
    close(mu, expected_mu)
    close(mu.reshape(length, -1).sum(axis=1), 1.0)


def plain(theta: Floats, length: int, single: bool) -> tuple[float, Floats]:
    """The textbook formula in float64, which is right for small scores."""
    shift = theta.reshape(length, length).max(axis=1)
    w = weights(np.exp(theta - np.repeat(shift, length)), length)
    heads, modifiers = arc_ends(length)

    def solve(matrix: Floats) -> tuple[float, Floats]:
        return float(np.linalg.slogdet(matrix)[1]), np.linalg.inv(matrix)

    log_z, mu = matrix_tree(w, single, solve)
    return log_z + shift.sum(), mu[heads, modifiers]
