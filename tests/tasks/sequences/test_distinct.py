"""Examples that occur again: found by their content, merged, and in an order of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.problem.rows import Rows
from partwise.tasks.sequences import preparation
from partwise.tasks.sequences.preparation import distinct_examples


def kinds(rows: Rows, label: np.ndarray, weight: np.ndarray) -> dict[tuple[object, ...], float]:
    """The weight of every kind of example, by looking at all of them."""
    total: dict[tuple[object, ...], float] = {}
    for i in np.flatnonzero(weight > 0.0):
        row = rows.take([int(i)])
        values = np.ones(len(row.indices)) if row.values is None else row.values
        key = (int(label[i]), row.indices.tobytes(), values.tobytes())
        total[key] = total.get(key, 0.0) + float(weight[i])
    return total


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), binary=st.booleans())
def test_the_set_stays_and_the_order_is_its_own(seed: int, n: int, binary: bool) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 2 if binary else 3, size=(n, 3))
    label, weight = rng.integers(0, 2, n), rng.integers(0, 4, n).astype(float)
    weight[0] = 1.0
    rows = Rows.from_dense(dense)
    chosen, merged = distinct_examples(rows, label, weight)
    found = kinds(rows.take(chosen), label[chosen], merged)
    assert found == kinds(rows, label, weight)
    assert len(found) == len(chosen)
    again = rng.permutation(np.repeat(np.arange(n), weight.astype(int)))
    other, times = distinct_examples(rows.take(again), label[again], np.ones(len(again)))
    np.testing.assert_array_equal(dense[chosen], dense[again][other])
    np.testing.assert_array_equal(label[chosen], label[again][other])
    np.testing.assert_array_equal(merged, times)


@pytest.mark.parametrize("stretch", [1, 7, 1000])
def test_stretches_do_not_matter(stretch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = Rows.from_dense(rng.integers(0, 3, size=(50, 4)))
    given_ = (rows, rng.integers(0, 3, 50), rng.random(50))
    expected = distinct_examples(*given_)
    monkeypatch.setattr(preparation, "_STRETCH", stretch)
    for got, whole in zip(distinct_examples(*given_), expected, strict=True):
        np.testing.assert_array_equal(got, whole)


def test_equal_marks_are_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_marks", lambda rows, label: np.zeros(len(rows), np.uint64))
    rows = Rows.from_dense(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 0.0], [1.0, 3.0], [1.0, 3.0]]))
    chosen, weight = distinct_examples(rows, np.array([0, 0, 0, 0, 1]), np.arange(1.0, 6.0))
    assert chosen.tolist() == [0, 2, 3, 4]
    assert weight.tolist() == [3.0, 3.0, 4.0, 5.0]
