"""Intervals for scores, from resampled examples."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..arrays import Floats
from ..errors import DataError

__all__ = ["bootstrap_ratios"]

#: How many numbers are drawn at a time, so that a large file takes little memory.
_DRAWS: Final = 1 << 21


def bootstrap_ratios(
    above: Any,
    below: Any,
    *,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Return percentile intervals of ratios of sums over examples, such as accuracy or F1.

    Whole examples are drawn with replacement, as many as there are: the tokens of a sentence depend
    on each other and stay together. All ratios use the same draws.

    Parameters
    ----------
    above, below : array-like or sparse array of shape (n_examples, n_ratios)
        What each example adds to the numerator and the denominator of each ratio. A ratio with the
        denominator 0 is 0.
    n_resamples : int
        How often to draw.
    level : float
        The probability that an interval is made for, between 0 and 1.
    seed : int
        The seed of the draws.

    Returns
    -------
    low, high : ndarray of shape (n_ratios,)
        The ends of the intervals.

    Examples
    --------
    >>> from partwise.metrics.bootstrap import bootstrap_ratios
    >>> right, words = [[3], [4], [2]], [[4], [4], [4]]
    >>> low, high = bootstrap_ratios(right, words)
    >>> bool(low[0] <= 9 / 12 <= high[0])
    True
    """
    from scipy.sparse import csr_array

    if not 0.0 < level < 1.0 or n_resamples < 1:
        raise DataError(
            f"level is {level} and n_resamples is {n_resamples}; give a level between 0 and 1, "
            "and at least 1 resample"
        )
    # The transposes: a sparse array times a dense one is fast this way round.
    tops, bottoms = (csr_array(csr_array(side).T) for side in (above, below))
    if tops.shape != bottoms.shape:
        raise DataError(f"numerators of the shape {tops.shape}, denominators of {bottoms.shape}")
    n = tops.shape[1]
    if not n:
        raise DataError("there are no examples to resample; give at least one")
    rng = np.random.default_rng(seed)
    found = np.empty((n_resamples, tops.shape[0]))
    size = max(1, _DRAWS // n)
    for begin in range(0, n_resamples, size):
        rows = min(size, n_resamples - begin)
        drawn = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        top, bottom = tops @ counts.T, bottoms @ counts.T
        ratios = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0.0)
        found[begin : begin + rows] = ratios.T
    tail = (1.0 - level) / 2
    low, high = np.quantile(found, [tail, 1.0 - tail], axis=0)
    return low, high
