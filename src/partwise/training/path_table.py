"""The table of a regularisation path, and the choice of l2 from it."""

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

#: The rules by which a value of l2 can be chosen.
RULES: Final = ("best", "one-se")


class PathRow(TypedDict):
    """A row of the table: one value of l2.

    ``passes`` is the number of visits to examples during training, divided by the number of
    examples; ``seconds`` is the training time; ``score`` is the score on held-out data, where
    larger is better.
    """

    l2: float
    passes: float
    seconds: float
    relative_gap: float
    score: float


class PooledRow(PathRow):
    """A row over several folds.

    ``passes`` and ``seconds`` are sums over the folds, ``relative_gap`` is the largest, ``score``
    the mean of ``scores``, and ``standard_error`` the standard error of this mean.
    """

    scores: list[float]
    standard_error: float


class BestModel:
    """Scores the models of a path, and keeps the table and the best model.

    Among equal scores the larger l2 wins. A model that does not reach its tol is kept only while
    there is no other.

    Parameters
    ----------
    score : callable or None
        Returns the score of a model. If None, the last model is the best.
    each : callable or None
        Called with every row and its model; a true result ends the path.

    Attributes
    ----------
    rows : list of PathRow
        The table so far.
    model : Model or None
        The best model so far.
    trace : tuple of TraceRow
        The trace of its fit.
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
        """Add a model, and return whether the path should end."""
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
        """The sum of the passes of all rows."""
        return sum(row["passes"] for row in self.rows)


def pooled(folds: Sequence[Sequence[PathRow]]) -> list[PooledRow]:
    """Combine the tables of several folds.

    If a fold ended early, the result ends there too.

    Parameters
    ----------
    folds : sequence of sequences of PathRow
        One table per fold, for the same values of l2.
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
    """Choose a row of a table.

    Parameters
    ----------
    rows : sequence of PooledRow
        The table, the largest l2 first.
    rule : {"best", "one-se"}
        "best" chooses the row with the best score. "one-se" chooses the row with the largest l2
        whose score is within one standard error of the best.

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
