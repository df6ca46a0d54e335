from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.compiled.vectors import shrunk_square
from partwise.solvers.primal import search_dual_line


@given(
    seed=st.integers(0, 10**6),
    l1=st.sampled_from([0.0, 0.1, 1.0, 100.0]),
    l2=st.sampled_from([1e-3, 1.0]),
    height=st.floats(0.0, 100.0),
)
def test_no_other_point_between_is_better(seed: int, l1: float, l2: float, height: float) -> None:
    v = np.random.default_rng(seed).normal(size=20)

    def value(s: float) -> float:
        return s * height - float(shrunk_square(s * v, l1)) / (2.0 * l2)

    best, s = search_dual_line(lambda s: s * height, v, l2, l1)
    assert 0.0 <= s <= 1.0
    assert best == pytest.approx(value(s), abs=1e-9)
    others = [value(float(s)) for s in np.linspace(0.0, 1.0, 201)]
    assert best >= max(others) - 1e-9 * (1.0 + height)


def test_within_l1_nothing_is_lost() -> None:
    assert search_dual_line(lambda s: 3.0 * s, np.array([0.9, -1.0]), 1e-3, 1.0) == (3.0, 1.0)
