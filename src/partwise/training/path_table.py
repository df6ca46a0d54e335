"""The values of l2 of a regularisation path, its table, and the choice of the best one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from ..errors import DataError
from ..parameters import Count, CountFrom0, Declared, Flag, Fraction, OneOf, Positive

if TYPE_CHECKING:
    from ..models.model import Model
    from .course import TraceRow
    from .result import Fit

__all__ = [
    "RULES",
    "WARM_STARTS",
    "BestModel",
    "Grid",
    "GridEdgeWarning",
    "GridParameters",
    "PathRow",
    "PooledRow",
    "at_edge",
    "best_of",
    "check_values",
    "choose",
    "edge_words",
    "l2_values",
    "pooled",
]

#: The rules by which a value of l2 can be chosen.
RULES: Final = ("best", "one-se")
#: Where a fit starts: at what the last two predict, or where the last one ended.
WARM_STARTS: Final = ("extrapolated", "plain")


def l2_values(l2_max: float = 1000.0, factor: float = 0.7, steps: int = 24) -> tuple[float, ...]:
    """Return ``l2_max * factor**k`` for k = 0, ..., steps - 1.

    Parameters
    ----------
    l2_max : float
        The largest value.
    factor : float
        The ratio of each value to the one before, above 0 and below 1.
    steps : int
        The number of values.
    """
    GridParameters.check_values(l2_max=l2_max, factor=factor, steps=steps)
    values = tuple(float(l2_max) * float(factor) ** k for k in range(int(steps)))
    check_values(values)
    return values


def check_values(values: Sequence[float]) -> None:
    """Raise a DataError unless there are values of l2, all positive and in falling order."""
    if not values:
        raise DataError("there are no values of l2; give at least one")
    for before, value in zip([math.inf, *values[:-1]], values, strict=True):
        if not 0.0 < value < before:
            raise DataError(
                f"the values of l2 must be positive and fall; {value!r} comes after {before!r}"
            )


class GridParameters(Declared):
    """The values of l2 of a path.

    Parameters
    ----------
    l2_max, factor, steps : float, float, int
        The values of l2: ``l2_max * factor**k`` for k = 0, ..., steps - 1.
    extend : int
        How many further values there may be at an end of the range, if the best lies there: with
        held-out data smaller ones are tried until one is not the best, with folds all of them. If
        the best lies at an end nevertheless, a `GridEdgeWarning` says so.
    """

    l2_max: Annotated[Positive, Flag("--l2-max", "first l2 (default: {default})", "X")] = 1000.0
    factor: Annotated[
        Fraction,
        Flag("--factor", "the next l2 is X times the last, 0 < X < 1 (default: {default})", "X"),
    ] = 0.7
    steps: Annotated[Count, Flag("--steps", "values of l2 (default: {default})", "N")] = 24
    extend: Annotated[
        CountFrom0,
        Flag(
            "--extend",
            "if the best l2 is the smallest or the largest, go on beyond it for up to N values "
            "(default: {default})",
            "N",
        ),
    ] = 0


class Grid(GridParameters):
    """The values of l2 of a path, and those beyond its ends.

    Parameters
    ----------
    warm_start : {"extrapolated", "plain"}
        Where each fit starts, as in `train_path`.
    """

    checked = True

    warm_start: Annotated[
        str,
        OneOf(WARM_STARTS),
        Flag(
            "--warm-start",
            "start each fit at what the last two predict, or where the last one ended (default: "
            "{default})",
        ),
    ] = "extrapolated"

    def check(self) -> None:
        super().check()
        check_values((*self.larger, *self.values, *self.smaller))

    @property
    def values(self) -> tuple[float, ...]:
        """The values, the largest first."""
        return l2_values(self.l2_max, self.factor, self.steps)

    @property
    def smaller(self) -> tuple[float, ...]:
        """The values beyond the smallest, the largest first."""
        return l2_values(self.l2_max, self.factor, self.steps + self.extend)[self.steps :]

    @property
    def larger(self) -> tuple[float, ...]:
        """The values beyond the largest, the largest first."""
        return tuple(self.l2_max / self.factor**k for k in range(self.extend, 0, -1))


class GridEdgeWarning(UserWarning):
    """The best l2 is the largest or the smallest that was tried, so a better one may lie beyond."""


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

    def below(self, larger: BestModel) -> BestModel:
        """Return the table and the best model of this part of a path and of one above it."""
        assert larger.model is not None
        found = BestModel(self.score, self.each)
        found.rows = [*larger.rows, *self.rows]
        better = larger.model.certificate.converged and larger._best >= self._best
        chosen = larger if better else self
        found.model, found.trace, found._best = chosen.model, chosen.trace, chosen._best
        return found

    @property
    def at(self) -> int:
        """The position of the best model in the table."""
        assert self.model is not None
        return [row["l2"] for row in self.rows].index(self.model.l2)

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
    best = best_of(rows)
    if rule == "best":
        return best
    scores = _comparable(rows)
    error = rows[best]["standard_error"]
    if not math.isfinite(error):
        raise DataError(
            "rule='one-se' needs the scores of two folds or more for a standard error; use more "
            "folds, or rule='best'"
        )
    return next(k for k, score in enumerate(scores) if score >= scores[best] - error)


def best_of(rows: Sequence[PathRow]) -> int:
    """Return the position of the best score; the first one if several are equal."""
    scores = _comparable(rows)
    return scores.index(max(scores))


def _comparable(rows: Sequence[PathRow]) -> list[float]:
    return [row["score"] if row["score"] == row["score"] else -math.inf for row in rows]


def at_edge(rows: Sequence[PathRow], chosen: int) -> str | None:
    """Return at which end of a table its best score lies.

    Parameters
    ----------
    rows : sequence of PathRow
        The table, the largest l2 first.
    chosen : int
        The position of the chosen row.

    Returns
    -------
    {"largest", "smallest"} or None
        "largest" if the largest l2 was chosen, "smallest" if the smallest one has the best score.
        None if the best lies between them, or if there is only one.
    """
    if len(rows) < 2:
        return None
    if chosen == 0:
        return "largest"
    return "smallest" if best_of(rows) == len(rows) - 1 else None


def edge_words(edge: str, rows: Sequence[PathRow], remedy: str) -> str:
    """Return a sentence that says at which end the best l2 lies, and what to do."""
    l2 = rows[0 if edge == "largest" else -1]["l2"]
    beyond = "larger" if edge == "largest" else "smaller"
    return (
        f"the best l2, {l2:g}, is the {edge} that was tried; a {beyond} one may be better: {remedy}"
    )
