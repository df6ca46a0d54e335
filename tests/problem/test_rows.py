from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from partwise.errors import DataError
from partwise.problem.rows import Rows


def dense(rows: Rows) -> np.ndarray:
    array = np.zeros((len(rows), rows.n_features))
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    array[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = values
    return array


_arrays = hnp.arrays(
    np.float64, st.tuples(st.integers(0, 6), st.integers(0, 5)), elements=st.integers(-2, 2)
)


@given(_arrays)
def test_from_dense_and_back(array):
    rows = Rows.from_dense(array)
    assert len(rows) == len(array)
    assert np.array_equal(dense(rows), array)
    assert rows.indptr.dtype == np.int64
    assert rows.indices.dtype == np.int32
    assert rows.values is None or (rows.values != 0).all()
    assert np.array_equal(rows.counts(), np.count_nonzero(array, axis=0))


@given(_arrays, st.sampled_from(["csr", "csc", "coo", "lil"]), st.booleans())
def test_from_scipy(array, layout, old):
    matrix = (sp.csr_matrix if old else sp.csr_array)(array).asformat(layout)
    assert np.array_equal(dense(Rows.from_scipy(matrix)), array)


def test_from_scipy_sums_duplicates_and_leaves_its_argument_alone():
    matrix = sp.csr_array((np.array([1, 2, 0, 100, 100], np.int8), [1, 1, 0, 2, 2], [0, 3, 5]))
    rows = Rows.from_scipy(matrix)
    assert dense(rows).tolist() == [[0, 3, 0], [0, 0, 200]]
    assert matrix.nnz == 5


@given(_arrays, st.data())
def test_take(array, data):
    rows = Rows.from_dense(array)
    n = len(array)
    ends = st.none() | st.integers(-8, 8)
    part = slice(data.draw(ends), data.draw(ends), data.draw(st.sampled_from([None, 1, 2, -1])))
    assert np.array_equal(dense(rows.take(part)), array[part])
    mask = data.draw(hnp.arrays(np.bool_, n))
    assert np.array_equal(dense(rows.take(mask)), array[mask])
    if n:
        places = data.draw(st.lists(st.integers(-n, n - 1)))
        assert np.array_equal(dense(rows.take(places)), array[np.array(places, int)])


@given(_arrays, st.data())
def test_keep_resize_and_append(array, data):
    rows = Rows.from_dense(array)
    mask = data.draw(hnp.arrays(np.bool_, array.shape[1]))
    assert np.array_equal(dense(rows.keep(mask)), array[:, mask])
    width = data.draw(st.integers(0, 8))
    padded = np.hstack([array, np.zeros((len(array), 8))])
    assert np.array_equal(dense(rows.resize(width)), padded[:, :width])
    value = data.draw(st.sampled_from([1.0, 2.5]))
    with_constant = np.hstack([array, np.full((len(array), 1), value)])
    assert np.array_equal(dense(rows.append_constant(value)), with_constant)


@given(st.lists(hnp.arrays(np.float64, (2, 3), elements=st.integers(0, 2)), min_size=1))
def test_stack(arrays):
    stacked = Rows.stack([Rows.from_dense(array) for array in arrays])
    assert np.array_equal(dense(stacked), np.vstack(arrays))


def test_unit_values_are_left_out():
    assert Rows.from_dense(np.eye(3)).values is None
    assert Rows.from_dense(np.eye(3)).append_constant(1).values is None
    assert Rows.from_dense(np.eye(3, dtype=bool)).values is None


def test_check_finite():
    rows = Rows.from_dense(np.array([[1.0, 0], [0, np.nan]]))
    with pytest.raises(DataError, match=r"X: row 1 .*: feature 1 is nan"):
        rows.check_finite("X")
    Rows.from_dense(np.eye(2)).check_finite("X")
    Rows.from_dense(np.eye(2) * 2).check_finite("X")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rows.from_dense(np.zeros(3)), "two-dimensional"),
        (lambda: Rows.from_dense(np.array([["a"]])), "numbers"),
        (lambda: Rows.from_scipy(np.eye(2)), "sparse matrix is expected"),
        (lambda: Rows.from_scipy(sp.csr_array(np.eye(2) * 1j)), "complex128"),
        (lambda: Rows([0, 1], [3], None, 3), "features 3 to 3 where 0 to 2"),
        (lambda: Rows([0, 2], [0, 5], None, 3), "features 0 to 5 where 0 to 2"),
        (lambda: Rows([0, 1], [-1], None, 3), "features -1"),
        (lambda: Rows([0, 2], [1], None, 3), "indptr"),
        (lambda: Rows([], [], None, 3), "indptr"),
        (lambda: Rows([0, 2, 1, 2], [0, 1], None, 3), "indptr"),
        (lambda: Rows([0, 1], [1], [1.0, 2.0], 3), "2 values for 1 indices"),
        (lambda: Rows([0], [], None, 2**31), "features where 0 to"),
        (lambda: Rows.stack([]), "one number of features"),
        (lambda: Rows.stack([Rows([0], [], None, 1), Rows([0], [], None, 2)]), r"\[1, 2\]"),
        (lambda: Rows([0], [], None, 1).keep(np.ones(2, bool)), "mask"),
        (lambda: Rows([0], [], None, 1).take(np.ones(2, bool)), "mask"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_resizing_to_the_same_size_copies_nothing() -> None:
    rows = Rows.from_dense(np.eye(3))
    assert rows.resize(3) is rows


@pytest.mark.parametrize("shape", [(30, 12), (12, 3000)], ids=["long rows", "many columns"])
def test_from_scipy_sorts_rows(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    indptr = np.arange(shape[0] + 1) * 10
    indices = np.concatenate([rng.permutation(shape[1])[:10] for _ in range(shape[0])])
    matrix = sp.csr_matrix((rng.normal(size=len(indices)), indices, indptr), shape=shape)
    found, expected = Rows.from_scipy(matrix), Rows.from_dense(matrix.toarray())
    for name in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
