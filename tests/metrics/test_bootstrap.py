from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from partwise.errors import DataError
from partwise.metrics.bootstrap import bootstrap_ratios
from partwise.metrics.calibration import calibration


def test_intervals_are_those_of_resampled_examples() -> None:
    rng = np.random.default_rng(5)
    below = rng.integers(1, 30, size=(40, 2)).astype(float)
    above = np.floor(below * rng.uniform(0.5, 1.0, size=(40, 2)))
    low, high = bootstrap_ratios(above, below, n_resamples=200, level=0.9, seed=3)
    # The same draws, one resample at a time.
    draws = np.random.default_rng(3).integers(40, size=(200, 40))
    ratios = [above[d].sum(axis=0) / below[d].sum(axis=0) for d in draws]
    expected = np.quantile(ratios, [0.05, 0.95], axis=0)
    assert np.allclose([low, high], expected, rtol=1e-13)
    again = bootstrap_ratios(csr_array(above), csr_array(below), n_resamples=200, level=0.9, seed=3)
    assert np.array_equal(np.stack(again), np.stack([low, high]))
    assert not np.array_equal(bootstrap_ratios(above, below, n_resamples=200, seed=4)[0], low)


def test_intervals_do_not_depend_on_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    above = np.arange(10.0)[:, None]
    whole = bootstrap_ratios(above, np.full((10, 1), 9.0), n_resamples=50)
    monkeypatch.setattr("partwise.metrics.bootstrap._DRAWS", 70)
    parts = bootstrap_ratios(above, np.full((10, 1), 9.0), n_resamples=50)
    assert np.allclose(np.stack(parts), np.stack(whole), rtol=1e-13)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    # Sentences of 20 tokens that are right or wrong together: resampled tokens would be too sure.
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        right = 20.0 * (rng.random((100, 1)) < 0.7)
        low, high = bootstrap_ratios(right, np.full((100, 1), 20.0), n_resamples=200, seed=trial)
        covered += bool(low[0] <= 0.7 <= high[0])
    assert 176 <= covered <= 198


def test_odd_ratios() -> None:
    low, high = bootstrap_ratios(np.zeros((3, 1)), np.zeros((3, 1)), n_resamples=5)
    assert (low.tolist(), high.tolist()) == ([0.0], [0.0])
    with pytest.raises(DataError, match="no examples"):
        bootstrap_ratios(np.zeros((0, 1)), np.zeros((0, 1)))
    with pytest.raises(DataError, match="level is 1"):
        bootstrap_ratios(np.zeros((1, 1)), np.ones((1, 1)), level=1)
    with pytest.raises(DataError, match="shape"):
        bootstrap_ratios(np.zeros((1, 1)), np.ones((1, 2)))


def test_calibration_by_hand() -> None:
    found = calibration([0.05, 0.95, 0.97, 1.0, 0.5], [False, True, False, True, True])
    rows = [(b.low, b.high, b.n, b.correct) for b in found.bins]
    assert rows == [(0.0, 0.1, 1, 0.0), (0.5, 0.6, 1, 1.0), (0.9, 1.0, 3, pytest.approx(2 / 3))]
    assert found.bins[2].probability == pytest.approx(2.92 / 3)
    assert found.error == pytest.approx((0.05 + 0.5 + 3 * (2.92 / 3 - 2 / 3)) / 5)
    assert found.brier == pytest.approx((0.05**2 + 0.05**2 + 0.97**2 + 0.0 + 0.5**2) / 5)
    for p, right in (([1.2], [True]), ([0.5], []), ([], []), ([float("nan")], [True])):
        with pytest.raises(DataError, match=r"probabilit"):
            calibration(p, right)
