from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from partwise import DataError
from partwise.problem.rows import Rows
from partwise.tasks.kernels.gram import factor_gram
from partwise.tasks.kernels.kernel import Kernel, make_kernel


@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 200),
    width=st.integers(1, 12),
    repeats=st.integers(1, 3),
)
@settings(max_examples=15, deadline=None)
def test_factor_is_the_gram_matrix(seed: int, n: int, width: int, repeats: int) -> None:
    x = np.repeat(np.random.default_rng(seed).normal(size=(n, width)), repeats, axis=0)
    rows = Rows.from_dense(x)
    factor = factor_gram(Kernel("linear"), rows)
    dense = np.zeros((len(x), len(factor.pivots)))
    owner = np.repeat(np.arange(len(x)), np.diff(factor.rows.indptr))
    dense[owner, factor.rows.indices] = factor.rows.values
    np.testing.assert_allclose(dense @ dense.T, x @ x.T, rtol=1e-8, atol=1e-8 * (x @ x.T).max())
    assert factor.exact
    assert len(factor.pivots) <= min(n, width)
    np.testing.assert_array_equal(factor.triangle(), dense[factor.pivots])
    np.testing.assert_array_equal(factor.triangle(), np.tril(factor.triangle()))


def test_factor_of_full_rank_holds_half_of_the_square() -> None:
    x = np.random.default_rng(0).normal(size=(300, 3))
    factor = factor_gram(Kernel("rbf", gamma=3.0), Rows.from_dense(x))
    assert len(factor.pivots) == 300
    assert len(factor.rows.indices) == 300 * 301 // 2
    assert sorted(factor.pivots) == list(range(300))


def test_larger_tolerance_keeps_fewer_columns() -> None:
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(400, 3)))
    kernel = Kernel("rbf", gamma=0.1)
    ranks = []
    for tol in (1e-1, 1e-3, 1e-6):
        factor = factor_gram(kernel, rows, tol=tol)
        assert factor.residual <= tol
        ranks.append(len(factor.pivots))
    assert ranks == sorted(ranks)
    assert ranks[-1] < 400


def test_memory_is_told_before_it_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(200, 3)))
    with caplog.at_level(logging.INFO, logger="partwise.tasks.kernels.gram"):
        factor_gram(Kernel("rbf"), rows)
    assert "Gram matrix of 200 positions: at most 1 MiB" in caplog.text
    with pytest.raises(DataError, match=r"takes 1,118,208 bytes where 1,000,000 are allowed"):
        factor_gram(Kernel("rbf"), rows, max_bytes=1e6)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda x, z: -(x @ z.T), "positive similarity with itself"),
        (lambda x, z: 1.0 - np.eye(3)[: len(x), : len(z)], "positive similarity with itself"),
        (lambda x, z: np.where(x[:, :1] == z[:, 0], 1.0, 2.0), "not positive semidefinite"),
        (lambda x, z: 1.0 + x[:, :1] * (1.0 + z[:, 1]), "not symmetric"),
        (lambda x, z: (x @ z.T) / 0.0, "not finite"),
        (lambda x, z: x, r"an array of shape \(3, 2\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_functions_that_are_no_kernels(kernel: Any, message: str) -> None:
    rows = Rows.from_dense(np.array([[1.0, 2.0], [2.0, 5.0], [3.0, 1.0]]))
    with pytest.raises(DataError, match=message):
        factor_gram(make_kernel(kernel, 1.0, 3, 0.0, rows), rows)


# Kernels


@pytest.mark.parametrize("density", [0.05, 0.6])
def test_kernels_are_those_of_scikit_learn(density: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 40)) * (rng.random((90, 40)) < density)
    left, right = Rows.from_dense(x), Rows.from_dense(x[:30])
    found = make_kernel("poly", 0.3, 3, 1.0, left).gram(left, right)
    np.testing.assert_allclose(found, polynomial_kernel(x, x[:30], 3, 0.3, 1.0))
    scale = make_kernel("rbf", "scale", 3, 0.0, left)
    assert scale.gamma == pytest.approx(1.0 / (40 * x.var()))
    np.testing.assert_allclose(scale.gram(left, right), rbf_kernel(x, x[:30], 1 / (40 * x.var())))
    np.testing.assert_allclose(scale.diagonal(left), 1.0)
    assert make_kernel("rbf", "auto", 3, 0.0, left).gamma == 1 / 40
