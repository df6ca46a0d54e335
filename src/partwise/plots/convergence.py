"""The convergence of a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError
from ..values import one_of
from .axes import DUAL, GAP, GREY, PRIMAL, one_axes, styled

if TYPE_CHECKING:
    from ..training.course import TraceRow

__all__ = ["ConvergenceDisplay"]

_KINDS: Final = ("gap", "objective")


class ConvergenceDisplay:
    """The convergence of a fit: its relative gap, or its objective and the lower bound on it.

    Parameters
    ----------
    trace : sequence of TraceRow
        The trace of a fit.
    tol : float or None
        The requested relative gap, drawn as a line.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of matplotlib, after `plot`.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.plots import ConvergenceDisplay
    >>> X, y = [[{"w": "a"}, {"w": "b"}]], [["A", "B"]]
    >>> display = ConvergenceDisplay.from_estimator(SequenceTagger().fit(X, y))
    >>> display.ax_.get_xlabel()
    'seconds'
    """

    ax_: Any
    figure_: Any

    def __init__(self, trace: Sequence[TraceRow], tol: float | None = None) -> None:
        if not trace:
            raise DataError("an empty trace cannot be drawn; give the trace of a fit")
        self.trace = trace
        self.tol = tol

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, kind: str = "gap", ax: Any = None
    ) -> ConvergenceDisplay:
        """Draw the convergence of a fitted estimator.

        Parameters
        ----------
        estimator
            A fitted estimator of partwise.
        kind, ax
            As in `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        return cls(estimator.trace_, estimator.certificate_.tol).plot(ax, kind=kind)

    @classmethod
    def from_trace(
        cls,
        trace: Sequence[TraceRow],
        *,
        tol: float | None = None,
        kind: str = "gap",
        ax: Any = None,
    ) -> ConvergenceDisplay:
        """Draw a trace; parameters are those of the class and of `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        return cls(trace, tol).plot(ax, kind=kind)

    def plot(self, ax: Any = None, *, kind: str = "gap") -> ConvergenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or None
            Where to draw; None makes a new figure.
        kind : {"gap", "objective"}
            The relative gap against seconds, or primal and dual against passes over the data.
            Certified values have markers; the lines between them are running estimates.

        Returns
        -------
        ConvergenceDisplay
            The display itself.
        """
        one_of("kind", kind, _KINDS)
        self.ax_ = styled(one_axes(ax))
        self.figure_ = self.ax_.figure
        if kind == "gap":
            _draw_gap(self.ax_, self.trace, self.tol)
        else:
            _draw_objectives(self.ax_, self.trace)
        return self


def _draw_objectives(axes: Any, trace: Sequence[TraceRow]) -> None:
    target = trace[-1].l2
    settled = [row for row in trace if row.l2 == target]
    certified = [row for row in trace if row.certified]
    annealed = [row for row in trace if row.l2 != target]
    if annealed:
        axes.axvspan(0.0, annealed[-1].passes, color="#f3f4f6", zorder=0, label="l2 still annealed")
    axes.plot(
        [row.passes for row in settled], [row.dual for row in settled],
        color=DUAL, linewidth=1.6, label="dual (no weights lie below)",
    )  # fmt: skip
    axes.plot(
        [row.passes for row in certified], [row.primal for row in certified],
        "--", color=PRIMAL, linewidth=1.6, label="primal (the objective)",
    )  # fmt: skip
    # A single point makes no line, so the points are drawn separately.
    for values, marker, colour in (("dual", "o", DUAL), ("primal", "s", PRIMAL)):
        axes.plot(
            [row.passes for row in certified], [getattr(row, values) for row in certified],
            marker, color=colour, markersize=4.5,
        )  # fmt: skip
    axes.set_yscale("linear")
    low, high = _range(settled)
    axes.set_ylim(low, high)
    axes.set_xlim(left=0.0)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_xlabel("passes over the data")
    axes.set_ylabel("objective")
    axes.set_title("The optimum lies between the curves", fontsize=10, color=GREY)
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
        color=GAP, linewidth=1.2, alpha=0.6, label="running estimate",
    )  # fmt: skip
    axes.plot(
        [row.seconds for row in certified], [row.relative_gap for row in certified],
        "o", color=GAP, markersize=5.5, label="certified",
    )  # fmt: skip
    if tol is not None:
        axes.axhline(tol, color=GREY, linestyle="--", linewidth=1.2, label=f"asked for: {tol:g}")
    if running or tol is not None:
        axes.set_yscale("log")
    axes.set_xlim(left=0.0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("relative gap")
    axes.set_title("How far from the optimum, at most", fontsize=10, color=GREY)
    axes.legend(frameon=False, fontsize=9)


def _drawable(row: TraceRow) -> bool:
    return row.relative_gap > 0.0 and math.isfinite(row.relative_gap)
