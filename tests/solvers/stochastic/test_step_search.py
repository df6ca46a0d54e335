"""The search for a step among powers of 10."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.solvers.stochastic.base import best_power, trial_sample


@given(st.integers(-8, 8), st.integers(0, 20), st.floats(0.1, 3.0))
def test_the_bottom_is_found(bottom: int, above: int, steep: float) -> None:
    def trial(eta: float) -> float:
        power = round(math.log10(eta))
        return math.inf if power > bottom + above else steep * abs(power - bottom)

    eta, tried = best_power(trial)
    assert eta == 10.0**bottom
    assert len(tried) <= abs(bottom) + 3
    assert tried[eta] == min(tried.values())


def test_equal_values_end_the_search() -> None:
    eta, tried = best_power(lambda _: 1.0)
    assert eta == 1.0
    assert len(tried) == 3


def test_all_diverge() -> None:
    eta, tried = best_power(lambda _: math.inf)
    assert eta == 0.0
    assert min(tried) == pytest.approx(1e-12)


def test_the_sample() -> None:
    rng = np.random.default_rng(0)
    for n, size in ((3, 3), (70, 50), (400, 50), (2000, 200)):
        examples = np.arange(n) * 2
        sample = trial_sample(examples, rng)
        assert len(set(sample)) == size
        assert set(sample) <= set(examples)
