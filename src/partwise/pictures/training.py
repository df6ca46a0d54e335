"""The charts of a training: how it converged, and the path over l2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from .charts import Axis, Chart

if TYPE_CHECKING:
    from ..training.course import TraceRow

__all__ = ["gap_chart", "objective_chart", "passes_chart", "score_chart"]


def _settled(trace: Sequence[TraceRow]) -> list[TraceRow]:
    """Return the rows for the last l2. Those before belong to other objectives."""
    return [row for row in trace if row.l2 == trace[-1].l2]


def objective_chart(trace: Sequence[TraceRow]) -> Chart:
    """Return the objective and the lower bound on it, by passes over the data.

    Parameters
    ----------
    trace : sequence of TraceRow
        The trace of a fit.

    Returns
    -------
    Chart
        Certified values have marks; the lines between them are running estimates.

    Examples
    --------
    >>> from partwise import LinearClassifier
    >>> from partwise.pictures import objective_chart
    >>> classifier = LinearClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> [curve.name for curve in objective_chart(classifier.trace_).curves if curve.name]
    ['lower bound (dual)', 'objective (primal), certified']
    """
    settled = _settled(trace)
    certified = [row for row in settled if row.certified]
    told = "No value was certified."
    if certified:
        end = certified[-1]
        told = (
            f"After {end.passes:.1f} passes the objective is {end.primal:,.6g} and the lower bound "
            f"{end.dual:,.6g}."
        )
    chart = Chart(
        "Objective and its lower bound",
        Axis("passes over the data", 0.0, max(trace[-1].passes, 1e-9) * 1.02),
        _objective_axis(settled), "The best possible objective lies between the two curves.", told,
    )  # fmt: skip
    _shade_annealed(chart, trace, "passes")
    chart.line([(row.passes, row.dual) for row in settled], 0, "lower bound (dual)")
    chart.points([(row.passes, row.dual) for row in certified], 0)
    primals = [(row.passes, row.primal) for row in certified]
    chart.line(primals, 1)
    chart.points(primals, 1, "objective (primal), certified")
    return chart


def _shade_annealed(chart: Chart, trace: Sequence[TraceRow], clock: str) -> None:
    annealed = [row for row in trace if row.l2 != trace[-1].l2]
    if annealed:
        chart.band(0.0, getattr(annealed[-1], clock), "l2 still annealed")


def _objective_axis(rows: Sequence[TraceRow]) -> Axis:
    """Show where the curves meet, not how bad the first epochs were."""
    values = [v for row in rows for v in (row.dual, row.primal) if math.isfinite(v)]
    end = next((row.dual for row in reversed(rows) if math.isfinite(row.dual)), 0.0)
    room = 0.5 * abs(end) or 1.0
    return Axis.around("objective", [min(max(v, end - room), end + room) for v in values] or [0.0])


def gap_chart(trace: Sequence[TraceRow], tol: float | None, clock: str = "passes") -> Chart:
    """Return the relative gap by the course of a fit.

    Parameters
    ----------
    trace : sequence of TraceRow
        The trace of a fit.
    tol : float or None
        The gap asked for, drawn as a line.
    clock : {"passes", "seconds"}
        What the course is measured by.

    Returns
    -------
    Chart
        Certified values have marks; the line between them is a running estimate.

    Examples
    --------
    >>> from partwise import LinearClassifier
    >>> from partwise.pictures import gap_chart
    >>> classifier = LinearClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> gap_chart(classifier.trace_, 1e-4, "seconds").x.label
    'seconds'
    """
    rows = [row for row in _settled(trace) if 0.0 < row.relative_gap < math.inf]
    gaps = [row.relative_gap for row in rows]
    asked = [] if tol is None else [tol]
    last = max(getattr(trace[-1], clock), 1e-9)
    chart = Chart(
        "Relative gap",
        Axis("seconds" if clock == "seconds" else "passes over the data", 0.0, last * 1.02),
        Axis.around("relative gap", [*gaps, *asked], log=True),
        "How far the objective is above the best possible one, at most.",
        " ".join([f"It ends at {gap:.2e}." for gap in gaps[-1:]]
                 + [f"{gap:g} was asked for." for gap in asked]),
    )  # fmt: skip
    _shade_annealed(chart, trace, clock)
    chart.line([(getattr(row, clock), row.relative_gap) for row in rows], 0, "running estimate")
    certified = [(getattr(row, clock), row.relative_gap) for row in rows if row.certified]
    chart.points(certified, 0, "certified")
    for gap in asked:
        chart.rule(gap, f"asked for: {gap:g}", 3)
    return chart


def score_chart(rows: Sequence[Mapping[str, Any]], chosen: float, score_name: str) -> Chart:
    """Return the score of each value of a path over l2.

    Parameters
    ----------
    rows : sequence of mapping
        The table of the path; standard errors are drawn where it has them.
    chosen : float
        The chosen l2.
    score_name : str
        The name of the score.

    Examples
    --------
    >>> from partwise.pictures import score_chart
    >>> rows = [{"l2": 1.0, "score": 0.80}, {"l2": 0.1, "score": 0.90}]
    >>> score_chart(rows, 0.1, "F1").told
    'The best score is 90.00%; l2 = 0.1 was chosen.'
    """
    errors = [(row, float(row.get("standard_error", math.nan))) for row in rows]
    whiskers = [
        (row["l2"], row["score"] - e, row["score"] + e) for row, e in errors if math.isfinite(e)
    ]
    points = [(row["l2"], row["score"]) for row in rows]
    ends = [v for _, low, high in whiskers for v in (low, high)]
    best = max(score for _, score in points)
    chart = Chart(
        "Score by l2", _l2_axis(rows),
        Axis.around(score_name, [*(score for _, score in points), *ends], percent=True),
        "The score for each strength of the regulariser.",
        f"The best score is {100 * best:.2f}%; l2 = {chosen:.4g} was chosen.",
    )  # fmt: skip
    held_out = "on data held out" + (", with standard errors" if whiskers else "")
    chart.line(points, 0, held_out, marked=True)
    chart.whiskers(whiskers, 0)
    chart.rule(chosen, f"chosen: {chosen:.4g}", 3, upright=True)
    return chart


def passes_chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """Return the passes over the data that each value of a path took, and their sum.

    Parameters
    ----------
    rows : sequence of mapping
        The table of the path.

    Examples
    --------
    >>> from partwise.pictures import passes_chart
    >>> passes_chart([{"l2": 1.0, "passes": 4.0}, {"l2": 0.1, "passes": 7.0}]).told
    'All values together took 11.0 passes.'
    """
    l2, passes = [row["l2"] for row in rows], [row["passes"] for row in rows]
    total = list(accumulate(passes))
    chart = Chart(
        "Passes by l2", _l2_axis(rows), Axis("passes over the data", 0.0, 1.08 * total[-1]),
        "What each value cost.", f"All values together took {total[-1]:.1f} passes.",
    )  # fmt: skip
    chart.line(list(zip(l2, passes, strict=True)), 2, "for this l2", marked=True)
    chart.line(list(zip(l2, total, strict=True)), 3, "so far")
    return chart


def _l2_axis(rows: Sequence[Mapping[str, Any]]) -> Axis:
    # The path goes from large to small, and so does the picture.
    return Axis.around("l2", [row["l2"] for row in rows], log=True, reverse=True)
