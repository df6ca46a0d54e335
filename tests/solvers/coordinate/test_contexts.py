"""Contexts: examples with the same features, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.class_data import classes, drawn

from partwise.solvers.coordinate import subproblem as grouping
from partwise.solvers.coordinate.subproblem import find_contexts


def test_contexts_are_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=(200, 3)).astype(float) / 2.0
    y = rng.integers(0, 4, size=200)
    c = rng.uniform(0.5, 2.0, 200)
    c[rng.random(200) < 0.2] = 0.0
    problem = classes(x, y, 4, c)
    found = find_contexts(problem, True)
    known: dict[bytes, Any] = {}
    for row, label, weight in zip(x, y, c, strict=True):
        if weight > 0:
            known.setdefault(row.tobytes(), [np.zeros(4), 0])[0][label] += weight
            known[row.tobytes()][1] += 1
    np.testing.assert_array_equal(found.counts, [counts for counts, _ in known.values()])
    np.testing.assert_array_equal(found.size, [size for _, size in known.values()])
    np.testing.assert_array_equal(x[found.first[found.member[c > 0]]], x[c > 0])
    np.testing.assert_array_equal(found.member[c == 0], -1)
    np.testing.assert_allclose(found.total, found.counts.sum(axis=1))
    assert (np.diff(found.first) > 0).all()
    alone = find_contexts(problem, False)
    np.testing.assert_array_equal(alone.first, np.flatnonzero(c > 0))
    np.testing.assert_array_equal(alone.size, 1)


def test_rows_with_one_mark_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(design: Any, bits: Any, marks: Any) -> None:
        marks[:] = 7

    x, y = drawn(1, 20, 2, 3)
    x[5:8] = x[0]
    problem = classes(x, y, 3)
    expected = find_contexts(problem, True)
    assert len(expected.first) == 17
    monkeypatch.setattr(grouping, "_marks", same)
    found = find_contexts(problem, True)
    # What is like the first row is found; the others have lost each other, and that is no harm.
    np.testing.assert_array_equal(found.member[5:8], found.member[0])
    assert len(found.first) == 17
    np.testing.assert_array_equal(x[found.first[found.member]], x)
