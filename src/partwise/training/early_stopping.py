"""Held-out data that are scored while a fit runs, and the end of a fit that no longer improves.

A scoring counts as many passes as there are held-out examples per training example. At most one
fifth of the work is spent on scorings, and there is at most one per pass. The schedule counts
passes and never looks at the clock, so that the same data and seed give the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..arrays import Floats
from ..errors import DataError
from ..values import is_integer, is_number

__all__ = ["EarlyStopping", "Scored", "Watch", "passes_between"]

#: The largest share of the work that scorings take.
_SHARE: Final = 0.2


class EarlyStopping:
    """Score held-out data during a fit, and end it when the score no longer improves.

    It is given to an estimator among its `callbacks`. The scores are in the ``trace_`` of the
    estimator, and with ``verbose=1`` in the line of progress. If the duality gap is reached first,
    the fit ends there, with the weights of the optimum. If the fit ends before that, and there is a
    `patience`, the estimator gets the weights with the best score. Their certificate holds: it
    compares their objective with the best lower bound that is known.

    Parameters
    ----------
    X, y
        Held-out data, as the `score` of the estimator takes them; y may be left out if `score`
        needs none.
    patience : int or None
        The fit ends after this many scorings in a row without a new best score. If None, the
        scores are only shown.
    scoring : str, callable or None
        What is scored, as in scikit-learn; None is the `score` of the estimator. Larger is better.
    every : float or None
        The number of passes between two scorings. If None, as few as possible from 1 on such that
        scorings take at most a fifth of the work.
    **more
        Further arguments of `score`, such as ``lengths``.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.training import EarlyStopping
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> stopping = EarlyStopping(X, y, patience=5)
    >>> SequenceTagger(callbacks=stopping).fit(X, y).trace_[-1].score
    1.0
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        patience: int | None = None,
        scoring: Any = None,
        every: float | None = None,
        **more: Any,
    ) -> None:
        if patience is not None and (not is_integer(patience) or patience < 1):
            raise DataError(f"patience is {patience!r}; give a whole number from 1, or None")
        if every is not None and (not is_number(every) or not 0.0 < every < math.inf):
            raise DataError(f"every is {every!r}; give a positive number of passes, or None")
        self.X, self.y, self.more = X, y, more
        self.patience, self.scoring, self.every = patience, scoring, every


def passes_between(n_held_out: int, n_training: int) -> float:
    """Return how many passes lie between two scorings, by the numbers of examples."""
    return max(1.0, n_held_out / (_SHARE * max(n_training, 1)))


@dataclass(frozen=True)
class Watch:
    """What a fit scores while it runs.

    Attributes
    ----------
    score : callable
        Returns the score of a model (in `partwise.training.loop.train`: of weights); larger is
        better.
    every : float
        The number of passes between two scorings.
    patience : int or None
        The fit ends after this many scorings without a new best score.
    """

    score: Callable[[Any], float]
    every: float = 1.0
    patience: int | None = None


class Scored(NamedTuple):
    """Weights with their score, and the pass after which they were scored."""

    weights: Floats
    score: float
    passes: float
