"""The regularisation path: one fit per value of l2, from large to small, all of one problem.

Collins et al. (2008), section 7.1.2: optimise for the largest l2 until the relative gap is at most
tol, then continue with the next value from the duals that were reached: a plain warm start. By
default this module extrapolates: at the optimum theta is a smooth function of log l2, so the last
two fits predict where the next one will end, and it starts there:

    theta = theta_k + a (theta_k - theta_(k-1)),  a = log(l2_(k+1) / l2_k) / log(l2_k / l2_(k-1))

and likewise w, for the solvers that keep weights. Any theta is a point of the dual, so the
certificate does not depend on this guess. For the hinge loss theta grows without bound and cannot
be extrapolated, so the next fit starts from theta_k itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..errors import DataError
from ..problem.evaluation import DualPoint
from ..problem.problem import Problem
from ..values import is_number
from .interrupt import Interrupt
from .loop import train
from .partial_labels import train_partial
from .path_table import check_values
from .result import Fit

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["Descent", "best_of_runs", "train_path"]


def train_path(
    problem: Problem,
    values: Sequence[float],
    *,
    start: DualPoint | None = None,
    initial_weights: Floats | None = None,
    warm_start: str = "extrapolated",
    **training: Any,
) -> Iterator[Fit]:
    """Train for each value of l2, starting from where the fit before ended.

    Every fit is yielded as soon as it is done. The path ends early after a fit that does not reach
    its tol (`max_passes`, Ctrl-C, a callback), because the fits that follow are even harder.

    Parameters
    ----------
    problem : Problem
        What to solve.
    values : sequence of float
        The values of l2, the largest first.
    start : DualPoint or None
        The dual point that the first fit starts from.
    initial_weights : ndarray or None
        The weights that the first fit starts from.
    warm_start : {"extrapolated", "plain"}
        Whether the others start at what the last two fits predict, for smooth losses, or where the
        last one ended.
    **training
        Further arguments of :func:`partwise.training.train`.

    Yields
    ------
    Fit
        One fit per value, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.problem import Rows, build_problem, make_loss
    >>> from partwise.structures.multiclass import Multiclass
    >>> rows = Rows.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> gold = [np.array([0]), np.array([1])]
    >>> problem = build_problem(Multiclass(2), [1, 1], [rows], gold, make_loss("log", 2))
    >>> from partwise.training.path import train_path
    >>> [fit.certificate.converged for fit in train_path(problem, [10.0, 1.0])]
    [True, True]
    """
    check_values(values)
    logs = [math.log(b / a) for a, b in pairwise(values)]
    before: Fit | None = None
    method = train if problem.partial is None else train_partial
    for k, l2 in enumerate(values):
        fit = method(problem, l2, start=start, initial_weights=initial_weights, **training)
        yield fit
        if not fit.certificate.converged or k + 1 == len(values):
            return
        start, initial_weights = fit.dual_point, fit.weights
        if before is not None and warm_start == "extrapolated" and problem.loss.tau > 0.0:
            a = logs[k] / logs[k - 1]
            start = start.beyond(before.dual_point, a)
            initial_weights = initial_weights + a * (initial_weights - before.weights)
        before = fit


class Descent:
    """A path as part of a fit: the values of l2, and a function that receives the models.

    Parameters
    ----------
    values : sequence of float
        The values of l2, the largest first.
    receive : callable
        Called with each model and its fit as soon as they are trained. A true result ends the path.
    warm_start : {"extrapolated", "plain"}
        Where each fit starts, as in `train_path`.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C ended the path.
    """

    def __init__(
        self,
        values: Sequence[float],
        receive: Callable[[Model, Fit], Any] | None = None,
        warm_start: str = "extrapolated",
    ) -> None:
        check_values(values)
        self.values = tuple(values)
        self.warm_start = warm_start
        self.receive = receive
        self.interrupted = False

    def follow(self, models: Iterable[tuple[Model, Fit]]) -> tuple[Model, Fit]:
        """Pass the models on, one by one, and return the last one.

        Ctrl-C between two fits takes effect after the current model has been received.
        """
        with Interrupt() as interrupt:
            for model, fit in models:
                done = self.receive is not None and self.receive(model, fit)
                self.interrupted = fit.interrupted or interrupt.requested
                if done or self.interrupted:
                    break
        return model, fit


# The best of several runs, which with high probability is about as good as a run on average.


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
