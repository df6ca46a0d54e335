"""The first step of a stochastic method, found by trial among powers of 10.

Collins et al. (2008), section 7.1.3, make one pass with each of five steps and keep the one with
the best validation error. Schmidt et al. (2015) let the stochastic methods of their comparison take
the best power of 10. In ``best_power`` the passes are over a tenth of the examples. Every visit is
counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from ...arrays import Ints

#: A trial visits one in this many examples, but at least this many.
_SHARE: Final = 10
_FEWEST: Final = 50
#: The largest and, negated, the smallest power of 10 that is tried.
_FARTHEST: Final = 12
#: The steps that Collins et al. (2008) try.
GRID: Final = (1.0, 0.1, 0.01, 0.001, 0.0001)


def trial_sample(examples: Ints, rng: np.random.Generator) -> Ints:
    """Draw a tenth of the examples, or the fewest that are meaningful."""
    size = min(len(examples), max(len(examples) // _SHARE, _FEWEST))
    return rng.permutation(examples)[:size]


def best_power(trial: Callable[[float], float]) -> tuple[float, dict[float, float]]:
    """Try 1, then smaller or larger powers of 10, while the objective falls.

    Parameters
    ----------
    trial : callable
        Returns the objective after a trial with a step, or inf if it diverged.

    Returns
    -------
    eta, tried
        The best step, or 0.0 if all diverged, and the objective for each step.
    """
    tried: dict[float, float] = {}

    def value(power: int) -> float:
        eta = 10.0**power
        if eta not in tried:
            tried[eta] = trial(eta)
        return tried[eta]

    best = 0
    way = 1 if value(-1) >= value(0) and math.isfinite(value(0)) else -1
    while abs(best) < _FARTHEST:
        here, there = value(best), value(best + way)
        if there >= here and math.isfinite(here):
            break
        best += way
    return (10.0**best if math.isfinite(value(best)) else 0.0), tried
