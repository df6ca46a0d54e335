"""Plots of fits and paths; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import io
import itertools
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import DataError, PartwiseError
from .files.whole_files import remedy, replacing

if TYPE_CHECKING:
    from .training.loop import TraceRow
    from .training.path_table import PathRow

__all__ = ["convergence_picture", "path_picture", "require_matplotlib"]

_PRIMAL = "#c2410c"
_DUAL = "#1d4ed8"
_GAP = "#166534"
_GREY = "#6b7280"


def require_matplotlib() -> None:
    """Raise a PartwiseError that says how to install matplotlib, if it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PartwiseError(
            'pictures need matplotlib, which is not installed; run pip install "partwise[plots]"'
        ) from None


def convergence_picture(
    trace: Sequence[TraceRow],
    path: str | os.PathLike[str],
    title: str | None = None,
    tol: float | None = None,
) -> None:
    """Plot the convergence of a fit to a PNG file.

    The left panel shows primal and dual against passes, the right one the relative gap against
    seconds. Certified values have markers; the lines between them are running estimates.

    Parameters
    ----------
    trace : sequence of TraceRow
        The trace of a fit.
    path : str or path-like
        The file; it is written completely or not at all.
    title : str or None
        The title of the figure.
    tol : float or None
        The requested relative gap, drawn as a line.

    Raises
    ------
    PartwiseError
        If matplotlib is missing.
    DataError
        If the trace is empty or the file cannot be written.
    """
    if not trace:
        raise DataError("an empty trace cannot be drawn; give the trace of a fit")
    figure, left, right = _two_axes()
    _draw_objectives(left, trace)
    _draw_gap(right, trace, tol)
    _write(figure, title, path)


def path_picture(
    rows: Sequence[PathRow],
    path: str | os.PathLike[str],
    chosen: float,
    score_name: str = "score",
    title: str | None = None,
) -> None:
    """Plot a regularisation path to a PNG file.

    The left panel shows the score against l2, the right one the passes over the data that each l2
    took, and their sum.

    Parameters
    ----------
    rows : sequence of PathRow
        The table of the path. Standard errors are drawn if it has them.
    path : str or path-like
        The file; it is written completely or not at all.
    chosen : float
        The chosen l2.
    score_name : str
        The name of the score.
    title : str or None
        The title of the figure.

    Raises
    ------
    PartwiseError
        If matplotlib is missing.
    DataError
        If there are no rows or the file cannot be written.
    """
    if not rows:
        raise DataError("a path without rows cannot be drawn; give the rows of a path")
    figure, left, right = _two_axes()
    l2 = [row["l2"] for row in rows]
    errors = [float(row.get("standard_error", math.nan)) for row in rows]  # type: ignore[arg-type]
    left.errorbar(
        l2, [row["score"] for row in rows],
        yerr=errors if all(map(math.isfinite, errors)) else None,
        color=_DUAL, linewidth=1.6, marker="o", markersize=4.5, capsize=2.5,
    )  # fmt: skip
    left.axvline(
        chosen, color=_PRIMAL, linestyle="--", linewidth=1.2, label=f"chosen: l2 = {chosen:.4g}"
    )
    left.set_ylabel(score_name)
    left.set_title("Data held out", fontsize=10, color=_GREY)
    passes = [row["passes"] for row in rows]
    right.plot(l2, passes, "o-", color=_GAP, linewidth=1.6, markersize=4.5, label="for this l2")
    right.plot(
        l2, list(itertools.accumulate(passes)), color=_GREY, linewidth=1.6, label="so far"
    )  # fmt: skip
    right.set_ylim(bottom=0.0)
    right.set_ylabel("passes over the data")
    right.set_title("What it cost", fontsize=10, color=_GREY)
    for axes in (left, right):
        axes.set_xscale("log")
        # The path goes from large to small, and so does the picture.
        axes.invert_xaxis()
        axes.set_xlabel("l2")
        axes.legend(frameon=False, fontsize=9)
    _write(figure, title, path)


def _two_axes() -> tuple[Any, Any, Any]:
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        axes.grid(True, color="#e5e7eb", linewidth=0.8)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure, left, right


def _write(figure: Any, title: str | None, path: str | os.PathLike[str]) -> None:
    if title:
        figure.suptitle(title, fontsize=12)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    _replace(os.fspath(path), buffer.getvalue())


def _draw_objectives(axes: Any, trace: Sequence[TraceRow]) -> None:
    target = trace[-1].l2
    settled = [row for row in trace if row.l2 == target]
    certified = [row for row in trace if row.certified]
    annealed = [row for row in trace if row.l2 != target]
    if annealed:
        axes.axvspan(0.0, annealed[-1].passes, color="#f3f4f6", zorder=0, label="l2 still annealed")
    axes.plot(
        [row.passes for row in settled], [row.dual for row in settled],
        color=_DUAL, linewidth=1.6, label="dual (no weights lie below)",
    )  # fmt: skip
    axes.plot(
        [row.passes for row in certified], [row.primal for row in certified],
        color=_PRIMAL, linewidth=1.6, label="primal (the objective)",
    )  # fmt: skip
    # A single point makes no line, so the points are drawn separately.
    for values, colour in (("dual", _DUAL), ("primal", _PRIMAL)):
        axes.plot(
            [row.passes for row in certified], [getattr(row, values) for row in certified],
            "o", color=colour, markersize=4.5,
        )  # fmt: skip
    low, high = _range(settled)
    axes.set_ylim(low, high)
    axes.set_xlim(left=0.0)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_xlabel("passes over the data")
    axes.set_ylabel("objective")
    axes.set_title("The optimum lies between the curves", fontsize=10, color=_GREY)
    axes.legend(frameon=False, fontsize=9)


def _range(settled: Sequence[TraceRow]) -> tuple[float, float]:
    """Choose limits that show where the curves meet, not how bad the first epochs were."""
    values = [row.dual for row in settled if math.isfinite(row.dual)]
    values += [row.primal for row in settled if math.isfinite(row.primal)]
    end = values[-1] if values else 0.0
    if settled and math.isfinite(settled[-1].dual):
        end = settled[-1].dual
    room = 0.5 * abs(end) or 1.0
    low = max(min(values, default=end), end - room)
    high = min(max(values, default=end), end + room)
    margin = 0.08 * (high - low) or 1e-6 * max(abs(end), 1.0)
    return low - margin, high + margin


def _draw_gap(axes: Any, trace: Sequence[TraceRow], tol: float | None) -> None:
    target = trace[-1].l2
    running = [row for row in trace if row.l2 == target and _drawable(row)]
    certified = [row for row in running if row.certified]
    axes.plot(
        [row.seconds for row in running], [row.relative_gap for row in running],
        color=_GAP, linewidth=1.2, alpha=0.6, label="running estimate",
    )  # fmt: skip
    axes.plot(
        [row.seconds for row in certified], [row.relative_gap for row in certified],
        "o", color=_GAP, markersize=5.5, label="certified",
    )  # fmt: skip
    if tol is not None:
        axes.axhline(tol, color=_GREY, linestyle="--", linewidth=1.2, label=f"asked for: {tol:g}")
    if running or tol is not None:
        axes.set_yscale("log")
    axes.set_xlim(left=0.0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("relative gap")
    axes.set_title("How far from the optimum, at most", fontsize=10, color=_GREY)
    axes.legend(frameon=False, fontsize=9)


def _drawable(row: TraceRow) -> bool:
    return row.relative_gap > 0.0 and math.isfinite(row.relative_gap)


def _replace(path: str, data: bytes) -> None:
    if os.path.exists(path) and not os.path.isfile(path):
        # A device or a pipe must not be replaced by a file.
        raise DataError(f"{path}: is not a plain file; give the name of a file")
    try:
        with replacing(path) as file:
            file.write(data)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); {remedy(error)}") from error
