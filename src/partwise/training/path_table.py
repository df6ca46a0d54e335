"""The table of a regularisation path, and which value of l2 it speaks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final, TypedDict

from ..errors import DataError

if TYPE_CHECKING:
    from ..models.model import Model
    from .loop import Fit, TraceRow

__all__ = ["RULES", "BestModel", "PathRow", "PooledRow", "choose", "pooled"]

#: How a value of l2 may be chosen.
RULES: Final = ("best", "one-se")


class PathRow(TypedDict):
    """A row of the table: one value of l2.

    ``passes`` counts visits to examples during training, divided by their number; ``seconds`` is
    the time of training; ``score`` is that on the data held out, the larger the better.
    """

    l2: float
    passes: float
    seconds: float
    relative_gap: float
    score: float


class PooledRow(PathRow):
    """A row over several folds.

    ``passes`` and ``seconds`` are sums over the folds, ``relative_gap`` is the largest, ``score``
    the mean of ``scores``, and ``standard_error`` that of this mean.
    """

    scores: list[float]
    standard_error: float


class BestModel:
    """Takes the models of a path in, scores them, and keeps the table and the best model.

    Among equal scores the larger l2 wins. A model that is not certified at its tol is kept only
    while there is no other.

    Parameters
    ----------
    score : callable or None
        Gives the score of a model; None: the last model is the best.
    each : callable or None
        Called with every row and its model; a true result ends the path.

    Attributes
    ----------
    rows : list of PathRow
        The table so far.
    model : Model or None
        The best model so far.
    trace : tuple of TraceRow
        How its fit went.
    """

    def __init__(
        self,
        score: Callable[[Model], float] | None = None,
        each: Callable[[PathRow, Model], Any] | None = None,
    ) -> None:
        self.score = score
        self.each = each
        self.rows: list[PathRow] = []
        self.model: Model | None = None
        self.trace: tuple[TraceRow, ...] = ()
        self._best = -math.inf

    def __call__(self, model: Model, fit: Fit) -> bool:
        """Take one more model in."""
        certificate = model.certificate
        score = math.nan if self.score is None else float(self.score(model))
        row = PathRow(
            l2=model.l2,
            passes=certificate.passes,
            seconds=certificate.seconds,
            relative_gap=certificate.relative_gap,
            score=score,
        )
        self.rows.append(row)
        better = self.score is None or score > self._best
        if self.model is None or (certificate.converged and better):
            self.model, self.trace = model, fit.trace
            self._best = score if score == score else -math.inf
        return self.each is not None and bool(self.each(row, model))

    @property
    def total_passes(self) -> float:
        """The passes of all rows."""
        return sum(row["passes"] for row in self.rows)


def pooled(folds: Sequence[Sequence[PathRow]]) -> list[PooledRow]:
    """Put the tables of several folds together.

    Where a fold ended early, so does the result.

    Parameters
    ----------
    folds : sequence of sequences of PathRow
        A table a fold, for the same values of l2.
    """
    found = []
    for rows in zip(*folds, strict=False):
        scores = [row["score"] for row in rows]
        error = stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else math.nan
        found.append(
            PooledRow(
                l2=rows[0]["l2"],
                passes=sum(row["passes"] for row in rows),
                seconds=sum(row["seconds"] for row in rows),
                relative_gap=max(row["relative_gap"] for row in rows),
                score=fmean(scores),
                scores=scores,
                standard_error=error,
            )
        )
    return found


def choose(rows: Sequence[PooledRow], rule: str) -> int:
    """Choose a row.

    Parameters
    ----------
    rows : sequence of PooledRow
        The table, the largest l2 first.
    rule : {"best", "one-se"}
        The row with the best score; or the first, that is the one with the largest l2, whose score
        is within one standard error of the best.

    Returns
    -------
    int
        The position of the row.
    """
    scores = [row["score"] if row["score"] == row["score"] else -math.inf for row in rows]
    best = scores.index(max(scores))
    if rule == "best":
        return best
    error = rows[best]["standard_error"]
    if not math.isfinite(error):
        raise DataError(
            "rule='one-se' needs the scores of two folds or more for a standard error; use more "
            "folds, or rule='best'"
        )
    return next(k for k, score in enumerate(scores) if score >= scores[best] - error)
