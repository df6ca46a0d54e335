"""The axes that plots are drawn on, and charts drawn on them."""

from __future__ import annotations

from typing import Any, Final

from ..errors import PartwiseError
from ..pictures import Chart

__all__ = ["draw", "one_axes", "require_matplotlib", "styled"]

_GREY: Final = "#6b7280"
#: The colour, the dashes and the marks of each series of a chart.
_SERIES: Final = (
    ("#1d4ed8", "-", "o"), ("#c2410c", "--", "s"), ("#166534", ":", "^"), (_GREY, "-.", "x"),
)  # fmt: skip


def require_matplotlib() -> None:
    """Raise a PartwiseError that says how to install matplotlib, if it is missing.

    Raises
    ------
    PartwiseError
        If matplotlib is not installed.

    Examples
    --------
    >>> from partwise.plots import require_matplotlib
    >>> require_matplotlib()
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PartwiseError(
            'pictures need matplotlib, which is not installed; run pip install "partwise[plots]"'
        ) from None


def one_axes(ax: Any) -> Any:
    """Return the axes of the user, or new ones."""
    require_matplotlib()
    if ax is not None:
        return ax
    # Labels and titles of a figure of ours are never cut off, however long they are.
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def styled(axes: Any) -> Any:
    """Give axes a light grid, and no frame above and on the right."""
    axes.grid(True, color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def draw(chart: Chart, axes: Any) -> None:
    """Draw a chart of lines and points on axes."""
    styled(axes)
    for kind, points, series, name in chart.curves:
        colour, dashes, mark = _SERIES[series]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        if kind == "band":
            axes.axvspan(*xs, color="#f3f4f6", zorder=0, label=name)
        elif kind == "whiskers":
            middles = [(low + high) / 2 for low, high in zip(ys[::2], ys[1::2], strict=True)]
            ends = [middle - low for middle, low in zip(middles, ys[::2], strict=True)]
            axes.errorbar(xs[::2], middles, yerr=ends, fmt="none", ecolor=colour, capsize=2.5)
        else:
            axes.plot(
                xs, ys, color=colour, label=name, linewidth=1.6, markersize=4.5,
                linestyle="None" if kind == "points" else dashes,
                marker="None" if kind == "line" else mark,
            )  # fmt: skip
    for side, axis in (("x", chart.x), ("y", chart.y)):
        axes.set(**{f"{side}scale": "log" if axis.log else "linear", f"{side}label": axis.label})
        axes.set(**{f"{side}lim": (axis.high, axis.low) if axis.reverse else (axis.low, axis.high)})
        if not axis.log:
            axes.ticklabel_format(axis=side, useOffset=False)
    axes.set_title(chart.caption, fontsize=9, color=_GREY)
    axes.legend(frameon=False, fontsize=9)
