"""The best of several runs, which with high probability is about as good as a run on average."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import DataError
from ..problem.problem import Problem
from ..values import is_number
from .fit import Fit
from .loop import train

__all__ = ["best_of_runs"]


def best_of_runs(
    problem: Problem,
    l2: float,
    delta: float,
    *,
    seed: int | np.random.Generator = 0,
    **training: Any,
) -> Fit:
    """Train log2(1/delta) times, rounded up, and return the fit with the largest dual value.

    Collins et al. (2008), after Theorem 2: by Markov's inequality a run misses the optimum of the
    dual by twice what it does on average with a probability of at most 1/2, and the best of the
    runs with a probability of at most delta.

    Parameters
    ----------
    problem : Problem
        What to solve.
    l2 : float
        The regulariser: ``l2/2 |w|^2``.
    delta : float
        The probability that is allowed, above 0 and below 1.
    seed : int or Generator
        Each run draws from a generator of its own, which is spawned from this one.
    **training
        Further arguments of :func:`partwise.training.train`. With `tol` out of reach, all runs
        have `max_passes` passes, as in the theorem.

    Returns
    -------
    Fit
        The best fit; the passes and seconds of its certificate are those of all runs.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.problem import Rows, build_problem, make_loss
    >>> from partwise.structures.multiclass import Multiclass
    >>> rows = Rows.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> gold = [np.array([0]), np.array([1])]
    >>> problem = build_problem(Multiclass(2), [1, 1], [rows], gold, make_loss("log", 2))
    >>> options = {"preset": "collins2008-figure2"}
    >>> fit = best_of_runs(problem, 1.0, 0.01, solver="online-eg", options=options)
    >>> fit.certificate.converged
    True
    """
    if not is_number(delta) or not 0.0 < delta < 1.0:
        raise DataError(f"delta is {delta!r}; give a number between 0 and 1")
    runs = math.ceil(math.log2(1.0 / delta))
    generators = np.random.default_rng(seed).spawn(runs)
    fits = [train(problem, l2, seed=generator, **training) for generator in generators]
    best = max(fits, key=lambda fit: fit.certificate.dual)
    certificates = [fit.certificate for fit in fits]
    certificate = replace(
        best.certificate,
        passes=sum(one.passes for one in certificates),
        seconds=sum(one.seconds for one in certificates),
    )
    return replace(best, certificate=certificate)
