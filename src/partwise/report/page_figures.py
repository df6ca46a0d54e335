"""The charts of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..metrics.calibration import Calibration
from ..pictures import Axis, Chart, Markup
from .page_parts import figure, per_cent

if TYPE_CHECKING:
    from ..training.course import TraceRow

__all__ = ["calibration_figures", "convergence_figures", "path_figures"]


def convergence_figures(trace: Sequence[TraceRow], tol: float) -> list[Markup]:
    """Draw objective and gap of a fit against passes over the data."""
    target = trace[-1].l2
    settled = [row for row in trace if row.l2 == target]
    certified = [row for row in settled if row.certified]
    last = trace[-1].passes
    # Before, l2 was still annealed, and its values belong to other objectives.
    first = 0.0 if len(settled) == len(trace) else settled[0].passes
    passes = Axis("passes over the data", first, max(last, 1e-9) * 1.02)
    duals = [(row.passes, row.dual) for row in settled]
    primals = [(row.passes, row.primal) for row in certified]
    chart = Chart("Objective and its lower bound", passes, _objective_axis(settled))
    chart.line(duals, 0, "lower bound (dual)")
    chart.points([(row.passes, row.dual) for row in certified], 0)
    chart.line(primals, 1)
    chart.points(primals, 1, "objective (primal), certified")
    end = certified[-1] if certified else None
    told = "No value was certified." if end is None else (
        f"After {end.passes:.1f} passes the objective is {end.primal:,.6g} and the lower bound "
        f"{end.dual:,.6g}."
    )  # fmt: skip
    made = [figure("The best possible objective lies between the two curves.", chart.svg(told))]
    gaps = [(row.passes, row.relative_gap) for row in settled if _positive(row.relative_gap)]
    if gaps:
        made.append(_gap_figure(passes, gaps, certified, tol))
    return made


def _gap_figure(
    passes: Axis, gaps: list[tuple[float, float]], certified: Sequence[TraceRow], tol: float
) -> Markup:
    chart = Chart(
        "Relative gap", passes, Axis.around("relative gap", [*(g for _, g in gaps), tol], log=True)
    )
    chart.line(gaps, 0, "running estimate")
    points = [(row.passes, row.relative_gap) for row in certified]
    chart.points(points, 0, "certified")
    chart.rule(tol, f"asked for: {tol:g}", 3)
    told = f"It ends at {gaps[-1][1]:.2e}; {tol:g} was asked for."
    return figure("How far the objective is above the best possible one, at most.", chart.svg(told))


def _positive(value: float) -> bool:
    return value > 0.0 and math.isfinite(value)


def _objective_axis(rows: Sequence[TraceRow]) -> Axis:
    """Show where the curves meet, not how bad the first epochs were."""
    values = [v for row in rows for v in (row.dual, row.primal) if math.isfinite(v)]
    end = next((row.dual for row in reversed(rows) if math.isfinite(row.dual)), 0.0)
    room = 0.5 * abs(end) or 1.0
    return Axis.around("objective", [min(max(v, end - room), end + room) for v in values] or [0.0])


def path_figures(rows: Sequence[Mapping[str, Any]], chosen: float, score_name: str) -> list[Markup]:
    """Draw score and passes against l2."""
    l2 = Axis.around("l2", [row["l2"] for row in rows], log=True, reverse=True)
    errors = [float(row.get("standard_error", math.nan)) for row in rows]
    whiskers = [
        (row["l2"], row["score"] - e, row["score"] + e)
        for row, e in zip(rows, errors, strict=True) if math.isfinite(e)
    ]  # fmt: skip
    ends = [v for _, a, b in whiskers for v in (a, b)]
    scores = Axis.around(score_name, [*(row["score"] for row in rows), *ends], percent=True)
    chart = Chart("Score by l2", l2, scores)
    points = [(row["l2"], row["score"]) for row in rows]
    chart.line(points, 0)
    chart.points(points, 0, "on data held out" + (", with standard errors" if whiskers else ""))
    chart.whiskers(whiskers, 0)
    chart.rule(chosen, f"chosen: {chosen:.4g}", 3, upright=True)
    best = max(row["score"] for row in rows)
    first = figure(
        "The score for each strength of the regulariser.",
        chart.svg(f"The best score is {per_cent(best)}; l2 = {chosen:.4g} was chosen."),
    )
    passes = [(row["l2"], row["passes"]) for row in rows]
    chart = Chart(
        "Passes by l2", l2, Axis("passes over the data", 0.0, 1.08 * max(p for _, p in passes))
    )
    chart.line(passes, 2)
    chart.points(passes, 2, "for this l2, from the one before")
    told = f"All values together took {sum(p for _, p in passes):.1f} passes."
    return [first, figure("What each value cost.", chart.svg(told))]


def calibration_figures(found: Calibration, unit: str) -> list[Markup]:
    """Draw how often predictions of each probability are right, and how many there are."""
    p = Axis("probability that the model gave", 0.0, 1.0)
    chart = Chart("Reliability", p, Axis("fraction that is right", 0.0, 1.0))
    points = [(one.probability, one.correct) for one in found.bins]
    chart.line([(0.0, 0.0), (1.0, 1.0)], 3, "what it should be")
    chart.line(points, 0)
    chart.points(points, 0, "what it is")
    told = "; ".join(
        f"from {one.low:.1f} to {one.high:.1f}: {one.n:,}, {per_cent(one.correct, 1)} right"
        for one in found.bins
    )
    first = figure(
        f"Of the {unit}s with a probability of 0.8, 80% should be right.", chart.svg(told)
    )
    most = max(one.n for one in found.bins)
    chart = Chart("Number of predictions", p, Axis(f"number of {unit}s", 0.0, 1.08 * most))
    chart.bars([(one.low, one.high, one.n) for one in found.bins])
    return [first, figure("How many predictions have such a probability.", chart.svg(told))]
