"""Whether probabilities mean what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError

__all__ = ["Bin", "Calibration", "calibration"]


@dataclass(frozen=True)
class Bin:
    """The predictions whose probability lies in one range.

    Attributes
    ----------
    low, high : float
        The range.
    n : int
        How many predictions there are.
    probability : float
        Their mean probability.
    correct : float
        The fraction of them that is right.
    """

    low: float
    high: float
    n: int
    probability: float
    correct: float


@dataclass(frozen=True)
class Calibration:
    """The probabilities of predictions, compared with how often they are right.

    Attributes
    ----------
    bins : tuple of Bin
        The ranges of probabilities that occur, from low to high.
    n : int
        How many predictions there are.
    error : float
        The expected calibration error: the mean over all predictions of the distance between mean
        probability and fraction of right ones in their range.
    brier : float
        The mean of (probability - correct)^2, where correct is 0 or 1.
    """

    bins: tuple[Bin, ...]
    n: int
    error: float
    brier: float


def calibration(probability: Any, correct: Any, n_bins: int = 10) -> Calibration:
    """Compare probabilities with how often predictions are right.

    Parameters
    ----------
    probability : array-like of shape (n,)
        The probability that the model gave to each of its predictions.
    correct : array-like of bool of shape (n,)
        Whether the prediction is right.
    n_bins : int
        How many ranges of equal width there are from 0 to 1.

    Returns
    -------
    Calibration
        The ranges of probabilities, the expected calibration error and the Brier score.

    Examples
    --------
    >>> from partwise.metrics.calibration import calibration
    >>> found = calibration([0.9, 0.8, 0.6], [True, True, False], n_bins=2)
    >>> found.n, round(found.brier, 3)
    (3, 0.137)
    """
    p = np.asarray(probability, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    if p.shape != right.shape or p.ndim != 1 or not len(p):
        raise DataError(
            f"{p.shape} probabilities and {right.shape} results; give one of each per prediction, "
            "and at least one prediction"
        )
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise DataError("a probability is below 0, above 1 or not a number")
    which = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    n = np.bincount(which, minlength=n_bins)
    sums = [np.bincount(which, column, n_bins) for column in (p, right)]
    bins = tuple(
        Bin(k / n_bins, (k + 1) / n_bins, int(n[k]), *(float(s[k] / n[k]) for s in sums))
        for k in np.flatnonzero(n).tolist()
    )
    error = sum(one.n * abs(one.probability - one.correct) for one in bins) / len(p)
    return Calibration(bins, len(p), error, float(np.mean((p - right) ** 2)))
